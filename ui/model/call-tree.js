/** The tree of call paths, from the rows of `call-tree`: nodes with what was charged to them, callers, and what a search finds. */

/**
 * A call path.
 * @typedef {object} Node
 * @property {Record<string, any>} row
 * @property {Node|undefined} parent
 * @property {Node[]} children the largest first, small paths together last
 * @property {number} depth
 * @property {number} total of the measure, with what was called
 * @property {number} self of the measure
 */

/** What paths are measured by: its key in the URL, its name here, and its key in a row without `_seconds`. */
export const MEASURES = [
  { value: undefined, title: 'CPU', key: 'cpu' },
  { value: 'npt', title: 'NPT', key: 'npt' },
  { value: 'path', title: 'critical path', key: 'critical_path' },
  { value: 'waiting', title: 'waiting for threads', key: 'synchronisation_wait' },
  { value: 'blocked', title: 'all waiting', key: 'wait' },
  { value: 'blame', title: 'waiting caused', key: 'idle_blame' },
];

/**
 * @param {Record<string, any>[]} rows parents before their children
 * @param {string} key of the measure
 * @returns {Node|undefined} the root
 */
export function treeOf(rows, key) {
  /** @type {Map<number, Node>} */
  const nodes = new Map();
  /** @type {Node|undefined} */
  let root;
  for (const row of rows) {
    const parent = row.parent === undefined ? undefined : nodes.get(row.parent);
    /** @type {Node} */
    const node = {
      row, parent, children: [], depth: parent ? parent.depth + 1 : 0,
      total: row[`${key}_inclusive_seconds`] ?? 0, self: row[`${key}_seconds`] ?? 0,
    };
    nodes.set(row.id, node);
    parent?.children.push(node);
    root ??= node;
  }
  const last = (/** @type {Node} */ node) => Number(node.row.kind === 'others');
  for (const node of nodes.values()) node.children.sort((one, other) => last(one) - last(other) || other.total - one.total || one.row.id - other.row.id);
  return root;
}

/** What a path's last step is called. @param {Record<string, any>} row */
export function stepOf(row) {
  if (row.kind === 'others') return row.count === 1 ? '1 small path' : `${row.count ?? 'several'} small paths`;
  return row.procedure ?? (row.kind === 'program' ? 'program' : 'not known');
}

/**
 * The node at the end of a way of names, or the last on the way that there is.
 * @param {Node} root
 * @param {string[]} names below the root
 */
export function nodeAt(root, names) {
  let node = root;
  for (const name of names) {
    const next = node.children.find((child) => stepOf(child.row) === name);
    if (!next) break;
    node = next;
  }
  return node;
}

/** The names that lead to a node from below the root. @param {Node} node @returns {string[]} */
export function wayTo(node) {
  const names = [];
  for (let at = node; at.parent; at = at.parent) names.unshift(stepOf(at.row));
  return names;
}

/**
 * What a search finds: the nodes whose name holds the text, and their time, each path counted once.
 * @param {Node} root
 * @param {string} text
 * @returns {{found: Set<Node>, total: number}}
 */
export function search(root, text) {
  const wanted = text.trim().toLowerCase();
  const found = new Set();
  let total = 0;
  /** @type {[Node, boolean][]} */
  const open = [[root, false]];
  while (wanted !== '' && open.length > 0) {
    const [node, isInside] = /** @type {[Node, boolean]} */ (open.pop());
    const { row } = node;
    const holds = node.parent !== undefined && row.kind !== 'others'
      && [row.procedure, row.module].some((name) => typeof name === 'string' && name.toLowerCase().includes(wanted));
    if (holds) found.add(node);
    if (holds && !isInside) total += node.total;
    for (const child of node.children) open.push([child, isInside || holds]);
  }
  return { found, total };
}

/** Whether a procedure is one of the C library's that stand at the begin of every thread. @param {Node} node */
function isStarter({ row }) {
  const name = row.procedure ?? '';
  return ['_start', 'clone', 'clone3', 'start_thread', 'thread_start'].includes(name) || name.startsWith('__libc_start');
}

/** The nearest caller that is none of them. @param {Node} node @returns {Node|undefined} */
const callerOf = (node) => (node.parent && isStarter(node.parent) ? callerOf(node.parent) : node.parent);

/**
 * Who called a procedure, or started the thread that ran it, by time. Where it called itself, only its first call on a path
 * counts.
 * @param {Node} root
 * @param {string} procedure
 * @returns {Neighbour[]}
 * @typedef {{row: Record<string, any>, name: string, seconds: number, percent: number}} Neighbour
 */
export function callersOf(root, procedure) {
  /** @type {Map<string, {row: any, seconds: number}>} */
  const callers = new Map();
  let total = 0;
  const open = [root];
  while (open.length > 0) {
    const node = /** @type {Node} */ (open.pop());
    if (node.row.procedure !== procedure) {
      open.push(...node.children);
      continue;
    }
    total += node.total;
    const caller = callerOf(node);
    if (!caller) continue;
    const known = callers.get(stepOf(caller.row)) ?? { row: caller.row, seconds: 0 };
    known.seconds += node.total;
    callers.set(stepOf(caller.row), known);
  }
  return [...callers].map(([name, { row, seconds }]) => ({ row, name, seconds, percent: total > 0 ? 100 * seconds / total : 0 }))
    .filter(({ seconds }) => seconds > 0).sort((one, other) => other.seconds - one.seconds);
}
