/** Pointers and wheels over a part of the page that shows time: what they mean, without what is done about it. */

/**
 * @typedef {object} Gestures
 * @property {(x: number, y: number) => void} hover pixels from the target's left and top
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} click
 * @property {(from: number, to: number, isDone: boolean) => void} brush
 * @property {() => void} cancel of a brush that is not done
 * @property {(pixels: number) => void} pan positive ones show what is later
 * @property {(factor: number, x: number) => void} zoom factors below 1 show less
 * @property {(pixels: number) => void} scroll
 */

/** Pixels that a pointer must move before it means more than a click. */
const SLACK = 4;

/**
 * @param {HTMLElement} target
 * @param {Gestures} gestures
 * @param {{signal: AbortSignal, isPanning: () => boolean, hasWheel?: boolean}} options `isPanning`: whether a key makes a drag a
 *   pan; `hasWheel`: whether wheels are for the target, not for the page
 */
export function listen(target, gestures, { signal, isPanning, hasWheel = true }) {
  /** @type {Map<number, {x: number, y: number}>} */
  const pointers = new Map();
  /** @type {{kind: 'none'|'brush'|'pan'|'pinch', x: number, last: number}} */
  let drag = { kind: 'none', x: 0, last: 0 };
  const at = (/** @type {MouseEvent} */ event) => {
    const box = target.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const on = (/** @type {string} */ name, /** @type {(event: any) => void} */ listener) =>
    target.addEventListener(name, listener, { signal, passive: false });

  on('pointerdown', (/** @type {PointerEvent} */ event) => {
    if (event.button > 1) return;
    const { x, y } = at(event);
    pointers.set(event.pointerId, { x, y });
    target.setPointerCapture(event.pointerId);
    if (pointers.size === 2) {
      if (drag.kind === 'brush') gestures.cancel();
      drag = { kind: 'pinch', x, last: spread(pointers) };
    } else {
      drag = { kind: event.shiftKey || event.button === 1 || isPanning() ? 'pan' : 'none', x, last: x };
    }
    if (event.button === 1) event.preventDefault();
  });

  on('pointermove', (/** @type {PointerEvent} */ event) => {
    const { x, y } = at(event);
    if (!pointers.has(event.pointerId)) {
      gestures.hover(x, y);
      return;
    }
    pointers.set(event.pointerId, { x, y });
    if (drag.kind === 'pinch') {
      if (pointers.size < 2) return;
      const wide = spread(pointers);
      gestures.zoom(drag.last / wide, middle(pointers));
      drag.last = wide;
    } else if (drag.kind === 'pan') {
      gestures.pan(drag.last - x);
      drag.last = x;
    } else if (drag.kind === 'brush' || Math.abs(x - drag.x) > SLACK) {
      drag.kind = 'brush';
      gestures.brush(drag.x, x, false);
    }
  });

  on('pointerup', (/** @type {PointerEvent} */ event) => {
    if (!pointers.delete(event.pointerId)) return;
    const { x, y } = at(event);
    if (drag.kind === 'brush') gestures.brush(drag.x, x, true);
    else if (drag.kind === 'none') gestures.click(x, y);
    if (pointers.size === 0) drag = { kind: 'none', x: 0, last: 0 };
  });

  on('pointercancel', (/** @type {PointerEvent} */ event) => {
    pointers.delete(event.pointerId);
    if (drag.kind === 'brush') gestures.cancel();
    drag = { kind: 'none', x: 0, last: 0 };
  });
  on('pointerleave', () => gestures.leave());
  if (hasWheel) on('wheel', (/** @type {WheelEvent} */ event) => wheel(event, at(event).x, gestures));
}

/**
 * @param {WheelEvent} event
 * @param {number} x
 * @param {Gestures} gestures
 */
function wheel(event, x, gestures) {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? 400 : 1;
  const [dx, dy] = event.shiftKey && event.deltaX === 0 ? [event.deltaY * unit, 0] : [event.deltaX * unit, event.deltaY * unit];
  if (event.altKey) gestures.scroll(dy);
  else if (Math.abs(dx) > Math.abs(dy)) gestures.pan(dx);
  else if (dy !== 0) gestures.zoom(Math.exp(Math.max(-1, Math.min(1, dy * (event.ctrlKey ? 0.01 : 0.002)))), x);
}

/** @param {Map<number, {x: number, y: number}>} pointers */
function spread(pointers) {
  const [one, other] = [...pointers.values()];
  return Math.max(10, Math.hypot(one.x - other.x, one.y - other.y));
}

/** @param {Map<number, {x: number, y: number}>} pointers */
const middle = (pointers) => [...pointers.values()].reduce((sum, { x }) => sum + x, 0) / pointers.size;
