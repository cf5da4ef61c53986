/** A row's requests in full (part of the view `communication`): R ← I ← W with call paths, and the ways back to the thread's previous copy. */

import { placeOf, range } from '../../model/communication.js';
import { shorten } from '../../model/names.js';
import { count, percent, time } from '../../model/quantity.js';
import { element } from '../../widgets/element.js';
import { empty, panel } from '../../widgets/panel.js';
import { lineLink } from '../../widgets/places.js';
import { callPath } from './paths.js';
import { label, patternBar, patternLegend } from './rows.js';

/** @typedef {import('../../main.js').Context} Context */

/** Causes and ways that are shown at first, and with each press for more. */
const SHOWN = 6;

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function drawRequests(root, context) {
  const { place, link, ask } = context;
  const body = element('section', { 'data-part': 'requests' });
  root.append(element('div.controls', null, element('a', { href: link({ explain: undefined }), 'data-back': true }, '← all communication')), body);
  return panel(body, () => ask('report', { view: 'communication', by: place.by, explain: place.explain }), (report) => {
    const [row] = report.rows;
    if (!row) {
      body.append(empty(`There is no row ${place.explain}.`));
      return;
    }
    const name = label(row, place.by);
    body.append(
      element('p.answer', null, `Row ${row.rank}: `, element('span.code', { title: name }, shorten(name, 90)), `: ${count(row.requests)} ${row.requests === 1 ? 'request' : 'requests'}, ${count(row.transfers)} of them transfers`,
        row.requests_low !== undefined && ` (any order: ${range(row.requests_low, row.requests_high)})`, `, ${time(row.request_seconds)}; ${percent(row.used_percent)} of what was fetched is used.`),
      patternBar(row, name), patternLegend([row]),
      causes(row, context), ways(row, context));
  });
}

/**
 * @param {any} row
 * @param {Context} context
 */
function causes(row, context) {
  const item = (/** @type {any} */ chain, /** @type {number} */ at) => {
    const isFirst = !chain.write_path;
    const noun = isFirst ? 'first reference' : 'transfer';
    return element('li', { 'data-cause': at + 1 },
      element('p', null, element('strong', null, `${count(chain.requests)} ${noun}${chain.requests === 1 ? '' : 's'}`), `, ${time(chain.request_seconds)}, ${percent(chain.percent)}`,
        chain.contributions > chain.requests && `; a part of ${count(chain.contributions - chain.requests)} that other writes are behind too`, !isFirst && chain.patterns && `; ${chain.patterns}`),
      element('div.r-i-w', null, callPath('R', 'asks', chain.read_path, chain.readers, context),
        !isFirst && callPath('I', 'through', chain.through_path, undefined, context, chain.through === 'unordered' ? 'unordered: nothing orders the write before the request' : chain.through),
        !isFirst && callPath('W', 'writes', chain.write_path, chain.writers, context)));
  };
  return element('section', { 'data-part': 'chains' }, element('h2', null, 'Who asked, and whose write was behind it'), growing('ol.chains', row.chains ?? [], item));
}

/**
 * @param {any} row
 * @param {Context} context
 */
function ways(row, context) {
  if (!row.followed) return '';
  const where = (/** @type {string} */ text) => {
    const one = placeOf(text);
    return element('span', null, element('span.code', { title: one.procedure }, shorten(one.procedure, 44)), ' ', lineLink(one, context));
  };
  const item = (/** @type {any} */ way) => element('li', null, element('strong.number', null, percent(way.percent)), element('ol.way', null,
    ...way.steps.map((/** @type {any} */ step) => element('li', null, where(step.read), ' asks ← ', element('span.code', null, shorten(step.through, 40)), ' ← ', where(step.write), ' writes',
      step.most > 1 && element('span.faint', null, step.least === step.most ? `, ${step.least} times` : `, ${step.least} to ${step.most} times`))),
    element('li', null, where(way.end_place), `: ${way.end}`)));
  return element('section', { 'data-part': 'ways' }, element('h2', null, 'Ways back to the thread\'s previous copy'),
    element('p.faint', null, `${count(row.followed)} requests were followed. A line is a request and the write it was made for; the next line is the request by which that writer had got its copy.`,
      row.cut > 0 && ` ${count(row.cut)} had more ways than were followed, or begin before what is known.`),
    growing('ol.ways', row.ways ?? [], item));
}

/**
 * A list that shows its first items, and the rest on demand.
 * @param {string} tag
 * @param {any[]} items
 * @param {(one: any, at: number) => HTMLElement} draw
 */
function growing(tag, items, draw) {
  const list = element(tag, null, ...items.slice(0, SHOWN).map(draw));
  const left = items.length - SHOWN;
  if (left <= 0) return list;
  const more = element('p.more', null, `${left} more. `, element('button', {
    onclick: () => {
      list.append(...items.slice(SHOWN).map((one, at) => draw(one, SHOWN + at)));
      more.remove();
    },
  }, 'Show all'));
  return element('div', null, list, more);
}
