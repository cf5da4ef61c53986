import assert from 'node:assert/strict';
import test from 'node:test';

import { conflicts, matrixOf, orderNotes, placeOf } from '../../model/contention.js';

test('places are taken apart into what links need', () => {
  assert.deepEqual(placeOf('hog lock_hog.c:36'), { text: 'hog lock_hog.c:36', procedure: 'hog', file: 'lock_hog.c', line: 36 });
  assert.equal(placeOf('Table<a, b>::take table.cpp:9').procedure, 'Table<a, b>::take');
  assert.deepEqual(placeOf('kfree [kernel]'), { text: 'kfree [kernel]', procedure: 'kfree' });
  assert.equal(placeOf('clone3 (libc.so.6)').procedure, 'clone3');
  assert.equal(placeOf(undefined).procedure, '');
});

test('threads of a matrix stand in the order of their time', () => {
  const matrix = matrixOf([
    { waiting: 'a', ended_by: 'hog', seconds: 1 }, { waiting: 'b', ended_by: 'hog', seconds: 3 }, { waiting: 'b', ended_by: 'a', seconds: 1 },
  ]);
  assert.deepEqual([matrix.waiting, matrix.ending, matrix.largest], [['b', 'a'], ['hog', 'a'], 3]);
  assert.equal(matrix.at('b', 'a').seconds, 1);
  assert.equal(matrix.at('a', 'a'), undefined);
});

test('a lock that is taken before and after another is in conflict with it', () => {
  const rows = [{ order: 'before', other: 'x' }, { order: 'after', other: 'x' }, { order: 'after', other: 'y' }];
  assert.deepEqual(conflicts(rows), ['x']);
  assert.deepEqual(orderNotes(['lost 3 events', '`a` was acquired while `b` was held, and `b` while `a` was']).length, 1);
});
