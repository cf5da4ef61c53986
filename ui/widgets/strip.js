/**
 * A thin strip of effective parallelism over the whole run, for the head of every view: it shows the phase, and a brush sets it. Arrows move the phase, shift and
 * arrows make it longer or shorter, escape takes it away. In an exported file, which answers for the whole run only, it shows and does no more.
 */

import { binned } from '../model/curves.js';
import { phase as phaseText, phaseSeconds, time } from '../model/quantity.js';
import { clamped, pixelAt, secondsAt } from '../model/timelinewindow.js';
import { askCurve } from './curvestore.js';
import { element } from './element.js';
import { listen } from './gestures.js';
import { colours } from './palette.js';

/** Bins that are asked for, pixels of height, and milliseconds after the last key until the phase is gone to. */
const [BINS, HEIGHT, REST] = [400, 28, 450];

/** Whether the strip that was drawn last had the focus: the new one takes it over. */
let hadFocus = false;

/**
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
export function strip(context) {
  const { recording, place, go, signal } = context;
  const elapsed = recording.elapsed_seconds;
  const canvas = element('canvas.strip', { 'data-part': 'strip', ...(recording.is_export ? { role: 'img' } : { tabindex: '0', role: 'slider' }) });
  const given = phaseSeconds(place.phase);
  /** @type {{phase: {from: number, to: number}|null, values: number[]}} */
  const shown = { phase: given && { from: given[0], to: given[1] }, values: [] };
  const draw = () => paint(canvas, shown, elapsed);
  const say = () => describe(canvas, shown, elapsed, recording.is_export);
  say();
  requestAnimationFrame(() => {
    if (hadFocus && !document.activeElement?.matches('input, select, textarea')) canvas.focus();
    draw();
  });
  askCurve({ metric: 'effective_parallelism', node: 'program' }, { bins: BINS, io: place.io }).then((curve) => {
    shown.values = curve.values;
    say();
    draw();
  }, () => {
    canvas.title = 'The parallelism over the run is not known';
  });
  const size = new ResizeObserver(draw);
  size.observe(canvas);
  signal.addEventListener('abort', () => {
    hadFocus = document.activeElement === canvas;
    size.disconnect();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw, { signal });
  if (recording.is_export) return canvas;
  const show = (/** @type {{from: number, to: number}|null} */ phase) => {
    shown.phase = phase;
    say();
    draw();
  };
  const set = () => go({ phase: shown.phase ? phaseText(shown.phase.from, shown.phase.to) : undefined });
  if (place.phase && !given) {
    // In percent, or as a procedure: the analysis knows where that is. The head asks the same.
    context.report('summary', { weight: undefined }).then(({ recording: { phase } }) => phase && show({ from: phase[0], to: phase[1] }), () => {});
  }
  listenForBrush(canvas, shown.phase, { elapsed, signal, show, set });
  listenForKeys(canvas, shown, { elapsed, signal, show, set });
  return canvas;
}

/** @typedef {{elapsed: number, signal: AbortSignal, show: (phase: {from: number, to: number}|null) => void, set: () => void}} Actions */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{from: number, to: number}|null} before the phase to go back to
 * @param {Actions} actions
 */
function listenForBrush(canvas, before, { elapsed, signal, show, set }) {
  const seconds = (/** @type {number} */ x) => secondsAt({ from: 0, to: elapsed }, canvas.clientWidth, Math.min(Math.max(x, 0), canvas.clientWidth));
  const nothing = () => {};
  listen(canvas, {
    brush: (from, to, isDone) => {
      show({ from: seconds(Math.min(from, to)), to: seconds(Math.max(from, to)) });
      if (isDone) set();
    },
    cancel: () => show(before), hover: nothing, leave: nothing, click: nothing, pan: nothing, zoom: nothing, scroll: nothing,
  }, { signal, isPanning: () => false, hasWheel: false });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{phase: {from: number, to: number}|null}} shown
 * @param {Actions} actions
 */
