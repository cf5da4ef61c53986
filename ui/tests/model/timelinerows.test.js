import assert from 'node:assert/strict';
import test from 'node:test';

import { between, blocksOf, HEAD, indexAt, layout, middles, nameThreads, neighbour, rowHeight } from '../../model/timelinerows.js';

const thread = (id, process, pid, name, machine = 'vm') => ({ id, machine, process, pid, thread: name, tid: 100 + id });
const THREADS = [thread(7, 'make', 1, 'make'), thread(8, 'make', 1, 'jobs'), thread(3, 'cc', 2, 'cc'), thread(4, 'cc', 2, 'worker'), thread(5, 'cc', 2, 'worker')];
const MACHINES = ['one', 'two'].flatMap((machine, index) => [thread(index * 2, 'a', 1, 'a', machine), thread(index * 2 + 1, 'a', 1, 'b', machine)]);
const titles = ({ rows }) => rows.map((row) => `${row.kind} ${row.title}`);

test('threads stand below their process, and below their machine where there are several', () => {
  assert.deepEqual(titles(layout(THREADS, new Set(), 500)),
    ['process make 1', 'thread make', 'thread jobs', 'process cc 2', 'thread cc', 'thread worker #104', 'thread worker #105']);
  assert.deepEqual(titles(layout(MACHINES, new Set(), 500)),
    ['machine machine one', 'process a 1', 'thread a #100', 'thread b #101', 'machine machine two', 'process a 1', 'thread a #102', 'thread b #103']);
});

test('a folded group hides its rows and counts them', () => {
  const { rows } = layout(THREADS, new Set(['2']), 500);
  assert.deepEqual(rows.map((row) => [row.title, row.count, row.isFolded]), [['make 1', 2, false], ['make', 1, false], ['jobs', 1, false], ['cc 2', 3, true]]);
  const machines = layout(MACHINES, new Set(['one', 'two 1']), 500);
  assert.deepEqual(machines.rows.map((row) => [row.title, row.count]), [['machine one', 2], ['machine two', 2], ['a 1', 2]]);
});

test('a process of one thread is one row', () => {
  const { rows } = layout([thread(0, 'make', 1, 'make'), thread(1, 'cc', 2, 'cc1plus'), thread(2, 'ld', 3, 'ld'), thread(3, 'ld', 3, 'w')], new Set(), 500);
  assert.deepEqual(rows.map((row) => [row.kind, row.title, row.isAlone]),
    [['thread', 'make 1', true], ['thread', 'cc1plus (cc 2)', true], ['process', 'ld 3', false], ['thread', 'ld', false], ['thread', 'w', false]]);
});

test('rows shrink with their number, within limits', () => {
  assert.equal(rowHeight(3, 500), 18);
  assert.equal(rowHeight(30, 500), 16);
  assert.equal(rowHeight(65, 500), 14, 'a name has room in each row');
  assert.equal(rowHeight(50, 500, true), 10);
  assert.equal(rowHeight(1000, 500, true), 4);
});

test('rows follow each other without gaps', () => {
  const { rows, height, threadHeight } = layout(THREADS, new Set(), 500);
  rows.reduce((top, row) => {
    assert.equal(row.top, top);
    return top + row.height;
  }, 0);
  assert.equal(height, 2 * HEAD + 5 * threadHeight);
});

test('a height finds its row', () => {
  const { rows, height } = layout(THREADS, new Set(), 500);
  for (const row of rows) for (const y of [row.top, row.top + row.height - 0.1]) assert.equal(rows[indexAt(rows, y)], row);
  assert.equal(indexAt(rows, -5), 0);
  assert.equal(indexAt(rows, height + 5), rows.length - 1);
  assert.deepEqual(between(rows, rows[2].top + 1, rows[4].top).map((row) => row.title), ['jobs', 'cc 2']);
});

test('a step goes from thread to thread, over heads, and stops at the ends', () => {
  const { rows } = layout(THREADS, new Set(), 500);
  assert.equal(neighbour(rows, '8', 1)?.key, '3');
  assert.equal(neighbour(rows, '3', -1)?.key, '8');
  assert.equal(neighbour(rows, '5', 1)?.key, '5');
  assert.equal(neighbour(rows, undefined, 1)?.key, '7');
  assert.equal(neighbour(rows, undefined, -1)?.key, '5');
});

test('only blocks of threads that are seen are asked for', () => {
  const many = Array.from({ length: 200 }, (_, id) => thread(id, 'p', 1, `t${id}`));
  const { rows } = layout(many, new Set(), 500);
  assert.deepEqual(blocksOf(rows, 64), [0, 1, 2, 3]);
  assert.deepEqual(blocksOf(rows.slice(60, 70), 64), [0, 1]);
});

test('a thread of a folded group is where the head of its group is', () => {
  const { rows } = layout(THREADS, new Set(['2']), 500);
  const places = middles(THREADS, rows);
  assert.equal(places.get(7), rows[1].top + rows[1].height / 2);
  for (const id of [3, 4, 5]) assert.equal(places.get(id), rows[3].top + HEAD / 2);
  const open = middles(THREADS, layout(THREADS, new Set(['1']), 500).rows);
  assert.equal(open.get(7), HEAD / 2);
  assert.equal(open.size, 5);
});

test('threads with one name are told apart by their tid', () => {
  assert.deepEqual(nameThreads(THREADS), ['make', 'jobs', 'cc', 'worker #104', 'worker #105']);
});
