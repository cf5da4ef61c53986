/** Two recordings compared: the answer of `api/diff` in its parts, ties told apart from changes. */

/** What the rows of the section `run` are called. */
export const RUN = {
  elapsed: 'Elapsed time', critical_path: 'Critical path (CPU time)', useful_cpu_time: 'Useful CPU time', spinning: 'Spinning', ready: 'Waiting for a CPU', blocked: 'Blocked',
};

/** Parts that no procedure is named in. @type {Record<string, string>} */
const KINDS = { ready: 'waiting for a CPU', 'under way': 'from one thread to the next', 'not explained': 'not explained: no call path is known', other: 'other waits' };

/**
 * @param {any[]} rows of the answer
 * @param {string} section
 * @returns {{changed: any[], ties: any[]}} rows that changed beyond their errors, and those that did not
 */
export function sectionOf(rows, section) {
  const own = rows.filter((row) => row.section === section);
  return { changed: own.filter((row) => row.verdict !== 'none'), ties: own.filter((row) => row.verdict === 'none') };
}

/**
 * What a part of the path, a wait or a phase is called.
 * @param {any} row
 */
export function labelOf(row) {
  const name = row.name ?? row.procedure;
  if (row.section === 'because') return name ? `${name}: ${row.kind}` : KINDS[row.kind] ?? row.kind;
  if (row.section === 'wait') return [row.procedure, row.object ?? KINDS[row.kind] ?? row.kind].filter(Boolean).join(': ');
  return name ?? row.object ?? row.kind ?? '';
}

/**
 * The parts of the difference: those that changed, the rest in one row, and the sum, which is the change of the elapsed time.
 * @param {any[]} rows
 * @returns {{parts: any[], rest: {count: number, before: number, after: number, change: number}, elapsed: any, missing: number}} `missing`: seconds by
 *   which the parts do not add up
 */
export function causes(rows) {
  const { changed, ties } = sectionOf(rows, 'because');
  const elapsed = rows.find((row) => row.section === 'run' && row.name === 'elapsed');
  const sum = (/** @type {any[]} */ list, /** @type {string} */ key) => list.reduce((all, row) => all + row[key], 0);
  const rest = { count: ties.length, before: sum(ties, 'before_seconds'), after: sum(ties, 'after_seconds'), change: sum(ties, 'change_seconds') };
  return { parts: changed, rest, elapsed, missing: (elapsed?.change_seconds ?? 0) - rest.change - sum(changed, 'change_seconds') };
}

/**
 * Whether phases of both runs correspond: the same names in the same order.
 * @param {any[]} rows
 */
export const phasesCorrespond = (rows) => rows.filter((row) => row.section === 'phase').every((row) => !row.only_in);

/**
 * How many procedures both recordings have, of all: of different programs, few.
 * @param {any[]} rows
 */
export function common(rows) {
  const procedures = rows.filter((row) => row.section === 'procedure');
  return { both: procedures.filter((row) => !row.only_in).length, all: procedures.length };
}

/**
 * What was predicted of the recording before, the latest first.
 * @param {any[]} rows
 */
export const predictions = (rows) => rows.filter((row) => row.section === 'prediction');
