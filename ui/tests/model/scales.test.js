import assert from 'node:assert/strict';
import test from 'node:test';

import { endsOf, levelsOf, scalesOf, unitText } from '../../model/scales.js';

const sides = (units) => scalesOf(units).map(({ side }) => side);

test('the first two units have axes, curves of further ones each their own height', () => {
  assert.deepEqual(sides(['threads', 'faults/s', 'threads', 'bytes', 'bytes']), ['left', 'right', 'left', 'own', 'own']);
  const scales = scalesOf(['threads', 'faults/s', 'threads', 'bytes', 'bytes']);
  assert.equal(new Set(scales.map(({ key }) => key)).size, 4);
});

test('a curve whose unit is not known yet stands at the left, and takes no axis from others', () => {
  assert.deepEqual(sides([undefined, 'a', 'b']), ['left', 'left', 'right']);
  assert.deepEqual(sides(['', 'a']), ['left', 'right']);
  assert.equal(unitText(''), 'number');
});

test('a scale holds zero and all values', () => {
  assert.deepEqual(endsOf(2, 10), [0, 10.5]);
  assert.deepEqual(endsOf(-10, 10), [-11, 11]);
  assert.deepEqual(endsOf(-10, -5), [-10.5, 0]);
  assert.deepEqual(endsOf(null, null), [0, 1]);
});

test('levels are round and within the ends', () => {
  assert.deepEqual(levelsOf(0, 6300), [0, 2000, 4000, 6000]);
  assert.deepEqual(levelsOf(-1, 1), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(levelsOf(0, 1), [0, 0.5, 1]);
  assert.deepEqual(levelsOf(3, 3), []);
});
