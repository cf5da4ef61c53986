/** Requests by procedure, line, object or pair of threads (part of the view `communication`). */

import { byPlace, PATTERNS, patternShares, range } from '../../model/communication.js';
import { fileName, shorten } from '../../model/names.js';
import { percent } from '../../model/quantity.js';
import { bar, swatch } from '../../widgets/bars.js';
import { element } from '../../widgets/element.js';
import { table } from '../../widgets/table.js';

/** @typedef {import('../../main.js').Context} Context */

/** Writers and synchronisations of a cell; the others are in its title. */
const SHOWN = 2;
/** Those with less of a row's cost are not shown, percent. */
const LEAST = 5;

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {Context} context
 */
export function drawRows(root, report, context) {
  const { place, link } = context;
  const threads = report.simulation.threads.map((/** @type {any} */ one) => one.thread);
  const name = place.by === 'object' ? 'object' : place.by === 'thread' ? 'thread' : 'procedure';
  root.append(table(report, {
    name, label: (row) => label(row, place.by), columns: ['percent', 'request_seconds', 'requests', 'transfers', 'range', 'pattern', 'used_percent', 'from', 'through', 'explain'],
    titles: { percent: '% of transfers', request_seconds: 'Cost', range: 'Any order', pattern: 'How it is shared', used_percent: 'Used', from: 'Written by', through: 'Through', explain: '', thread: 'Fetched ← written' },
    cells: {
      ...(place.by === 'object' ? { range: (row) => range(row.requests_low, row.requests_high) } : {}),
      pattern: (row) => patternBar(row, label(row, place.by)),
      from: (row) => sharesCell(byPlace(row.from, threads).map((one) => ({ text: one.place, percent: one.percent, title: one.threads.join(', ') }))),
      through: (row) => sharesCell((row.through ?? []).map((/** @type {any} */ one) => ({ text: one.object.replace(/^through /, ''), percent: one.percent, title: '' }))),
      explain: (row) => element('a', { href: link({ explain: String(row.rank) }), 'data-explain': row.rank, 'aria-label': `explain the requests of ${label(row, place.by)}` }, 'explain'),
    },
    bar: 'percent', limit: 30, links: name === 'procedure',
    href: place.by === 'object' ? (row) => link({ object: row.object, graph: undefined, cause: undefined }) : undefined,
    caption: 'requests, those of the most costly transfers first', empty: 'No thread accessed memory.',
  }, context), patternLegend(report.rows));
}

/** @param {any} row @param {string|undefined} by */
export function label(row, by) {
  if (by === 'object') return row.object;
  if (by === 'thread') return row.writer ? `${row.thread} ← ${row.writer}` : `${row.thread}, first references`;
  return by === 'line' && row.line ? `${row.procedure} ${fileName(row.file)}:${row.line}` : row.procedure;
}

/**
 * The patterns of a row's requests as a bar.
 * @param {any} row
 * @param {string} name
 */
export function patternBar(row, name) {
  const shares = patternShares(row);
  const text = shares.map(({ pattern, percent: share }) => `${pattern.name} ${percent(share)}`).join(', ');
  return bar(shares.map(({ pattern, percent: share }) => ({
    value: share, look: pattern.look, mark: share >= 3 * pattern.mark.length + 5 ? pattern.mark : '', title: `${pattern.name}: ${percent(share)} of the requests`,
  })), 100, `${name}: ${text}`);
}

/**
 * What marks and hatchings mean, of the patterns that there are.
 * @param {any[]} rows
 */
export function patternLegend(rows) {
  const there = PATTERNS.filter(({ key }) => rows.some((row) => row[key] > 0));
  return element('ul.patterns', { 'data-part': 'legend', 'aria-label': 'patterns' }, ...there.map(({ name, look, mark, about }) =>
    element('li', { 'data-row': name }, swatch(look, mark), ' ', name, element('span.faint', null, `: ${about}`))));
}

/**
 * The largest of some shares; all of them in the title.
 * @param {{text: string, percent: number, title: string}[]} shares
 */
function sharesCell(shares) {
  const shown = shares.filter(({ percent: share }, at) => at === 0 || share >= LEAST).slice(0, SHOWN);
  const all = shares.map((one) => `${percent(one.percent)} ${one.text}${one.title ? ` (${one.title})` : ''}`).join('\n');
  return element('div.shares', { title: all }, ...shown.map((one) => element('div', null, one.percent > 99.5 ? '' : `${one.percent.toFixed(0)} % `, element('span.code', null, shorten(one.text, 44)))),
    shares.length > shown.length && element('div.faint', null, `${shares.length - shown.length} more`));
}
