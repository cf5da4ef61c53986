/** Rows of the critical path with what other reports know of the same things. */

/**
 * The same text for rows about the same thing.
 * @param {any} row
 */
export const identity = (row) => JSON.stringify([row.procedure, row.module, row.file, row.line, row.machine, row.process, row.pid, row.thread, row.tid, row.object]);

/**
 * Adds zeroing and slack to the rows of the path; things that only the other report has stand behind them.
 * @param {any[]} rows of the critical path
 * @param {any[]} others of the view zeroing, by the same kind of thing
 */
export function withZeroing(rows, others) {
  const known = new Map(others.map((row) => [identity(row), row]));
  const add = (/** @type {any} */ row, /** @type {any} */ other) => ({
    ...row, zeroing_seconds: other?.zeroing_seconds, zeroing_percent: other?.percent, slack_seconds: other?.slack_seconds,
  });
  const joined = rows.map((row) => {
    const other = known.get(identity(row));
    known.delete(identity(row));
    return add(row, other);
  });
  const rest = [...known.values()].map(({ rank: _, percent: _1, seconds: _2, error_percent: _3, inclusive_seconds: _4, inclusive_percent: _5, ...row }) => row);
  return [...joined, ...others.filter((row) => known.has(identity(row))).map((row, index) => add(rest[index], row))];
}

/**
 * How the run changes, in words.
 * @param {number} percent gained; less than nothing where the run becomes longer
 */
export function lessOrMore(percent) {
  if (Math.abs(percent) < 0.05) return 'no change';
  return `${Math.abs(percent).toFixed(1)} % ${percent > 0 ? 'less' : 'more'}`;
}
