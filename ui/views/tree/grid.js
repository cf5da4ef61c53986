/** The tree as a grid that keys walk through. */

import { cell } from '../../model/quantity.js';
import { leadsOf } from '../../model/links.js';
import { nodeOfRow } from '../../model/metrics.js';
import { shorten } from '../../model/names.js';
import { labelOf, openAtFirst, step, visible } from '../../model/tree.js';
import { element } from '../../widgets/element.js';
import { linksOf } from '../../widgets/links.js';
import { searchBox } from '../../widgets/table.js';
import { definitions } from '../../widgets/definitions.js';
import { chooser, chosenOf, othersOf } from './columns.js';
import { Figures } from './figures.js';

/** Rows drawn at once; more when the end of them comes into sight. */
const STEP = 250;

/** @typedef {import('../../model/tree.js').Node} Node */

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {Node[]} nodes
 * @param {import('../../widgets/catalogue.js').Catalogue} catalogue
 * @param {import('../../main.js').Context} context
 */
export function drawTree(root, report, nodes, catalogue, context) {
  const { place, note } = context;
  const state = { find: place.find ?? '', sort: place.sort, open: new Set(place.open ?? []), metric: place.metric, at: '' };
  const [head, body, more] = [element('tr', { role: 'row' }), element('tbody', { role: 'rowgroup' }), element('p.more', { 'aria-live': 'polite' })];
  const atFirst = openAtFirst(nodes);
  const isOpen = (/** @type {Node} */ node) => {
    const unchanged = state.open.has('all') ? true : state.open.has('none') ? false : atFirst(node);
    return state.open.has(node.id) ? !unchanged : unchanged;
  };
  // An exported file has the tree's own metrics.
  const others = context.recording.is_export ? [] : othersOf(catalogue, report);
  const figures = new Figures(context, catalogue, nodes, () => {
    const hadFocus = body.contains(document.activeElement);
    fill();
    if (hadFocus) focus();
  });
  /** @type {Node[]} */
  let seen = [];
  /** @type {(node: Node) => HTMLElement} draws a row as the grid is looked at now */
  let drawn;
  const fill = () => {
    const columns = chosenOf(report, others, state.metric);
    seen = visible(nodes, { isOpen, find: state.find, sort: state.sort });
    const searched = state.find.trim() !== '';
    const scale = scaleOf(report.rows, columns);
    if (!seen.some((node) => node.id === state.at)) state.at = seen[0]?.id ?? '';
    drawHead(head, columns, state.sort, context, (sort) => {
      state.sort = sort;
      note({ sort });
      fill();
    });
    drawn = (/** @type {Node} */ node) => drawRow(node, columns, scale, {
      isOpen: searched ? node.children.length > 0 : isOpen(node), isHere: node.id === state.at, toggle: () => toggle(node), figures,
    }, context);
    // As many as were in sight before, and all down to the row that keys are at.
    const least = Math.max(STEP, body.children.length, seen.findIndex((node) => node.id === state.at) + 1);
    body.replaceChildren(...seen.slice(0, least).map(drawn));
    tellRest();
    figures.want(columns);
    if (figures.isBusy) body.setAttribute('aria-busy', 'true');
    else body.removeAttribute('aria-busy');
  };
  const tellRest = () => {
    const rest = seen.length - body.children.length;
    more.replaceChildren(seen.length === 0 ? `No name holds “${state.find}”.` : rest > 0 ? `${rest} more rows` : '');
  };
  const drawMore = () => {
    if (body.children.length >= seen.length) return;
    body.append(...seen.slice(body.children.length, body.children.length + STEP).map(drawn));
    tellRest();
  };
  const toggle = (/** @type {Node} */ node) => {
    if (!state.open.delete(node.id)) state.open.add(node.id);
    note({ open: [...state.open] });
    state.at = node.id;
    fill();
    focus();
  };
  const openAll = (/** @type {'all'|'none'} */ which) => {
    state.open = new Set([which]);
    note({ open: [which] });
    fill();
  };
  const focus = () => {
    const row = /** @type {HTMLElement|undefined} */ (body.children[seen.findIndex((node) => node.id === state.at)]);
    for (const other of body.children) /** @type {HTMLElement} */ (other).tabIndex = other === row ? 0 : -1;
    row?.focus();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const row = /** @type {HTMLElement} */ (event.target);
    if (row.parentElement !== body || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = [...body.children].indexOf(row);
    if (event.key === 'Enter') return /** @type {HTMLElement|null} */ (row.querySelector('a'))?.click();
    const move = event.key === ' ' && seen[at].children.length > 0 ? { open: seen[at] } : step(seen.slice(0, body.children.length), at, event.key, isOpen);
    if (!move) return;
    event.preventDefault();
    if ('to' in move) {
      state.at = seen[move.to].id;
      focus();
    } else if (state.find.trim() === '') toggle('open' in move ? move.open : move.close);
  };
  const search = searchBox(state.find, (text) => {
    state.find = text;
    note({ find: text || undefined });
    fill();
  });
  root.append(
    element('div.controls', null, search,
      element('button', { type: 'button', onclick: () => openAll('all') }, 'Open all'), element('button', { type: 'button', onclick: () => openAll('none') }, 'Close all'),
      chooser(report, others, chosenOf(report, others, state.metric).map(({ name }) => name), (names) => {
        state.metric = names.join(',') || undefined;
        note({ metric: state.metric });
        fill();
      })),
    definitions(context, catalogue, [], (name) => ({ metric: [...chosenOf(report, others, state.metric).map((column) => column.name), name].join(',') })),
    element('div.scroll', null, element('table.tree', { role: 'treegrid', 'aria-label': 'program, machines, processes, threads, procedures', onkeydown: press },
      element('thead', { role: 'rowgroup' }, head), body)), more);
  fill();
  const end = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && drawMore(), { rootMargin: '600px' });
  end.observe(more);
  context.signal.addEventListener('abort', () => end.disconnect(), { once: true });
}

