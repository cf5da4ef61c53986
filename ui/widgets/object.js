/** One object in full (part of the view `objects`): how many waited at a time and how long, who held it, who waited for whom. */

import { conflicts, matrixOf, placeOf } from '../model/contention.js';
import { threadOf } from '../model/links.js';
import { shorten } from '../model/names.js';
import { count, percent, time } from '../model/quantity.js';
import { distribution } from './distribution.js';
import { element } from './element.js';
import { linksOf } from './links.js';
import { panel } from './panel.js';
import { lineLink, objectLink, procedureLink } from './places.js';

/** @typedef {import('../main.js').Context} Context */

/** Threads of a side that a matrix has room for; more are a list. */
const MATRIX = 12;

/**
 * @param {HTMLElement} root
 * @param {string} of
 * @param {Context} context
 */
export function drawObject(root, of, context) {
  const name = of.replace(/^object:/, '');
  const body = element('div', { 'data-part': 'object', 'data-row': name });
  root.append(element('div.controls', null, element('a', { href: context.link({ of: undefined }), 'data-back': true }, '← all objects')), body);
  const answers = () => Promise.all([context.report('objects', { of }), context.report('objects', { all: '1' }).catch(() => context.report('objects'))]);
  return panel(body, answers, ([report, all]) => {
    const row = all?.rows.find((/** @type {any} */ one) => one.object === name);
    body.append(facts(name, row, context), ...parts(report.rows, context).filter((part) => part !== null));
  });
}

/**
 * @param {string} name
 * @param {any} row
 * @param {Context} context
 */
function facts(name, row, context) {
  const head = element('p.answer', null, element('span.code', { title: name }, shorten(name, 90)), ' ', linksOf({ object: name }, context));
  if (!row) return element('section', null, head);
  const waits = row.blocks > 0
    ? `${count(row.blocks)} ${row.blocks === 1 ? 'wait' : 'waits'} took ${time(row.seconds)} in all, ${time(row.mean_wait_seconds)} on average, `
      + `half of them at most ${time(row.median_wait_seconds)}, nine of ten at most ${time(row.p90_wait_seconds)}, the longest ${time(row.longest_wait_seconds)}.`
    : 'Nobody waited for it.';
  const taken = row.acquisitions && `Taken ${count(row.acquisitions)} times, ${percent(row.contended_acquisitions_percent)} of them after a wait; `
    + `held ${time(row.hold_seconds)}, ${time(row.mean_hold_seconds)} on average, at most ${time(row.longest_hold_seconds)}.`;
  return element('section', { 'data-part': 'facts' }, head,
    element('p', null, `${row.kind}${row.objects > 1 ? `, ${count(row.objects)} of this name` : ''}. ${waits}`), taken && element('p', null, taken));
}

/**
 * @param {any[]} rows
 * @param {Context} context
 */
function parts(rows, context) {
  const of = (/** @type {string} */ section) => rows.filter((row) => row.section === section);
  return [
    warning(of('order'), context),
    element('div.pair', null, queue(of('queue')), lengths(of('length'))),
    threads(of('threads'), context),
    list('places', 'Which code waited for which', of('places'), [
      ['waited', (row) => placeCell(row, row.waiting, context)], ['ended the wait', (row) => placeCell(row, row.ended_by, context, 'ended_by_')], ...PAIR]),
    list('holders', 'Where it was handed over, and what was done since others wanted it', of('holder'), [
      ['place', (row) => placeCell(row, row.holder, context)], ['% of holding', (row) => percent(row.percent)], ['held', (row) => time(row.held_seconds)],
      ['CPU', (row) => time(row.holder_cpu_seconds)], ['NPT', (row) => time(row.holder_npt_seconds)], ['hand-overs', (row) => count(row.handovers)]]),
    list('acquisitions', 'Where it was acquired, with all its holds', of('acquisition'), [
      ['place', (row) => placeCell(row, row.acquired_at, context)], ['% of holding', (row) => percent(row.percent)], ['taken', (row) => count(row.acquisitions)],
      ['had to wait', (row) => percent(row.contended_acquisitions_percent)], ['mean hold', (row) => time(row.mean_hold_seconds)],
      ['longest', (row) => time(row.longest_hold_seconds)]]),
    list('order', 'Locks that the same thread held with it', of('order'), [
      ['lock', (row) => objectLink(row.other, context)], ['when', (row) => (row.order === 'before' ? 'held already' : 'acquired meanwhile')],
      ['times', (row) => count(row.acquisitions)]]),
  ];
}

