/** Bars of several parts, and the marks by which a legend names them. Parts differ in colour, hatch and letter. */

import { element } from './element.js';

/**
 * A part of a bar.
 * @typedef {object} Part
 * @property {number} value
 * @property {string} look class `look-…` of style/bars.css
 * @property {string} mark letters that name it
 * @property {string} title what it is, with its number
 * @property {string} [href] where it leads
 */

/** Parts narrower than this are drawn without their mark, in percent of the bar's room. */
const ROOM = 2.2;

/**
 * A bar of parts beside each other, as long as its share of `whole`.
 * @param {Part[]} parts
 * @param {number} whole what the full width stands for
 * @param {string} label
 * @returns {HTMLElement}
 */
export function bar(parts, whole, label) {
  return element('div.stack', { role: 'group', 'aria-label': label }, ...parts.filter(({ value }) => value > 0).map((part) => {
    const share = whole > 0 ? 100 * part.value / whole : 0;
    return element(`${part.href ? 'a' : 'span'}.part.look-${part.look}`, {
      href: part.href, title: part.title, 'aria-label': part.title, role: part.href ? undefined : 'img',
      style: { width: `${share}%` }, 'data-mark': part.mark,
    }, share >= ROOM ? part.mark : '');
  }));
}

/**
 * The mark of a part, as a legend has it.
 * @param {string} look
 * @param {string} mark
 */
export const swatch = (look, mark) => element(`span.part-mark.look-${look}`, { 'aria-hidden': 'true' }, mark);
