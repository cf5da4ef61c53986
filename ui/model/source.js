/** What the lines of a program's source cost, from the rows of `source`. */

/**
 * What a line is measured by: its key in the URL, its key in a row, that of the line with all that it called where there is one,
 * and its title.
 * @typedef {{value: string|undefined, key: string, inclusive?: string, title: string, short: string}} Heat
 */

/** @type {Heat[]} */
export const HEATS = [
  { value: undefined, key: 'npt_seconds', inclusive: 'npt_inclusive_seconds', title: 'NPT', short: 'NPT' },
  { value: 'path', key: 'critical_path_seconds', inclusive: 'critical_path_inclusive_seconds', title: 'critical path', short: 'path' },
  { value: 'waiting', key: 'suffered_seconds', title: 'waiting suffered', short: 'waited' },
  { value: 'caused', key: 'caused_seconds', title: 'waiting caused', short: 'caused' },
];

/** The measures of lines with all that they called, where there are such. @type {Heat[]} */
export const INCLUSIVE = HEATS.map((heat) => ({ ...heat, key: heat.inclusive ?? heat.key }));

/** The cost of a line's requests in the simulated run (`docs/communication.md`), in virtual time. @type {Heat} */
export const REQUESTS = { value: 'requests', key: 'request_seconds', title: 'requests', short: 'requests' };

/**
 * What a line got, all its procedures together.
 * @typedef {{line: number, procedures: string[], seconds: Record<string, number>}} Line
 * @typedef {{file: string, seconds: Record<string, number>, hottest: number}} File
 */

/** @param {Record<string, number>} sums @param {Record<string, any>} row */
function add(sums, row) {
  for (const { key } of [...HEATS, ...INCLUSIVE.filter(({ inclusive }) => inclusive), REQUESTS]) sums[key] = (sums[key] ?? 0) + (row[key] ?? 0);
}

/**
 * Files by a measure, with their sums.
 * @param {Record<string, any>[]} rows
 * @param {string} key
 * @returns {File[]}
 */
export function filesOf(rows, key) {
  /** @type {Map<string, File & {most: number}>} */
  const files = new Map();
  for (const row of rows) {
    if (!row.file || !row.line) continue;
    const file = files.get(row.file) ?? { file: row.file, seconds: {}, hottest: row.line, most: -1 };
    add(file.seconds, row);
    if ((row[key] ?? 0) > file.most) Object.assign(file, { hottest: row.line, most: row[key] ?? 0 });
    files.set(row.file, file);
  }
  return [...files.values()].sort((one, other) => other.seconds[key] - one.seconds[key] || one.file.localeCompare(other.file));
}

/**
 * The file that is meant: by its whole name, or by the end of it where only one ends so.
 * @param {Record<string, any>[]} rows
 * @param {string} name
 */
export function fileNamed(rows, name) {
  const all = [...new Set(rows.map(({ file }) => file).filter(Boolean))];
  if (all.includes(name)) return name;
  const ending = all.filter((file) => file.endsWith(`/${name.replace(/^(\.?\/)+/, '')}`));
  return ending.length === 1 ? ending[0] : name;
}

/**
 * The lines of a file that got anything, by number.
 * @param {Record<string, any>[]} rows
 * @param {string} file
 * @returns {Map<number, Line>}
 */
export function linesOf(rows, file) {
  /** @type {Map<number, Line>} */
  const lines = new Map();
  for (const row of rows) {
    if (row.file !== file || !row.line) continue;
    /** @type {Line} */
    const line = lines.get(row.line) ?? { line: row.line, procedures: [], seconds: {} };
    add(line.seconds, row);
    if (row.procedure && !line.procedures.includes(row.procedure)) line.procedures.push(row.procedure);
    lines.set(row.line, line);
  }
  return new Map([...lines].sort(([one], [other]) => one - other));
}

/** Lines with less of the hottest line's time than this are not hot. */
const HOT = 0.02;

/**
 * The numbers of the hot lines, the first in the file first.
 * @param {Map<number, Line>} lines
 * @param {string} key
 */
export function hotLines(lines, key) {
  const most = Math.max(0, ...[...lines.values()].map(({ seconds }) => seconds[key] ?? 0));
  return [...lines.values()].filter(({ seconds }) => most > 0 && seconds[key] >= HOT * most).map(({ line }) => line);
}

/**
 * The hot line after (or before) a line; from the last on to the first.
 * @param {number[]} hot
 * @param {number} line
 * @param {1|-1} step
 * @returns {number|undefined}
 */
export function nextHot(hot, line, step) {
  if (step > 0) return hot.find((one) => one > line) ?? hot[0];
  return hot.filter((one) => one < line).at(-1) ?? hot.at(-1);
}

/**
 * Which lines of a text are shown: all of a short one, else the parts around those that got anything and the one looked for.
 * @param {number} count lines of the text
 * @param {number[]} wanted
 * @param {number} most
 * @param {number} around
 * @returns {[number, number][]} first and last line of each part
 */
export function partsShown(count, wanted, most, around) {
  if (count <= most) return count > 0 ? [[1, count]] : [];
  /** @type {[number, number][]} */
  const parts = [];
  for (const line of [...wanted].sort((one, other) => one - other)) {
    const [from, to] = [Math.max(1, line - around), Math.min(count, line + around)];
    const last = parts.at(-1);
    if (from > to) continue;
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else parts.push([from, to]);
  }
  return parts;
}

/**
 * The line at which a procedure is looked at: its hottest one in the file, or its first where none is hot.
 * @param {any[]} rows of the view source
 * @param {string} file
 * @param {string|undefined} of `procedure:NAME`
 * @param {string} key of the column that counts
 * @returns {number} 0 where the file has no line of it
 */
export function lineOf(rows, file, of, key) {
  const name = /^procedure:(.*)$/.exec(of ?? '')?.[1];
  const own = rows.filter((row) => row.file === file && row.procedure === name && row.line);
  return own.reduce((best, row) => ((row[key] ?? 0) > (best[key] ?? 0) || (row[key] ?? 0) === (best[key] ?? 0) && row.line < best.line ? row : best), own[0])?.line ?? 0;
}