function listenForKeys(canvas, shown, { elapsed, signal, show, set }) {
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  canvas.addEventListener('keydown', (event) => {
    const side = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (event.key === 'Escape' && shown.phase) show(null);
    else if (side !== 0) show(moved(shown.phase, side, event.shiftKey, elapsed));
    else return;
    event.preventDefault();
    event.stopPropagation();
    clearTimeout(timer);
    timer = setTimeout(set, REST);
  }, { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
}

/**
 * The phase after a key; a tenth of the run where there was none.
 * @param {{from: number, to: number}|null} phase
 * @param {number} side -1 or 1
 * @param {boolean} isGrowing whether its end moves, rather than all of it
 * @param {number} elapsed
 */
function moved(phase, side, isGrowing, elapsed) {
  if (!phase) return side > 0 ? { from: 0, to: elapsed / 10 } : { from: elapsed * 0.9, to: elapsed };
  const step = side * elapsed / 50;
  if (!isGrowing) return clamped({ from: phase.from + step, to: phase.to + step }, elapsed);
  return { from: phase.from, to: Math.min(Math.max(phase.to + step, phase.from + elapsed / 200), elapsed) };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{phase: {from: number, to: number}|null, values: number[]}} shown
 * @param {number} elapsed
 * @param {boolean} isExport
 */
function describe(canvas, { phase, values }, elapsed, isExport) {
  const most = Math.max(0, ...values);
  const curve = values.length > 0 ? `, up to ${most.toFixed(1)} busy` : '';
  const part = phase ? `phase ${time(phase.from)} to ${time(phase.to)}` : 'whole run';
  canvas.setAttribute('aria-label', `Effective parallelism over the run${curve}; ${part}${isExport ? '' : '. Arrows move the phase, shift and arrows change its length, escape takes it away'}`);
  canvas.title = isExport ? 'Effective parallelism over the run. An exported file answers for the whole run only; `longpole view` on the recording answers for phases'
    : `Effective parallelism over the run${curve}. Drag to choose the phase that every view is about`;
  if (isExport) return;
  const middle = phase ? (phase.from + phase.to) / 2 : elapsed / 2;
  for (const [name, value] of Object.entries({ valuemin: 0, valuemax: 100, valuenow: Math.round(middle / elapsed * 100), valuetext: part })) canvas.setAttribute(`aria-${name}`, String(value));
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{phase: {from: number, to: number}|null, values: number[]}} shown
 * @param {number} elapsed
 */
function paint(canvas, { phase, values }, elapsed) {
  const width = canvas.clientWidth;
  if (width === 0) return;
  const { of } = colours();
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(HEIGHT * devicePixelRatio);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.scale(devicePixelRatio, devicePixelRatio);
  const whole = { from: 0, to: elapsed };
  const [left, right] = phase ? [pixelAt(whole, width, phase.from), pixelAt(whole, width, phase.to)] : [0, width];
  if (phase) {
    context.fillStyle = of('mark');
    context.fillRect(left, 0, Math.max(right - left, 1), HEIGHT);
  }
  const bins = binned(values, Math.max(1, Math.min(values.length, Math.floor(width / 2))));
  const most = Math.max(1, ...bins);
  bins.forEach((value, bin) => {
    const x = bin / bins.length * width;
    context.globalAlpha = x + width / bins.length / 2 < left || x > right ? 0.35 : 1;
    context.fillStyle = of('busy');
    context.fillRect(x, HEIGHT - 2 - value / most * (HEIGHT - 4), width / bins.length + 0.3, value / most * (HEIGHT - 4));
  });
  context.globalAlpha = 1;
  context.fillStyle = of('faint');
  context.fillRect(0, HEIGHT - 2, width, 1);
  if (!phase) return;
  context.fillStyle = of('focus');
  for (const x of [left, right]) context.fillRect(Math.min(Math.max(x - 1, 0), width - 2), 0, 2, HEIGHT);
}
