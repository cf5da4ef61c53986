/** Call paths of requests, synchronisations and writes (parts of the view `communication`). */

import { placesOf } from '../../model/communication.js';
import { shorten } from '../../model/names.js';
import { element } from '../../widgets/element.js';
import { lineLink } from '../../widgets/places.js';

/** @typedef {import('../../main.js').Context} Context */

/** Callers that are shown, and threads that are named. */
const [CALLERS, THREADS] = [8, 4];

/**
 * One of R, I, W: its place, its callers, and who was there.
 * @param {'R'|'I'|'W'} letter
 * @param {string} does
 * @param {string|undefined} path the innermost place first
 * @param {string|undefined} threads their names
 * @param {Context} context
 * @param {string} [name] what stands before the path
 */
export function callPath(letter, does, path, threads, context, name) {
  const places = placesOf(path);
  const named = threads ? threads.split(', ') : [];
  return element('div.call-path', { 'data-part': `path-${letter}` },
    element('p', null, element('span.letter', null, letter), ` ${does} `, name && element('strong', { title: name }, shorten(name, 70)),
      named.length > 0 && element('span.faint', { title: named.join(', ') }, named.length > THREADS ? `by ${named.length} threads` : `by ${named.join(', ')}`)),
    element('ol', null, ...places.slice(0, CALLERS).map((one, at) => element('li', { title: one.procedure },
      at === 0 ? (letter === 'I' ? 'in ' : '') : 'called by ', element('span.code', null, shorten(one.procedure, 44)), ' ', lineLink(one, context)))),
    places.length > CALLERS && element('p.faint', null, `${places.length - CALLERS} more callers`));
}
