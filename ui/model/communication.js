/** Who makes whom fetch what, from the rows of the views `communication`, `sharing` and `causality`. */

import { count } from './quantity.js';

/**
 * How threads share data: its column in the rows, its name, and its look and mark in bars.
 * @typedef {{key: string, name: string, look: string, mark: string, about: string}} Pattern
 */

/** @type {Pattern[]} in the order of bars and legends */
export const PATTERNS = [
  { key: 'false_sharing_percent', name: 'false sharing', look: '4', mark: 'F', about: 'only the unit is shared, not the bytes' },
  { key: 'migratory_percent', name: 'migratory', look: '1', mark: 'M', about: 'read and then written by one thread after the other' },
  { key: 'mpmc_percent', name: 'MPMC', look: '3', mark: 'n:n', about: 'several threads write, several ask' },
  { key: 'mpsc_percent', name: 'MPSC', look: '6', mark: 'n:1', about: 'several threads write, one asks' },
  { key: 'spmc_percent', name: 'SPMC', look: '2', mark: '1:n', about: 'one thread writes, several ask' },
  { key: 'spsc_percent', name: 'SPSC', look: '0', mark: '1:1', about: 'one thread writes, one asks' },
  { key: 'cold_percent', name: 'cold', look: '7', mark: 'C', about: 'first references' },
  { key: 'read_only_percent', name: 'read-only', look: '5', mark: 'R', about: 'first references to what nobody writes any more' },
];

/**
 * The patterns of a row's requests that have any, with their shares.
 * @param {Record<string, any>} row
 * @returns {{pattern: Pattern, percent: number}[]}
 */
export const patternShares = (row) =>
  PATTERNS.map((pattern) => ({ pattern, percent: row[pattern.key] ?? 0 })).filter(({ percent }) => percent > 0);

/**
 * Requests by pattern from their text, `29 migratory, 61 MPMC`; those of most requests first.
 * @param {string|undefined} text
 * @returns {{pattern: Pattern, requests: number}[]}
 */
export function patternsOf(text) {
  const parts = (text ?? '').split(', ').flatMap((part) => {
    const [, requests, name] = /^(\d+) (.+)$/.exec(part) ?? [];
    const pattern = PATTERNS.find((one) => one.name === name);
    return pattern ? [{ pattern, requests: Number(requests) }] : [];
  });
  return parts.sort((one, other) => other.requests - one.requests);
}

/**
 * The fewest and the most of all orders: one number where they are equal.
 * @param {number|undefined} low
 * @param {number|undefined} high
 */
export function range(low, high) {
  if (low === undefined || high === undefined) return '';
  return low === high ? count(low) : `${count(low)} – ${count(high)}`;
}

/**
 * What a unit of so many bytes is called.
 * @param {{protocol: string, unit_bytes: number}} simulation
 * @param {number} [number] of units
 */
export function unitName({ protocol, unit_bytes: bytes }, number = 2) {
  const name = protocol === 'lines' ? 'cache line' : 'page';
  return `${name}${number === 1 ? '' : 's'} of ${count(bytes)} bytes`;
}

/**
 * Shares of `PLACE of THREAD` by place, the largest first.
 * @param {{procedure: string, percent: number}[]|undefined} shares
 * @param {string[]} threads names of all threads
 * @returns {{place: string, threads: string[], percent: number}[]}
 */
export function byPlace(shares, threads) {
  const ends = threads.map((thread) => ({ thread, end: ` of ${thread}` })).sort((one, other) => other.end.length - one.end.length);
  /** @type {Map<string, {place: string, threads: string[], percent: number}>} */
  const places = new Map();
  for (const { procedure, percent } of shares ?? []) {
    const known = ends.find(({ end }) => procedure.endsWith(end));
    const place = known ? procedure.slice(0, -known.end.length) : procedure;
    const found = places.get(place) ?? { place, threads: [], percent: 0 };
    if (known) found.threads.push(known.thread);
    found.percent += percent;
    places.set(place, found);
  }
  return [...places.values()].sort((one, other) => other.percent - one.percent);
}

/**
 * Who fetches from whom: the threads that do, in the order of their numbers, and the row of each pair.
 * @param {any[]} rows of `communication` by thread
 * @param {string[]} threads names of all threads
 */
