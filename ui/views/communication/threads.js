/** Who fetches what from whom: the matrix of threads (part of the view `communication`). */

import { threadMatrix } from '../../model/communication.js';
import { shorten } from '../../model/names.js';
import { count, percent, time } from '../../model/quantity.js';
import { element } from '../../widgets/element.js';
import { empty } from '../../widgets/panel.js';

/** @typedef {import('../../main.js').Context} Context */

/** Threads of a side for whose numbers there is room; of more, cells are shades that name themselves. */
const WIDE = 10;

/**
 * @param {HTMLElement} root
 * @param {any} report `communication` by thread
 * @param {Context} context
 */
export function drawThreads(root, report, context) {
  const { link } = context;
  const names = report.simulation.threads.map((/** @type {any} */ one) => one.thread);
  const matrix = threadMatrix(report.rows, names);
  root.append(element('h2', null, 'Who fetches from whom'));
  if (matrix.readers.length === 0) {
    root.append(empty('No thread fetched what another one had written.'));
    return;
  }
  const isSmall = matrix.writers.length > WIDE;
  const short = (/** @type {string} */ name) => (isSmall ? (/#\d+$/.exec(name)?.[0] ?? shorten(name, 6)) : shorten(name, 18));
  const stop = report.rows.find((/** @type {any} */ row) => row.writer);
  const cell = (/** @type {string} */ reader, /** @type {string} */ writer) => {
    const row = matrix.at(reader, writer);
    if (!row) return element('td.number.faint', null, reader === writer ? '' : '·');
    const text = `${reader} fetched ${count(row.transfers)} times what ${writer} had written: ${time(row.request_seconds)}, ${percent(row.percent)} of all transfers' cost`;
    return element('td.number.heat', { style: { '--share': String(row.percent / matrix.largest) } }, element('a', {
      href: link({ by: 'thread', explain: String(row.rank) }), tabindex: row === stop ? '0' : '-1', title: text, 'aria-label': text, 'data-pair': `${reader} ← ${writer}`, 'data-transfers': row.transfers,
    }, isSmall ? '■' : count(row.transfers)));
  };
  root.append(
    element('p.faint', null, 'Transfers of the thread at the left for what the thread above had written; the stronger the shade, the more of the cost. One with writes of several threads behind it counts for each. Arrow keys go from pair to pair.'),
    element('div', { 'data-part': 'matrix' }, element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'who fetches from whom' },
      element(isSmall ? 'table.is-small' : 'table', null,
        element('thead', null, element('tr', null, element('th', { scope: 'col' }, 'fetched ↓ written →'), ...matrix.writers.map((name) => element('th.number.code', { scope: 'col', title: name }, short(name))))),
        element('tbody', { onkeydown: walk }, ...matrix.readers.map((reader) => element('tr', null, element('th.code', { scope: 'row', title: reader }, short(reader)), ...matrix.writers.map((writer) => cell(reader, writer)))))))));
}

/** Arrow keys go to the next pair of the row or the column; only one pair is a stop of the tabulator. @param {KeyboardEvent} event */
function walk(event) {
  const [down, right] = /** @type {Record<string, [number, number]>} */ ({ ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] })[event.key] ?? [0, 0];
  const from = /** @type {HTMLElement} */ (event.target).closest('td');
  const rows = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('tr')];
  if (!from || (down === 0 && right === 0)) return;
  const row = rows.findIndex((one) => one.contains(from));
  const column = [...rows[row].children].indexOf(from);
  for (let step = 1; ; step++) {
    const cell = rows[row + step * down]?.children[column + step * right];
    if (!cell) return;
    const pair = cell.querySelector('a');
    if (!pair) continue;
    event.preventDefault();
    for (const one of rows.flatMap((each) => [...each.querySelectorAll('a[tabindex="0"]')])) one.setAttribute('tabindex', '-1');
    pair.setAttribute('tabindex', '0');
    pair.focus();
    return;
  }
}
