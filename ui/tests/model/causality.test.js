import assert from 'node:assert/strict';
import test from 'node:test';

import { boxesOf, causesShown, curve, incidence, laidOut } from '../../model/causality.js';

/** The graph of `programs/shared_sum.c` with 4 threads and 30 rounds, derived there. */
const SUM = {
  object: 'sum',
  nodes: [
    { node: 0, procedure: 'add', file: '/src/shared_sum.c', line: 24, readers: 'a #1, a #2, a #3, a #4', writers: 'a #1, a #2, a #3, a #4' },
    { node: 1, procedure: 'look', file: '/src/shared_sum.c', line: 28, readers: 'a #1, a #2, a #3' },
  ],
  edges: [
    { edge: 0, from: 0, to: 1, through: 'barrier meeting', through_procedure: 'work', through_file: '/src/shared_sum.c', through_line: 34, requests: 90, percent: 49.7, patterns: '29 migratory, 61 MPMC', read_path: 'look shared_sum.c:28 < work shared_sum.c:35', write_path: 'add shared_sum.c:24 < work shared_sum.c:33' },
    { edge: 1, from: 0, to: 0, through: 'lock', through_procedure: 'add', through_file: '/src/shared_sum.c', through_line: 23, requests: 87, percent: 48.1, patterns: '87 migratory', read_path: 'add shared_sum.c:24 < work shared_sum.c:33' },
    { edge: 2, to: 0, requests: 4, percent: 2.2, patterns: '4 cold' },
  ],
  transitions: [{ from: 0, to: 1, percent: 24.6 }, { from: 1, to: 0, percent: 49.2 }, { from: 1, to: 1, percent: 24.6 }, { from: 2, to: 0, percent: 1.6 }],
};

const measure = (/** @type {string} */ text) => 7 * text.length;

test('a place that asks and writes is one box, a cause lies between two, first references come from nowhere', () => {
  const { boxes, arrows } = boxesOf(SUM, SUM.edges, measure);
  assert.deepEqual(boxes.map(({ id, roles }) => [id, roles]), [['place 0', 'W R'], ['place 1', 'R'], ['cause 0', 'I'], ['cause 1', 'I'], ['cause 2', '']]);
  assert.deepEqual(arrows.map(({ from, to }) => [from, to]), [
    ['place 0', 'cause 0'], ['cause 0', 'place 1'], ['place 0', 'cause 1'], ['cause 1', 'place 0'], ['cause 2', 'place 0'],
  ]);
  assert.deepEqual(boxes[0].lines, ['add', 'shared_sum.c:24', 'in work shared_sum.c:33', 'W: 4 threads; R: 4 threads']);
  assert.deepEqual([boxes[2].lines[0], boxes[2].mark], ['0  barrier meeting', 'n:n']);
});

test('no two boxes overlap, each is in the drawing and wider than its text, and arrows end at their boxes', () => {
  // A chain, a cycle, and many causes between few places.
  const chain = {
    object: 'x', nodes: Array.from({ length: 9 }, (_, node) => ({ node, procedure: `p${node}`, file: 'f.c', line: node + 1, readers: 'a #1', writers: 'a #2' })), transitions: [],
    edges: Array.from({ length: 8 }, (_, edge) => ({ edge, from: edge, to: edge + 1, through: 'lock', requests: 1, percent: 12.5, patterns: '1 SPSC' })),
  };
  const star = { ...chain, edges: chain.edges.map((edge) => ({ ...edge, from: 0 })) };
  const ring = { ...chain, edges: chain.edges.map((edge) => ({ ...edge, to: (edge.edge + 1) % 8 })) };
  for (const graph of [SUM, chain, star, ring]) {
    for (const room of [320, 1250]) {
      const { boxes, arrows, width, height } = laidOut(boxesOf(graph, graph.edges, measure), room);
      boxes.forEach((one, at) => {
        assert.ok(one.x >= 0 && one.y >= 0 && one.x + one.width <= width && one.y + one.height <= height, one.id);
        assert.ok(one.lines.every((line) => measure(line) < one.width));
        for (const other of boxes.slice(at + 1)) {
          const isApart = one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;
          assert.ok(isApart, `${one.id} and ${other.id}`);
        }
      });
      for (const { from, to, points } of arrows) {
        for (const [id, end] of /** @type {const} */ ([[from, points[0]], [to, points[points.length - 1]]])) {
          const box = boxes.find((one) => one.id === id);
          assert.ok(end.x >= box.x - 1 && end.x <= box.x + box.width + 1 && end.y >= box.y - 1 && end.y <= box.y + box.height + 1, `${from} ${to}`);
        }
        assert.match(curve(points), /^M[-\d., QL]+$/);
      }
    }
  }
  // A long chain goes down where there is no room beside.
  assert.ok(laidOut(boxesOf(chain, chain.edges, measure), 1250).width <= 1250);
});

test('causes of a pattern alone, and the rest said', () => {
  assert.deepEqual(causesShown(SUM, 'migratory', 8).causes.map(({ edge }) => edge), [0, 1]);
  const { causes, left } = causesShown(SUM, undefined, 1);
  assert.deepEqual([causes.length, left.map(({ edge }) => edge)], [1, [1, 2]]);
  const { boxes } = boxesOf(SUM, causesShown(SUM, 'cold', 8).causes, measure);
  assert.deepEqual(boxes.map(({ id }) => id), ['place 0', 'cause 2'], 'places without a shown cause are not drawn');
});

test('the incidence matrix has R, I and W of each cause, and from which one its copies follow', () => {
  const { causes, from } = incidence(SUM, SUM.edges);
  assert.deepEqual(causes.map(({ read, through, at, write }) => [read, through, at, write]), [
    ['look shared_sum.c:28', 'barrier meeting', 'work shared_sum.c:34', 'add shared_sum.c:24'], ['add shared_sum.c:24', 'lock', 'add shared_sum.c:23', 'add shared_sum.c:24'], ['add shared_sum.c:24', '', '', ''],
  ]);
  assert.deepEqual(from, [{ title: 'from 0', cells: [0, 24.6, 0] }, { title: 'from 1', cells: [49.2, 24.6, 0] }, { title: 'from 2', cells: [1.6, 0, 0] }]);
  assert.deepEqual(incidence(SUM, SUM.edges.slice(0, 2)).from.at(-1), { title: 'elsewhere', cells: [1.6, 0] });
});
