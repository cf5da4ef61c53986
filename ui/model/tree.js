/** The tree of program, machines, processes, threads and procedures: which rows of it are seen, and in which order. */

import { arrange } from './table.js';

/** Kinds of rows from the root down; a report lists each row behind its parent. */
const KINDS = ['program', 'machine', 'process', 'thread', 'procedure'];

/**
 * @typedef {object} Node
 * @property {string} id the same in every answer about the recording
 * @property {number} depth 0 at the root
 * @property {any} row
 * @property {Node|null} parent
 * @property {Node[]} children
 */

/**
 * @param {any[]} rows of the view tree, parents before their children
 * @returns {Node[]} all nodes, in the same order
 */
export function treeOf(rows) {
  /** @type {Node[]} the last node of each depth */
  const last = [];
  return rows.map((row) => {
    const depth = row.depth ?? Math.max(0, KINDS.indexOf(row.kind));
    const parent = last.slice(0, depth).reverse().find(Boolean) ?? null;
    const node = { id: idOf(row), depth, row, parent, children: [] };
    parent?.children.push(node);
    last.length = depth;
    last[depth] = node;
    return node;
  });
}

/** @param {any} row */
function idOf(row) {
  const own = { machine: row.machine, process: row.pid, thread: row.tid, procedure: `${row.procedure}@${row.module ?? ''}@${row.file ?? ''}` };
  const above = [row.machine, row.pid, row.tid].filter((part) => part !== undefined);
  return row.kind === 'procedure' ? `${above.join('/')}/${own.procedure}` : [row.kind, ...above].join('/');
}

/**
 * What a row is called.
 * @param {any} row
 */
export function labelOf(row) {
  switch (row.kind) {
    case 'machine': return row.machine;
    case 'process': return `${row.process} [${row.pid}]`;
    case 'thread': return `${row.thread} #${row.tid}`;
    case 'procedure': return row.procedure;
    default: return 'whole program';
  }
}

/** Rows that are few enough to be shown all at first. */
const FEW = 60;

/**
 * Whether nodes are open before anyone opened or closed one: all where there are few, else down to the threads.
 * @param {Node[]} nodes
 * @returns {(node: Node) => boolean}
 */
export const openAtFirst = (nodes) => (node) => nodes.length <= FEW || !['thread', 'procedure'].includes(node.row.kind);

/**
 * How the tree is looked at.
 * @typedef {object} Look
 * @property {(node: Node) => boolean} isOpen
 * @property {string} [find] names; what holds it is shown with everything above it
 * @property {string} [sort] a column, `-` before it for falling order, within each parent
 */

/**
 * The rows that are seen, from above to below.
 * @param {Node[]} nodes
 * @param {Look} look
 * @returns {Node[]}
 */
export function visible(nodes, { isOpen, find, sort }) {
  const wanted = (find ?? '').trim().toLowerCase();
  /** @type {Set<Node>|null} */
  const kept = wanted === '' ? null : keptBy(nodes, wanted);
  /** @type {Node[]} */
  const seen = [];
  const walk = (/** @type {Node[]} */ siblings) => {
    for (const node of inOrder(siblings, sort)) {
      if (kept && !kept.has(node)) continue;
      seen.push(node);
      if (kept ? node.children.some((/** @type {Node} */ child) => kept.has(child)) : isOpen(node)) walk(node.children);
    }
  };
  walk(nodes.filter((node) => !node.parent));
  return seen;
}

/** @param {Node[]} nodes @param {string} wanted @returns {Set<Node>} those that hold it, and all above them */
function keptBy(nodes, wanted) {
  /** @type {Set<Node>} */
  const kept = new Set();
  for (const found of nodes) {
    const holds = [labelOf(found.row), found.row.kind === 'procedure' ? found.row.module ?? '' : ''].some((text) => text.toLowerCase().includes(wanted));
    for (let node = holds ? /** @type {Node|null} */ (found) : null; node && !kept.has(node); node = node.parent) kept.add(node);
  }
  return kept;
}

/** @param {Node[]} siblings @param {string|undefined} sort */
function inOrder(siblings, sort) {
  if (!sort) return siblings;
  return arrange(siblings.map((node) => ({ ...node.row, name: labelOf(node.row), node })), { sort }).map(({ node }) => node);
}

/**
 * Where a key leads from a row.
 * @param {Node[]} seen
 * @param {number} at index in `seen`
 * @param {string} key as events name it
 * @param {(node: Node) => boolean} isOpen
 * @returns {{to: number}|{open: Node}|{close: Node}|null} null for keys that do nothing here
 */
export function step(seen, at, key, isOpen) {
  const node = seen[at];
  switch (key) {
    case 'ArrowDown': return { to: Math.min(seen.length - 1, at + 1) };
    case 'ArrowUp': return { to: Math.max(0, at - 1) };
    case 'PageDown': return { to: Math.min(seen.length - 1, at + 15) };
    case 'PageUp': return { to: Math.max(0, at - 15) };
    case 'Home': return { to: 0 };
    case 'End': return { to: seen.length - 1 };
    case 'ArrowRight':
      if (node.children.length === 0) return null;
      return isOpen(node) ? { to: Math.min(seen.length - 1, at + 1) } : { open: node };
    case 'ArrowLeft':
      if (node.children.length > 0 && isOpen(node)) return { close: node };
      return node.parent ? { to: seen.indexOf(node.parent) } : null;
    default: return null;
  }
}
