import assert from 'node:assert/strict';
import test from 'node:test';

import {
  byPlace, graphOfUnit, patternShares, patternsOf, placesOf, range, rowOfPlace, stretchesOf, stretchesText, threadMatrix, unitName, unitPlace,
} from '../../model/communication.js';
import { count } from '../../model/quantity.js';

test('patterns are those with any request, and of a text those of most first', () => {
  const shares = patternShares({ cold_percent: 10, migratory_percent: 90, mpmc_percent: 0 });
  assert.deepEqual(shares.map(({ pattern, percent }) => [pattern.name, percent]), [['migratory', 90], ['cold', 10]]);
  const parts = patternsOf('29 migratory, 61 MPMC, 5 false sharing, 3 nonsense');
  assert.deepEqual(parts.map(({ pattern, requests }) => [pattern.name, requests]), [['MPMC', 61], ['migratory', 29], ['false sharing', 5]]);
  assert.deepEqual(patternsOf(undefined), []);
});

test('a range of one number is that number', () => {
  assert.equal(range(177, 177), '177');
  assert.equal(range(5, 7515), `5 – ${count(7515)}`);
  assert.equal(range(undefined, 3), '');
});

test('writers are put together by place, whatever thread they are of', () => {
  const threads = ['a #1', 'b of a #1', 'c #2'];
  const shares = [{ procedure: 'add x.c:24 of b of a #1', percent: 30 }, { procedure: 'look x.c:28 of c #2', percent: 45 }, { procedure: 'add x.c:24 of a #1', percent: 25 }];
  assert.deepEqual(byPlace(shares, threads), [
    { place: 'add x.c:24', threads: ['b of a #1', 'a #1'], percent: 55 }, { place: 'look x.c:28', threads: ['c #2'], percent: 45 },
  ]);
});

test('the matrix has the threads that fetch and those that wrote, by their numbers', () => {
  const rows = [
    { thread: 'w #10', writer: 'w #2', transfers: 3, percent: 60 }, { thread: 'w #2', writer: 'w #10', transfers: 2, percent: 40 }, { thread: 'w #0', transfers: 0, percent: 0 },
  ];
  const { readers, writers, largest, at } = threadMatrix(rows, ['w #0', 'w #2', 'w #10']);
  assert.deepEqual([readers, writers, largest], [['w #2', 'w #10'], ['w #2', 'w #10'], 60]);
  assert.equal(at('w #10', 'w #2').transfers, 3);
  assert.equal(at('w #2', 'w #2'), undefined);
});

test('bytes of a unit are stretches of the same use, which cover it', () => {
  const stretches = stretchesOf({ read: '0..16', written: '8..24 60..64' }, 64, 128);
  assert.deepEqual(stretches.map(({ from, to, does }) => [from, to, does]), [[0, 8, 'r'], [8, 16, 'rw'], [16, 24, 'w'], [24, 60, ''], [60, 64, 'w']]);
  assert.equal(stretchesText(stretches), 'reads bytes 0 to 7, reads and writes bytes 8 to 15, writes bytes 16 to 23, writes bytes 60 to 63');
  // A page in cells of 64 bytes: a cell does what any of its bytes does.
  const page = stretchesOf({ written: '100..108' }, 8192, 128);
  assert.deepEqual(page.map(({ from, to, does }) => [from, to, does]), [[0, 64, ''], [64, 128, 'w'], [128, 8192, '']]);
  assert.equal(stretchesText(stretchesOf({}, 64, 128)), 'touches no byte');
});

test('a unit is named by its place in its object, or its address', () => {
  assert.equal(unitPlace({ offset: 0 }), 'from its first byte');
  assert.equal(unitPlace({ offset: 128 }), 'from byte 128');
  assert.equal(unitPlace({ offset: -16 }), 'from 16 bytes before it');
  assert.equal(unitPlace({ address: '0x40' }), 'at 0x40');
  assert.equal(unitName({ protocol: 'lines', unit_bytes: 64 }), 'cache lines of 64 bytes');
  assert.match(unitName({ protocol: 'lrc', unit_bytes: 8192 }, 1), /^page of 8.192 bytes$/);
});

test('a unit is of the graph of its object whose addresses hold it', () => {
  const graphs = [{ rank: 1, object: 'a', addresses: '0x1000..0x1040 0x1080..0x10c0' }, { rank: 2, object: 'a', addresses: '0x1040..0x1080' }, { rank: 3, object: 'b', addresses: '0x2000..0x2040' }];
  assert.equal(graphOfUnit(graphs, { object: 'a', address: '0x1040' }).rank, 2);
  assert.equal(graphOfUnit(graphs, { object: 'a', address: '0x1080' }).rank, 1);
  assert.equal(graphOfUnit(graphs, { object: 'a', address: '0x2000' }), undefined);
  assert.equal(graphOfUnit(graphs, { object: 'b', address: '0x2000' }).rank, 3);
});

test('a call path is its places, names with blanks and without lines among them', () => {
  assert.deepEqual(placesOf('std::vector<int, A<B> >::push x.h:7 < main a b.c:12 < start'), [
    { procedure: 'std::vector<int, A<B> >::push', file: 'x.h', line: 7 }, { procedure: 'main a', file: 'b.c', line: 12 }, { procedure: 'start' },
  ]);
  assert.deepEqual(placesOf(undefined), []);
});

test('a place has its row, where one has the same procedure, file and line', () => {
  const rows = [{ rank: 1, procedure: 'add', file: '/x.c', line: 4 }, { rank: 2, procedure: 'add', file: '/x.c', line: 5 }];
  assert.equal(rowOfPlace(rows, { procedure: 'add', file: '/x.c', line: 5 }).rank, 2);
  assert.equal(rowOfPlace(rows, { procedure: 'add', line: 5 }), undefined);
});
