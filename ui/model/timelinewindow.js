/** Arithmetic of windows: the part of a run's time that a timeline shows. All times are seconds since the run began. */

import { time } from './quantity.js';

/** @typedef {{from: number, to: number}} Window */

/** The shortest window: what clocks of recordings can tell apart, some ten times over. */
export const SHORTEST = 2e-7;

/**
 * The window of a run that is nearest to one that was asked for, with its length kept where that is possible.
 * @param {Window} window
 * @param {number} elapsed the length of the run
 * @returns {Window}
 */
export function clamped({ from, to }, elapsed) {
  if (!(to > from) || !Number.isFinite(from) || !Number.isFinite(to)) return { from: 0, to: elapsed };
  const span = Math.min(Math.max(to - from, Math.min(SHORTEST, elapsed)), elapsed);
  const middle = (from + to) / 2;
  const begin = Math.min(Math.max(span === to - from ? from : middle - span / 2, 0), elapsed - span);
  return { from: begin, to: begin + span };
}

/**
 * A window that is longer by a factor, with one of its moments staying where it is on the screen.
 * @param {Window} window
 * @param {number} factor below 1 shows less
 * @param {number} at the moment that stays, in seconds
 * @param {number} elapsed
 */
export function zoomed({ from, to }, factor, at, elapsed) {
  const span = Math.min(Math.max((to - from) * factor, Math.min(SHORTEST, elapsed)), elapsed);
  const share = (at - from) / (to - from);
  const begin = at - share * span;
  return clamped({ from: begin, to: begin + span }, elapsed);
}

/**
 * A window that was moved.
 * @param {Window} window
 * @param {number} seconds later; negative ones are earlier
 * @param {number} elapsed
 */
export const panned = ({ from, to }, seconds, elapsed) => clamped({ from: from + seconds, to: to + seconds }, elapsed);

/**
 * @param {Window} window
 * @param {number} width of the whole window, in pixels
 * @param {number} x pixels from its left
 */
export const secondsAt = ({ from, to }, width, x) => from + (x / width) * (to - from);

/**
 * @param {Window} window
 * @param {number} width of the whole window, in pixels
 * @param {number} seconds
 */
export const pixelAt = ({ from, to }, width, seconds) => ((seconds - from) / (to - from)) * width;

/**
 * What to ask for so that a window is drawn with one bin a pixel and can be moved a little: bins lie on multiples of their
 * width, so that neighbouring answers fit together, and reach beyond the window.
 * @param {Window} window
 * @param {number} pixels
 * @param {number} elapsed
 * @param {number} margin what is asked for on each side, as a share of the window
 * @returns {Window & {bins: number}}
 */
export function asked({ from, to }, pixels, elapsed, margin) {
  const width = (to - from) / pixels;
  const begin = Math.max(0, Math.floor((from - margin * (to - from)) / width));
  const end = Math.ceil((to + margin * (to - from)) / width - 1e-6);
  const last = Math.min(elapsed, end * width);
  const first = begin * width;
  return { from: nanoseconds(first), to: nanoseconds(last), bins: Math.max(1, Math.min(end - begin, Math.ceil((last - first) / width - 1e-6))) };
}

/** @param {number} seconds without what lies below a nanosecond */
export const nanoseconds = (seconds) => Number(seconds.toFixed(9));

/**
 * Round moments of a window, as many as there is room for.
 * @param {Window} window
 * @param {number} width pixels
 * @param {number} [room] pixels that a label needs
 * @returns {{seconds: number, label: string}[]}
 */
export function ticks({ from, to }, width, room = 90) {
  const step = roundUp(((to - from) * room) / Math.max(width, room));
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const seconds = (first + index) * step;
    return { seconds, label: moment(seconds, step) };
  });
}

/** @param {number} size the next of 1, 2, 5 times a power of ten */
export function roundUp(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  const digit = [1, 2, 5, 10].find((digit) => digit * power >= size * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/**
 * A moment of the run with as many digits as tell it from others a step away.
 * @param {number} seconds
 * @param {number} step
 */
export function moment(seconds, step) {
  const places = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return `${(Math.abs(seconds) < step / 2 ? 0 : seconds).toFixed(places)} s`;
}

/**
 * A window in words.
 * @param {Window} window
 */
export function words({ from, to }) {
  const step = (to - from) / 100;
  return `${moment(from, step)} to ${moment(to, step)} (${time(to - from)})`;
}
