/** Paints the rows of the timeline: frames, the critical path's hand-offs, wakes, the phase, the cursor. */

import { cover } from '../model/frames.js';
import { middles } from '../model/timelinerows.js';
import { paint } from '../model/timelineraster.js';
import { pixelAt, ticks } from '../model/timelinewindow.js';
import { BLOCK } from './framestore.js';
import { paintHandoffs, paintWakes } from './linespainter.js';

/** @typedef {import('../model/frames.js').Frame} Frame */
/** @typedef {import('../model/timelinewindow.js').Window} Window */
/** @typedef {import('../model/timelinerows.js').Row} Row */

/**
 * What is painted. Lengths are pixels of the style, not of the screen.
 * @typedef {object} Scene
 * @property {Window} window
 * @property {number} width
 * @property {number} height of the part that is seen
 * @property {number} top of it, in all rows
 * @property {Row[]} rows all of them
 * @property {Row[]} visible
 * @property {number} threadHeight
 * @property {import('./framestore.js').FrameStore} store
 * @property {Window|null} phase
 * @property {Window|null} brush what is being brushed
 * @property {number|null} cursor seconds
 * @property {number|null} told a moment of the chosen thread
 * @property {string|undefined} chosen a thread's id
 * @property {any[]|null} wakes
 * @property {import('./palette.js').Colours} colours
 * @property {{left: number, isSpent: boolean}} budget how many frames may be turned into pixels now; others wait for the next drawing
 */

/**
 * How many hand-offs there are in the window, whether that is known exactly, and how many of them and of the wakes are drawn.
 * @typedef {{handoffs: number, isExact: boolean, drawn: number, wakes: number}} Counts
 */

/** @type {WeakMap<Frame, {key: string, image: HTMLCanvasElement}>} */
const images = new WeakMap();

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 * @returns {Counts}
 */
export function paintLanes(canvas, scene) {
  const { width, height, colours } = scene;
  const scale = devicePixelRatio;
  canvas.setTransform(scale, 0, 0, scale, 0, 0);
  canvas.clearRect(0, 0, width, height);
  canvas.imageSmoothingEnabled = false;
  paintGrid(canvas, scene);
  for (const stretch of stretches(scene.visible)) paintStretch(canvas, scene, stretch);
  const places = middles(scene.store.roster, scene.rows);
  const handoffs = paintHandoffs(canvas, scene, places);
  const wakes = scene.wakes ? paintWakes(canvas, scene, places, scene.wakes) : 0;
  const chosen = scene.visible.find((row) => row.kind === 'thread' && row.key === scene.chosen);
  if (chosen) {
    canvas.strokeStyle = colours.of('focus');
    canvas.lineWidth = 2;
    canvas.strokeRect(-2, chosen.top - scene.top - 0.5, width + 4, chosen.height + 0.5);
  }
  paintPhase(canvas, scene);
  if (chosen && scene.told !== null) paintTold(canvas, scene, chosen, scene.told);
  if (scene.cursor !== null) line(canvas, pixelAt(scene.window, width, scene.cursor), 0, height, colours.of('text'), 1);
  return { ...handoffs, wakes };
}

/**
 * Rows that lie below each other in the frames and on the screen alike: they are drawn at once.
 * @param {Row[]} rows
 * @returns {Row[][]}
 */
function stretches(rows) {
  /** @type {Row[][]} */
  const found = [];
  for (const row of rows) {
    if (row.kind !== 'thread') continue;
    const last = found.at(-1)?.at(-1);
    if (last && row.index === last.index + 1 && row.index % BLOCK !== 0 && row.top === last.top + last.height) found.at(-1)?.push(row);
    else found.push([row]);
  }
  return found;
}

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 * @param {Row[]} rows
 */
function paintStretch(canvas, { window, width, top, threadHeight, store, colours, budget }, rows) {
  const all = store.frames(Math.floor(rows[0].index / BLOCK));
  const painted = all.filter((frame) => images.get(frame)?.key === keyOf(threadHeight, colours));
  const isLate = budget.left <= 0 && painted.length > 0;
  const frames = isLate ? painted : all;
  if (isLate && painted.length < all.length) budget.isSpent = true;
  const wanted = (window.to - window.from) / (width * devicePixelRatio);
  for (const { frame, from, to } of cover(window, frames, wanted)) {
    if (!painted.includes(frame)) budget.left -= 1;
    const { image, pitch } = imageOf(frame, threadHeight, colours);
    const bin = (frame.to - frame.from) / frame.bins;
    const count = Math.min(rows.length, frame.threads.length - (rows[0].index - frame.first));
    if (count <= 0) continue;
    const left = pixelAt(window, width, from);
    canvas.drawImage(image, (from - frame.from) / bin, (rows[0].index - frame.first) * pitch, (to - from) / bin, count * pitch,
      left, rows[0].top - top, pixelAt(window, width, to) - left, count * threadHeight);
  }
}

/**
 * @param {Frame} frame
 * @param {number} threadHeight
 * @param {import('./palette.js').Colours} colours
 */
