import assert from 'node:assert/strict';
import test from 'node:test';

import { contrastText, curvesOf, movesOf, strengthText } from '../../model/moves.js';

const FAULTS = { target: 'effective_parallelism', metric: 'page_faults', node: 'program', unit: 'faults/s', strength: -0.814, lag_seconds: 0.02, bins: 210, while_low: 5600, otherwise: 300 };
const DISK = { target: 'wait_seconds', metric: 'disk', node: 'machine:m', unit: 'bytes/s', strength: 0.5, lag_seconds: 0, bins: 40, while_low: 3e6, otherwise: 0 };

test('finds stand by what they move with, in the order of the report; sentences apart', () => {
  const { groups, said } = movesOf([DISK, FAULTS, { ...DISK, metric: 'net' }, { text: '12 series were left out.' }]);
  assert.deepEqual(groups.map(({ title, rows }) => [title, rows.length]), [['Moves with waiting', 2], ['Moves with low parallelism', 1]]);
  assert.deepEqual(said, ['12 series were left out.']);
});

test('nothing found says why', () => {
  assert.deepEqual(movesOf([{ text: 'too few bins' }]), { groups: [], said: ['too few bins'] });
});

test('a row leads to both curves', () => {
  assert.deepEqual(curvesOf(DISK), ['wait_seconds@program', 'disk@machine:m']);
});

test('strength, lag and bins are told in words', () => {
  assert.equal(strengthText(FAULTS), '−0.81, 20.0 ms before it in 210 bins');
  assert.equal(strengthText({ ...FAULTS, lag_seconds: -0.02 }), '−0.81, 20.0 ms after it in 210 bins');
  assert.equal(strengthText(DISK), '+0.50 in 40 bins');
  assert.equal(strengthText({ bins: 40, lag_seconds: -0 }), 'means alone in 40 bins');
});

test('the means of both times are told with their unit', () => {
  assert.equal(contrastText(FAULTS), '5 600 faults/s while few are busy, 300 faults/s otherwise');
  assert.equal(contrastText(DISK), '3.00 M bytes/s while many wait, 0 bytes/s otherwise');
  assert.equal(contrastText({ ...DISK, otherwise: undefined }), '');
});
