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
  const cells = (/** @type {string} */ kind) => measures.map(({ key }) => {
    const seconds = row[`${key}${kind}_seconds`] ?? 0;
    return element(key === measure.key ? 'td.number.is-chosen' : 'td.number', { 'data-measure': key },
      `${time(seconds)}  ${percent(100 * seconds / tree.row[`${key}_inclusive_seconds`])}`);
  });
  return element('div', null,
    element('p.step-name', null, row.procedure ? procedureLink(row, context, 80) : element('span.code', null, stepOf(row)), ' ', lineLink(row, context),
      row.module && element('span.faint', null, ` ${shorten(row.module, 40)}`), row.procedure && linksOf(row, context)),
    element('div.scroll', null, element('table', null,
      element('thead', null, element('tr', null, element('td'), ...measures.map(({ key, title }) =>
        element('th.number', { scope: 'col', title: titleOf(`${key}_seconds`) }, title)))),
      element('tbody', null, element('tr', null, element('th', { scope: 'row' }, 'with calls'), ...cells('_inclusive')),
        element('tr', null, element('th', { scope: 'row' }, 'itself'), ...cells(''))))),
    element('p.way.faint', { 'data-part': 'way', title: wayTo(node).join(' › ') }, wayTo(node).map((name) => shorten(name, 40)).join(' › ')));
}
