/** The lines of a source file with what they cost beside them (part of the view `source`). */

import { shorten } from '../model/names.js';
import { time } from '../model/quantity.js';
import { hotLines, lineOf, linesOf, nextHot, partsShown } from '../model/source.js';
import { element } from './element.js';
import { empty } from './panel.js';

/** @typedef {import('../main.js').Context} Context */
/** @typedef {import('../model/source.js').Line} Line */
/** @typedef {import('../model/source.js').Heat} Heat */

/** Lines of a text that are all shown; of longer ones, so many around those that matter. */
const [MOST, AROUND] = [4000, 150];

/** What the keys do, in words. */
export const KEYS = [['n', 'the next hot line'], ['p', 'the hot line before']];

/**
 * @param {HTMLElement} root
 * @param {string} file
 * @param {string[]|null} text null where it is not found
 * @param {{rows: any[], heats: Heat[], heat: Heat}} about
 * @param {Context} context
 */
export function listing(root, file, text, { rows, heats, heat }, context) {
  const { place, note, signal } = context;
  const lines = linesOf(rows, file);
  const hot = hotLines(lines, heat.key);
  const state = { line: Number(place.line) || lineOf(rows, file, place.of, heat.key) };
  if (!text && lines.size === 0) {
    root.append(empty('Nothing was charged to any line of this file.'));
    return;
  }
  const most = Object.fromEntries(heats.map(({ key }) => [key, Math.max(0, ...[...lines.values()].map(({ seconds }) => seconds[key] ?? 0))]));
  const body = element('tbody');
  const rowOf = (/** @type {number} */ number) => body.querySelector(`[data-line="${number}"]`);
  const at = element('span.faint', { role: 'status', 'data-part': 'at' });
  const look = (/** @type {number|undefined} */ number, /** @type {boolean} */ isFirst) => {
    if (!number) return;
    rowOf(state.line)?.removeAttribute('aria-current');
    state.line = number;
    const row = rowOf(number);
    row?.setAttribute('aria-current', 'true');
    row?.scrollIntoView({ block: 'nearest' });
    const place = hot.indexOf(number);
    at.textContent = place >= 0 ? `hot line ${place + 1} of ${hot.length}` : `line ${number}`;
    if (!isFirst) note({ line: String(number) });
  };
  const step = (/** @type {1|-1} */ by) => look(nextHot(hot, state.line, by), false);
  const parts = text ? partsShown(text.length, [...lines.keys(), state.line], MOST, AROUND) : [...lines.keys()].map((line) => [line, line]);
  parts.forEach(([from, to], index) => {
    if (index > 0 && text) body.append(element('tr.gap', null, element('td', { colspan: '6' }, `… lines ${parts[index - 1][1] + 1} to ${from - 1} got nothing`)));
    for (let line = from; line <= to; line++) body.append(lineRow(line, text?.[line - 1], lines.get(line), { most, heats, heat, look }));
  });
  root.append(
    element('div.controls', { hidden: hot.length === 0 },
      element('button', { onclick: () => step(-1), title: 'key p', 'data-part': 'previous' }, '↑ previous hot line'),
      element('button', { onclick: () => step(1), title: 'key n', 'data-part': 'next' }, '↓ next hot line'), at),
    element('div.listing', { tabindex: '0', role: 'region', 'aria-label': `lines of ${file}; n and p go to the next and previous hot line` },
      element('table', null, element('thead', null, element('tr', null, element('th.number', { scope: 'col' }, 'line'),
        ...heats.map(({ short, title, key }) => element('th.number.heat-head', { scope: 'col', title, 'aria-sort': undefined, 'data-heat': key === heat.key || undefined }, short)),
        element('th', { scope: 'col' }, text ? 'text' : 'procedure'))), body)));
  addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches?.('input, select, textarea')) return;
    if (event.key === 'n') step(1);
    if (event.key === 'p') step(-1);
  }, { signal });
  // The view is measured once it stands in the page.
  requestAnimationFrame(() => look(state.line || undefined, true));
}

/**
 * @param {number} number
 * @param {string|undefined} text
 * @param {Line|undefined} line
 * @param {{most: Record<string, number>, heats: Heat[], heat: Heat, look: (number: number, isFirst: boolean) => void}} about
 */
function lineRow(number, text, line, { most, heats, heat, look }) {
  const share = (/** @type {string} */ key) => (line && most[key] > 0 ? (line.seconds[key] ?? 0) / most[key] : 0);
  const row = element('tr', { 'data-line': number, title: line?.procedures.join('\n') },
    element('th.number', { scope: 'row' }, element('button', { onclick: () => look(number, false), 'aria-label': `line ${number}`, tabindex: line ? '0' : '-1' }, String(number))),
    ...heats.map(({ key }) => {
      const seconds = line?.seconds[key] ?? 0;
      const cell = element('td.number.heat-cell', { 'data-key': key }, seconds > 0 ? time(seconds) : '');
      if (seconds > 0) cell.style.setProperty('--share', String(share(key)));
      return cell;
    }),
    element('td.text.code', null, text ?? element('span.faint', null, shorten(line?.procedures.join(', ') ?? '', 90))));
  if (share(heat.key) > 0) row.style.setProperty('--heat', String(Math.sqrt(share(heat.key))));
  return row;
}
