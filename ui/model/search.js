/** The search over everything that has a name in the recording. */

import { nameOf } from './names.js';

/**
 * @typedef {object} Thing
 * @property {string} kind procedure, object, thread
 * @property {string} name
 * @property {any} row of its report
 * @property {number} weight by which equals are sorted: its own share in percent
 */

/**
 * Everything of the reports, once each.
 * @param {Record<string, any[]>} reports rows by the kind of their things
 * @returns {Thing[]}
 */
export function thingsOf(reports) {
  return Object.entries(reports).flatMap(([kind, rows]) => {
    const seen = new Set();
    return rows.flatMap((row) => {
      const name = kind === 'thread' ? `${row.thread} #${row.tid}` : nameOf(row);
      const key = JSON.stringify([name, row.module, row.file]);
      if (!name || seen.has(key)) return [];
      seen.add(key);
      return [{ kind, name, row, weight: row.percent ?? 0 }];
    });
  });
}

/**
 * The things whose name holds what is wanted, the nearest first: the very name, its begin, the begin of a word in it, anywhere in it, its letters in
 * that order. Among equals those with more time.
 * @param {Thing[]} things
 * @param {string} wanted
 * @param {number} most
 */
export function found(things, wanted, most) {
  const text = wanted.trim().toLowerCase();
  if (text === '') return [...things].sort((a, b) => b.weight - a.weight).slice(0, most);
  return things.map((thing) => ({ thing, nearness: nearness(thing, text) })).filter(({ nearness }) => nearness > 0)
    .sort((a, b) => b.nearness - a.nearness || b.thing.weight - a.thing.weight || a.thing.name.length - b.thing.name.length)
    .slice(0, most).map(({ thing }) => thing);
}

/** @param {Thing} thing @param {string} text in small letters @returns {number} 0 where it does not hold it */
function nearness({ name, row }, text) {
  const own = name.toLowerCase();
  if (own === text) return 6;
  if (own.startsWith(text)) return 5;
  const at = own.indexOf(text);
  if (at > 0 && beginsWord(own, text)) return 4;
  if (at > 0) return 3;
  if ((row.module ?? '').toLowerCase().includes(text) || (row.file ?? '').toLowerCase().includes(text)) return 2;
  return text.length >= 3 && hasInOrder(own, text) ? 1 : 0;
}

/** @param {string} name @param {string} text */
function beginsWord(name, text) {
  for (let at = name.indexOf(text); at >= 0; at = name.indexOf(text, at + 1)) {
    if (at > 0 && !/[a-z0-9]/.test(name[at - 1])) return true;
  }
  return false;
}

/** @param {string} name @param {string} text */
function hasInOrder(name, text) {
  let at = -1;
  return [...text].every((letter) => {
    at = name.indexOf(letter, at + 1);
    return at >= 0;
  });
}
