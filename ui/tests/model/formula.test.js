import assert from 'node:assert/strict';
import test from 'node:test';

import { completed, completionsOf, definitionOf, leftOut, partsOf, placeOf } from '../../model/formula.js';

const NAMES = [{ name: 'cpu_time', title: 'CPU time' }, { name: 'sys_user_time', title: 'User time of the machine' }, { name: 'page_faults', title: 'Page faults' }, { name: 'major_page_faults', title: 'Major faults' }, { name: 'mean', title: 'mean over the phase' }];
const found = (text, caret = text.length) => completionsOf(text, caret, NAMES).names.map(({ name }) => name);

test('a definition is a name and a formula, which may hold comparisons', () => {
  assert.deepEqual(partsOf('busy = cpu_time >= 2'), { name: 'busy', formula: 'cpu_time >= 2' });
  assert.deepEqual(partsOf('cpu_time'), { name: '', formula: 'cpu_time' });
  assert.equal(definitionOf(' busy ', ' cpu_time == 2 '), 'busy = cpu_time == 2');
});

test('the word at the caret is completed, names that begin with it first', () => {
  assert.deepEqual(found('2 * page'), ['page_faults', 'major_page_faults']);
  assert.deepEqual(found('(cpu_time + user'), ['sys_user_time']);
  assert.deepEqual(found('cpu'), ['cpu_time']);
  assert.deepEqual(found('cpu_time + '), []);
  assert.deepEqual(found('cpu_time'), [], 'it is complete');
  assert.deepEqual(found('2.5e'), [], 'a number is no name');
});

test('a name takes the place of the whole word, a function opens its parenthesis', () => {
  const text = 'cpu_time / pag_fa * 2';
  const range = completionsOf(text, 14, NAMES);
  assert.deepEqual([range.from, range.to], [11, 17]);
  assert.deepEqual(completed(text, range, 'page_faults'), { text: 'cpu_time / page_faults * 2', caret: 22 });
  assert.deepEqual(completed('me', { from: 0, to: 2 }, 'mean'), { text: 'mean(', caret: 5 });
  assert.deepEqual(completed('me(x)', { from: 0, to: 2 }, 'mean'), { text: 'mean(x)', caret: 4 });
});

test('a mistake is marked at its column, wherever the answer tells it', () => {
  assert.deepEqual(placeOf({ details: { column: 5 } }, 'x = y'), { column: 5, text: 'x = y\n    ^' });
  assert.equal(placeOf({ message: 'failed to understand it: column 3, expected a name' }, 'x = y')?.column, 3);
  assert.equal(placeOf({ details: { column: 99 } }, 'x = y')?.column, 6, 'the end');
  assert.equal(placeOf({ message: 'no idea' }, 'x = y'), null);
});

test('a definition that the list does not have is left out, with what its note says', () => {
  const metrics = [{ name: 'share', class: 'derived' }, { name: 'page_faults', class: 'external' }];
  const left = leftOut({ metrics, notes: ['bad is left out: --define, line 1, column 7: there is no metric x'] }, ['share = 1', 'bad = x', 'page_faults = 2']);
  assert.deepEqual([...left.keys()], ['bad = x', 'page_faults = 2'], 'an outside metric of the name is not what was defined');
  assert.match(left.get('bad = x').message, /no metric x/);
  assert.equal(placeOf(left.get('bad = x'), 'bad = x')?.column, 7);
});