export function threadMatrix(rows, threads) {
  const pairs = rows.filter((row) => row.writer);
  const key = (/** @type {string} */ reader, /** @type {string} */ writer) => `${reader}\0${writer}`;
  const known = new Map(pairs.map((row) => [key(row.thread, row.writer), row]));
  const sorted = (/** @type {Set<string>} */ names) => [...names].sort((one, other) => threads.indexOf(one) - threads.indexOf(other));
  return {
    readers: sorted(new Set(pairs.map((row) => row.thread))),
    writers: sorted(new Set(pairs.map((row) => row.writer))),
    largest: pairs.reduce((most, row) => Math.max(most, row.percent), 0),
    at: (/** @type {string} */ reader, /** @type {string} */ writer) => known.get(key(reader, writer)),
  };
}

/**
 * Ranges of offsets, `0..8 16..24`.
 * @param {string|undefined} text
 * @returns {[number, number][]}
 */
export const rangesOf = (text) => (text ?? '').split(' ').filter(Boolean).map((part) => /** @type {[number, number]} */ (part.split('..').map(Number)));

/**
 * What a thread did to the bytes of a unit: stretches in which it did the same, one after the other; untouched ones among them.
 * Large units are cut into `cells` of several bytes each, as the text of `sharing` does.
 * @param {{read?: string, written?: string}} use
 * @param {number} bytes of the unit
 * @param {number} cells most of them
 * @returns {{from: number, to: number, does: ''|'r'|'w'|'rw'}[]}
 */
export function stretchesOf(use, bytes, cells) {
  const step = Math.max(1, Math.floor(bytes / cells));
  const [read, written] = [rangesOf(use.read), rangesOf(use.written)];
  const touches = (/** @type {[number, number][]} */ ranges, /** @type {number} */ from) => ranges.some(([begin, end]) => begin < from + step && from < end);
  /** @type {ReturnType<typeof stretchesOf>} */
  const stretches = [];
  for (let from = 0; from < bytes; from += step) {
    const does = /** @type {''|'r'|'w'|'rw'} */ (`${touches(read, from) ? 'r' : ''}${touches(written, from) ? 'w' : ''}`);
    const last = stretches.at(-1);
    if (last?.does === does) last.to = from + step;
    else stretches.push({ from, to: from + step, does });
  }
  return stretches;
}

/** @type {Record<string, string>} */
const DOES = { r: 'reads', w: 'writes', rw: 'reads and writes' };

/**
 * The same in words.
 * @param {ReturnType<typeof stretchesOf>} stretches
 */
export function stretchesText(stretches) {
  const touched = stretches.filter(({ does }) => does);
  if (touched.length === 0) return 'touches no byte';
  return touched.map(({ from, to, does }) => `${DOES[does]} bytes ${from} to ${to - 1}`).join(', ');
}

/**
 * Where in its object a unit is, or where in memory.
 * @param {{offset?: number, address?: string}} unit
 */
export function unitPlace({ offset, address }) {
  if (offset === undefined) return address ? `at ${address}` : '';
  if (offset < 0) return `from ${count(-offset)} bytes before it`;
  return offset === 0 ? 'from its first byte' : `from byte ${count(offset)}`;
}

/**
 * The graph that a unit is of: among those of its object the one whose ranges of addresses hold it.
 * @param {any[]} graphs rows of `causality`
 * @param {{object: string, address?: string}} unit
 */
export function graphOfUnit(graphs, unit) {
  const address = Number(unit.address);
  return graphs.find((graph) => graph.object === unit.object && rangesOf(graph.addresses).some(([from, to]) => from <= address && address < to));
}

/**
 * A place of a call path by its parts.
 * @param {string} text `PROCEDURE FILE:LINE`, or a procedure alone
 * @returns {{procedure: string, file?: string, line?: number}}
 */
export function placeOf(text) {
  const [, procedure, file, line] = /^(.*) (\S+):(\d+)$/.exec(text) ?? [];
  return procedure ? { procedure, file, line: Number(line) } : { procedure: text };
}

/**
 * The places of a call path, the innermost first.
 * @param {string|undefined} path
 */
export const placesOf = (path) => (path ? path.split(' < ').map(placeOf) : []);

/**
 * The row of `communication` by line that is of a place.
 * @param {any[]} rows
 * @param {{procedure: string, file?: string, line?: number}} place
 */
export const rowOfPlace = (rows, place) =>
  rows.find((row) => row.procedure === place.procedure && row.line === place.line && (row.file ?? '') === (place.file ?? ''));
