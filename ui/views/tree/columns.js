/** The metrics beside the names of the tree: columns of its report, and those of other metrics, which are asked for by themselves. */

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
 * Metrics from outside and derived ones, as columns.
 * @param {import('../../widgets/catalogue.js').Catalogue} catalogue
 * @param {any} report
 * @returns {{name: string, unit: string, title: string, explanation?: string, group?: string, isAsked: true}[]}
 */
export const othersOf = ({ metrics }, report) => metrics.filter(({ class: own, name }) => own !== 'built-in' && !report.columns.some((/** @type {any} */ column) => column.name === name))
  .map(({ name, unit, title, explanation, formula, group, class: own }) => ({
    name, unit, title, explanation: formula ? `${explanation ?? title} = ${formula}` : explanation, group: own === 'derived' ? 'Derived' : `From outside: ${group ?? ''}`, isAsked: true,
  }));

/**
 * Those that the place names.
 * @param {any} report
 * @param {ReturnType<typeof othersOf>} others
 * @param {string|undefined} metric
 * @returns {any[]}
 */
export function chosenOf(report, others, metric) {
  const names = metric ? metric.split(',') : DEFAULTS;
  const metrics = [...metricsOf(report), ...others];
  const chosen = metrics.filter(({ name }) => names.includes(name));
  return chosen.length > 0 ? chosen : metrics.slice(0, 1);
}

/**
 * Boxes to tick, one for each metric, and a search over them where they are many.
 * @param {any} report
 * @param {ReturnType<typeof othersOf>} others
 * @param {string[]} names that are shown
 * @param {(names: string[]) => void} changed
 */
export function chooser(report, others, names, changed) {
  /** @type {any[]} */
  const metrics = [...metricsOf(report), ...others];
  const boxes = metrics.map(({ name, title, explanation, group, unit }) => {
    const box = element('input', { type: 'checkbox', value: name, onchange: () => changed(boxes.filter(({ box }) => box.checked).map(({ name }) => name)) });
    box.checked = names.includes(name);
    return { name, box, group: group ?? '', text: `${name} ${title} ${group ?? ''} ${unit}`.toLowerCase(), label: element('label', { title: explanation }, box, ` ${title}`) };
  });
  const groups = [...new Set(boxes.map(({ group }) => group))].map((group) => {
    const own = boxes.filter((each) => each.group === group);
    return { own, part: element('div.boxes', { role: 'group', 'aria-label': group || 'of the tree' }, group !== '' && element('p.faint', null, group), ...own.map(({ label }) => label)) };
  });
  const search = element('input.search', {
    type: 'search', placeholder: 'search metrics', 'aria-label': 'search metrics', 'data-part': 'metrics-search',
    oninput: () => {
      for (const { label, text } of boxes) label.hidden = !text.includes(search.value.trim().toLowerCase());
      for (const { own, part } of groups) part.hidden = own.every(({ label }) => label.hidden);
    },
  });
  return element('details.chooser', { 'data-part': 'metrics' }, element('summary', null, 'Metrics'), element('div', null, others.length > 0 && search, ...groups.map(({ part }) => part)));
}
