/** Parts of a view that are shown on demand. */

import { element } from './element.js';

/**
 * A part that is shown on demand; the URL keeps that it is.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {string} title
 * @param {import('../main.js').Context} context
 * @param {(body: HTMLElement) => void} draw
 */
export function unfold(root, name, title, { place, note }, draw) {
  const body = element('div');
  const others = () => /** @type {string[]} */ (openNow.filter((each) => each !== name));
  openNow = place.open ?? [];
  let isDrawn = false;
  const details = element('details', { 'data-part': name, open: openNow.includes(name), ontoggle: () => {
    if (details.open && !isDrawn) {
      isDrawn = true;
      draw(body);
    }
    openNow = details.open ? [...others(), name] : others();
    note({ open: openNow });
  } }, element('summary', null, title), body);
  root.append(details);
}

/** @type {string[]} the parts that are open now */
let openNow = [];
