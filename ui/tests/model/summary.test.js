import assert from 'node:assert/strict';
import test from 'node:test';

import { isAgainst, ledgerOf, markOf, notesOf } from '../../model/evidence.js';
import { time } from '../../model/quantity.js';
import { isName, explanationOf, intervalOf, rangeText, sectionsOf, withErrors, wordsOf } from '../../model/summary.js';

test('names stand between backticks, and a single backtick is only a character', () => {
  assert.deepEqual(wordsOf('The long pole: `hog` — 90 %'), [
    { text: 'The long pole: ', isName: false }, { text: 'hog', isName: true }, { text: ' — 90 %', isName: false }]);
  assert.deepEqual(wordsOf('a ` b').map(({ text }) => text).join(''), 'a ` b');
  assert.deepEqual(wordsOf('`a` and ` b').map(({ isName }) => isName), [true, false]);
});

test('a span is a name if it names a thing, or is marked as code', () => {
  assert.ok(isName({ text: 'update', procedure: 'update', module: 'a' }) && isName({ text: 'cc1', code: true }));
  assert.ok(!isName({ text: 'The long pole: ' }) && !isName({ text: '90 %', percent: 90.1 }));
});

test('rows go to their section, and unknown sections are left out', () => {
  const sections = sectionsOf([{ section: 'answer', text: 'x' }, { section: 'answer', text: 'y' }, { section: 'new' }]);
  assert.deepEqual(sections.answer.map((row) => row.text), ['x', 'y']);
  assert.deepEqual(sections.change, []);
});

test('an interval can always be seen and never leaves the room', () => {
  assert.deepEqual(intervalOf(20, 60), { left: 20, width: 40 });
  const last = intervalOf(100, 100);
  assert.ok(last.width > 0 && last.left + last.width <= 100);
  assert.deepEqual(intervalOf(-5, 120), { left: 0, width: 100 });
});

test('a range says its unit once, and where it begins at nothing it says so', () => {
  assert.equal(rangeText(0.185, 0.26, time), '185–260 ms');
  assert.equal(rangeText(0.185, 1.26, time), '185 ms – 1.26 s');
  assert.equal(rangeText(0, 0.26, time), 'up to 260 ms');
  assert.equal(rangeText(undefined, 0.26, time), 'up to 260 ms', 'reports leave a time out that is 0');
  assert.equal(rangeText(0.26, 0.26, time), '260 ms');
});

test('errors are found by procedure, module and file', () => {
  const rows = withErrors([{ procedure: 'a', module: 'm' }, { procedure: 'a', module: 'n' }], { npt_error: [{ procedure: 'a', module: 'm', error_percent: 2 }] });
  assert.deepEqual(rows.map((row) => row.npt_error), [2, undefined]);
});

test('losses are told, small unknown shares are not', () => {
  assert.deepEqual(markOf({ lost_events: 0, unsymbolised_percent: 0.1 }), { text: 'nothing lost', isBad: false });
  assert.deepEqual(markOf({ lost_events: 3, lost_stacks: 1, unsymbolised_percent: 96.5 }),
    { text: '3 events lost, 1 call path lost, 97 % of CPU time without names', isBad: true });
});

test('notes are what is left without the cautions, each once', () => {
  assert.deepEqual(notesOf({ notes: ['3 events lost', 'cut stacks', 'cut stacks'] }, ['3 events lost']), ['cut stacks']);
  assert.deepEqual(notesOf(undefined, []), []);
});

test('the ledger tells losses only where there are some', () => {
  const rows = [{ name: 'events', count: 9 }, { name: 'lost events', count: 0 }, { name: 'lost stacks', count: 2 }, { name: "recording's size" }];
  assert.deepEqual(ledgerOf(rows).map((row) => row.name), ['events', 'lost stacks']);
  assert.equal(isAgainst(rows[0]), false);
});

test('a wait is found where it is explained; waits for a CPU are explained nowhere', () => {
  const rows = [{ procedure: 'main', module: 'p' }, { procedure: 'take', module: 'p' }];
  assert.equal(explanationOf({ cause: 'lock', procedure: 'take', module: 'p' }, rows), '2');
  assert.equal(explanationOf({ cause: 'a CPU', procedure: 'take', module: 'p' }, rows), undefined);
  assert.equal(explanationOf({ cause: 'lock', procedure: 'other', module: 'p' }, rows), undefined);
});