function imageOf(frame, threadHeight, colours) {
  const pitch = Math.round(threadHeight * devicePixelRatio);
  const key = keyOf(threadHeight, colours);
  const known = images.get(frame);
  if (known?.key === key) return { image: known.image, pitch };
  const image = document.createElement('canvas');
  image.width = frame.bins;
  image.height = pitch * frame.threads.length;
  const gap = threadHeight >= 7 ? Math.max(1, Math.round(devicePixelRatio)) : threadHeight >= 5 ? 1 : 0;
  const pixels = paint(frame, { pitch, gap }, colours.palette);
  image.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(/** @type {ArrayBuffer} */ (pixels.buffer)), frame.bins, image.height), 0, 0);
  images.set(frame, { key, image });
  return { image, pitch };
}

/**
 * @param {number} threadHeight
 * @param {import('./palette.js').Colours} colours
 */
const keyOf = (threadHeight, colours) => `${Math.round(threadHeight * devicePixelRatio)} ${colours.key}`;

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 */
function paintGrid(canvas, { window, width, height, top, visible, colours }) {
  for (const tick of ticks(window, width)) line(canvas, pixelAt(window, width, tick.seconds), 0, height, colours.of('line'), 1);
  canvas.fillStyle = colours.of('raised');
  for (const row of visible) if (row.kind !== 'thread') canvas.fillRect(0, row.top - top, width, row.height - 1);
}

/**
 * A mark at the moment that is told of, pointing at the thread's row.
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 * @param {Row} row
 * @param {number} seconds
 */
function paintTold(canvas, { window, width, height, top, colours }, row, seconds) {
  const x = pixelAt(window, width, seconds);
  canvas.globalAlpha = 0.6;
  line(canvas, x, 0, height, colours.of('focus'), 1);
  canvas.globalAlpha = 1;
  const y = row.top - top;
  canvas.fillStyle = colours.of('focus');
  canvas.strokeStyle = colours.of('ground');
  canvas.lineWidth = 1;
  canvas.beginPath();
  canvas.moveTo(x - 6, y - 9);
  canvas.lineTo(x + 6, y - 9);
  canvas.lineTo(x, y);
  canvas.closePath();
  canvas.fill();
  canvas.stroke();
  line(canvas, x, y, y + row.height, colours.of('focus'), 2);
}

/**
 * What is outside of the phase is dimmed; what is being brushed has an edge.
 * @param {CanvasRenderingContext2D} canvas
 * @param {Scene} scene
 */
function paintPhase(canvas, { window, width, height, phase, brush, colours }) {
  const shown = brush ?? phase;
  if (!shown) return;
  const left = Math.max(0, Math.min(width, pixelAt(window, width, shown.from)));
  const right = Math.max(0, Math.min(width, pixelAt(window, width, shown.to)));
  canvas.globalAlpha = 0.6;
  canvas.fillStyle = colours.of('ground');
  canvas.fillRect(0, 0, left, height);
  canvas.fillRect(right, 0, width - right, height);
  canvas.globalAlpha = 1;
  for (const x of [left, right]) line(canvas, x, 0, height, colours.of('focus'), brush ? 2 : 1);
}

/**
 * @param {CanvasRenderingContext2D} canvas
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 * @param {string} colour
 * @param {number} wide
 */
function line(canvas, x, top, bottom, colour, wide) {
  canvas.fillStyle = colour;
  canvas.fillRect(Math.round(x) - (wide > 1 ? 1 : 0), top, wide, bottom - top);
}

/**
 * Paints the axis of time: ticks, the phase, the cursor's moment.
 * @param {CanvasRenderingContext2D} canvas
 * @param {Pick<Scene, 'window'|'width'|'height'|'phase'|'brush'|'cursor'|'colours'> & {label: string}} scene
 */
export function paintAxis(canvas, { window, width, height, phase, brush, cursor, colours, label }) {
  const scale = devicePixelRatio;
  canvas.setTransform(scale, 0, 0, scale, 0, 0);
  canvas.clearRect(0, 0, width, height);
  canvas.font = '12px system-ui, sans-serif';
  canvas.textBaseline = 'middle';
  const shown = brush ?? phase;
  if (shown) {
    canvas.fillStyle = colours.of('mark');
    const left = pixelAt(window, width, shown.from);
    canvas.fillRect(left, 0, pixelAt(window, width, shown.to) - left, height);
  }
  for (const tick of ticks(window, width)) {
    const x = pixelAt(window, width, tick.seconds);
    line(canvas, x, height - 6, height, colours.of('faint'), 1);
    canvas.fillStyle = colours.of('faint');
    canvas.textAlign = x < 24 ? 'left' : x > width - 24 ? 'right' : 'center';
    canvas.fillText(tick.label, x < 24 ? Math.max(x, 1) : x > width - 24 ? Math.min(x, width - 1) : x, height / 2 - 3);
  }
  if (cursor === null) return;
  const x = pixelAt(window, width, cursor);
  const wide = canvas.measureText(label).width + 8;
  const left = Math.min(Math.max(x - wide / 2, 0), width - wide);
  canvas.fillStyle = colours.of('text');
  canvas.fillRect(left, 0, wide, height - 4);
  canvas.fillStyle = colours.of('ground');
  canvas.textAlign = 'left';
  canvas.fillText(label, left + 4, height / 2 - 2);
}
