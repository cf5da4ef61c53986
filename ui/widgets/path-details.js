/** What is known of one call path (part of the view `flame`): all that was charged to it, and where to look further. */

import { MEASURES, stepOf, wayTo } from '../model/call-tree.js';
import { shorten } from '../model/names.js';
import { percent, time } from '../model/quantity.js';
import { element } from './element.js';
import { linksOf } from './links.js';
import { lineLink, procedureLink } from './places.js';

/**
 * @param {import('../model/flame.js').Rectangle} rectangle
 * @param {import('../model/call-tree.js').Node} tree
 * @param {{report: any, measure: typeof MEASURES[0]}} about
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
export function details({ node, merged, total }, tree, { report, measure }, context) {
  const { row } = node;
  if (merged > 0) return element('p', null, `${merged} small paths below ${stepOf(row)}: ${time(total)}, ${percent(100 * total / tree.total)} of the ${measure.title}.`);
  const titleOf = (/** @type {string} */ name) => report.columns.find((/** @type {any} */ column) => column.name === name)?.explanation;
  const measures = MEASURES.filter(({ key }) => tree.row[`${key}_inclusive_seconds`] > 0);
  const share = (/** @type {string} */ key, /** @type {string} */ kind) => {
    const seconds = row[`${key}${kind}_seconds`] ?? 0;
    return [element('td.number', null, time(seconds)), element('td.number', null, percent(100 * seconds / tree.row[`${key}_inclusive_seconds`]))];
  };
  return element('div', null,
    element('p', null, row.procedure ? procedureLink(row, context, 90) : element('span.code', null, stepOf(row)), ' ', lineLink(row, context),
      row.module && element('span.faint', null, ` ${shorten(row.module, 50)}`), row.procedure && linksOf(row, context)),
    element('div.scroll', null, element('table', null, element('thead', null, element('tr', null, element('th', { scope: 'col' }),
      element('th.number', { scope: 'col', colspan: '2' }, 'with all it called'), element('th.number', { scope: 'col', colspan: '2' }, 'itself'))),
    element('tbody', null, ...measures.map(({ key, title }) => element(key === measure.key ? 'tr.is-chosen' : 'tr', { 'data-measure': key },
      element('th', { scope: 'row', title: titleOf(`${key}_seconds`) }, title), ...share(key, '_inclusive'), ...share(key, '')))))),
    element('p.way.faint', { 'data-part': 'way' }, wayTo(node).map((name) => shorten(name, 40)).join(' › ')));
}
