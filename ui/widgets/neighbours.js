/** Who called a procedure and what it called, with the time on each way (part of the view `parallelism`). */

import { neighbours, treeOf } from '../model/call-tree.js';
import { shorten } from '../model/names.js';
import { percent, time } from '../model/quantity.js';
import { element } from './element.js';
import { panel } from './panel.js';

/** @typedef {import('../main.js').Context} Context */

/** Neighbours of a side that are shown. */
const MOST = 15;

/**
 * @param {string} procedure
 * @param {(name: string) => string} hrefOf where a neighbour leads
 * @param {Context} context
 * @returns {HTMLElement}
 */
export function callersAndCalls(procedure, hrefOf, context) {
  const root = element('section.neighbours', { 'data-part': 'neighbours' });
  panel(root, () => context.report('call-tree'), (report) => {
    const tree = treeOf(report.rows, 'npt');
    if (!tree) return;
    const { callers, calls, total } = neighbours(tree, procedure);
    if (total <= 0) return;
    root.append(list('callers', 'Called or started by', callers, hrefOf), list('calls', 'Called or started', calls, hrefOf));
  });
  return root;
}

/**
 * @param {string} part
 * @param {string} title
 * @param {import('../model/call-tree.js').Neighbour[]} all
 * @param {(name: string) => string} hrefOf
 */
function list(part, title, all, hrefOf) {
  const nameCell = (/** @type {import('../model/call-tree.js').Neighbour} */ { row, name }) =>
    element('th.name', { scope: 'row', title: [name, row.module, row.file].filter(Boolean).join('\n') },
      row.procedure ? element('a', { href: hrefOf(name) }, shorten(name, 50)) : shorten(name, 50));
  const rest = all.slice(MOST);
  return element('div', { 'data-part': part }, element('h2', null, title), all.length === 0 ? element('p.faint', null, 'nobody')
    : element('table', null,
      element('thead', null, element('tr', null, element('th.number', { scope: 'col' }, '% of its NPT'), element('th.number', { scope: 'col' }, 'NPT'), element('th', { scope: 'col' }, 'procedure'))),
      element('tbody', null, ...all.slice(0, MOST).map((one) => element('tr', { 'data-row': one.name },
        element('td.number', null, percent(one.percent)), element('td.number', null, time(one.seconds)), nameCell(one))))),
  rest.length > 0 && element('p.more', null, `${rest.length} more, ${time(rest.reduce((sum, { seconds }) => sum + seconds, 0))} in all`));
}
