/** The style's colours for canvases, which know no variables. */

import { KINDS } from '../model/timelineraster.js';

/**
 * @typedef {object} Colours
 * @property {(name: string) => string} of a variable of the style, without its dashes
 * @property {import('../model/timelineraster.js').Palette} palette
 * @property {string} key differs where colours differ
 */

/** @returns {Colours} */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  const ground = numbers(of('ground'));
  const kinds = Object.fromEntries(KINDS.map((kind) => {
    const fill = kind === 'absent' ? null : numbers(of(kind));
    return [kind, fill ? [pixel(fill), pixel(fill.map((part, index) => Math.round(part * 0.4 + ground[index] * 0.6)))] : [0, 0]];
  }));
  const scale = Math.max(1, Math.round(devicePixelRatio));
  return { of, palette: { kinds: /** @type {any} */ (kinds), path: pixel(numbers(of('path'))), halo: pixel(ground), scale }, key: `${of('ground')} ${scale}` };
}

/** @param {string} hex as `#rrggbb` */
const numbers = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) || 0);

const isLittle = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** A pixel as image data has it. @param {number[]} rgb */
const pixel = ([red, green, blue]) => (isLittle ? (255 << 24) | (blue << 16) | (green << 8) | red : (red << 24) | (green << 16) | (blue << 8) | 255) >>> 0;
