import assert from 'node:assert/strict';
import test from 'node:test';

import { conflicts, matrixOf, orderNotes, placeOf } from '../../model/contention.js';

test('the place of each side of a wait is found', () => {
  const row = { procedure: 'take', file: 'a.c', line: 3, ended_by_procedure: 'hog', ended_by_module: 'm' };
  assert.deepEqual(placeOf(row), { procedure: 'take', module: undefined, file: 'a.c', line: 3 });
  assert.deepEqual(placeOf(row, 'ended_by_').procedure, 'hog');
  assert.deepEqual(placeOf({}, 'ended_by_'), {});
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
