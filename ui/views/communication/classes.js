/** How an object's units are shared, and the data in them apart from its units (part of the view `communication`), on demand: the accesses are simulated once more for it. */

import { PATTERNS } from '../../model/communication.js';
import { count, percent } from '../../model/quantity.js';
import { bar } from '../../widgets/bars.js';
import { element } from '../../widgets/element.js';
import { empty, panel } from '../../widgets/panel.js';
import { patternLegend } from './rows.js';

/** @typedef {import('../../main.js').Context} Context */

/**
 * @param {string} object
 * @param {(view: string, parameters?: Record<string, any>) => Promise<any>} ask
 * @param {boolean} isOpen
 * @param {Context} context
 */
export function classesOf(object, ask, isOpen, { note }) {
  const body = element('div', { 'data-part': 'classes-body' });
  let isAsked = false;
  const details = element('details', {
    'data-part': 'classes', open: isOpen,
    ontoggle: () => {
      note({ classes: details.open ? '1' : undefined });
      fill();
    },
  }, element('summary', null, 'How its units are shared, and the data in them'), body);
  const fill = () => {
    if (isAsked || !details.open) return;
    isAsked = true;
    void panel(body, () => ask('patterns'), ({ rows }) => {
      const row = rows.find((/** @type {any} */ one) => one.object === object);
      body.append(...(row ? drawn(row) : [empty('Its units are not known.')]));
    });
  };
  fill();
  return details;
}

/** @param {any} row */
function drawn(row) {
  const classes = row.classes.map((/** @type {any} */ one) => element('tr', { 'data-row': one.pattern },
    element('th', { scope: 'row' }, `${count(one.units)} ${one.units === 1 ? 'unit' : 'units'}, ${one.pattern}`),
    element('td.number', null, count(one.requests)), element('td.number', null, count(one.transfers)),
    element('td', { 'data-cell': 'units' }, sharesBar(one.patterns, `units, ${one.pattern}`)),
    element('td', { 'data-cell': 'data' }, data(one))));
  const head = ['units, by the pattern of most of their transfers', 'requests', 'transfers', 'requests for the units', 'transfers of the data alone'];
  return [
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'classes of units' }, element('table', null,
      element('thead', null, element('tr', null, ...head.map((title, at) => element(at === 1 || at === 2 ? 'th.number' : 'th', { scope: 'col' }, title)))), element('tbody', null, ...classes))),
    patternLegend([row, ...row.classes.flatMap((/** @type {any} */ one) => (one.data_patterns ?? []).map((/** @type {any} */ share) => ({ [PATTERNS.find(({ name }) => name === share.pattern)?.key ?? '']: share.percent })))]),
    element('p.faint', null, 'The data alone: each word of 8 bytes as a unit of its own, on the same accesses in the same order.'),
  ];
}

/** @param {any} one a class */
function data(one) {
  if (one.data_transfers === undefined || one.transfers + one.data_transfers === 0) return '';
  return one.data_transfers === 0 ? 'not shared: only the unit is' : sharesBar(one.data_patterns, `data of units, ${one.pattern}`);
}

/**
 * @param {{pattern: string, percent: number}[]} shares
 * @param {string} name
 */
function sharesBar(shares, name) {
  const parts = PATTERNS.flatMap((pattern) => {
    const share = shares.find((one) => one.pattern === pattern.name);
    return share ? [{ value: share.percent, look: pattern.look, mark: share.percent > 12 ? pattern.mark : '', title: `${pattern.name}: ${percent(share.percent)}` }] : [];
  });
  return bar(parts, 100, `${name}: ${parts.map(({ title }) => title).join(', ')}`);
}
