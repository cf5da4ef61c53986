/** Keys of the whole page: a digit or letter opens a view, `/` searches, `?` helps. */

import { go } from '../state.js';

/** @param {import('../main.js').View[]} views */
export function listenForKeys(views) {
  addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches?.('input, select, textarea')) return;
    if (event.key === '/') {
      const search = /** @type {HTMLElement|null} */ (document.querySelector('[data-search]'));
      if (search) {
        event.preventDefault();
        search.focus();
      }
      return;
    }
    const key = event.key === '?' ? 'h' : event.key;
    const view = views.find((view) => view.key === key);
    if (view) go({ view: view.name });
  });
}
