import assert from 'node:assert/strict';
import test from 'node:test';

import { entryOf, groupsOf, holds, sourceText } from '../../model/help.js';

const entry = (name, title, group, explanation = '') => ({ name, title, group, explanation, unit: '', source: '' });
const METRICS = [entry('npt_seconds', 'NPT', 'A', 'counts more the fewer are busy'), entry('thread', 'Thread', 'B'), entry('npt_percent', 'NPT %', 'A')];

test('groups keep the order of the registry and lose what is not searched for', () => {
  assert.deepEqual(groupsOf(METRICS, '').map(({ name, entries }) => [name, entries.length]), [['A', 2], ['B', 1]]);
  assert.deepEqual(groupsOf(METRICS, 'npt').map(({ name }) => name), ['A']);
  assert.deepEqual(groupsOf(METRICS, 'nothing like it'), []);
});

test('all words are needed, wherever they stand', () => {
  assert.equal(holds(METRICS[0], 'fewer NPT'), true);
  assert.equal(holds(METRICS[0], 'fewer threads'), false);
});

test('an entry is found by its name, or as people write it', () => {
  assert.equal(entryOf(METRICS, 'thread')?.title, 'Thread');
  assert.equal(entryOf(METRICS, 'npt percent')?.name, 'npt_percent');
  assert.equal(entryOf(METRICS, 'unknown'), undefined);
  assert.equal(entryOf(METRICS, undefined), undefined);
});

test('a source is said in words', () => {
  assert.equal(sourceText('§11, M §4.4'), 'docs/metrics.md §11; the comparison of metrics §4.4');
  assert.equal(sourceText('§6, C §2.1, §3.4'), 'docs/metrics.md §6; Carnival §2.1, §3.4');
});
