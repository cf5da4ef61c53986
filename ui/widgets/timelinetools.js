/** Buttons of the timeline, for those without a wheel or keys, and the window in words. */

import { words } from '../model/timelinewindow.js';
import { element } from './element.js';

/**
 * @param {boolean} isExport
 * @param {import('./timelinekeys.js').Asked} asked
 * @returns {{element: HTMLElement, show: (shown: import('./lanes.js').Shown, isWhole: boolean) => void}} `isWhole`: whether all rows are in sight
 */
export function timelineTools(isExport, asked) {
  const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick, /** @type {string} */ part) =>
    element('button', { title, 'aria-label': title, onclick, 'data-part': part }, text);
  const window = element('span.window', { 'data-part': 'window' });
  const arrows = button('Wake arrows', 'Who let whom go on: an arrow for each wake (a)', asked.arrows, 'arrows');
  const low = button('Low rows', 'Rows without names, so that more of them are in sight (t)', asked.rows, 'rows');
  const here = button(isExport ? 'Phases: not in a file' : 'Phase: what is shown', 'What is shown becomes the phase that every view is about (p)', asked.here, 'phase-here');
  const toPhase = button('Show the phase', 'The window becomes the phase (z)', asked.toPhase, 'to-phase');
  const clear = button('No phase', 'Back to the whole run in every view (esc)', asked.clear, 'no-phase');
  if (isExport) {
    arrows.disabled = true;
    here.disabled = true;
    arrows.title = 'An exported file has no wakes: `longpole view` on the recording draws them';
    here.title = 'An exported file answers for the whole run only; a drag zooms. `longpole view` on the recording answers for any phase';
  }
  let said = '';
  return {
    element: element('div.timeline-tools', { role: 'toolbar', 'aria-label': 'Timeline' },
      button('+', 'Show less (+)', () => asked.zoom(0.5), 'zoom-in'), button('−', 'Show more (−)', () => asked.zoom(2), 'zoom-out'),
      button('‹', 'Earlier (←)', () => asked.pan(-0.25), 'earlier'), button('›', 'Later (→)', () => asked.pan(0.25), 'later'),
      button('Whole run', 'Show the whole run (0)', asked.all, 'all'), here, toPhase, clear, arrows, low, window),
    show: (shown, isWhole) => {
      low.hidden = !shown.isLow && isWhole;
      low.setAttribute('aria-pressed', String(shown.isLow));
      arrows.setAttribute('aria-pressed', String(shown.wakes !== null));
      toPhase.hidden = clear.hidden = shown.phase === null;
      const text = words(shown.window);
      if (text !== said) window.textContent = text;
      said = text;
    },
  };
}
