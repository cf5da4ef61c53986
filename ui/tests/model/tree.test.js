import assert from 'node:assert/strict';
import test from 'node:test';

import { labelOf, openAtFirst, step, treeOf, visible } from '../../model/tree.js';

const place = { machine: 'm', process: 'p', pid: 1 };
const ROWS = [
  { kind: 'program', percent: 100 },
  { kind: 'machine', machine: 'm', percent: 100 },
  { kind: 'process', ...place, percent: 100 },
  { kind: 'thread', ...place, thread: 'a', tid: 1, percent: 40 },
  { kind: 'procedure', ...place, thread: 'a', tid: 1, procedure: 'run', module: 'libx.so', percent: 40 },
  { kind: 'thread', ...place, thread: 'b', tid: 2, percent: 60 },
  { kind: 'procedure', ...place, thread: 'b', tid: 2, procedure: 'run', module: 'libx.so', percent: 10 },
  { kind: 'procedure', ...place, thread: 'b', tid: 2, procedure: 'update', module: 'p', percent: 50 },
];
const labels = (seen) => seen.map((node) => labelOf(node.row));
const all = () => true;

test('rows hang below the row above them of the next kind, each with its own id', () => {
  const nodes = treeOf(ROWS);
  assert.equal(nodes[7].parent, nodes[5]);
  assert.deepEqual(nodes[2].children, [nodes[3], nodes[5]]);
  assert.equal(new Set(nodes.map((node) => node.id)).size, nodes.length);
});

test('closed rows hide everything below them', () => {
  const nodes = treeOf(ROWS);
  assert.deepEqual(labels(visible(nodes, { isOpen: (node) => node.depth < 3 })), ['whole program', 'm', 'p [1]', 'a #1', 'b #2']);
});

test('sorting keeps children below their parents', () => {
  assert.deepEqual(labels(visible(treeOf(ROWS), { isOpen: all, sort: '-percent' })), ['whole program', 'm', 'p [1]', 'b #2', 'update', 'run', 'a #1', 'run']);
});

test('a search shows what holds the name with all above it, also below closed rows', () => {
  assert.deepEqual(labels(visible(treeOf(ROWS), { isOpen: () => false, find: 'UPD' })), ['whole program', 'm', 'p [1]', 'b #2', 'update']);
  assert.deepEqual(labels(visible(treeOf(ROWS), { isOpen: all, find: 'libx' })).slice(3), ['a #1', 'run', 'b #2', 'run']);
  assert.deepEqual(visible(treeOf(ROWS), { isOpen: all, find: 'nowhere' }), []);
});

test('few rows are all open at first, many only down to the threads', () => {
  const nodes = treeOf(ROWS);
  assert.equal(openAtFirst(nodes)(nodes[5]), true);
  const many = treeOf([...ROWS, ...Array.from({ length: 80 }, (_, index) => ({ ...ROWS[7], procedure: `f${index}` }))]);
  assert.equal(openAtFirst(many)(many[5]), false);
  assert.equal(openAtFirst(many)(many[2]), true);
});

test('left closes, then goes up; right opens, then goes down', () => {
  const nodes = treeOf(ROWS);
  const seen = visible(nodes, { isOpen: all });
  assert.deepEqual(step(seen, 5, 'ArrowLeft', all), { close: nodes[5] });
  assert.deepEqual(step(seen, 7, 'ArrowLeft', all), { to: 5 });
  assert.deepEqual(step(seen, 5, 'ArrowRight', () => false), { open: nodes[5] });
  assert.deepEqual(step(seen, 5, 'ArrowRight', all), { to: 6 });
  assert.equal(step(seen, 7, 'ArrowRight', all), null);
  assert.deepEqual(step(seen, 7, 'ArrowDown', all), { to: 7 });
  assert.deepEqual(step(seen, 3, 'Home', all), { to: 0 });
  assert.equal(step(seen, 0, 'ArrowLeft', () => false), null);
});
