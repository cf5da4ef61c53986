/** Who called a procedure or started what ran it, with the time on each way (part of the view `parallelism`). */

import { callersOf, treeOf } from '../model/call-tree.js';
import { shorten } from '../model/names.js';
import { percent, time } from '../model/quantity.js';
import { element } from './element.js';
import { panel } from './panel.js';

/** @typedef {import('../main.js').Context} Context */

/** Callers that are shown. */
const MOST = 20;

/**
 * @param {string} procedure
 * @param {(name: string) => string} hrefOf where a caller leads
 * @param {Context} context
 * @returns {HTMLElement}
 */
export function callers(procedure, hrefOf, context) {
  const root = element('section', { 'data-part': 'callers' });
  panel(root, () => context.report('call-tree'), (report) => {
    const tree = treeOf(report.rows, 'npt');
    const all = tree ? callersOf(tree, procedure) : [];
    if (all.length === 0) return;
    const rest = all.slice(MOST);
    root.append(element('h2', null, 'Called or started by'), element('table', null,
      element('thead', null, element('tr', null, element('th.number', { scope: 'col', title: 'of its normalised processor time, with all it called' }, '%'),
        element('th.number', { scope: 'col' }, 'time'), element('th', { scope: 'col' }, 'procedure'))),
      element('tbody', null, ...all.slice(0, MOST).map(({ row, name, seconds, percent: share }) => element('tr', { 'data-row': name },
        element('td.number', null, percent(share)), element('td.number', null, time(seconds)),
        element('th.name', { scope: 'row', title: [name, row.module, row.file].filter(Boolean).join('\n') },
          row.procedure ? element('a', { href: hrefOf(name) }, shorten(name, 50)) : shorten(name, 50)))))),
    rest.length > 0 ? element('p.more', null, `${rest.length} more, ${time(rest.reduce((sum, { seconds }) => sum + seconds, 0))} in all`) : '');
  });
  return root;
}
