import assert from 'node:assert/strict';
import test from 'node:test';

import { binAt, cover, cut, decode, eighthsOf, expand, shares } from '../../model/frames.js';

const STATES = [{ name: 'absent', title: 'not there', kind: 'absent' }, { name: 'running', title: 'running', kind: 'busy' }, { name: 'blocked_lock', title: 'blocked: lock', kind: 'synchronisation' }];

/** A frame of one thread a line: each character a bin, `r` running, `l` blocked, `.` absent, `h` half running, half blocked. */
function drawn(lines, { from = 0, to = lines[0].length, handoffs = [] } = {}) {
  const numbers = { '.': 0, r: 1, l: 2, h: 3 };
  return decode({
    from_seconds: from, to_seconds: to, bins: lines[0].length, first: 0, states: STATES,
    mixes: [[[0, 8]], [[1, 8]], [[2, 8]], [[1, 4], [2, 4]]],
    threads: lines.map((line, id) => ({ id, runs: [...line].flatMap((one) => [1, numbers[one]]), path: [line.length / 2, 8, line.length / 2, 0] })),
    handoffs, handoffs_total: handoffs.length * 10,
  });
}
const mixesOf = (frame, thread = 0) => [...frame.threads[thread].cells].map((cell) => frame.mixes[cell].map(([state, eighths]) => `${STATES[state].name[0]}${eighths}`).join('+'));

test('runs are written out, a value a bin', () => {
  assert.deepEqual([...expand([2, 7, 3, 1], new Uint8Array(6))], [7, 7, 1, 1, 1, 0]);
});

test('a cut of the same bins has the same in them', () => {
  const frame = drawn(['rrll..hh']);
  const part = cut(frame, { from: 2, to: 7 }, 5);
  assert.deepEqual(mixesOf(part), ['b8', 'b8', 'a8', 'a8', 'r4+b4']);
  assert.equal(part.isCoarse, false);
  assert.deepEqual([...part.threads[0].path], [8, 8, 0, 0, 0]);
});

test('longer bins have the mix of those below them', () => {
  assert.deepEqual(mixesOf(cut(drawn(['rrlrllhr']), { from: 0, to: 8 }, 2)), ['r6+b2', 'b5+r3']);
});

test('bins that lie across others take their parts of them', () => {
  assert.deepEqual(mixesOf(cut(drawn(['rlrlrlrl']), { from: 0.5, to: 6.5 }, 3)), ['r4+b4', 'r4+b4', 'r4+b4']);
});

test('bins that are shorter than what the frame has take what is there, and the frame says that it is coarse', () => {
  const part = cut(drawn(['rlrl']), { from: 1, to: 3 }, 8);
  assert.deepEqual(mixesOf(part), ['b8', 'b8', 'b8', 'b8', 'r8', 'r8', 'r8', 'r8']);
  assert.equal(part.isCoarse, true);
});

test('a path that passes only for a moment is still on the path in a long bin', () => {
  const frame = drawn(['rrrrrrrrrrrrrrrr'.repeat(4)]);
  frame.threads[0].path.fill(0);
  frame.threads[0].path[5] = 1;
  assert.deepEqual([...cut(frame, { from: 0, to: 64 }, 2).threads[0].path], [1, 0]);
});

test('a cut keeps the hand-offs of its window, and their share of all', () => {
  const part = cut(drawn(['rrrr'], { handoffs: [[0.5, 0, 1], [1.5, 1, 0], [2.5, 0, 1], [3.5, 1, 0]] }), { from: 1, to: 3 }, 2);
  assert.deepEqual(part.handoffs, [[1.5, 1, 0], [2.5, 0, 1]]);
  assert.equal(part.handoffsTotal, 20);
});

test('weights become eighths by largest remainder', () => {
  assert.deepEqual(eighthsOf([1, 1, 1]), [[0, 3], [1, 3], [2, 2]]);
  assert.deepEqual(eighthsOf([0, 100, 1]), [[1, 8]]);
  for (const weights of [[3, 5, 11], [1, 0, 1e-9], [7, 7, 7, 7, 7], [1e9, 1, 3e8]]) {
    assert.equal(eighthsOf(weights).reduce((sum, [, eighths]) => sum + eighths, 0), 8);
  }
});

test('a window is covered by the frame whose bins fit best, and by others where that one ends', () => {
  const whole = { name: 'whole', from: 0, to: 100, bins: 100 };
  const fine = { name: 'fine', from: 10, to: 20, bins: 1000 };
  const parts = cover({ from: 5, to: 25 }, [whole, fine], 0.02);
  assert.deepEqual(parts.map(({ frame, from, to }) => [frame.name, from, to]), [['fine', 10, 20], ['whole', 5, 10], ['whole', 20, 25]]);
  assert.deepEqual(cover({ from: 5, to: 25 }, [whole, fine], 1).map(({ frame }) => frame.name), ['whole']);
  assert.deepEqual(cover({ from: 200, to: 300 }, [whole], 1), []);
});

test('a moment finds its bin', () => {
  const bin = binAt(drawn(['rrll', 'hhhh'], { from: 10, to: 14 }), 1, 12.5);
  assert.deepEqual(bin, { from: 12, to: 13, mix: [[1, 4], [2, 4]], path: 0 });
  assert.equal(binAt(drawn(['rrll']), 0, 9), undefined);
  assert.equal(binAt(drawn(['rrll']), 5, 1), undefined);
});

test('shares are of the time that threads are alive, in the window alone', () => {
  const found = shares([drawn(['rrll..', 'rrrr..'])], { from: 1, to: 6 });
  assert.deepEqual(found.map(({ name, share }) => [name, Math.round(share * 1000)]), [['running', 667], ['blocked_lock', 333]]);
});
