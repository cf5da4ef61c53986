import assert from 'node:assert/strict';
import test from 'node:test';

import { disagreements, gainsMost, measured, metricsOf, parts, shareText, speedUp } from '../../model/rankings.js';

const names = (list) => list.map(({ name }) => name);

test('a metric that is nought everywhere has no column, and is told', () => {
  const rows = [{ gprof_percent: 60, ips2_percent: 60, npt_percent: 100, zeroing_percent: 0 }, { gprof_percent: 40, ips2_percent: 40, replay_percent: -3 }];
  const { shown, silent } = metricsOf(rows, undefined);
  assert.deepEqual(names(shown), ['gprof', 'ips2', 'npt', 'replay']);
  assert.deepEqual(names(silent), ['critical_path', 'slack', 'zeroing']);
});

test('of objects there are other metrics', () => {
  const { shown, silent } = metricsOf([{ wait_percent: 100, zeroing_percent: 100 }], 'object');
  assert.deepEqual([names(shown), names(silent)], [['wait', 'zeroing'], ['npt', 'replay']]);
  assert.deepEqual(metricsOf([], 'thread').shown, []);
});

test('a share of next to nothing says no more than that', () => {
  assert.deepEqual([-451433.7, -12, 55.04].map(shareText), ['below −999 %', '-12.0 %', '55.0 %']);
});

test('spinning is no speed-up', () => {
  assert.equal(speedUp({ cpu_seconds: 3, spin_seconds: 1, elapsed_seconds: 1 }), 2);
  assert.equal(speedUp({ cpu_seconds: 0, spin_seconds: 0, elapsed_seconds: 0 }), 0);
});

test('what was measured stands by its gain; what metrics disagree about stays in its order', () => {
  const rows = [{ procedure: 'a', disagreement: 'gprof 50 %, path 0 %' }, { procedure: 'b', measured_gain_percent: 1 }, { procedure: 'c', measured_gain_percent: 30, disagreement: 'x' }];
  assert.deepEqual(measured(rows).map((row) => row.procedure), ['c', 'b']);
  assert.deepEqual(disagreements(rows).map((row) => row.procedure), ['a', 'c']);
});

test('correlations are no rows of the ranking, and the largest gain has an interval', () => {
  const rows = [
    { procedure: 'a', measured_gain_percent: 9 },
    { procedure: 'b', measured_gain_percent: 5, measured_low_percent: 4 },
    { section: 'correlation', metric: 'gprof', pearson: 0.9 },
  ];
  const { ranked, correlations } = parts(rows);
  assert.deepEqual(ranked.map((row) => row.procedure), ['a', 'b']);
  assert.deepEqual(correlations.map((row) => row.metric), ['gprof']);
  assert.equal(gainsMost(ranked).procedure, 'b');
});
