import assert from 'node:assert/strict';
import test from 'node:test';

import { lessOrMore, withZeroing } from '../../model/path.js';

test('zeroing joins the row of the same line, not of the same procedure', () => {
  const rows = [{ procedure: 'a', line: 1, percent: 60 }, { procedure: 'a', line: 2, percent: 40 }];
  const others = [{ procedure: 'a', line: 2, percent: 30, zeroing_seconds: 3, slack_seconds: 2 }];
  const joined = withZeroing(rows, others);
  assert.equal(joined[0].zeroing_seconds, undefined);
  assert.deepEqual([joined[1].percent, joined[1].zeroing_percent, joined[1].zeroing_seconds, joined[1].slack_seconds], [40, 30, 3, 2]);
});

test('what only the other report has stands behind, without its shares of the path', () => {
  const joined = withZeroing([{ object: 'a' }], [{ object: 'b', percent: 5, rank: 1, zeroing_seconds: 1 }, { object: 'a', percent: 4, zeroing_seconds: 2 }]);
  assert.deepEqual(joined.map((row) => [row.object, row.percent, row.rank, row.zeroing_percent]), [['a', undefined, undefined, 4], ['b', undefined, undefined, 5]]);
});

test('a longer run is said to be longer', () => {
  assert.equal(lessOrMore(18.06), '18.1 % less');
  assert.equal(lessOrMore(-3), '3.0 % more');
  assert.equal(lessOrMore(0.01), 'no change');
});
