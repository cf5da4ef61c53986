import assert from 'node:assert/strict';
import test from 'node:test';

import { fileNamed, filesOf, HEATS, hotLines, INCLUSIVE, lineOf, linesOf, nextHot, partsShown } from '../../model/source.js';

const ROWS = [
  { file: '/a/x.c', line: 5, procedure: 'f', npt_seconds: 2, suffered_seconds: 1, npt_inclusive_seconds: 6 },
  { file: '/a/x.c', line: 5, procedure: 'f.inlined', npt_seconds: 1 },
  { file: '/a/x.c', line: 9, procedure: 'g', npt_seconds: 0.01, caused_seconds: 4 },
  { file: '/b/y.c', line: 1, procedure: 'h', npt_seconds: 8 },
  { procedure: 'nowhere', npt_seconds: 100 },
];

test('files have the sums of their lines, and their hottest one', () => {
  const files = filesOf(ROWS, 'npt_seconds');
  assert.deepEqual(files.map(({ file, hottest }) => [file, hottest]), [['/b/y.c', 1], ['/a/x.c', 5]]);
  assert.deepEqual(HEATS.map(({ key }) => files[1].seconds[key]), [3.01, 0, 1, 4]);
});

test('a file is found by the end of its name where that is enough', () => {
  assert.equal(fileNamed(ROWS, 'x.c'), '/a/x.c');
  assert.equal(fileNamed(ROWS, '.c'), '.c');
  assert.equal(fileNamed([...ROWS, { file: '/b/x.c' }], 'x.c'), 'x.c');
});

test('a line has what all its procedures got', () => {
  const lines = linesOf(ROWS, '/a/x.c');
  assert.deepEqual([...lines.keys()], [5, 9]);
  assert.equal(lines.get(5).seconds.npt_seconds, 3);
  assert.deepEqual(INCLUSIVE.map(({ key }) => lines.get(5).seconds[key]), [6, 0, 1, 0]);
  assert.deepEqual(lines.get(5).procedures, ['f', 'f.inlined']);
});

test('hot lines are walked through and around', () => {
  const lines = linesOf(ROWS, '/a/x.c');
  assert.deepEqual(hotLines(lines, 'npt_seconds'), [5]);
  assert.deepEqual(hotLines(lines, 'caused_seconds'), [9]);
  assert.deepEqual([nextHot([5, 9], 5, 1), nextHot([5, 9], 9, 1), nextHot([5, 9], 5, -1), nextHot([], 1, 1)], [9, 5, 9, undefined]);
});

test('of a long text only the parts around what matters are shown', () => {
  assert.deepEqual(partsShown(50, [3], 100, 5), [[1, 50]]);
  assert.deepEqual(partsShown(1000, [500, 3, 508, 999, 2000], 100, 5), [[1, 8], [495, 513], [994, 1000]]);
  assert.deepEqual(partsShown(0, [1], 100, 5), []);
});

test('a procedure is looked at where it is hottest, and where none of it is hot at its begin', () => {
  const rows = [{ file: '/a.c', line: 9, procedure: 'f' }, { file: '/a.c', line: 7, procedure: 'f' }, { file: '/a.c', line: 8, procedure: 'f', npt_seconds: 1 }, { file: '/b.c', line: 1, procedure: 'f', npt_seconds: 5 }];
  assert.equal(lineOf(rows, '/a.c', 'procedure:f', 'npt_seconds'), 8);
  assert.equal(lineOf(rows, '/a.c', 'procedure:f', 'caused_seconds'), 7);
  assert.equal(lineOf(rows, '/a.c', 'procedure:g', 'npt_seconds'), 0);
  assert.equal(lineOf(rows, '/a.c', undefined, 'npt_seconds'), 0);
});
