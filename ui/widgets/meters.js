/** Bars and ranges, always beside the numbers that they show. */

import { element } from './element.js';
import { intervalOf } from '../model/summary.js';

/**
 * A bar of a share of the whole.
 * @param {number} percent
 * @param {string} [kind] one of the kinds of states, for its colour
 */
export const meter = (percent, kind = 'busy') => element('span.meter', { 'aria-hidden': 'true' },
  element('span', { class: `is-${kind}`, style: { width: `${Math.max(0, Math.min(100, percent))}%` } }));

/**
 * A bar from the least to the most, on the run's whole length.
 * @param {number} low percent
 * @param {number} high percent
 * @param {string} text what it says in words
 */
export function interval(low, high, text) {
  const { left, width } = intervalOf(low, high);
  return element('span.meter.interval', { role: 'img', 'aria-label': text, title: text },
    element('span', { style: { left: `${left}%`, width: `${width}%` } }));
}

/**
 * Parts of one whole, one behind the other.
 * @param {{percent: number, kind: string, title: string}[]} parts
 */
export function stack(parts) {
  const shown = parts.filter((part) => part.percent > 0.05);
  const text = shown.map((part) => `${part.title} ${part.percent.toFixed(1)} %`).join(', ');
  return element('span.meter.parts', { role: 'img', 'aria-label': text, title: text },
    ...shown.map((part) => element('span', { class: `is-${part.kind}`, style: { width: `${part.percent}%` } })));
}
