import assert from 'node:assert/strict';
import test from 'node:test';

import { levelsShown, means, stacksOf, stacksOfAll } from '../../model/parallelism.js';

const ROWS = [
  { level: 1, seconds: 1, part: 'self', procedure: 'main' },
  { level: 1, seconds: 3, part: 'called', procedure: 'load' },
  { level: 2, seconds: 5, part: 'called', procedure: 'work' },
  { level: 2, seconds: 1, part: 'called', procedure: 'load' },
];

test('self is the first layer, then children by their time, each level in that order', () => {
  const { layers, levels, whole, largest } = stacksOf(ROWS);
  assert.deepEqual(layers.map(({ procedure, mark, seconds }) => [procedure, mark, seconds]), [['main', 'self', 1], ['work', 'A', 5], ['load', 'B', 4]]);
  assert.deepEqual(levels.map((level) => [level.label, level.seconds, level.parts.map(({ layer }) => layer.mark)]), [['1', 4, ['self', 'B']], ['2', 6, ['A', 'B']]]);
  assert.deepEqual([whole, largest], [10, 6]);
});

test('small layers are merged and keep their time', () => {
  const rows = Array.from({ length: 30 }, (_, at) => ({ level: at % 3, seconds: 30 - at, part: 'called', procedure: `p${at}` }));
  const { layers, levels } = stacksOf(rows);
  assert.equal(layers.length, 12);
  assert.equal(layers[11].procedure, '19 others');
  const sum = (/** @type {{seconds: number}[]} */ list) => list.reduce((total, { seconds }) => total + seconds, 0);
  assert.equal(sum(layers), sum(rows));
  assert.equal(sum(levels), sum(rows));
  assert.equal(levels.length, 3);
});

test('all procedures are stacked by how many were busy beside them', () => {
  const { levels } = stacksOfAll([{ procedure: 'a', npt_1_seconds: 2, npt_2_seconds: 0 }, { procedure: 'b', npt_1_seconds: 1, npt_5_up_seconds: 4 }]);
  assert.deepEqual(levels.map((level) => [level.label, level.seconds]), [['1', 3], ['5 and more', 4]]);
});

test('many levels share bars, and keep their time', () => {
  const rows = Array.from({ length: 100 }, (_, level) => ({ level, effective_seconds: level, effective_percent: 1, nominal_seconds: 1, nominal_percent: 1, procedure: `p${level}` }));
  const shown = levelsShown(rows);
  assert.deepEqual([shown.length, shown[0].label, shown[0].procedure, shown[33].label], [34, '0–2', 'p2', '99–101']);
  assert.equal(shown.reduce((sum, row) => sum + row.effective_seconds, 0), 4950);
  assert.deepEqual(levelsShown(rows.slice(0, 3)).map(({ label }) => label), ['0', '1', '2']);
  const stacked = stacksOf(rows.map(({ level }) => ({ level, seconds: 1, part: 'in', procedure: 'p' })));
  assert.deepEqual([stacked.levels.length, stacked.whole], [34, 100]);
});

test('means weigh levels by their share of the run', () => {
  const rows = [{ level: 0, effective_percent: 50, nominal_percent: 0 }, { level: 2, effective_percent: 50, nominal_percent: 100 }];
  assert.deepEqual(means(rows), { busy: 1, runnable: 2, none: 50, one: 0 });
});
