/** The page's state is its URL: read here, changed here, and nowhere else. */

import { changed, hashOf, placeOf } from './model/query.js';

/** @typedef {import('./model/query.js').Place} Place */

/** @returns {Place} */
export const place = () => placeOf(location.hash);

/**
 * The link to the place after a change.
 * @param {Partial<Place>} change
 */
export const link = (change) => hashOf(changed(place(), change));

/**
 * Goes to the place after a change, as a step that the back button takes back.
 * @param {Partial<Place>} change
 */
export function go(change) {
  location.hash = link(change);
}

/**
 * Writes a change into the URL without a step of its own and without drawing the view anew: what the view has drawn
 * already (a pan, a slider).
 * @param {Partial<Place>} change
 */
export function note(change) {
  history.replaceState(null, '', link(change));
}
