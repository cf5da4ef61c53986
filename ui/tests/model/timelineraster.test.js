import assert from 'node:assert/strict';
import test from 'node:test';

import { blended, isHatched, KINDS, paint, PERIOD, stack } from '../../model/timelineraster.js';

const STATES = [{ kind: 'absent' }, { kind: 'busy' }, { kind: 'synchronisation' }];
const PALETTE = { kinds: Object.fromEntries(KINDS.map((kind, index) => [kind, kind === 'absent' ? [0, 0] : [10 + index, 100 + index]])), path: 1, halo: 2, scale: 1 };
const frame = (cells, path) => ({ from: 0, to: cells.length, bins: cells.length, states: STATES, mixes: [[[1, 8]], [[2, 8]], [[2, 4], [1, 4]], [[0, 8]]], threads: [{ cells, path: path ?? cells.map(() => 0) }] });

test('a mix is stacked in the order of kinds, whatever its own order is, and fills the height', () => {
  assert.deepEqual(stack([[2, 5], [1, 3]], STATES, 16), [['busy', 6], ['synchronisation', 10]]);
  for (let height = 1; height < 20; height++) {
    assert.equal(stack([[2, 3], [1, 3], [0, 2]], STATES, height).reduce((sum, [, pixels]) => sum + pixels, 0), height);
  }
});

test('every kind but those that are plain has a hatching that no other has', () => {
  const patterns = KINDS.map((kind) => Array.from({ length: PERIOD * PERIOD }, (_, at) => Number(isHatched(kind, at % PERIOD, Math.floor(at / PERIOD)))).join(''));
  const hatched = patterns.filter((pattern) => pattern.includes('1'));
  assert.equal(new Set(hatched).size, hatched.length);
  assert.deepEqual(KINDS.filter((_, index) => !patterns[index].includes('1')), ['busy', 'chosen', 'absent']);
});

test('a column has its mix from the bottom, and rows end with their gap', () => {
  const pixels = paint(frame([0, 2, 3]), { pitch: 5, gap: 1 }, PALETTE);
  const column = (x) => [0, 1, 2, 3, 4].map((y) => pixels[y * 3 + x]);
  assert.deepEqual(column(0), [10, 10, 10, 10, 0]);
  assert.deepEqual(column(1).slice(2), [10, 10, 0]);
  assert.ok(column(1).slice(0, 2).every((pixel) => pixel === 14 || pixel === 104));
  assert.deepEqual(column(2), [0, 0, 0, 0, 0]);
});

test('the critical path is a line in the middle of its bins alone', () => {
  const pixels = paint(frame([0, 0], [0, 8]), { pitch: 6, gap: 0 }, PALETTE);
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((y) => pixels[y * 2 + 1]), [10, 10, 1, 1, 10, 10]);
  assert.ok([0, 1, 2, 3, 4, 5].every((y) => pixels[y * 2] === 10));
});

test('where the path takes a part of a bin only, its line is fainter, and never too faint to be seen', () => {
  assert.equal(blended(0xff000000, 0xffffffff, 4), 0xff808080);
  const opaque = { ...PALETTE, kinds: { ...PALETTE.kinds, busy: [0xff000000, 0xff000000] }, path: 0xffffffff };
  const pixels = paint(frame([0, 0, 0], [6, 1, 3]), { pitch: 6, gap: 0 }, opaque);
  assert.deepEqual([...pixels.slice(2 * 3, 3 * 3)], [0xffbfbfbf, 0xff606060, 0xff606060]);
});

test('hatching stays where it is when frames begin elsewhere', () => {
  const all = paint(frame([1, 1, 1, 1, 1, 1, 1, 1]), { pitch: 4, gap: 0 }, PALETTE);
  const part = paint({ ...frame([1, 1, 1]), from: 5, to: 8 }, { pitch: 4, gap: 0 }, PALETTE);
  for (let y = 0; y < 4; y++) assert.deepEqual([...part.slice(y * 3, y * 3 + 3)], [...all.slice(y * 8 + 5, y * 8 + 8)]);
});