/**
 * The largest value of a thread or procedure in each unit, so that columns of one unit can be compared.
 * @param {any[]} rows
 * @param {{name: string, unit: string}[]} columns
 * @returns {Map<string, number>}
 */
function scaleOf(rows, columns) {
  const scale = new Map();
  for (const { name, unit } of columns) {
    for (const row of rows) if (row.thread) scale.set(unit, Math.max(scale.get(unit) ?? 0, row[name] ?? 0));
  }
  return scale;
}

/**
 * @param {HTMLElement} root
 * @param {any[]} columns
 * @param {string|undefined} sort
 * @param {import('../../main.js').Context} context
 * @param {(sort: string|undefined) => void} changed
 */
function drawHead(root, columns, sort, { link }, changed) {
  const sorted = (/** @type {string} */ name) => (sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined);
  const next = (/** @type {string} */ name) => (sort === `-${name}` ? name : sort === name ? undefined : `-${name}`);
  const held = /** @type {HTMLElement|null} */ (document.activeElement)?.closest('th')?.dataset.column;
  root.replaceChildren(
    element('th', { role: 'columnheader', scope: 'col', 'aria-sort': sorted('name'), 'data-column': 'name' },
      element('button', { onclick: () => changed(sort === 'name' ? undefined : 'name') }, 'Name')),
    ...columns.map(({ name, title, explanation }) => element('th.number', { role: 'columnheader', scope: 'col', title: explanation, 'aria-sort': sorted(name), 'data-column': name },
      element('button', { onclick: () => changed(next(name)) }, title),
      element('a.explain', { href: link({ view: 'help', of: name }), 'aria-label': `what ${title} means` }, '?'))));
  if (held) /** @type {HTMLElement|null} */ (root.querySelector(`[data-column="${held}"] button`))?.focus();
}

/**
 * @param {Node} node
 * @param {any[]} columns
 * @param {Map<string, number>} scale
 * @param {{isOpen: boolean, isHere: boolean, toggle: () => void, figures: Figures}} state
 * @param {import('../../main.js').Context} context
 */
function drawRow(node, columns, scale, { isOpen, isHere, toggle, figures }, context) {
  const { row, depth, children, parent } = node;
  const [label, lead] = [labelOf(row), leadsOf(row)[0]];
  const siblings = parent?.children ?? [node];
  const name = element(lead ? 'a' : 'span', { href: lead && context.link(lead.change), tabindex: lead ? -1 : undefined }, shorten(label, 60));
  const mark = element('span.fold', { 'aria-hidden': 'true', onclick: children.length > 0 ? toggle : undefined }, children.length === 0 ? '' : isOpen ? '▾' : '▸');
  return element(`tr.is-${row.kind}`, {
    role: 'row', tabindex: isHere ? 0 : -1, 'aria-level': depth + 1, 'aria-expanded': children.length > 0 ? String(isOpen) : undefined,
    'aria-setsize': siblings.length, 'aria-posinset': siblings.indexOf(node) + 1, 'data-row': label, 'data-kind': row.kind,
  },
  element('th.name', { role: 'rowheader', title: [label, row.module, row.file].filter(Boolean).join('\n'), style: { '--depth': String(depth) } },
    mark, element('span.kind', null, row.kind === 'procedure' ? '' : row.kind), name, linksOf(row, context)),
  ...columns.map((column) => {
    const { name: key, unit, isAsked } = column;
    if (isAsked) {
      const { text, isValue, title } = figures.cell(node, column);
      return element('td.number', { role: 'gridcell', 'data-cell': key, title }, isValue ? element('a', { href: context.link({ view: 'timeline', curves: [`${key}@${nodeOfRow(row)}`] }), tabindex: -1 }, text) : element('span.faint', null, text));
    }
    const most = scale.get(unit) ?? 0;
    return element('td.number.bar', { role: 'gridcell', 'data-cell': key, style: { '--share': String(most > 0 ? Math.min(1, (row[key] ?? 0) / most) : 0) } }, row[key] === 0 ? element('span.faint', null, '0') : cell(row[key], unit));
  }));
}
