/** What moves with low parallelism or with waiting: rows of the report correlation, as they are told. */

import { amount } from './quantity.js';

/** What series are compared with, and how that is called. @type {Record<string, string>} */
const TARGETS = { effective_parallelism: 'low parallelism', wait_seconds: 'waiting', synchronisation_wait_seconds: 'waiting for others' };

/**
 * @typedef {object} Moves
 * @property {{target: string, title: string, rows: any[]}[]} groups what was found, by what it moves with, in the report's order
 * @property {string[]} said why nothing was found, or what was left out
 */

/**
 * @param {any[]} rows
 * @returns {Moves}
 */
export function movesOf(rows) {
  const found = rows.filter((row) => row.metric);
  const targets = [...new Set(found.map((row) => row.target ?? 'effective_parallelism'))];
  return {
    groups: targets.map((target) => ({
      target, title: `Moves with ${TARGETS[target] ?? target.replaceAll('_', ' ')}`, rows: found.filter((row) => (row.target ?? 'effective_parallelism') === target),
    })),
    said: rows.filter((row) => !row.metric && row.text).map((row) => row.text),
  };
}

/**
 * The curves of a row and of what it moves with, as the URL has them.
 * @param {any} row
 */
export const curvesOf = ({ target, metric, node }) => [`${target ?? 'effective_parallelism'}@program`, `${metric}@${node || 'program'}`];

/**
 * How strong, over how much, and which of them comes first.
 * @param {any} row
 */
export function strengthText({ strength, lag_seconds: lag, bins }) {
  const when = !lag ? '' : lag > 0 ? `, ${amount(lag, 's')} before it` : `, ${amount(-lag, 's')} after it`;
  return `${typeof strength === 'number' ? `${strength < 0 ? '−' : '+'}${Math.abs(strength).toFixed(2)}` : 'means alone'}${when}${bins ? ` in ${bins} bins` : ''}`;
}

/**
 * The series while parallelism is low, and else.
 * @param {any} row
 */
export function contrastText({ while_low: low, otherwise, unit, target }) {
  if (typeof low !== 'number' || typeof otherwise !== 'number') return '';
  const when = (target ?? 'effective_parallelism') === 'effective_parallelism' ? 'while few are busy' : 'while many wait';
  return `${amount(low, unit ?? '')} ${when}, ${amount(otherwise, unit ?? '')} otherwise`;
}