/** @type {[string, (row: any) => any][]} */
const PAIR = [['% of time', (row) => percent(row.percent)], ['time', (row) => time(row.seconds)], ['waits', (row) => count(row.blocks)]];

/**
 * @param {any[]} rows
 * @param {Context} context
 */
function warning(rows, context) {
  const names = conflicts(rows);
  if (names.length === 0) return null;
  return element('p.warning', { 'data-part': 'order-conflict' }, element('strong', null, 'Deadlock possible: '), 'acquired both before and after ',
    ...names.flatMap((name, at) => [at > 0 ? ', ' : '', objectLink(name, context)]), '. Threads that do so at once wait for each other for ever.');
}

/** How many waited at a time. @param {any[]} rows */
function queue(rows) {
  if (rows.length === 0) return null;
  const largest = Math.max(...rows.map((row) => row.percent));
  return distribution('Threads that waited at a time', rows.map((row) => ({
    label: count(row.queue), share: row.percent / largest, texts: [percent(row.percent), time(row.seconds)],
  })), ['waiting', '% of the run', '', ''], 'queue');
}

/** How long waits were. @param {any[]} rows */
function lengths(rows) {
  if (rows.length === 0) return null;
  const largest = Math.max(...rows.map((row) => row.blocks));
  return distribution('How long waits were', rows.map((row) => ({
    label: `${time(row.shortest_seconds)} – ${time(row.longest_seconds)}`, share: row.blocks / largest, texts: [count(row.blocks), percent(row.percent)],
  })), ['length', 'waits', '', '% of time'], 'lengths');
}

/**
 * Who waited for whom: a matrix where there is room.
 * @param {any[]} rows
 * @param {Context} context
 */
function threads(rows, { link }) {
  if (rows.length === 0) return null;
  const { waiting, ending, largest, at } = matrixOf(rows);
  if (waiting.length > MATRIX || ending.length > MATRIX) {
    return list('threads', 'Who waited for whom', rows, [['waited', (row) => row.waiting], ['ended the wait', (row) => row.ended_by], ...PAIR]);
  }
  const name = (/** @type {string} */ text, /** @type {any} */ row, /** @type {string} */ side) => {
    const thread = row?.[`${side}thread`];
    const short = shorten(text, 26);
    return thread ? element('a', { href: link({ view: 'timeline', of: threadOf({ thread, tid: row[`${side}tid`] }) }) }, short) : short;
  };
  const cell = (/** @type {any} */ pair) => (pair
    ? element('td.number.heat', { style: { '--share': String(pair.seconds / largest) }, title: `${count(pair.blocks)} waits, ${percent(pair.percent)} of the time` }, time(pair.seconds))
    : element('td.number.faint', null, '·'));
  return element('section', { 'data-part': 'threads' }, element('h2', null, 'Who waited for whom'),
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'who waited for whom' }, element('table', null,
      element('thead', null, element('tr', null, element('th', { scope: 'col' }, 'waited ↓ for →'),
        ...ending.map((text) => element('th.number.code', { scope: 'col', title: text }, name(text, rows.find((row) => row.ended_by === text), 'ended_by_'))))),
      element('tbody', null, ...waiting.map((text) => element('tr', null,
        element('th.code', { scope: 'row', title: text }, name(text, rows.find((row) => row.waiting === text), '')),
        ...ending.map((other) => cell(at(text, other)))))))));
}

/**
 * @param {string} part
 * @param {string} title
 * @param {any[]} rows
 * @param {[string, (row: any) => any][]} columns the first ones may be elements; text that begins with a digit is a number
 */
function list(part, title, rows, columns) {
  if (rows.length === 0) return null;
  const isNumber = (/** @type {number} */ at) => /^[\d<]/.test(String(columns[at][1](rows[0])));
  return element('section', { 'data-part': part }, element('h2', null, title),
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': title }, element('table', null,
      element('thead', null, element('tr', null, ...columns.map(([head], at) => element(isNumber(at) ? 'th.number' : 'th', { scope: 'col' }, head)))),
      element('tbody', null, ...rows.slice(0, 200).map((row) => element('tr', null,
        ...columns.map(([, cell], at) => element(isNumber(at) ? 'td.number' : 'td', null, cell(row)))))))));
}

/**
 * A place with links, or what the report says where it is not known.
 * @param {Record<string, any>} row
 * @param {string} text
 * @param {Context} context
 * @param {string} [side]
 */
function placeCell(row, text, context, side) {
  const place = placeOf(row, side);
  if (!place.procedure) return text;
  return element('span', null, procedureLink(place, context, 44), ' ', lineLink(place, context));
}
