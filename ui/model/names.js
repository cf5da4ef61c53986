/** Names in little room. */

/**
 * Shortens a name in the middle, where templates and paths say the least.
 * @param {string} name
 * @param {number} room characters
 */
export function shorten(name, room) {
  const characters = [...name];
  if (characters.length <= room) return name;
  if (room <= 1) return '…';
  const tail = Math.ceil((room - 1) / 2);
  const head = room - 1 - tail;
  return `${characters.slice(0, head).join('')}…${characters.slice(characters.length - tail).join('')}`;
}

/** Keys by which a row can be named, the first that it has counting. */
const KEYS = ['object', 'procedure', 'thread', 'process', 'machine', 'name', 'text', 'metric'];

/**
 * What a row of a report is about, in one name.
 * @param {Record<string, any>} row
 */
export function nameOf(row) {
  if (row.line && row.file) return `${row.procedure ?? ''} (${fileName(row.file)}:${row.line})`.trim();
  const key = KEYS.find((key) => row[key]);
  return key ? String(row[key]) : '';
}

/** @param {string} path */
export const fileName = (path) => path.slice(path.lastIndexOf('/') + 1);

/**
 * What `--of` and the key `of` call the thing that a row is about.
 * @param {Record<string, any>} row
 * @returns {string|undefined}
 */
export function argumentOf(row) {
  if (row.object) return `object:${row.object}`;
  if (row.procedure) return `procedure:${row.procedure}`;
  if (row.thread) return `thread:${row.thread}`;
  return undefined;
}
