/** Where a row of a report leads: the other views of the thing that it is about. */

import { argumentOf } from './names.js';
import { changeOf } from './what-if.js';

/**
 * A place that a row leads to.
 * @typedef {object} Lead
 * @property {string} title what one sees there
 * @property {Partial<import('./query.js').Place>} change as `go` and `link` take it
 */

/**
 * Everything that can be seen of what a row is about, the most telling first.
 * @param {Record<string, any>} row
 * @returns {Lead[]}
 */
export function leadsOf(row) {
  if (row.object) return ofObject(row);
  if (row.procedure) return ofProcedure(row);
  if (row.thread) return ofThread(row);
  if (row.process) return ofProcess(row);
  return [];
}

/** @param {Record<string, any>} row @returns {Lead[]} */
function ofProcedure(row) {
  const of = argumentOf(row);
  const change = changeOf(row);
  return [
    ...(row.file ? [{ title: 'Source', change: { view: 'source', file: row.file, line: row.line ? String(row.line) : undefined, of: row.line ? undefined : of } }] : []),
    { title: 'Parallelism', change: { view: 'parallelism', of } },
    { title: 'Flame graph', change: { view: 'flame', of } },
    { title: 'Over time', change: { view: 'timeline', curves: [`npt_seconds@procedure:${row.procedure}`] } },
    ...(change ? [{ title: 'What if it took half the time', change: { view: 'path', by: row.line ? 'line' : undefined, set: [`${change}=0.5`] } }] : []),
  ];
}

/** @param {Record<string, any>} row @returns {Lead[]} */
function ofObject(row) {
  const of = argumentOf(row);
  return [
    { title: 'Object', change: { view: 'objects', of } },
    { title: 'Parallelism', change: { view: 'parallelism', of } },
    { title: 'Waits for it over time', change: { view: 'timeline', curves: [`wait_seconds@${of}`] } },
    { title: 'What if nobody waited for it', change: { view: 'path', set: [`${of}=0`] } },
  ];
}

/** @param {Record<string, any>} row @returns {Lead[]} */
function ofThread(row) {
  const of = threadOf(row);
  return [
    { title: 'Timeline', change: { view: 'timeline', of } },
    { title: 'Parallelism', change: { view: 'parallelism', of } },
    { title: 'Critical path by thread', change: { view: 'path', by: 'thread' } },
    { title: 'What if it took half the time', change: { view: 'path', by: 'thread', set: [`${of}=0.5`] } },
  ];
}

/** @param {Record<string, any>} row @returns {Lead[]} */
function ofProcess(row) {
  return [
    { title: 'Timeline', change: { view: 'timeline' } },
    { title: 'Critical path by process', change: { view: 'path', by: 'process' } },
    { title: 'What if it took half the time', change: { view: 'path', by: 'process', set: [`${changeOf(row)}=0.5`] } },
  ];
}

/** One thread among those of its name. @param {Record<string, any>} row */
export const threadOf = (row) => `thread:${row.thread}${row.tid === undefined ? '' : ` #${row.tid}`}`;

/**
 * The place that shows what a command of longpole prints; null for what only the command line does.
 * @param {string} command as `longpole report --view npt --by line`, or `longpole what-if --set procedure:update=0.5`
 * @returns {Partial<import('./query.js').Place>|null}
 */
export function placeOfCommand(command) {
  if (/^longpole what-if\b/.test(command)) {
    return { view: 'path', set: [...command.matchAll(/--set[ =]('[^']*'|\S+)/g)].map(([, change]) => change.replace(/^'|'$/g, '')) };
  }
  if (!/\breport\b/.test(command) && !command.startsWith('--view')) return null;
  const option = (/** @type {string} */ name) => new RegExp(`--${name}[ =]('[^']*'|\\S+)`).exec(command)?.[1].replace(/^'|'$/g, '');
  const view = VIEWS[option('view') ?? 'summary'];
  if (!view) return null;
  const by = option('by');
  return { ...view, by: by === 'procedure' ? undefined : by, of: option('of'), weight: option('weight'), explain: option('explain') };
}

/** @type {Record<string, Partial<import('./query.js').Place>>} the page's view of each report */
const VIEWS = {
  summary: { view: 'overview' },
  'critical-path': { view: 'path' },
  zeroing: { view: 'path', metric: 'zeroing' },
  slack: { view: 'path', metric: 'slack' },
  npt: { view: 'parallelism' },
  profile: { view: 'flame' },
  'call-tree': { view: 'flame' },
  source: { view: 'source' },
  waits: { view: 'waits' },
  objects: { view: 'objects' },
  states: { view: 'timeline' },
  threads: { view: 'timeline' },
  phases: { view: 'timeline' },
  tree: { view: 'tree' },
  parallelism: { view: 'parallelism' },
  guidance: { view: 'overview', open: ['guidance'] },
  evidence: { view: 'overview', open: ['evidence'] },
};
