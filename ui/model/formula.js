/** Definitions of metrics while they are written: `NAME = FORMULA`, what completes a word of it, and where it is wrong. */

/** What formulas can call: name, and what it makes of its operand. */
export const FUNCTIONS = [
  { name: 'sum', title: 'total over the phase' }, { name: 'mean', title: 'mean over the phase' }, { name: 'rate', title: 'change per second' },
  { name: 'delta', title: 'change to the bin before' }, { name: 'min', title: 'smallest, of one over the phase, of several bin by bin' },
  { name: 'max', title: 'largest, of one over the phase, of several bin by bin' },
];

/**
 * @param {string} definition
 * @returns {{name: string, formula: string}}
 */
export function partsOf(definition) {
  const at = definition.indexOf('=');
  return at < 0 ? { name: '', formula: definition.trim() } : { name: definition.slice(0, at).trim(), formula: definition.slice(at + 1).trim() };
}

/** @param {string} name @param {string} formula */
export const definitionOf = (name, formula) => `${name.trim()} = ${formula.trim()}`;

/**
 * The word that ends at the caret, and the names that complete it, the nearest first.
 * @param {string} text
 * @param {number} caret
 * @param {{name: string, title: string, unit?: string}[]} names
 * @param {number} [most]
 * @returns {{from: number, to: number, names: {name: string, title: string, unit?: string}[]}}
 */
export function completionsOf(text, caret, names, most = 8) {
  const before = /[A-Za-z_][\w:.]*$/.exec(text.slice(0, caret))?.[0] ?? '';
  const after = /^[\w:.]*/.exec(text.slice(caret))?.[0] ?? '';
  const range = { from: caret - before.length, to: caret + after.length };
  if (before === '' || /[\w.]/.test(text[range.from - 1] ?? '')) return { ...range, names: [] };
  const word = before.toLowerCase();
  const rank = (/** @type {{name: string, title: string}} */ { name, title }) => {
    const [lower, parts] = [name.toLowerCase(), `${name.toLowerCase()} ${title.toLowerCase()}`.split(/[^a-z0-9]+/)];
    return lower.startsWith(word) ? 0 : parts.some((part) => part.startsWith(word)) ? 1 : lower.includes(word) ? 2 : 3;
  };
  const ranked = names.map((one) => ({ one, rank: rank(one) })).filter(({ one, rank }) => rank < 3 && one.name !== before + after);
  return { ...range, names: ranked.sort((a, b) => a.rank - b.rank || a.one.name.length - b.one.name.length).slice(0, most).map(({ one }) => one) };
}

/**
 * The text with a name in the place of the word.
 * @param {string} text
 * @param {{from: number, to: number}} range
 * @param {string} name
 * @returns {{text: string, caret: number}}
 */
export function completed(text, { from, to }, name) {
  const open = FUNCTIONS.some((one) => one.name === name) && text[to] !== '(' ? '(' : '';
  return { text: `${text.slice(0, from)}${name}${open}${text.slice(to)}`, caret: from + name.length + open.length };
}

/**
 * Definitions that a list of metrics does not have, with what its notes say of them.
 * @param {{metrics: {name: string, class?: string}[], notes?: string[]}} answer
 * @param {string[]} definitions
 * @returns {Map<string, {message: string}>}
 */
export function leftOut({ metrics, notes = [] }, definitions) {
  const there = new Set(metrics.filter((metric) => metric.class === 'derived').map(({ name }) => name));
  const missing = definitions.filter((text) => !there.has(partsOf(text).name));
  return new Map(missing.map((text) => {
    const { name } = partsOf(text);
    const note = notes.find((note) => note.startsWith(`${name} `) || note.startsWith(`\`${name}\` `)) ?? notes.find((note) => (name === '' ? note.startsWith('a definition ') : note.includes(name)));
    return [text, { message: note ?? 'the recording does not have it' }];
  }));
}

/**
 * Where a definition is wrong.
 * @param {{message?: string, details?: any}} failure of a request
 * @param {string} definition
 * @returns {{column: number, text: string}|null} counted from 1, with the text and a mark below the place; null where nobody knows
 */
export function placeOf(failure, definition) {
  const told = failure.details?.column ?? Number(/\bcolumn (\d+)/.exec(failure.message ?? '')?.[1]);
  if (!Number.isInteger(told) || told < 1) return null;
  const column = Math.min(told, definition.length + 1);
  return { column, text: `${definition}\n${' '.repeat(column - 1)}^` };
}
