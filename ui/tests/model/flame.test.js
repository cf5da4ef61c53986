import assert from 'node:assert/strict';
import test from 'node:test';

import { callersOf, nodeAt, search, treeOf, wayTo } from '../../model/call-tree.js';
import { layout, modulesOf, neighbour } from '../../model/flame.js';

const row = (id, parent, procedure, inclusive, self, more = {}) => ({
  id, ...(parent === undefined ? { kind: 'program' } : { parent }), ...(procedure ? { procedure } : {}), module: 'm',
  cpu_inclusive_seconds: inclusive, cpu_seconds: self, ...more,
});
const ROWS = [
  row(0, undefined, undefined, 100, 0), row(1, 0, 'main', 100, 10), row(2, 1, 'a', 30, 30), row(3, 1, 'b', 59, 9), row(4, 3, 'a', 50, 40),
  row(5, 4, 'a', 10, 10, { module: 'libz' }), row(6, 1, undefined, 1, 1, { kind: 'others', count: 7 }),
];
const tree = () => treeOf(ROWS, 'cpu');

/** A tree made at random, with sums that are exact. */
function random(seed) {
  let state = seed;
  const next = (most) => (state = (state * 1103515245 + 12345) % 2147483648) % most;
  const rows = [row(0, undefined, undefined, 0, 0)];
  for (let id = 1; id < 400; id++) rows.push(row(id, next(id), `p${next(40)}`, 0, next(100)));
  for (let id = rows.length - 1; id >= 0; id--) {
    rows[id].cpu_inclusive_seconds += rows[id].cpu_seconds;
    if (rows[id].parent !== undefined) rows[rows[id].parent].cpu_inclusive_seconds += rows[id].cpu_inclusive_seconds;
  }
  return treeOf(rows, 'cpu');
}

test('children stand in the order of their time, small paths together last', () => {
  assert.deepEqual(tree().children[0].children.map((node) => node.row.id), [3, 2, 6]);
});

test('rectangles lie within their parents and beside each other', () => {
  for (const seed of [1, 2, 3]) {
    const { rectangles } = layout(random(seed), 0.002);
    for (const one of rectangles) {
      const parent = rectangles.find((other) => other.merged === 0 && other.node === (one.merged > 0 ? one.node : one.node.parent));
      if (one.depth === 0) continue;
      assert.ok(parent && one.left >= parent.left - 1e-9 && one.left + one.width <= parent.left + parent.width + 1e-9);
    }
    const depths = [...new Set(rectangles.map(({ depth }) => depth))];
    assert.ok(depths.length > 3);
    for (const level of depths.map((depth) => rectangles.filter((one) => one.depth === depth))) {
      level.sort((a, b) => a.left - b.left);
      level.slice(1).forEach((one, at) => assert.ok(one.left >= level[at].left + level[at].width - 1e-9));
    }
  }
});

test('what is merged keeps its sum and is counted', () => {
  const root = random(4);
  const all = layout(root, 0).rectangles;
  const some = layout(root, 0.02);
  for (const one of some.rectangles.filter(({ merged }) => merged > 0)) {
    const small = one.node.children.filter((child) => child.total > 0 && child.total / root.total < 0.02);
    assert.equal(small.length, one.merged);
    assert.equal(small.reduce((sum, { total }) => sum + total, 0), one.total);
  }
  assert.ok(some.merged > 0 && some.rectangles.length < all.length);
});

test('no more rectangles are drawn than may be', () => {
  const { rectangles, merged } = layout(random(5), 0, 50);
  assert.ok(rectangles.length <= 50 && merged > 0);
});

test('zooming makes a path as wide as the graph, below those that called it', () => {
  const zoom = nodeAt(tree(), ['main', 'b']);
  const { rectangles, depth } = layout(zoom, 0);
  assert.deepEqual(rectangles.map(({ node, width }) => [node.row.id, Math.round(width * 1000)]), [[0, 1000], [1, 1000], [3, 1000], [4, 847], [5, 169]]);
  assert.equal(depth, 5);
  assert.deepEqual(wayTo(zoom), ['main', 'b']);
  assert.equal(nodeAt(tree(), ['main', 'gone', 'b']).row.id, 1);
});

test('far callers of a zoomed path are one level, and none is lost from the count', () => {
  const rows = [row(0, undefined, undefined, 10, 0), ...Array.from({ length: 20 }, (_, at) => row(at + 1, at, `p${at}`, 10, 0))];
  const zoom = nodeAt(treeOf(rows, 'cpu'), rows.slice(1, 16).map(({ procedure }) => procedure));
  const { rectangles, depth } = layout(zoom, 0);
  assert.equal(zoom.row.id, 15);
  assert.deepEqual(rectangles.map(({ node, depth, skipped }) => [node.row.id, depth, skipped]),
    [[0, 0, 0], [10, 1, 10], [11, 2, 0], [12, 3, 0], [13, 4, 0], [14, 5, 0], [15, 6, 0], [16, 7, 0], [17, 8, 0], [18, 9, 0], [19, 10, 0], [20, 11, 0]]);
  assert.equal(depth, 12);
});

test('a search counts each path once', () => {
  const { found, total } = search(tree(), 'A');
  assert.deepEqual([[...found].map((node) => node.row.id).sort(), total], [[1, 2, 4, 5], 100]);
  const only = search(nodeAt(tree(), ['main']).children[0], 'libz');
  assert.equal(only.total, 10);
  assert.equal(search(tree(), ' ').found.size, 0);
});

test('keys lead to callers, calls and neighbours', () => {
  const { rectangles } = layout(tree(), 0);
  const at = rectangles.findIndex(({ node }) => node.row.id === 3);
  const id = (step) => rectangles[neighbour(rectangles, at, step)].node.row.id;
  assert.deepEqual([id('parent'), id('child'), id('next'), id('previous')], [1, 4, 2, 3]);
});

test('callers of a procedure count its first call on each path', () => {
  const callers = callersOf(tree(), 'a');
  assert.deepEqual(callers.map(({ name, seconds, percent }) => [name, seconds, percent]), [['b', 50, 62.5], ['main', 30, 37.5]]);
});

test('who starts a thread is its caller, not what the C library does between', () => {
  const rows = [row(0, undefined, undefined, 10, 0), row(1, 0, 'main', 10, 1), row(2, 1, 'clone3', 9, 1), row(3, 2, 'start_thread', 8, 0), row(4, 3, 'work', 8, 8)];
  const root = treeOf(rows, 'cpu');
  assert.deepEqual(callersOf(root, 'work').map(({ name, seconds }) => [name, seconds]), [['main', 8]]);
  assert.deepEqual(callersOf(root, 'main').map(({ name }) => name), ['program']);
});

test('modules have a tint each, by their own time', () => {
  assert.deepEqual(modulesOf(tree()).map(({ module, seconds, tint }) => [module, seconds, tint]), [['m', 90, '0'], ['libz', 10, '1']]);
});
