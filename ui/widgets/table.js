/**
 * A table of a report: sorted by a click on a column, searched, walked through by keys. Columns explain themselves, and
 * lead to their entry of the help.
 */

import { cell } from '../model/quantity.js';
import { arrange, isNumber } from '../model/table.js';
import { nameOf, shorten } from '../model/names.js';
import { element } from './element.js';
import { linksOf } from './links.js';
import { empty } from './panel.js';

/**
 * @typedef {object} TableOptions
 * @property {string[]} columns keys of the columns shown, in this order; those without a value in any row are left out
 * @property {string} [name] key of the column that names the row; it stands first, with the link
 * @property {(row: any) => string|undefined} [href] where a row's name leads
 * @property {(row: any) => any} [label] what stands for the row's name instead of its key's value
 * @property {string|string[]} [bar] keys of columns that are drawn as bars behind their numbers, all on one scale: columns of one unit
 * @property {string} [empty] why there are no rows
 * @property {number} [limit] rows shown at first; the rest on demand
 * @property {Record<string, (row: any) => any>} [cells] what is drawn in cells of a column; a key that is no column of the
 *   report makes a column of its own
 * @property {Record<string, string>} [titles] titles of columns, where the report's do not say enough here
 * @property {string} [own] what `sort` and `find` of this table begin with in the URL, where a view has several tables
 * @property {boolean} [links] whether names have the menu of where to look further
 * @property {string} [caption] what the table is, for those who do not see what is around it
 */

/** @typedef {{name: string, unit: string, title: string, explanation?: string, is_number?: boolean}} Column */

/**
 * @param {any} report `columns` and `rows`
 * @param {TableOptions} options
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
export function table(report, options, context) {
  if (report.rows.length === 0) return empty(options.empty ?? 'There is nothing of this kind in the recording.');
  const { place, note } = context;
  const [sortKey, findKey] = ['sort', 'find'].map((key) => (options.own ? `${options.own}-${key}` : key));
  const state = { sort: place[sortKey], find: place[findKey] ?? '', limit: options.limit ?? 100 };
  const columns = shownColumns(report, options);
  const cells = cellsOf(report, options, context);
  const body = element('tbody', { onkeydown: walk });
  const more = element('p.more', { 'aria-live': 'polite' });
  const search = searchBox(state.find, (text) => {
    state.find = text;
    note({ [findKey]: text || undefined });
    fill();
  });
  const head = element('tr');
  const fill = () => {
    const rows = arrange(report.rows, { sort: state.sort, find: state.find });
    body.replaceChildren(...rows.slice(0, state.limit).map((row) => element('tr', { 'data-row': nameOf(row) }, ...columns.map((column) => cells(row, column)))));
    more.replaceChildren();
    if (rows.length === 0) more.append(`No name holds “${state.find}”.`);
    if (rows.length > state.limit) {
      more.append(`${state.limit} of ${rows.length} rows. `, element('button', {
        onclick: () => {
          state.limit = rows.length;
          fill();
        },
      }, 'Show all'));
    }
  };
  const drawHead = () => head.replaceChildren(...columns.map((column) => headCell(column, state.sort, context, options, (sort) => {
    state.sort = sort;
    note({ [sortKey]: sort });
    drawHead();
    fill();
    /** @type {HTMLElement|null} */ (head.querySelector(`[data-column="${column.name}"] button`))?.focus();
  })));
  drawHead();
  fill();
  return element('div.table', { 'data-part': 'table' },
    report.rows.length > 8 && element('div.tools', null, search),
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': options.caption ?? 'table' },
      element('table', null, element('thead', null, head), body)), more);
}

/**
 * @param {string} value
 * @param {(text: string) => void} changed
 */
export function searchBox(value, changed) {
  const box = element('input.search', {
    type: 'search', placeholder: 'search names', title: 'search names here (key f)', value, 'aria-label': 'search names here', 'data-search': true,
    oninput: () => changed(box.value),
  });
  return box;
}

/**
 * @param {any} report
 * @param {TableOptions} options
 * @returns {Column[]}
 */
