/** The summary's rows, by what they say. */

/**
 * @typedef {object} Sections
 * @property {any[]} answer sentences, the long pole first
 * @property {any[]} change
 * @property {any[]} trust
 * @property {any[]} busy
 * @property {any[]} procedure
 * @property {any[]} thread
 * @property {any[]} wait
 * @property {any[]} warning
 * @property {any[]} next
 */

/**
 * @param {any[]} rows
 * @returns {Sections}
 */
export function sectionsOf(rows) {
  const sections = { answer: [], change: [], trust: [], busy: [], procedure: [], thread: [], wait: [], warning: [], next: [] };
  for (const row of rows) /** @type {any} */ (sections)[row.section]?.push(row);
  return sections;
}

/**
 * Whether a span of a sentence is a name, not words or a number.
 * @param {any} span
 */
export const isName = (span) => Boolean(span.code || span.procedure || span.thread || span.process || span.object || span.machine);

/**
 * A note in parts: names stand between backticks.
 * @param {string} sentence
 * @returns {{text: string, isName: boolean}[]}
 */
export function wordsOf(sentence) {
  const parts = sentence.split('`');
  // A backtick without its other half is only a backtick.
  if (parts.length % 2 === 0) parts.push(parts.splice(-2).join('`'));
  return parts.map((text, index) => ({ text, isName: index % 2 === 1 })).filter(({ text }) => text !== '');
}

/**
 * A range of gains as a part of the run, to be drawn.
 * @param {number} low percent
 * @param {number} high percent
 * @returns {{left: number, width: number}} percent of the room; at least wide enough to be seen, and never beyond the room
 */
export function intervalOf(low, high) {
  const within = (/** @type {number} */ percent) => Math.min(100, Math.max(0, percent));
  const width = Math.max(within(high) - within(low), 0.6);
  return { left: Math.min(within(low), 100 - width), width };
}

/**
 * A range as text: `185–260 ms`, one value where both ends read the same, `up to` where it begins at nothing.
 * @param {number|undefined} low reports leave a time out that is 0
 * @param {number|undefined} high
 * @param {(value: number) => string} text with its unit behind a space
 */
export function rangeText(low = 0, high = 0, text) {
  if (low <= 0 && high > 0) return `up to ${text(high)}`;
  const [one, other] = [text(low), text(high)];
  if (one === other) return one;
  const [value, unit] = one.split(' ');
  return other.endsWith(` ${unit}`) ? `${value}–${other}` : `${one} – ${other}`;
}

/**
 * Rows of one table with the errors that two others know of the same procedures.
 * @param {any[]} rows with `procedure` and `module`
 * @param {Record<string, any[]>} others rows by the key that their `error_percent` gets
 */
export function withErrors(rows, others) {
  const key = (/** @type {any} */ row) => JSON.stringify([row.procedure, row.module, row.file]);
  const known = Object.entries(others).map(([name, rows]) => /** @type {const} */ ([name, new Map(rows.map((row) => [key(row), row.error_percent]))]));
  return rows.map((row) => ({ ...row, ...Object.fromEntries(known.map(([name, errors]) => [name, errors.get(key(row))])) }));
}

/**
 * The place that a wait of the summary has in the view waits, where one is of the same procedure.
 * @param {any} wait
 * @param {any[]} rows of the view waits
 * @returns {string|undefined} as `explain` takes it
 */
export function explanationOf(wait, rows) {
  if (wait.cause === 'a CPU') return undefined;
  const at = rows.findIndex((row) => row.procedure === wait.procedure && row.module === wait.module);
  return at < 0 ? undefined : String(at + 1);
}
