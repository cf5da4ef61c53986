/** A flame graph: a rectangle for each call path, walked through by keys. Drawn anew at each change of its width or zoom. */

import { stepOf } from '../model/call-tree.js';
import { layout, modulesOf, neighbour } from '../model/flame.js';
import { shorten } from '../model/names.js';
import { percent, time } from '../model/quantity.js';
import { element } from './element.js';

/** @typedef {import('../model/call-tree.js').Node} Node */
/** @typedef {import('../model/flame.js').Rectangle} Rectangle */

/** Height of a level, width of a letter, and the width below which a rectangle is merged with others, in pixels. */
const [LEVEL, LETTER, LEAST] = [19, 7.1, 0.5];

/** What the keys do, in words. */
export const KEYS = [
  ['↑ ↓', 'who called, what it called'], ['← →', 'its neighbours'], ['enter', 'as wide as the graph'], ['esc', 'one step out'], ['home', 'everything'],
];

/** @type {Record<string, 'parent'|'child'|'previous'|'next'>} */
const STEPS = { ArrowUp: 'parent', ArrowDown: 'child', ArrowLeft: 'previous', ArrowRight: 'next' };
/** @type {typeof STEPS} */
const UPWARD = { ...STEPS, ArrowUp: 'child', ArrowDown: 'parent' };

/**
 * @param {Node} tree
 * @param {{signal: AbortSignal, isUpward: boolean, total: number, title: string, onZoom: (node: Node) => void, onLook: (rectangle: Rectangle) => void}} options
 * @returns {{root: HTMLElement, draw: (zoom: Node, found: Set<Node>) => void}}
 */
export function flame(tree, options) {
  const modules = modulesOf(tree);
  const tints = new Map(modules.map(({ module, tint }) => [module, tint]));
  const field = element('div.flame', { role: 'tree', 'aria-label': `call paths by ${options.title}; arrow keys walk, Enter zooms` });
  const rest = element('p.more', { 'data-part': 'merged' });
  /** @type {{zoom: Node, found: Set<Node>, rectangles: Rectangle[], width: number, at: number}} */
  const state = { zoom: tree, found: new Set(), rectangles: [], width: 0, at: 0 };

  const draw = () => {
    state.width = field.clientWidth || 1000;
    const { rectangles, depth, merged } = layout(state.zoom, LEAST / state.width);
    state.rectangles = rectangles;
    state.at = Math.max(0, rectangles.findIndex(({ node, merged: small }) => node === state.zoom && small === 0));
    field.style.setProperty('height', `${depth * LEVEL}px`);
    field.replaceChildren(...rectangles.map((one, at) => boxOf(one, at, depth)));
    rest.textContent = merged > 0 ? `${merged} paths narrower than half a pixel are merged with their neighbours.` : '';
    options.onLook(rectangles[state.at]);
  };
  const boxOf = (/** @type {Rectangle} */ one, /** @type {number} */ at, /** @type {number} */ depth) => {
    const name = one.merged > 0 ? `${one.merged} small paths` : one.skipped > 0 ? `… ${one.skipped} callers` : stepOf(one.node.row);
    const room = Math.floor((one.width * state.width - 6) / LETTER);
    const isFound = one.merged === 0 && state.found.has(one.node);
    const level = options.isUpward ? depth - 1 - one.depth : one.depth;
    const box = element('div.box', {
      role: 'treeitem', tabindex: at === state.at ? '0' : '-1', 'aria-level': one.depth + 1, 'data-box': name, 'data-at': at, 'data-found': isFound || undefined,
      'aria-label': `${name}, ${percent(100 * one.total / options.total)}`, title: `${name}\n${time(one.total)}, ${percent(100 * one.total / options.total)}`,
      'data-tint': one.merged > 0 || one.node.row.kind === 'others' ? 'rest' : tints.get(one.node.row.module ?? '') ?? 'rest',
    }, room >= 3 ? shorten(name, room) : '');
    box.style.setProperty('left', `${100 * one.left}%`);
    box.style.setProperty('width', `${100 * one.width}%`);
    box.style.setProperty('top', `${level * LEVEL}px`);
    if (isFound) box.classList.add('is-found');
    return box;
  };
  listen(field, state, options);
  watchWidth(field, state, draw, options.signal);
  const frame = element('div.flame-frame', null, field);
  const root = element('div', null, legend(modules), frame, rest);
  return {
    root,
    draw: (zoom, found) => {
      const hadFocus = field.contains(document.activeElement);
      Object.assign(state, { zoom, found });
      draw();
      if (options.isUpward) frame.scrollTop = frame.scrollHeight;
      if (zoom !== tree) field.children[state.at]?.scrollIntoView({ block: 'nearest' });
      if (hadFocus) /** @type {HTMLElement|undefined} */ (field.children[state.at])?.focus();
    },
  };
}

/**
 * @param {HTMLElement} field
 * @param {{rectangles: Rectangle[], at: number}} state
 * @param {{isUpward: boolean, onZoom: (node: Node) => void, onLook: (rectangle: Rectangle) => void}} options
 */
function listen(field, state, options) {
  const atOf = (/** @type {Event} */ event) => Number(/** @type {HTMLElement} */ (event.target).dataset?.at ?? -1);
  const zoom = (/** @type {number} */ at) => {
    const one = state.rectangles[at];
    if (one && one.merged === 0) options.onZoom(one.node);
  };
  const chosen = (/** @type {number} */ at) => {
    if (!state.rectangles[at]) return;
    field.children[state.at]?.setAttribute('tabindex', '-1');
    state.at = at;
    field.children[at].setAttribute('tabindex', '0');
    options.onLook(state.rectangles[at]);
  };
  field.addEventListener('click', (event) => zoom(atOf(event)));
  field.addEventListener('focusin', (event) => chosen(atOf(event)));
  field.addEventListener('pointerover', (event) => {
    const one = state.rectangles[atOf(event)];
    if (one) options.onLook(one);
  });
  // What one only passed over is forgotten: the links of the chosen path can be reached.
  field.addEventListener('pointerleave', () => options.onLook(state.rectangles[state.at]));
  field.addEventListener('keydown', (event) => {
    const step = (options.isUpward ? UPWARD : STEPS)[event.key];
    if (step) chosenByKey(field, neighbour(state.rectangles, state.at, step));
    else if (event.key === 'Enter' || event.key === ' ') zoom(state.at);
    else if (event.key === 'Escape') zoom(Math.max(0, neighbour(state.rectangles, state.at, 'parent')));
    else if (event.key === 'Home') zoom(0);
    else return;
    event.preventDefault();
  });
}

/** @param {HTMLElement} field @param {number} at */
const chosenByKey = (field, at) => /** @type {HTMLElement|undefined} */ (field.children[at])?.focus();

/**
 * @param {HTMLElement} field
 * @param {{width: number}} state
 * @param {() => void} draw
 * @param {AbortSignal} signal
 */
function watchWidth(field, state, draw, signal) {
  const watcher = new ResizeObserver(() => {
    if (field.clientWidth > 0 && field.clientWidth !== state.width) draw();
  });
  watcher.observe(field);
  signal.addEventListener('abort', () => watcher.disconnect(), { once: true });
}

/** @param {{module: string, seconds: number, tint: string}[]} modules */
function legend(modules) {
  const named = modules.filter(({ tint, seconds }) => tint !== 'rest' && seconds > 0);
  return element('div.modules', { 'data-part': 'legend' }, ...named.map(({ module, tint }) =>
    element('span', { title: module }, element('span.chip', { 'data-tint': tint, 'aria-hidden': 'true' }), ' ', element('span.code', null, shorten(module, 32)))));
}