function shownColumns(report, options) {
  /** @type {Map<string, Column>} */
  const known = new Map(report.columns.map((/** @type {Column} */ column) => [column.name, column]));
  const keys = [options.name, ...options.columns.filter((key) => key !== options.name)];
  return keys.flatMap((key) => {
    if (!key) return [];
    const title = options.titles?.[key];
    const column = known.get(key) ?? (options.cells?.[key] ? { name: key, unit: '', title: title ?? '' } : undefined);
    const isShown = column && (key === options.name || options.cells?.[key] || report.rows.some((/** @type {any} */ row) => row[key] !== undefined && row[key] !== null));
    return isShown ? [{ ...column, title: title ?? column.title ?? column.name }] : [];
  });
}

/**
 * @param {Column} column
 * @param {string|undefined} sort
 * @param {import('../main.js').Context} context
 * @param {TableOptions} options
 * @param {(sort: string|undefined) => void} changed
 */
function headCell(column, sort, { link }, options, changed) {
  const order = sort === column.name ? 'ascending' : sort === `-${column.name}` ? 'descending' : undefined;
  const falls = isNumber(column);
  const next = order === undefined ? (falls ? `-${column.name}` : column.name)
    : (order === 'descending') === falls ? (falls ? column.name : `-${column.name}`) : undefined;
  const isOwn = options.cells?.[column.name] && !column.explanation && column.unit === '';
  return element(falls ? 'th.number' : 'th', { 'aria-sort': order, title: column.explanation, scope: 'col', 'data-column': column.name },
    isOwn && !options.titles?.[column.name] ? column.title : element('button', { onclick: () => changed(next) }, column.title),
    column.explanation && element('a.explain', {
      href: link({ view: 'help', of: column.name }), 'aria-label': `what ${column.title} means`, title: column.explanation,
    }, '?'));
}

/**
 * @param {any} report
 * @param {TableOptions} options
 * @param {import('../main.js').Context} context
 * @returns {(row: any, column: Column) => HTMLElement} draws a cell
 */
function cellsOf(report, options, context) {
  const keys = [options.bar ?? []].flat();
  // All bars of a table have one scale, so that they can be compared.
  const largest = report.rows.reduce((/** @type {number} */ most, /** @type {any} */ row) => Math.max(most, ...keys.map((key) => row[key] ?? 0)), 0);
  return (row, column) => {
    if (column.name === options.name) return nameCell(row, column, options, context);
    const own = options.cells?.[column.name]?.(row);
    const made = element(isNumber(column) ? 'td.number' : 'td', { 'data-cell': column.name }, own ?? cell(row[column.name], column.unit));
    if (largest > 0 && keys.includes(column.name)) {
      made.classList.add('bar');
      made.style.setProperty('--share', String((row[column.name] ?? 0) / largest));
    }
    return made;
  };
}

/**
 * @param {any} row
 * @param {Column} column
 * @param {TableOptions} options
 * @param {import('../main.js').Context} context
 */
function nameCell(row, column, options, context) {
  const label = options.label?.(row) ?? row[column.name] ?? '';
  const text = typeof label === 'string' ? shorten(label, 70) : label;
  const href = options.href?.(row);
  const title = typeof label === 'string' ? [label, row.module, row.file].filter(Boolean).join('\n') : undefined;
  return element('th.name', { title, scope: 'row' }, href ? element('a', { href }, text) : text, options.links ? linksOf(row, context) : null);
}

/** Up and down go to the same link or button of the next row. @param {KeyboardEvent} event */
function walk(event) {
  const step = /** @type {Record<string, 'nextElementSibling'|'previousElementSibling'>} */ ({ ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' })[event.key];
  const target = /** @type {HTMLElement} */ (event.target);
  if (!step || target.matches('input, select')) return;
  const row = target.closest('tr');
  const places = (/** @type {Element|null|undefined} */ row) => /** @type {HTMLElement[]} */ ([...(row?.querySelectorAll('a, button') ?? [])]);
  const next = places(row?.[step]);
  if (next.length === 0) return;
  event.preventDefault();
  next[Math.min(Math.max(places(row).indexOf(target), 0), next.length - 1)].focus();
}
