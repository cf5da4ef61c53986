/** Keys of the whole page: a digit or letter opens a view, `/` searches everything, `f` the names of the view, `?` helps. */

import { go } from '../state.js';

/** What the keys do everywhere, in words. */
export const KEYS = [
  ['1 … 9', 'the views, in the order of their list'], ['h ?', 'this help'], ['/', 'search procedures, objects and threads'], ['f', 'search the names that the view shows'],
  ['↑ ↓', 'in a table: the same link of the row above or below'], ['esc', 'close what is open'],
];

/** @param {import('../main.js').View[]} views */
export function listenForKeys(views) {
  addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isWriting(target)) return;
    if (event.key === '/' || event.key === 'f') {
      const search = /** @type {HTMLElement|null} */ (document.querySelector(event.key === '/' ? '[data-search-all]' : 'main [data-search]'));
      if (!search) return;
      event.preventDefault();
      if (event.key === '/') search.click();
      else search.focus();
      return;
    }
    const key = event.key === '?' ? 'h' : event.key;
    const view = views.find((view) => view.key === key);
    if (view) go({ view: view.name });
  });
}

/** Whether a letter is meant as text; sliders and boxes to tick take none. @param {HTMLElement} target */
const isWriting = (target) => Boolean(target.matches?.('select, textarea, input:not([type=range], [type=checkbox], [type=radio])') || target.closest?.('dialog'));
