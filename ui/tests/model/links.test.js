import assert from 'node:assert/strict';
import test from 'node:test';

import { leadsOf, placeOfCommand } from '../../model/links.js';

const find = (row, title) => leadsOf(row).find((lead) => lead.title === title)?.change;

test('a procedure with a file leads to its source first, one without does not', () => {
  assert.deepEqual(leadsOf({ procedure: 'update', file: '/src/a.c', line: 7 })[0].change, { view: 'source', file: '/src/a.c', line: '7', of: undefined });
  assert.equal(leadsOf({ procedure: 'update', file: '/src/a.c' })[0].change.of, 'procedure:update');
  assert.equal(leadsOf({ procedure: 'libz.so+0x49' })[0].title, 'Parallelism');
});

test('an object leads to itself, also where the row names a procedure beside it', () => {
  assert.deepEqual(leadsOf({ object: 'table_lock', procedure: 'update' })[0].change, { view: 'objects', of: 'object:table_lock' });
});

test('a thread is told from others of its name by its number', () => {
  assert.deepEqual(find({ thread: 'polite', tid: 12 }, 'What if it took half the time'), { view: 'path', by: 'thread', set: ['thread:polite #12=0.5'] });
});

test('the whole run leads nowhere', () => {
  assert.deepEqual(leadsOf({ kind: 'program' }), []);
});

test('a command leads to the view that shows the same', () => {
  assert.deepEqual(placeOfCommand('longpole report --view critical-path --by line'),
    { view: 'path', by: 'line', of: undefined, weight: undefined, explain: undefined });
  assert.equal(placeOfCommand("longpole report --view objects --of 'object:a lock'")?.of, 'object:a lock');
  assert.equal(placeOfCommand('--view critical-path --weight elapsed')?.weight, 'elapsed');
  assert.deepEqual(placeOfCommand("longpole what-if --set update=0.5 --set 'procedure:f(int, char*)=0'"),
    { view: 'path', set: ['update=0.5', 'procedure:f(int, char*)=0'] });
  assert.equal(placeOfCommand('longpole zero -- ./a.out'), null);
});
