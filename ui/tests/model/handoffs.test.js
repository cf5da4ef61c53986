import assert from 'node:assert/strict';
import test from 'node:test';

import { fitted, thinned } from '../../model/handoffs.js';

const of = ([seconds, from, to]) => ({ seconds, between: `${from} ${to}` });
const line = (seconds, from = 0, to = 1) => [seconds, from, to];

test('of lines on each other one is left, of each pair', () => {
  const lines = [line(0.1), line(0.2), line(0.3, 1, 0), line(0.9), line(1.1), line(1.2)];
  assert.deepEqual(thinned(lines, of, 1), [line(0.1), line(0.3, 1, 0), line(1.1)]);
});

test('the same lines are left when the window moves', () => {
  const lines = Array.from({ length: 100 }, (_, index) => line(index / 10));
  const all = thinned(lines, of, 1);
  const later = thinned(lines.slice(35), of, 1);
  assert.deepEqual(later.slice(1), all.slice(4));
});

test('no more lines are left than there is room for', () => {
  const lines = Array.from({ length: 5000 }, (_, index) => line(index / 1000, index % 40, index % 39));
  const kept = fitted(lines, of, 0.001, 100);
  assert.ok(kept.length <= 100 && kept.length > 20, `${kept.length}`);
  assert.deepEqual(fitted(lines.slice(0, 50), of, 1e-9, 100), lines.slice(0, 50));
});
