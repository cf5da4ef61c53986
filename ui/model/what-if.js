/** Changes of a what-if, as text in the URL and in requests: `KIND:NAME=FACTOR`, and what the prediction says of them. */

/**
 * What `set` calls the thing that a row is about; undefined where nothing can be changed (a machine, the whole run).
 * @param {Record<string, any>} row
 * @param {Set<string>} [twins] procedures that their module does not tell apart: see `twinsOf`
 * @returns {string|undefined}
 */
export function changeOf(row, twins) {
  if (row.object) return `object:${row.object}`;
  if (row.procedure) {
    if (row.line && row.file) return `line:${row.file}:${row.line}`;
    if (twins?.has(`${row.procedure} (${row.module})`)) return `procedure:${row.procedure} (${row.file ?? ''})`;
    return `procedure:${row.procedure}${row.module ? ` (${row.module})` : ''}`;
  }
  if (row.thread) return `thread:${row.thread}${row.tid === undefined ? '' : ` #${row.tid}`}`;
  if (row.process) return `process:${row.process}${row.pid === undefined ? '' : ` #${row.pid}`}`;
  return undefined;
}

/**
 * Procedures of one name that stand several times in one module, as static functions of several files do.
 * @param {any[]} rows by procedure
 * @returns {Set<string>}
 */
export function twinsOf(rows) {
  const seen = new Set();
  const twins = new Set();
  for (const row of rows) {
    const name = `${row.procedure} (${row.module})`;
    if (seen.has(name)) twins.add(name);
    seen.add(name);
  }
  return twins;
}

/**
 * The changes of a place: factors by what they change, in the order in which they were made. What is not a change is left
 * out, and of two for the same thing the last counts.
 * @param {string[]|undefined} texts
 * @returns {Map<string, number>}
 */
export function changesOf(texts) {
  const changes = new Map();
  for (const text of texts ?? []) {
    const at = text.lastIndexOf('=');
    const number = text.slice(at + 1).trim();
    const factor = number.endsWith('%') ? Number(number.slice(0, -1)) / 100 : Number(number);
    if (at > 0 && number !== '' && Number.isFinite(factor) && factor >= 0) changes.set(text.slice(0, at), factor);
  }
  return changes;
}

/**
 * The same as text; factors of 1 change nothing and are left out.
 * @param {Map<string, number>} changes
 */
export const textsOf = (changes) => [...changes].filter(([, factor]) => factor !== 1).map(([of, factor]) => `${of}=${factor}`);

/**
 * A factor for people.
 * @param {number} factor
 */
export const factorText = (factor) => (factor === 1 ? 'as it is' : `× ${Number(factor.toFixed(2))}`);

/**
 * What is predicted of all changes together.
 * @typedef {object} Prediction
 * @property {number} pathBefore seconds
 * @property {number} pathAfter seconds
 * @property {number|undefined} pathError seconds, one standard error of the gain
 * @property {number} elapsedBefore seconds
 * @property {number} elapsedAfter seconds
 * @property {number|undefined} elapsedError seconds
 * @property {{least: number, most: number}|undefined} elapsedRange seconds, where the executions of the changed run are far apart
 * @property {number} elapsedGainPercent
 * @property {number} pathGainPercent
 */

/**
 * @param {any} report the answer of `api/what-if`
 * @returns {Prediction|null} null where it holds no prediction
 */
export function predictionOf(report) {
  const row = report.rows.find((/** @type {any} */ row) => row.section === 'together');
  if (!row) return null;
  const pathBefore = row.path_after_seconds + row.path_gain_seconds;
  const elapsedBefore = row.elapsed_after_seconds + row.elapsed_gain_seconds;
  // Where events were lost, that is most of the error of both.
  const points = row.elapsed_error_percent
    ?? elapsedError(row.error_percent, row.path_gain_percent, row.elapsed_gain_percent);
  return {
    pathBefore,
    pathAfter: row.path_after_seconds,
    pathError: row.error_percent === undefined ? undefined : row.error_percent / 100 * pathBefore,
    elapsedBefore,
    elapsedAfter: row.elapsed_after_seconds,
    elapsedRange: row.gain_low_percent === undefined || row.gain_high_percent === undefined ? undefined : {
      least: elapsedBefore * (1 - row.gain_high_percent / 100),
      most: elapsedBefore * (1 - row.gain_low_percent / 100),
    },
    elapsedError: points === undefined ? undefined : points / 100 * elapsedBefore,
    elapsedGainPercent: row.elapsed_gain_percent,
    pathGainPercent: row.path_gain_percent,
  };
}

/**
 * The longest time that a prediction has to show: the full width of its bars. A change can make a run longer.
 * @param {Prediction} found
 */
export function longestOf(found) {
  const after = Math.max(found.elapsedAfter, found.elapsedRange?.most ?? found.elapsedAfter + (found.elapsedError ?? 0));
  return Math.max(found.elapsedBefore, after, found.pathBefore, found.pathAfter + (found.pathError ?? 0), 1e-12);
}

/**
 * Standard error of a gain of elapsed time. Both gains rest on the same observations, n of them, and a share p of n
 * observations has the error √(p(1−p)/n): n is taken from the error of the path's gain.
 * @param {number|undefined} pathError percentage points
 * @param {number} pathGain percent
 * @param {number} elapsedGain percent
 * @returns {number|undefined} percentage points; undefined where the path's error tells nothing of n
 */
export function elapsedError(pathError, pathGain, elapsedGain) {
  const spread = (/** @type {number} */ percent) => {
    const share = Math.min(1, Math.abs(percent) / 100);
    return Math.sqrt(share * (1 - share));
  };
  if (pathError === undefined || pathError === 0 || spread(pathGain) === 0) return undefined;
  return pathError * spread(elapsedGain) / spread(pathGain);
}

/**
 * Procedures of the path before and after, those of both in one row, the longest of either first.
 * @param {any[]} before rows of the critical path by procedure
 * @param {any[]} report rows of the what-if
 * @returns {{row: any, before: number, after: number}[]} seconds
 */
export function paths(before, report) {
  const key = (/** @type {any} */ row) => JSON.stringify([row.procedure, row.module, row.file]);
  /** @type {Map<string, {row: any, before: number, after: number}>} */
  const both = new Map();
  for (const row of before) if (row.critical_path_seconds > 0) both.set(key(row), { row, before: row.critical_path_seconds, after: 0 });
  for (const row of report) {
    if (row.section !== 'path') continue;
    const known = both.get(key(row));
    if (known) known.after = row.seconds;
    else both.set(key(row), { row, before: 0, after: row.seconds });
  }
  const size = (/** @type {{before: number, after: number}} */ one) => Math.max(one.before, one.after);
  return [...both.values()].sort((a, b) => size(b) - size(a));
}
