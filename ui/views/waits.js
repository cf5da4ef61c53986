/**
 * Why threads wait, explained by what the others did meanwhile (Carnival, figure 1). Keys of its own in the URL: `explain`, a
 * row's place, shows that wait in full, and `kind` one kind of explanation of it; `all=1` adds the waits that nobody wants explained; `causes=direct` does not follow
 * causes that are waits themselves.
 */

import { classShares, classTotals, CLASSES, mainCauses } from '../model/waiting.js';
import { nameOf, shorten } from '../model/names.js';
import { count, percent, time } from '../model/quantity.js';
import { bar, swatch } from '../widgets/bars.js';
import { choice, explained } from '../widgets/choice.js';
import { element } from '../widgets/element.js';
import { drawExplanation, where } from '../widgets/explanation.js';
import { empty, panel } from '../widgets/panel.js';
import { lineLink } from '../widgets/places.js';

/** @typedef {import('../main.js').Context} Context */

const BY = [
  { value: undefined, title: 'procedure' }, { value: 'line', title: 'line' }, { value: 'object', title: 'object' },
  { value: 'thread', title: 'thread' }, { value: 'process', title: 'process' },
];
/** Rows with less of the waiting, in percent, are shown on demand. */
const LEAST = 0.1;

/** @type {import('../main.js').View} */
export default {
  name: 'waits',
  title: 'Waiting',
  about: 'Why threads wait, explained by what the others did meanwhile.',
  key: '4',
  draw(root, context) {
    const { place, link } = context;
    const number = Number(place.explain);
    const body = element('div');
    if (!place.explain) {
      root.append(element('div.controls', null,
        choice('a row is a', BY, place.by, (by) => link({ by, explain: undefined, kind: undefined })),
        choice('waits', [
          { value: undefined, title: 'that matter' },
          { value: '1', title: 'all', about: 'also those that nobody wants explained: for the end of threads, from outside, of spare threads, until the end' },
        ], place.all, (all) => link({ all }))));
    }
    root.append(body);
    return panel(body, () => context.report('waits', { by: place.by }), async (report) => {
      const row = report.rows[number - 1];
      if (!place.explain) return drawMap(body, report.rows, context);
      if (!row) {
        body.append(empty(`There is no wait ${place.explain}: threads waited at ${report.rows.length} places.`),
          element('a', { href: link({ explain: undefined }), 'data-back': true }, '← all waiting'));
        return undefined;
      }
      // The kinds of explanation are more than the row tells; without them it is explained as a whole.
      const full = await context.report('waits', { by: place.by, explain: String(number) }).catch(() => null);
      return drawExplanation(body, full?.rows[0] ?? row, number, context);
    });
  },
};

/**
 * @param {HTMLElement} root
 * @param {any[]} rows
 * @param {Context} context
 */
function drawMap(root, rows, context) {
  const numbered = rows.map((row, at) => ({ row, number: at + 1 }));
  const wanted = numbered.filter(({ row }) => row.wanted);
  const unwanted = numbered.filter(({ row }) => !row.wanted);
  if (rows.length === 0) {
    root.append(empty('No thread waited: none was blocked or busy-waiting.'));
    return;
  }
  if (wanted.length === 0) root.append(empty('No wait needs an explanation: all were of the kinds that nobody wants explained.'));
  else root.append(answer(wanted.map(({ row }) => row), context), list(wanted, context));
  if (unwanted.length > 0) root.append(leftOut(unwanted, context));
}

/**
 * All waiting in one bar, with the words for its kinds.
 * @param {any[]} rows
 * @param {Context} context
 */
