import assert from 'node:assert/strict';
import test from 'node:test';

import { changeOf, changesOf, elapsedError, factorText, longestOf, paths, predictionOf, textsOf, twinsOf } from '../../model/what-if.js';

test('a row is changed by the name that tells it from all others', () => {
  assert.equal(changeOf({ procedure: 'inflate', module: 'libz.so.1' }), 'procedure:inflate (libz.so.1)');
  assert.equal(changeOf({ procedure: 'inflate', module: 'libz.so.1', file: '/a/inflate.c', line: 12 }), 'line:/a/inflate.c:12');
  assert.equal(changeOf({ thread: 'worker', tid: 7, process: 'p', pid: 1 }), 'thread:worker #7');
  assert.equal(changeOf({ process: 'p', pid: 1 }), 'process:p #1');
  assert.equal(changeOf({ machine: 'node3' }), undefined);
});

test('static procedures of one name are told apart by their files', () => {
  const rows = [{ procedure: 'update', module: 'p', file: '/a.c' }, { procedure: 'update', module: 'p', file: '/b.c' }, { procedure: 'run', module: 'p', file: '/b.c' }];
  assert.deepEqual(rows.map((row) => changeOf(row, twinsOf(rows))), ['procedure:update (/a.c)', 'procedure:update (/b.c)', 'procedure:run (p)']);
});

test('changes go into the URL and come back, names with = included', () => {
  const texts = ['procedure:operator==(a, b)=0.5', 'object:lock=0'];
  assert.deepEqual(textsOf(changesOf(texts)), texts);
});

test('what is no change is left out, the last of two counts, and 1 changes nothing', () => {
  assert.deepEqual([...changesOf(['nonsense', 'a=', 'a=-1', 'a=x', 'a=0.5', 'a=25%', 'b=1'])], [['a', 0.25], ['b', 1]]);
  assert.deepEqual(textsOf(changesOf(['b=1'])), []);
  assert.equal(factorText(1), 'as it is');
  assert.equal(factorText(0.25), '× 0.25');
});

const together = {
  section: 'together', path_after_seconds: 6, path_gain_seconds: 4, path_gain_percent: 40, error_percent: 2,
  elapsed_after_seconds: 16, elapsed_gain_seconds: 4, elapsed_gain_percent: 20,
};

test('a prediction has both lengths and their errors in seconds', () => {
  const found = predictionOf({ rows: [{ section: 'change' }, together] });
  assert.equal(found?.pathBefore, 10);
  assert.equal(found?.elapsedBefore, 20);
  assert.ok(Math.abs((found?.pathError ?? 0) - 0.2) < 1e-12);
  // n = 0.4 × 0.6 / 0.02² = 600; √(0.2 × 0.8 / 600) = 1.633 %, of 20 s.
  assert.ok(Math.abs((found?.elapsedError ?? 0) - 0.32660) < 1e-4);
  assert.equal(predictionOf({ rows: [] }), null);
});

test('what lost events make uncertain is the error of the elapsed time', () => {
  const found = predictionOf({ rows: [{ ...together, error_percent: 40.1, elapsed_error_percent: 40 }] });
  assert.equal(found?.elapsedError, 8);
});

test('where executions of the changed run are far apart, the elapsed time has a range', () => {
  const found = predictionOf({ rows: [{ ...together, gain_low_percent: 10, gain_high_percent: 45 }] });
  assert.deepEqual(found?.elapsedRange, { least: 11, most: 18 });
  assert.equal(predictionOf({ rows: [together] })?.elapsedRange, undefined);
});

test('bars have room for a run that may become longer', () => {
  const found = predictionOf({ rows: [{ ...together, gain_low_percent: -3, gain_high_percent: 45 }] });
  assert.ok(found);
  assert.equal(longestOf(found), 20.6);
});

test('without an error of the path there is none of the elapsed time', () => {
  assert.equal(elapsedError(undefined, 40, 20), undefined);
  assert.equal(elapsedError(2, 0, 20), undefined);
});

test('the path before and after stand in one row, the longest of either first', () => {
  const before = [{ procedure: 'a', critical_path_seconds: 5 }, { procedure: 'b', critical_path_seconds: 0 }, { procedure: 'c', critical_path_seconds: 1 }];
  const after = [{ section: 'change', procedure: 'a' }, { section: 'path', procedure: 'b', seconds: 3 }, { section: 'path', procedure: 'a', seconds: 2 }];
  assert.deepEqual(paths(before, after).map(({ row, before, after }) => [row.procedure, before, after]), [['a', 5, 2], ['b', 0, 3], ['c', 1, 0]]);
});
