/** The timeline's keys: what each one does, for the listener and for whoever asks. */

/** What the keys do, in words. */
export const KEYS = [
  ['← →', 'earlier, later'], ['+ −', 'show less, show more'], ['0', 'the whole run'], ['↑ ↓', 'choose a thread'],
  ['shift ← →', 'move the cursor'], ['enter', 'what the thread does at the cursor'], ['[ ]', 'begin and end of the phase at the cursor'],
  ['p', 'what is shown becomes the phase'], ['z', 'show the phase'], ['a', 'wake arrows'], ['t', 'low rows without names, or rows with names'], ['esc', 'no phase, nothing chosen'],
];

/** What a pointer does, in words. */
export const POINTERS = [
  ['drag', 'the phase, for every view'], ['click', 'what the thread does there'], ['wheel, pinch', 'show less, show more'],
  ['wheel sideways, shift and drag, middle button, space and drag', 'earlier, later'], ['wheel over the names, alt and wheel', 'other threads'],
];

/**
 * What keys ask for.
 * @typedef {Record<'pan'|'zoom'|'step'|'move', (amount: number) => void> &
 *   Record<'all'|'open'|'begin'|'end'|'here'|'toPhase'|'arrows'|'rows'|'clear', () => void>} Asked
 */

/**
 * Does what a key asks for.
 * @param {KeyboardEvent} event
 * @param {Asked} asked
 * @param {boolean} isInside whether the rows have the focus: arrows and enter are theirs then
 * @returns {boolean} whether it was a key of the timeline
 */
export function press(event, asked, isInside) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const anywhere = {
    '+': () => asked.zoom(0.5), '=': () => asked.zoom(0.5), '-': () => asked.zoom(2), '−': () => asked.zoom(2), 0: asked.all,
    a: asked.arrows, t: asked.rows, p: asked.here, z: asked.toPhase, '[': asked.begin, ']': asked.end, Escape: asked.clear,
  };
  const side = event.key === 'ArrowLeft' ? -1 : 1;
  const turn = event.shiftKey ? () => asked.move(side) : () => asked.pan(side * 0.1);
  const inside = {
    ArrowLeft: turn, ArrowRight: turn, ArrowUp: () => asked.step(-1), ArrowDown: () => asked.step(1), Enter: asked.open,
    PageUp: () => asked.step(-10), PageDown: () => asked.step(10), Home: () => asked.pan(-1e9), End: () => asked.pan(1e9),
  };
  const action = /** @type {Record<string, () => void>} */ (isInside ? { ...anywhere, ...inside } : anywhere)[event.key];
  action?.();
  return action !== undefined;
}
