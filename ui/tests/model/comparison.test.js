import assert from 'node:assert/strict';
import test from 'node:test';

import { causes, common, labelOf, phasesCorrespond, predictions, sectionOf } from '../../model/comparison.js';

const because = (kind, before, after, verdict, procedure) => ({ section: 'because', kind, procedure, before_seconds: before, after_seconds: after, change_seconds: after - before, verdict });
const ROWS = [
  { section: 'run', name: 'elapsed', before_seconds: 10, after_seconds: 7, change_seconds: -3, verdict: 'less' },
  because('ready', 8, 4, 'less'), because('work', 1, 2, 'more', 'solve'), because('work', 0.5, 0.5, 'none', 'read'), because('not explained', 0.5, 0.5, 'none'),
];

test('what did not change is one row, and all parts add up to the change', () => {
  const { parts, rest, elapsed, missing } = causes(ROWS);
  assert.deepEqual(parts.map(labelOf), ['waiting for a CPU', 'solve: work']);
  assert.deepEqual(rest, { count: 2, before: 1, after: 1, change: 0 });
  assert.equal(elapsed.change_seconds, -3);
  assert.equal(missing, 0);
});

test('a part that is missing is not hidden', () => {
  assert.equal(causes(ROWS.filter(({ procedure }) => procedure !== 'solve')).missing, 1);
});

test('ties stay ties', () => {
  const rows = [{ section: 'procedure', verdict: 'none', change_seconds: 0.9 }, { section: 'procedure', verdict: 'more', change_seconds: 0.1 }];
  assert.deepEqual(sectionOf(rows, 'procedure'), { changed: [rows[1]], ties: [rows[0]] });
});

test('waits are named by where and for what; phases correspond unless one run alone has some', () => {
  assert.equal(labelOf({ section: 'wait', procedure: 'main', object: 'table_lock' }), 'main: table_lock');
  assert.equal(labelOf({ section: 'wait', kind: 'other' }), 'other waits');
  assert.equal(phasesCorrespond([{ section: 'phase', name: 'a' }]), true);
  assert.equal(phasesCorrespond([{ section: 'phase', name: 'a', only_in: 'after' }]), false);
  assert.deepEqual(common([{ section: 'procedure' }, { section: 'procedure', only_in: 'before' }, { section: 'wait' }]), { both: 1, all: 2 });
});

test('predictions are neither changes nor ties of the run', () => {
  const row = { section: 'prediction', name: 'procedure:solve=0', elapsed_gain_percent: 25, inside: 'yes' };
  assert.deepEqual(predictions([...ROWS, row]), [row]);
  assert.equal(causes([...ROWS, row]).missing, causes(ROWS).missing);
});
