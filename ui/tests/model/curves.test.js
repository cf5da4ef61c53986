import assert from 'node:assert/strict';
import test from 'node:test';

import { aligned, binned, curvesOf, DEFAULT, keyIn, metricsOf, MOST, NONE, styleOf, textsOf, valueAt } from '../../model/curves.js';

const curve = (values, from = 0, to = values.length) => ({ from_seconds: from, to_seconds: to, bins: values.length, values });

test('the program\'s parallelism is drawn where nothing else was chosen', () => {
  assert.deepEqual(curvesOf(undefined), [{ metric: 'effective_parallelism', node: 'program' }]);
  assert.equal(textsOf(curvesOf([DEFAULT])), undefined);
  assert.deepEqual(curvesOf([NONE]), []);
  assert.deepEqual(textsOf([]), [NONE]);
});

test('curves survive the URL, each once, with names that have an @', () => {
  const curves = [{ metric: 'cpu_seconds', node: 'procedure:f@plt' }, { metric: 'npt_seconds', node: 'program' }];
  assert.deepEqual(curvesOf(textsOf(curves)), curves);
  assert.deepEqual(curvesOf(['cpu_seconds', 'cpu_seconds@program']), [{ metric: 'cpu_seconds', node: 'program' }]);
  assert.equal(curvesOf(Array.from({ length: 20 }, (_, index) => `cpu_seconds@thread:${index}`)).length, MOST);
});

test('every curve has a line of its own, even without colours', () => {
  const dashes = Array.from({ length: MOST }, (_, index) => styleOf(index).dash.join(' '));
  assert.equal(new Set(dashes).size, MOST);
});

test('causes of waits that the recording can have are metrics', () => {
  const metrics = metricsOf([{ name: 'running', title: 'running' }, { name: 'blocked_kernel_lock', title: 'blocked: kernel lock' }]);
  assert.deepEqual(metrics.at(-1), { metric: 'blocked_kernel_lock_seconds', title: 'Blocked: kernel lock' });
  assert.equal(metrics.filter(({ metric }) => metric.startsWith('blocked')).length, 1);
});

test('a moment has the value of its bin, and none outside', () => {
  const three = curve([5, 6, 7], 10, 13);
  assert.deepEqual([10, 10.9, 11, 13].map((seconds) => valueAt(three, seconds)), [5, 5, 6, 7]);
  assert.deepEqual([9.9, 13.1].map((seconds) => valueAt(three, seconds)), [null, null]);
});

test('curves of different windows share one list of times', () => {
  const { times, values } = aligned([curve([1, 2]), curve([8, 9, 8, 9], 0, 2), undefined]);
  assert.deepEqual(times, [0, 0.5, 1, 1.5, 2]);
  assert.deepEqual(values, [[1, 1, 2, 2, 2], [8, 9, 8, 9, 9], [null, null, null, null, null]]);
  assert.deepEqual(aligned([undefined]), { times: [], values: [[]] });
});

test('fewer bins have means', () => {
  assert.deepEqual(binned([1, 3, 5, 7], 2), [2, 6]);
  assert.deepEqual(binned([0, 3, 6], 2), [1, 5]);
});

test('a file\'s curve is found whatever its bins are', () => {
  const keys = ['report?view=npt', 'curve?bins=512&metric=cpu_seconds', 'curve?bins=512&metric=npt_seconds&node=thread%3Aa'];
  assert.equal(keyIn(keys, { metric: 'cpu_seconds', node: 'program' }), keys[1]);
  assert.equal(keyIn(keys, { metric: 'npt_seconds', node: 'thread:a' }), keys[2]);
  assert.equal(keyIn(keys, { metric: 'npt_seconds', node: 'program' }), undefined);
});

test('where a series has no value its curve has a gap, and others go on', () => {
  const { times, values } = aligned([curve([1, null, 3]), curve([5, 6, 7])]);
  assert.deepEqual(times, [0, 1, 2, 3]);
  assert.deepEqual(values, [[1, null, 3, 3], [5, 6, 7, 7]]);
  assert.equal(valueAt(curve([1, null, 3]), 1.5), null);
});
