/** Which bytes of a unit each thread reads and writes (part of the view `communication`). */

import { range, stretchesOf, stretchesText, unitPlace } from '../../model/communication.js';
import { shorten } from '../../model/names.js';
import { count, percent } from '../../model/quantity.js';
import { element } from '../../widgets/element.js';
import { empty } from '../../widgets/panel.js';

/** @typedef {import('../../main.js').Context} Context */

/** Cells of a map, units shown at first, and units shown with each press for more. */
const [CELLS, FIRST, MORE] = [128, 3, 20];
/** Marks of a ruler. */
const MARKS = 8;

/**
 * @param {HTMLElement} root
 * @param {{units: any[], simulation: any, isCut: boolean, graphOf: (unit: any) => any}} about
 * @param {Context} context
 */
export function drawBytes(root, { units, simulation, isCut, graphOf }, context) {
  root.append(element('h3', null, 'Which bytes each thread uses'));
  const moved = units.filter(({ transfers }) => transfers > 0);
  if (units.length === 0) {
    root.append(empty(isCut ? 'Its units are not among those with the most transfers; `longpole report --view sharing` has all of them.' : 'No unit of it was touched by more than one thread.'));
    return;
  }
  const shown = moved.length > 0 ? moved : units;
  const list = element('div.units');
  const more = element('p.more');
  let next = 0;
  const add = (/** @type {number} */ number) => {
    list.append(...shown.slice(next, next + number).map((unit) => byteMap(unit, simulation, graphOf(unit), context)));
    next = Math.min(next + number, shown.length);
    const left = shown.length - next;
    more.replaceChildren(...(left > 0 ? [`${next} of ${shown.length} units with transfers. `, element('button', { onclick: () => add(MORE) }, left > MORE ? `Show ${MORE} more` : 'Show all')] : []),
      isCut && left <= 0 ? 'Units with fewer transfers are not here; `longpole report --view sharing` has all of them.' : '');
  };
  root.append(element('ul.uses', { 'aria-label': 'what the maps show' }, ...[['r', 'read'], ['w', 'written'], ['rw', 'both'], ['', 'not touched']].map(([does, about]) =>
    element('li', null, element(`span.byte.does-${does || 'nothing'}`, { 'aria-hidden': 'true' }, does), ` ${about}`))), list, more);
  add(FIRST);
}

/**
 * @param {any} unit
 * @param {any} simulation
 * @param {any} graph
 * @param {Context} context
 */
function byteMap(unit, simulation, graph, { link }) {
  const bytes = simulation.unit_bytes;
  const step = Math.max(1, Math.floor(bytes / CELLS));
  const rows = unit.uses.map((/** @type {any} */ use) => {
    const stretches = stretchesOf(use, bytes, CELLS);
    return element('div.use', { role: 'listitem', 'data-thread': use.thread },
      element('span.code.who', { title: use.thread }, shorten(use.thread, 20)),
      element('span.map', { role: 'img', 'aria-label': `${use.thread} ${stretchesText(stretches)}`, 'data-map': stretches.map(({ from, to, does }) => `${from}..${to}${does}`).join(' ') },
        ...stretches.map(({ from, to, does }) => element(`span.byte.does-${does || 'nothing'}`, {
          style: { width: `${100 * (to - from) / bytes}%` }, title: does ? `${stretchesText([{ from, to, does }])}` : `bytes ${from} to ${to - 1} not touched`,
        }, (to - from) / bytes >= 0.04 ? does : ''))),
      element('span.number.faint', { title: `${count(use.accesses)} accesses to the unit` }, count(use.accesses)));
  });
  const marks = Array.from({ length: MARKS }, (_, at) => element('span', { style: { width: `${100 / MARKS}%` } }, count(at * bytes / MARKS)));
  return element('div.unit', { 'data-unit': unit.address ?? '', role: 'group', 'aria-label': `${unit.object} ${unitPlace(unit)}` },
    element('p', null, element('strong', null, unitPlace(unit)), `: ${count(unit.transfers)} ${unit.transfers === 1 ? 'transfer' : 'transfers'} (any order: ${range(unit.requests_low, unit.requests_high)}), `,
      `${percent(unit.false_sharing_percent)} of ${count(unit.requests)} requests false sharing`, step > 1 ? `; a cell is ${count(step)} bytes` : '', '. ',
      graph && element('a', { href: link({ graph: String(graph.rank), cause: undefined }), 'data-graph': graph.rank }, 'Its graph')),
    element('div.use.ruler', { 'aria-hidden': 'true' }, element('span.who', null, 'byte'), element('span.map', null, ...marks), element('span.number.faint', null, 'accesses')),
    element('div', { role: 'list' }, ...rows));
}
