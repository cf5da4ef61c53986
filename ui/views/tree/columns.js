/** The metrics beside the names of the tree. */

import { element } from '../../widgets/element.js';

/** What is shown where nobody chose. */
const DEFAULTS = ['percent', 'npt_percent', 'cpu_percent', 'spin_seconds', 'synchronisation_wait_seconds', 'wait_seconds'];

/** The view's own metric is the critical path's. @type {Record<string, string>} */
const TITLES = { seconds: 'Critical path', percent: 'Critical path %' };

/**
 * Columns that are metrics.
 * @param {any} report
 * @returns {{name: string, unit: string, title: string, explanation?: string}[]}
 */
export const metricsOf = (report) => report.columns.filter((/** @type {any} */ column) => column.unit !== '')
  .map((/** @type {any} */ column) => ({ ...column, title: TITLES[column.name] ?? column.title }));

/**
 * Those that the place names.
 * @param {any} report
 * @param {string|undefined} metric
 */
export function chosenOf(report, metric) {
  const names = metric ? metric.split(',') : DEFAULTS;
  const metrics = metricsOf(report);
  const chosen = metrics.filter(({ name }) => names.includes(name));
  return chosen.length > 0 ? chosen : metrics.slice(0, 1);
}

/**
 * Boxes to tick, one for each metric.
 * @param {any} report
 * @param {string[]} names that are shown
 * @param {(names: string[]) => void} changed
 */
export function chooser(report, names, changed) {
  const boxes = metricsOf(report).map(({ name, title, explanation }) => {
    const box = element('input', { type: 'checkbox', value: name, onchange: () => changed(boxes.filter(({ box }) => box.checked).map(({ name }) => name)) });
    box.checked = names.includes(name);
    return { name, box, label: element('label', { title: explanation }, box, ` ${title}`) };
  });
  return element('details.chooser', { 'data-part': 'metrics' }, element('summary', null, 'Metrics'), element('div', null, ...boxes.map(({ label }) => label)));
}
