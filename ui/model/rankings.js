/** The metrics of one run side by side: which are there, what they disagree about, and what was measured. */

import { percent } from './quantity.js';

/**
 * A metric of the rankings: its keys begin with `name`.
 * @typedef {{name: string, title: string}} RankedMetric
 */

/** @type {RankedMetric[]} in the order of the columns */
const METRICS = [
  { name: 'gprof', title: 'gprof' }, { name: 'ips2', title: 'ips2' }, { name: 'wait', title: 'Waited' }, { name: 'critical_path', title: 'Path' },
  { name: 'npt', title: 'NPT' }, { name: 'slack', title: 'Slack' }, { name: 'zeroing', title: 'Zeroing' }, { name: 'replay', title: 'Replay' },
];

/** Metrics of objects: of NPT it is that of those who held them while others waited. */
const OF_OBJECTS = ['wait', 'npt', 'zeroing', 'replay'];

/** What a row can be. */
export const LEVELS = ['procedure', 'thread', 'object', 'line', 'process'];

/**
 * Metrics that say anything of these rows, and those that say nothing.
 * @param {any[]} rows
 * @param {string|undefined} by what a row is: of objects there are other metrics
 * @returns {{shown: RankedMetric[], silent: RankedMetric[]}}
 */
export function metricsOf(rows, by) {
  const expected = METRICS.filter(({ name }) => (by === 'object' ? OF_OBJECTS.includes(name) : name !== 'wait'));
  const says = (/** @type {RankedMetric} */ { name }) => rows.some((row) => Math.abs(row[`${name}_percent`] ?? 0) > 0);
  return { shown: expected.filter(says), silent: expected.filter((metric) => !says(metric)) };
}

/**
 * Rows about which metrics disagree, as the recording's answer marks them.
 * @param {any[]} rows
 */
export const disagreements = (rows) => rows.filter((row) => row.disagreement);

/**
 * A share as text. Of a sum that is next to nothing, a loss is a share of any size.
 * @param {number} share per cent
 */
export const shareText = (share) => (share < -999 ? 'below −999 %' : percent(share));

/**
 * Useful processor seconds for each second of the run.
 * @param {any} recording of a report
 */
export const speedUp = ({ cpu_seconds: cpu, spin_seconds: spin, elapsed_seconds: elapsed }) => (elapsed > 0 ? (cpu - spin) / elapsed : 0);

/**
 * Rows whose gain was measured by running the program without them, the largest gain first.
 * @param {any[]} rows
 */
export const measured = (rows) => rows.filter((row) => row.measured_gain_percent !== undefined).sort((a, b) => b.measured_gain_percent - a.measured_gain_percent);

/**
 * The rows themselves, and how well each metric agrees with what was measured of them.
 * @param {any[]} rows of the answer
 * @returns {{ranked: any[], correlations: any[]}}
 */
export const parts = (rows) => ({
  ranked: rows.filter((row) => row.section !== 'correlation'),
  correlations: rows.filter((row) => row.section === 'correlation'),
});

/**
 * The row that was measured to gain most, among those with an interval.
 * @param {any[]} rows
 */
export const gainsMost = (rows) => measured(rows).find((row) => row.measured_low_percent !== undefined);
