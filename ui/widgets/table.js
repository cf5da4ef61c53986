/** A table of a report: sorted by a click on a column, searched, walked through by keys. Columns explain themselves. */

import { cell } from '../model/quantity.js';
import { arrange } from '../model/table.js';
import { shorten } from '../model/names.js';
import { element } from './element.js';
import { empty } from './panel.js';

/**
 * @typedef {object} TableOptions
 * @property {string[]} columns keys of the columns shown, in this order; those without a value in any row are left out
 * @property {string} [name] key of the column that names the row; it stands first, with the link
 * @property {(row: any) => string|undefined} [href] where a row's name leads
 * @property {(row: any) => any} [label] what stands for the row's name instead of its key's value
 * @property {string} [bar] key of a column that is drawn as a bar behind its number
 * @property {string} [empty] why there are no rows
 * @property {number} [limit] rows shown at first; the rest on demand
 * @property {Record<string, (row: any) => any>} [cells] what is drawn in cells of a column
 */

/**
 * @param {any} report `columns` and `rows`
 * @param {TableOptions} options
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
export function table(report, options, { place, go, note }) {
  const state = { sort: place.sort, find: place.find ?? '', limit: options.limit ?? 100 };
  const body = element('tbody');
  const more = element('p.more');
  const known = new Map(report.columns.map((/** @type {any} */ column) => [column.name, column]));
  const shown = [options.name, ...options.columns]
    .filter((key) => key && known.has(key) && (key === options.name || report.rows.some((/** @type {any} */ row) => row[key] !== undefined)))
    .map((key) => known.get(key));
  const largest = options.bar ? Math.max(...report.rows.map((/** @type {any} */ row) => row[options.bar ?? ''] ?? 0), 0) : 0;

  const search = element('input.search', {
    type: 'search', placeholder: 'search names', value: state.find, 'aria-label': 'search names', 'data-search': true,
    oninput: () => {
      state.find = search.value;
      note({ find: state.find || undefined });
      fill();
    },
  });
  const head = element('tr');
  const drawHead = () => head.replaceChildren(...shown.map((column) => {
    const order = state.sort === column.name ? 'ascending' : state.sort === `-${column.name}` ? 'descending' : undefined;
    return element(isNumber(column) ? 'th.number' : 'th', { 'aria-sort': order, title: column.explanation, scope: 'col' },
      element('button', {
        onclick: () => {
          state.sort = order === 'descending' ? column.name : order === 'ascending' ? undefined
            : isNumber(column) ? `-${column.name}` : column.name;
          note({ sort: state.sort });
          drawHead();
          fill();
        },
      }, column.title || column.name));
  }));
  const fill = () => {
    const rows = arrange(report.rows, { sort: state.sort, find: state.find });
    body.replaceChildren(...rows.slice(0, state.limit).map((row) => element('tr', null, ...shown.map((column) => {
      if (column.name === options.name) return nameCell(row, column);
      const own = options.cells?.[column.name]?.(row);
      const made = element(isNumber(column) ? 'td.number' : 'td', null, own ?? cell(row[column.name], column.unit));
      if (column.name === options.bar && largest > 0) {
        made.classList.add('bar');
        made.style.setProperty('--share', String((row[column.name] ?? 0) / largest));
      }
      return made;
    }))));
    more.replaceChildren();
    if (rows.length === 0) more.append(state.find ? `No name holds “${state.find}”.` : '');
    if (rows.length > state.limit) {
      more.append(`${state.limit} of ${rows.length} rows. `, element('button', {
        onclick: () => {
          state.limit = rows.length;
          fill();
        },
      }, 'Show all'));
    }
  };
  const nameCell = (/** @type {any} */ row, /** @type {any} */ column) => {
    const label = options.label?.(row) ?? row[column.name] ?? '';
    const text = typeof label === 'string' ? shorten(label, 70) : label;
    const href = options.href?.(row);
    const title = typeof label === 'string' ? [label, row.module, row.file].filter(Boolean).join('\n') : undefined;
    return element('th.name', { title, scope: 'row' }, href ? element('a', { href }, text) : text);
  };
  if (report.rows.length === 0) return empty(options.empty ?? 'There is nothing of this kind in the recording.');
  drawHead();
  fill();
  void go;
  return element('div.table', null,
    report.rows.length > 8 && element('div.tools', null, search),
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'table' },
      element('table', null, element('thead', null, head), body)), more);
}

const isNumber = (/** @type {any} */ column) => column.unit !== '' || column.is_number === true || COUNTS.test(column.name);
const COUNTS = /^(rank|count|samples|switches|acquisitions|contended|waits|blocks|tid|pid|line|level)$/;
