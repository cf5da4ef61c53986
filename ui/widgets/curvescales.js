/** The scales and axes of curves of different units: one at the left, one at the right inside the drawing, which has no room beside it. */

import { short } from '../model/quantity.js';
import { endsOf, levelsOf, unitText } from '../model/scales.js';
import { element } from './element.js';

/** @typedef {import('../model/scales.js').Scale} Scale */

/**
 * Scales as the drawing takes them.
 * @param {Scale[]} scales of the curves
 * @returns {Record<string, {range: (plot: any, least: number|null, most: number|null) => [number, number]}>}
 */
export const drawn = (scales) => Object.fromEntries([...new Set(['left', ...scales.map(({ key }) => key)])].map((key) =>
  [key, { range: (_, least, most) => endsOf(least, most) }]));

/** What stands at the left axis. @param {any} _ @param {number[]} values */
export const written = (_, values) => values.map((value) => short(Number(value.toPrecision(6))));

/** The units above the axes, and the values of the right one. */
export class Labels {
  /** @param {Scale[]} scales */
  constructor(scales) {
    const unitOf = (/** @type {string} */ side) => scales.find((scale) => scale.side === side)?.unit;
    this.right = unitOf('right') !== undefined;
    this.levels = element('div.curve-levels', { 'aria-hidden': 'true' });
    const [left, right] = [unitOf('left') ?? 'threads', unitOf('right')];
    this.parts = [
      element('span.curve-unit.faint', { 'aria-hidden': 'true', 'data-part': 'unit-left' }, unitText(left)),
      ...(right === undefined ? [] : [element('span.curve-unit.is-right.faint', { 'aria-hidden': 'true', 'data-part': 'unit-right' }, unitText(right)), this.levels]),
    ];
  }

  /** Writes the right axis as the drawing stands. @param {any} plot */
  show(plot) {
    const scale = plot?.scales.right;
    if (!this.right || !scale || typeof scale.max !== 'number') return;
    const height = plot.over.clientHeight;
    this.levels.style.setProperty('top', `${plot.over.offsetTop}px`);
    this.levels.replaceChildren(...levelsOf(scale.min, scale.max).filter((level) => height - plot.valToPos(level, 'right') < height - 18)
      .map((level) => element('span', { style: { top: `${plot.valToPos(level, 'right')}px` } }, short(Number(level.toPrecision(6))))));
  }
}
