/** The metrics that a recording can show, by whose they are: longpole's own, those from outside, those that formulas define. */

import { holds } from './help.js';

/**
 * A metric as `api/metrics` has it.
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {string} [explanation]
 * @property {string} [source]
 * @property {string} [group] an external metric's collector
 * @property {'built-in'|'external'|'derived'} class
 * @property {string} [level] the lowest kind of node that has it
 * @property {boolean} [has_curve]
 * @property {string[]} [nodes] those that have values; any where it is absent
 * @property {string} [formula]
 */

/**
 * Metrics of which curves can be drawn: those that every recording has, then the outside ones by their collector, then the derived ones.
 * @param {{metric: string, title: string, isWhole?: boolean}[]} own as `metricsOf` of `curves.js` knows them
 * @param {Metric[]} known the recording's list; may be empty
 * @returns {{group: string, metrics: Metric[]}[]}
 */
export function groupsOf(own, known) {
  const told = new Map(known.map((metric) => [metric.name, metric]));
  const builtIn = own.map(({ metric, title, isWhole }) => ({
    ...told.get(metric), name: metric, title, unit: 'threads', class: /** @type {const} */ ('built-in'), ...(isWhole ? { nodes: ['program'] } : {}),
  }));
  const others = known.filter((metric) => metric.class !== 'built-in' && metric.has_curve !== false);
  const collectors = [...new Set(others.filter((metric) => metric.class === 'external').map((metric) => metric.group ?? ''))];
  const groups = [
    { group: 'Of the program’s threads', metrics: builtIn },
    ...collectors.map((group) => ({ group: group === '' ? 'From outside' : `From outside: ${group}`, metrics: others.filter((metric) => metric.class === 'external' && (metric.group ?? '') === group) })),
    { group: 'Derived', metrics: others.filter((metric) => metric.class === 'derived') },
  ];
  return groups.filter(({ metrics }) => metrics.length > 0);
}

/**
 * The groups with only what is searched for.
 * @param {{group: string, metrics: Metric[]}[]} groups
 * @param {string} wanted words; those of the group count, too
 */
export const searched = (groups, wanted) => groups
  .map(({ group, metrics }) => ({ group, metrics: metrics.filter(({ name, title, unit, formula }) => holds({ name, title, explanation: `${group} ${unit} ${formula ?? ''}` }, wanted.trim())) }))
  .filter(({ metrics }) => metrics.length > 0);

/**
 * The node that is meant where none is named.
 * @param {{nodes?: string[]}|undefined} metric
 */
export const nodeOf = (metric) => (!metric?.nodes?.length || metric.nodes.includes('program') ? 'program' : metric.nodes[0]);

/**
 * What a row of the tree is called as a node; nothing for procedures, which have none of these values.
 * @param {any} row
 * @returns {string|undefined}
 */
export function nodeOfRow(row) {
  switch (row.kind) {
    case 'program': return 'program';
    case 'machine': return `machine:${row.machine}`;
    case 'process': return `process:${row.pid}`;
    case 'thread': return `thread:${row.tid}`;
    default: return undefined;
  }
}
