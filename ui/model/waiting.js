/** Rows of the view `waits`: kinds of causes, causes in words, and the two sides of an explanation. */

/**
 * A kind of cause: its share's key, its words, the letters that stand for it, and what it says.
 * @typedef {{key: string, name: string, mark: string, look: string, about: string}} WaitClass
 */

/** @type {WaitClass[]} */
export const CLASSES = [
  {
    key: 'load_imbalance_percent', name: 'load imbalance', mark: 'LI', look: 'imbalance',
    about: 'those who ended the waits ran the same procedures as those who waited, for longer: share the work more evenly',
  },
  {
    key: 'insufficient_parallelism_percent', name: 'insufficient parallelism', mark: 'IP', look: 'insufficient',
    about: 'they ran what the waiting threads had no part in: let others help with it, or do it earlier',
  },
  {
    key: 'contention_percent', name: 'communication and contention', mark: 'CC', look: 'contention',
    about: 'locks, messages, devices, pages, processors: hold and send less, or wait for less',
  },
  {
    key: 'unexplained_percent', name: 'unexplained', mark: '?', look: 'unexplained',
    about: 'nothing recorded tells what the others did meanwhile',
  },
];

/** Less of a row than this is rounding, in percent. */
const ROUNDING = 0.1;

/**
 * How a row's waiting is shared among the kinds of causes, in percent; what is left is unexplained.
 * @param {Record<string, any>} row
 * @returns {{kind: WaitClass, percent: number}[]} those that have any, in the order of CLASSES
 */
export function classShares(row) {
  const told = CLASSES.slice(0, 3).map((kind) => ({ kind, percent: Number(row[kind.key] ?? 0) }));
  const rest = 100 - told.reduce((sum, { percent }) => sum + percent, 0);
  return [...told, { kind: CLASSES[3], percent: rest > ROUNDING ? rest : 0 }].filter(({ percent }) => percent > 0);
}

/**
 * The same of several rows, by their time.
 * @param {Record<string, any>[]} rows
 * @returns {{kind: WaitClass, seconds: number, percent: number}[]}
 */
export function classTotals(rows) {
  const whole = rows.reduce((sum, row) => sum + row.seconds, 0);
  return CLASSES.map((kind) => {
    const share = (/** @type {any} */ row) => classShares(row).find((one) => one.kind === kind)?.percent ?? 0;
    const seconds = rows.reduce((sum, row) => sum + row.seconds * share(row) / 100, 0);
    return { kind, seconds, percent: whole > 0 ? 100 * seconds / whole : 0 };
  }).filter(({ seconds }) => seconds > 0);
}

/** What threads did, where it is no wait, in words. @type {Record<string, string>} */
const DEEDS = {
  running: '', spinning: 'busy-waiting: ', overhead: 'the collector', ready: 'no CPU', 'hand-over': 'the hand-over itself',
  'released later': 'released later', 'not there': 'not there', 'other steps': 'other steps',
};

/**
 * What was done, in words: the procedure, or why it did not run.
 * @param {Record<string, any>} cause
 */
export function deedOf(cause) {
  const words = DEEDS[cause.what];
  const procedure = cause.procedure ?? 'no procedure known';
  if (words === '') return procedure;
  if (words?.endsWith(': ')) return words + procedure;
  return words ?? `${cause.what} wait: ${procedure}`;
}

/** @type {Record<string, string>} */
const LOOKS = {
  running: 'busy', spinning: 'spin', overhead: 'overhead', ready: 'ready', io: 'device', 'page fault': 'device', delivery: 'device', sleep: 'chosen', timer: 'chosen',
  'poll timeout': 'chosen', 'polling sleep': 'chosen',
  'hand-over': 'chosen', 'released later': 'chosen', 'not there': 'chosen', 'other steps': 'rest',
};

/**
 * The kind of state by which a cause is coloured.
 * @param {Record<string, any>} cause
 */
export const lookOf = (cause) => LOOKS[cause.what] ?? 'synchronisation';

/**
 * The largest causes on the side of those who ended the waits, in words.
 * @param {Record<string, any>} row
 * @param {number} most
 * @returns {{percent: number, text: string, by: string, cause: Record<string, any>}[]}
 */
export function mainCauses(row, most) {
  return (row.root_causes ?? [])
    .filter((/** @type {any} */ cause) => cause.side === 'positive' && cause.what !== 'other steps' && cause.percent >= 0.5)
    .slice(0, most)
    .map((/** @type {any} */ cause) => ({ percent: cause.percent, text: deedOf(cause), by: cause.by_threads ?? '', cause }));
}

/**
 * The two columns of an explanation. Both are as high as all that was done beyond by those who ended the waits: what the
 * waiting threads did beyond, and their waiting, is as long.
 * @param {Record<string, any>} row
 * @param {boolean} toRoots
 * @returns {{positive: any[], negative: any[], waited: number, height: number}} causes with a `mark` each
 */
export function sidesOf(row, toRoots) {
  const causes = (toRoots ? row.root_causes : row.causes) ?? [];
  const side = (/** @type {string} */ name, /** @type {string} */ prefix) =>
    causes.filter((/** @type {any} */ cause) => cause.side === name)
      .map((/** @type {any} */ cause, /** @type {number} */ at) => ({ ...cause, mark: `${prefix}${at + 1}` }));
  const [positive, negative] = [side('positive', '+'), side('negative', '−')];
  const sum = (/** @type {any[]} */ list) => list.reduce((total, cause) => total + cause.seconds, 0);
  return { positive, negative, waited: row.seconds, height: Math.max(sum(positive), sum(negative) + row.seconds) };
}
