/** Names of code as links: a procedure leads to its parallelism, a line to its source. */

import { fileName, shorten } from '../model/names.js';
import { element } from './element.js';

/** @typedef {import('../main.js').Context} Context */

/**
 * A procedure's name, with its module where it is not obvious.
 * @param {Record<string, any>} row with `procedure`
 * @param {Context} context
 * @param {number} [room] characters
 */
export function procedureLink(row, { link }, room = 60) {
  return element('a.code', {
    href: link({ view: 'parallelism', of: `procedure:${row.procedure}` }),
    title: [row.procedure, row.module, row.file].filter(Boolean).join('\n'),
  }, shorten(row.procedure, room));
}

/**
 * `file:line`, or nothing where the line is not known.
 * @param {Record<string, any>} row with `file` and `line`
 * @param {Context} context
 */
export function lineLink(row, { link }) {
  if (!row.file || !row.line) return null;
  return element('a.code.place', {
    href: link({ view: 'source', file: row.file, line: String(row.line) }), title: `${row.file}:${row.line}`,
  }, `${shorten(fileName(row.file), 36)}:${row.line}`);
}

/**
 * An object's name.
 * @param {string} name
 * @param {Context} context
 */
export const objectLink = (name, { link }) =>
  element('a.code', { href: link({ view: 'objects', of: `object:${name}` }), title: name }, shorten(name, 60));
