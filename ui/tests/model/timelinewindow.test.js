import assert from 'node:assert/strict';
import test from 'node:test';

import { asked, clamped, moment, panned, pixelAt, roundUp, secondsAt, SHORTEST, ticks, words, zoomed } from '../../model/timelinewindow.js';

const near = (actual, wanted) => assert.ok(Math.abs(actual - wanted) < 1e-9, `${actual} is not ${wanted}`);
const nearWindow = (actual, from, to) => {
  near(actual.from, from);
  near(actual.to, to);
};

test('a window is kept within the run, with its length', () => {
  nearWindow(clamped({ from: -1, to: 1 }, 10), 0, 2);
  nearWindow(clamped({ from: 9, to: 12 }, 10), 7, 10);
  nearWindow(clamped({ from: -5, to: 25 }, 10), 0, 10);
  nearWindow(clamped({ from: 3, to: 4 }, 10), 3, 4);
});

test('a window that is none becomes the whole run', () => {
  for (const window of [{ from: 4, to: 4 }, { from: 5, to: 1 }, { from: Number.NaN, to: 1 }, { from: 0, to: Number.POSITIVE_INFINITY }]) {
    nearWindow(clamped(window, 10), 0, 10);
  }
});

test('zooming keeps the moment below the pointer where it is', () => {
  const before = { from: 2, to: 6 };
  const after = zoomed(before, 0.5, 3, 10);
  near(after.to - after.from, 2);
  near(pixelAt(after, 1000, 3), pixelAt(before, 1000, 3));
});

test('zooming stops at what clocks can tell apart, and at the whole run', () => {
  const closest = zoomed({ from: 2, to: 6 }, 1e-12, 3, 10);
  near(closest.to - closest.from, SHORTEST);
  assert.ok(closest.from <= 3 && closest.to >= 3);
  nearWindow(zoomed({ from: 2, to: 6 }, 1e6, 3, 10), 0, 10);
});

test('panning stops at both ends of the run', () => {
  nearWindow(panned({ from: 2, to: 6 }, 100, 10), 6, 10);
  nearWindow(panned({ from: 2, to: 6 }, -1, 10), 1, 5);
  nearWindow(panned({ from: 2, to: 6 }, -1e9, 10), 0, 4);
});

test('pixels and seconds are each other\'s inverse', () => {
  const window = { from: 0.25, to: 0.75 };
  near(secondsAt(window, 400, 100), 0.375);
  near(pixelAt(window, 400, 0.375), 100);
});

test('bins that are asked for are a pixel long, on multiples of their length, and reach beyond the window', () => {
  const question = asked({ from: 2.0003, to: 3.0003 }, 1000, 10, 0.25);
  assert.equal(question.bins, 1501);
  near(question.from, 1.75);
  near(question.to, 3.251);
  const neighbour = asked({ from: 2.4567, to: 3.4567 }, 1000, 10, 0.25);
  near(Math.round((neighbour.from - question.from) * 1000) / 1000, neighbour.from - question.from);
});

test('what is asked for ends with the run', () => {
  assert.deepEqual(asked({ from: 0, to: 10 }, 1000, 10, 0.25), { from: 0, to: 10, bins: 1000 });
  const end = asked({ from: 9, to: 10 }, 100, 10, 0.5);
  assert.deepEqual(end, { from: 8.5, to: 10, bins: 150 });
});

test('ticks are round moments with as many digits as tell them apart', () => {
  assert.deepEqual(ticks({ from: 0.2, to: 1.1 }, 900).map(({ label }) => label), ['0.2 s', '0.3 s', '0.4 s', '0.5 s', '0.6 s', '0.7 s', '0.8 s', '0.9 s', '1.0 s', '1.1 s']);
  assert.deepEqual(ticks({ from: 1.00000012, to: 1.00000032 }, 180).map(({ label }) => label), ['1.0000002 s', '1.0000003 s']);
  assert.equal(roundUp(0.021), 0.05);
  assert.equal(roundUp(0.02), 0.02);
  assert.equal(moment(-0, 0.1), '0.0 s');
});

test('a window in words has its ends and its length', () => {
  assert.equal(words({ from: 1, to: 1.5 }), '1.000 s to 1.500 s (500 ms)');
});
