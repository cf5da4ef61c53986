/** Paints the lines between rows of the timeline: the critical path's hand-offs, and wakes. */

import { cover } from '../model/frames.js';
import { fitted } from '../model/handoffs.js';
import { pixelAt } from '../model/timelinewindow.js';
import { BLOCK } from './framestore.js';

/** @typedef {import('./lanespainter.js').Scene} Scene */

/**
 * The critical path's steps from thread to thread.
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 * @param {Map<number, number>} places the height of each thread's row
 * @returns {{handoffs: number, isExact: boolean, drawn: number}}
 */
export function paintHandoffs(canvas, { window, width, height, top, visible, store, colours }, places) {
  const block = Math.floor((visible.find((row) => row.kind === 'thread')?.index ?? 0) / BLOCK);
  const parts = cover(window, store.frames(block), (window.to - window.from) / (width * devicePixelRatio));
  const inside = parts.flatMap(({ frame, from, to }) => frame.handoffs.filter(([seconds]) => seconds >= from && seconds < to));
  const perPixel = (window.to - window.from) / width;
  const kept = fitted(inside.sort((a, b) => a[0] - b[0]), ([seconds, from, to]) => ({ seconds, between: `${from} ${to}` }), perPixel * 5, width / 6);
  canvas.strokeStyle = colours.of('path');
  canvas.lineWidth = 1.25;
  canvas.beginPath();
  for (const [seconds, from, to] of kept) {
    const [begin, end] = [places.get(from), places.get(to)];
    if (begin === undefined || end === undefined) continue;
    const x = pixelAt(window, width, seconds);
    if (Math.max(begin, end) < top || Math.min(begin, end) > top + height) continue;
    canvas.moveTo(x, begin - top);
    canvas.lineTo(x, end - top);
  }
  canvas.stroke();
  const total = parts.reduce((sum, { frame, from, to }) => {
    const own = frame.handoffs.filter(([seconds]) => seconds >= from && seconds < to).length;
    return sum + (frame.handoffs.length > 0 ? own / frame.handoffs.length * frame.handoffsTotal : 0);
  }, 0);
  return { handoffs: Math.round(total), isExact: inside.length === Math.round(total), drawn: kept.length };
}

/**
 * An arrow for each wake.
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 * @param {Map<number, number>} places
 * @param {any[]} wakes
 * @returns {number} how many are drawn
 */
export function paintWakes(canvas, { window, width, top, colours }, places, wakes) {
  const perPixel = (window.to - window.from) / width;
  const kept = fitted(wakes, (wake) => ({ seconds: wake.seconds, between: `${wake.source} ${wake.thread}` }), perPixel * 3, width / 4);
  // First what separates the arrows from what is behind them.
  for (const [colour, wide] of /** @type {[string, number][]} */ ([['ground', 3.5], ['good', 1.5]])) {
    canvas.strokeStyle = colours.of(colour);
    canvas.fillStyle = colours.of(colour);
    canvas.lineWidth = wide;
    for (const wake of kept) {
      const end = places.get(wake.thread);
      if (end === undefined) continue;
      const begin = places.get(wake.source) ?? end - 12;
      arrow(canvas, pixelAt(window, width, wake.source_seconds ?? wake.seconds), begin - top, pixelAt(window, width, wake.seconds), end - top);
    }
  }
  return kept.length;
}

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 */
function arrow(canvas, x0, y0, x1, y1) {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  canvas.setLineDash(canvas.lineWidth < 2 ? [4, 2] : []);
  canvas.beginPath();
  canvas.moveTo(x0, y0);
  canvas.lineTo(x1, y1);
  canvas.stroke();
  canvas.setLineDash([]);
  canvas.beginPath();
  canvas.moveTo(x1, y1);
  for (const side of [-0.45, 0.45]) canvas.lineTo(x1 - 7 * Math.cos(angle + side), y1 - 7 * Math.sin(angle + side));
  canvas.fill();
}
