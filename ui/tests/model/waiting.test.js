import assert from 'node:assert/strict';
import test from 'node:test';

import { classShares, classTotals, deedOf, lookOf, mainCauses, sidesOf } from '../../model/waiting.js';

const ROW = {
  seconds: 2, load_imbalance_percent: 50, insufficient_parallelism_percent: 0, contention_percent: 30,
  causes: [
    { side: 'positive', what: 'lock', procedure: 'take', seconds: 2.5, percent: 125, by_threads: 'heavy' },
    { side: 'negative', what: 'running', procedure: 'share', seconds: 0.5, percent: 25 },
  ],
  root_causes: [
    { side: 'positive', what: 'running', procedure: 'share', seconds: 1.9, percent: 95, by_threads: 'heavy' },
    { side: 'positive', what: 'other steps', seconds: 0.1, percent: 5 },
  ],
};

test('shares of the kinds add up to the whole with what is unexplained', () => {
  const shares = classShares(ROW);
  assert.deepEqual(shares.map(({ kind, percent }) => [kind.mark, percent]), [['LI', 50], ['CC', 30], ['?', 20]]);
  assert.deepEqual(classShares({ load_imbalance_percent: 99.98 }).map(({ kind }) => kind.mark), ['LI']);
});

test('totals weigh rows by their time', () => {
  const totals = classTotals([ROW, { seconds: 6, contention_percent: 100 }]);
  assert.deepEqual(totals.map(({ kind, seconds }) => [kind.mark, seconds]), [['LI', 1], ['CC', 6.6], ['?', 0.4]]);
  assert.equal(totals.reduce((sum, { percent }) => sum + percent, 0), 100);
});

test('causes are said in words', () => {
  assert.equal(deedOf({ what: 'running', procedure: 'f' }), 'f');
  assert.equal(deedOf({ what: 'ready' }), 'no CPU');
  assert.equal(deedOf({ what: 'lock', procedure: 'f' }), 'lock wait: f');
  assert.equal(deedOf({ what: 'spinning', procedure: 'f' }), 'busy-waiting: f');
  assert.deepEqual(['running', 'lock', 'io', 'ready'].map((what) => lookOf({ what })), ['busy', 'synchronisation', 'device', 'ready']);
});

test('the main causes leave out what has no name', () => {
  assert.deepEqual(mainCauses(ROW, 3).map(({ text, by, percent }) => [text, by, percent]), [['share', 'heavy', 95]]);
});

test('both sides are as high: what was done beyond by the waiting, with their waiting, is what the others did', () => {
  const direct = sidesOf(ROW, false);
  assert.equal(direct.height, 2.5);
  assert.deepEqual([direct.positive[0].mark, direct.negative[0].mark], ['+1', '−1']);
  assert.equal(sidesOf(ROW, true).height, 2);
});
