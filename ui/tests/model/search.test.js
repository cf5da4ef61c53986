import assert from 'node:assert/strict';
import test from 'node:test';

import { found, thingsOf } from '../../model/search.js';

const things = thingsOf({
  procedure: [
    { procedure: 'take_and_update', module: 'p', percent: 30 }, { procedure: 'update', module: 'p', percent: 1 }, { procedure: 'update_all', module: 'p', percent: 2 },
    { procedure: 'reupdate', module: 'p', percent: 90 }, { procedure: 'main', module: 'libupdate.so', percent: 3 }, { procedure: 'unpack_data_set', module: 'p', percent: 4 },
  ],
  thread: [{ thread: 'worker', tid: 1, percent: 5 }, { thread: 'worker', tid: 2, percent: 9 }],
});
const names = (wanted) => found(things, wanted, 10).map(({ name }) => name);

test('the very name comes first, whatever its share', () => {
  assert.deepEqual(names('Update').slice(0, 5), ['update', 'update_all', 'take_and_update', 'reupdate', 'main']);
});

test('threads of one name are told apart', () => {
  assert.deepEqual(names('worker'), ['worker #2', 'worker #1']);
});

test('letters in order find a long name, two letters do not', () => {
  assert.deepEqual(names('upds'), ['unpack_data_set']);
  assert.ok(!names('uk').includes('unpack_data_set'));
});

test('without a word the largest come first, and no more than wanted', () => {
  assert.deepEqual(found(things, ' ', 2).map(({ name }) => name), ['reupdate', 'take_and_update']);
});

test('nothing is found twice', () => {
  assert.equal(thingsOf({ object: [{ object: 'lock' }, { object: 'lock' }] }).length, 1);
});
