import assert from 'node:assert/strict';
import test from 'node:test';

import { changed, hashOf, keyOf, placeOf } from '../../model/query.js';

test('a key has its parameters sorted and encoded, without those that are left out', () => {
  assert.equal(keyOf('report', { view: 'npt', by: undefined, of: 'procedure:a<b> & c', all: '' }), 'report?of=procedure%3Aa%3Cb%3E%20%26%20c&view=npt');
  assert.equal(keyOf('what-if', { set: ['b=0.5', 'a=0'] }), 'what-if?set=b%3D0.5&set=a%3D0');
  assert.equal(keyOf('help', {}), 'help');
});

test('a place survives the URL', () => {
  const place = { view: 'path', phase: '1s..2s', set: ['a=0', 'b=0.5'], find: 'x & y?#z' };
  assert.deepEqual(placeOf(hashOf(place)), place);
  assert.deepEqual(placeOf(''), { view: 'overview' });
});

test('going to another view keeps the phase and drops what only the old one had', () => {
  const place = { view: 'timeline', phase: '1s..2s', from: '0.5', sort: '-percent' };
  assert.deepEqual(changed(place, { view: 'waits' }), { view: 'waits', phase: '1s..2s' });
  assert.deepEqual(changed(place, { phase: undefined }), { view: 'timeline', from: '0.5', sort: '-percent' });
});

test('definitions stand in the URL as often as wanted, and stay from view to view', () => {
  const place = placeOf('#timeline?define=a%20%3D%20b%20%2B%201&define=c%20%3D%20a&curves=a%40program');
  assert.deepEqual(place.define, ['a = b + 1', 'c = a']);
  const next = changed(place, { view: 'tree' });
  assert.deepEqual(next, { view: 'tree', define: ['a = b + 1', 'c = a'] });
  assert.equal(hashOf(next), '#tree?define=a%20%3D%20b%20%2B%201&define=c%20%3D%20a');
});
