/** Where the rectangles of a flame graph are: each as wide as its path's share, below its caller, small ones merged. */

/** @typedef {import('./call-tree.js').Node} Node */

/**
 * A rectangle. `left` and `width` are shares of the whole width, `depth` is its level in the picture; `merged` small paths are one
 * rectangle without a node of its own, and `skipped` callers of the zoomed path are one with the last of them.
 * @typedef {{node: Node, left: number, width: number, depth: number, merged: number, skipped: number, total: number}} Rectangle
 */

/** Most rectangles that are drawn. */
export const MOST = 5000;
/** Callers of the zoomed path that have a level of their own, where there are more than one more. */
const CALLERS = 4;

/**
 * @param {Node} zoom the node that is as wide as the graph; what called it stands above it, as wide
 * @param {number} least width that a rectangle needs, as a share of the whole width
 * @param {number} [most]
 * @returns {{rectangles: Rectangle[], depth: number, merged: number}} parents before their children; `merged` is the number of
 *   paths that are too small for a rectangle of their own
 */
export function layout(zoom, least, most = MOST) {
  let result = attempt(zoom, least, most);
  for (let size = Math.max(least, 1e-6); result === null; size *= 2) result = attempt(zoom, size * 2, most);
  return result;
}

/**
 * @param {Node} zoom
 * @param {number} least
 * @param {number} most
 */
function attempt(zoom, least, most) {
  const rectangles = callersAbove(zoom);
  const top = rectangles.length;
  let merged = 0;
  let depth = top;
  /** @type {Rectangle[]} */
  const open = [{ node: zoom, left: 0, width: 1, depth: top, merged: 0, skipped: 0, total: zoom.total }];
  for (let at = 0; at < open.length; at++) {
    const rectangle = open[at];
    rectangles.push(rectangle);
    depth = Math.max(depth, rectangle.depth);
    if (rectangles.length > most) return null;
    if (rectangle.merged > 0) continue;
    const below = childrenOf(rectangle, zoom.total, least);
    merged += below.merged;
    open.push(...below.rectangles);
  }
  return { rectangles, depth: depth + 1, merged };
}

/**
 * The callers of the zoomed path, the first of all first; those that are far from it are one level.
 * @param {Node} zoom
 * @returns {Rectangle[]}
 */
function callersAbove(zoom) {
  const callers = [];
  for (let node = zoom.parent; node; node = node.parent) callers.unshift(node);
  const skipped = callers.length > CALLERS + 2 ? callers.length - CALLERS - 1 : 0;
  const shown = skipped > 0 ? [callers[0], callers[skipped], ...callers.slice(skipped + 1)] : callers;
  return shown.map((node, depth) => ({ node, left: 0, width: 1, depth, merged: 0, skipped: depth === 1 ? skipped : 0, total: node.total }));
}

/**
 * @param {Rectangle} parent
 * @param {number} whole time of the whole width
 * @param {number} least
 */
function childrenOf({ node, left, depth }, whole, least) {
  /** @type {Rectangle[]} */
  const rectangles = [];
  let at = left;
  let [small, count] = [0, 0];
  for (const child of node.children) {
    if (child.total <= 0) continue;
    const width = whole > 0 ? child.total / whole : 0;
    if (width < least) {
      small += child.total;
      count += 1;
      continue;
    }
    rectangles.push({ node: child, left: at, width, depth: depth + 1, merged: 0, skipped: 0, total: child.total });
    at += width;
  }
  const rest = whole > 0 ? small / whole : 0;
  if (count > 0 && rest >= least) rectangles.push({ node, left: at, width: rest, depth: depth + 1, merged: count, skipped: 0, total: small });
  return { rectangles, merged: count };
}

/**
 * The rectangle that a key leads to.
 * @param {Rectangle[]} rectangles
 * @param {number} at index of the one that the key was pressed on
 * @param {'parent'|'child'|'previous'|'next'} step
 * @returns {number} index; the same where there is none
 */
export function neighbour(rectangles, at, step) {
  const from = rectangles[at];
  const middle = from.left + from.width / 2;
  if (step === 'parent' || step === 'child') {
    const depth = from.depth + (step === 'child' ? 1 : -1);
    const level = rectangles.map((one, index) => ({ one, index })).filter(({ one }) => one.depth === depth);
    if (step === 'parent') return level.find(({ one }) => one.left <= middle && middle <= one.left + one.width)?.index ?? at;
    return level.find(({ one }) => one.node.parent === from.node || (one.merged > 0 && one.node === from.node))?.index ?? at;
  }
  const level = rectangles.map((one, index) => ({ one, index })).filter(({ one }) => one.depth === from.depth).sort((a, b) => a.one.left - b.one.left);
  const place = level.findIndex(({ index }) => index === at) + (step === 'next' ? 1 : -1);
  return level[place]?.index ?? at;
}

/**
 * Modules by their own time: each has a tint.
 * @param {Node} root
 * @returns {{module: string, seconds: number, tint: string}[]}
 */
export function modulesOf(root) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  const open = [root];
  while (open.length > 0) {
    const node = /** @type {Node} */ (open.pop());
    const module = node.row.module ?? '';
    if (module !== '') sums.set(module, (sums.get(module) ?? 0) + node.self);
    open.push(...node.children);
  }
  const sorted = [...sums].sort((one, other) => other[1] - one[1]);
  let tint = 0;
  return sorted.map(([module, seconds]) => ({ module, seconds, tint: module === '[kernel]' ? 'kernel' : tint < 6 ? String(tint++) : 'rest' }));
}