function answer(rows, context) {
  const totals = classTotals(rows);
  const whole = rows.reduce((sum, row) => sum + row.seconds, 0);
  const waits = rows.reduce((sum, row) => sum + row.count, 0);
  const largest = totals.reduce((most, one) => (one.seconds > most.seconds ? one : most), totals[0]);
  return element('section', { 'data-part': 'classes' },
    element('p.answer', null, `Threads waited ${time(whole)} in ${count(waits)} waits`,
      ...(largest ? [`, ${percent(largest.percent)} of it because of `, explained(largest.kind.name, 'class', context)] : []), '.'),
    bar(totals.map(({ kind, seconds, percent: share }) => ({
      value: seconds, look: kind.look, mark: kind.mark, title: `${kind.name}: ${time(seconds)}, ${percent(share)}`,
    })), whole, 'all waiting by kind of cause'),
    element('ul.classes', null, ...CLASSES.map((kind) => {
      const total = totals.find((one) => one.kind === kind);
      return total && total.percent >= 0.05 && element('li', null, swatch(kind.look, kind.mark), ' ', explained(kind.name, kind.key, context),
        ` ${percent(total.percent)}: `, element('span.faint', null, kind.about));
    })));
}

/**
 * @param {{row: any, number: number}[]} rows
 * @param {Context} context
 */
function list(rows, context) {
  const largest = Math.max(...rows.map(({ row }) => row.seconds));
  const whole = rows.reduce((sum, { row }) => sum + row.seconds, 0);
  const large = rows.filter(({ row }, at) => at === 0 || 100 * row.seconds >= LEAST * whole);
  const items = element('ol.waiting', { 'data-part': 'map' }, ...large.map((one) => item(one, largest, context)));
  const small = rows.slice(large.length);
  if (small.length === 0) return items;
  const more = element('p.more', null, `Less than ${LEAST} %: ${small.length} more ${small.length === 1 ? 'place' : 'places'}. `, element('button', {
    onclick: () => {
      items.append(...small.map((one) => item(one, largest, context)));
      more.remove();
    },
  }, 'Show them'));
  return element('div', null, items, more);
}

/**
 * A source of waiting: how much of it, where and for what, and the largest of what caused it.
 * @param {{row: any, number: number}} one
 * @param {number} largest seconds of the longest row
 * @param {Context} context
 */
function item({ row, number }, largest, context) {
  const href = context.link({ explain: String(number) });
  const causes = mainCauses(row, 3);
  const name = nameOf(row) || 'a place that is not known';
  return element('li', { 'data-row': number },
    element('div.where', null, ...where(row, context)),
    element('div.numbers', null, element('strong', null, time(row.seconds)), row.percent !== undefined && ` ${percent(row.percent)}`,
      element('span.faint', null, ` ${count(row.count)} ${row.count === 1 ? 'wait' : 'waits'} `),
      element('a', { href, 'data-explain': number, 'aria-label': `explain waiting at ${name}` }, 'explain')),
    bar(classShares(row).map(({ kind, percent: share }) => ({
      value: row.seconds * share / 100, look: kind.look, mark: kind.mark, title: `${kind.name}: ${percent(share)} of this waiting`,
    })), largest, `${name}: ${time(row.seconds)} by kind of cause`),
    element('div.because', { title: 'in % of this waiting; more than 100 % together where the waiting threads did something that the others did not' },
      causes.length === 0 ? element('span.faint', null, 'many small causes') : causes.map(({ percent: share, text, by, cause }) =>
        element('span.cause', null, `${percent(share)} `, element('span.code', { title: text }, shorten(text, 44)), ' ', lineLink(cause, context),
          by && element('span.faint', null, ` in ${by}`)))));
}

/**
 * Waits that nobody wants explained: their sum, or all of them.
 * @param {{row: any, number: number}[]} rows
 * @param {Context} context
 */
function leftOut(rows, context) {
  const { place, link } = context;
  const whole = rows.reduce((sum, { row }) => sum + row.seconds, 0);
  if (!place.all) {
    return element('p.more', null, `Left out, as nobody wants them explained: ${time(whole)} in ${rows.length} `,
      rows.length === 1 ? 'place. ' : 'places. ', element('a', { href: link({ all: '1' }) }, 'Show them'));
  }
  return element('section', { 'data-part': 'unwanted' }, element('h2', null, 'Nobody wants these explained'),
    element('p.faint', null, `${time(whole)} of waiting, not counted above.`), list(rows, context));
}
