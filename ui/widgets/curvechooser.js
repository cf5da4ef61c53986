/** Chooses a curve: a metric, and whose it is. */

import { metricsOf } from '../model/curves.js';
import { groupsOf, nodeOf } from '../model/metrics.js';
import { curvesInFile } from './curvestore.js';
import { element } from './element.js';
import { metricPicker } from './metricpicker.js';

/**
 * @param {import('../main.js').Context} context
 * @param {{name: string, title: string}[]} states of the recording's frames
 * @param {Promise<import('./catalogue.js').Catalogue>} catalogue
 * @param {(curve: {metric: string, node: string}) => void} choose
 * @returns {HTMLElement}
 */
export function chooser(context, states, catalogue, choose) {
  const own = metricsOf(states);
  if (context.recording.is_export) return inFile(own, catalogue, choose);
  const names = element('datalist', { id: 'curve-nodes' });
  const node = element('input', { 'aria-label': 'of what: program, process:PID, thread:NAME, procedure:NAME, object:NAME', list: 'curve-nodes', 'data-part': 'curve-node' });
  const note = element('span.faint', { role: 'status' });
  /** @type {Promise<string[]>|undefined} */
  let everything;
  let fitted = '';
  const fit = async () => {
    const metric = picker.metric();
    node.disabled = metric?.nodes?.length === 1 || metric?.level === 'program';
    node.title = node.disabled ? `This metric is of ${nodeOf(metric)} alone` : '';
    node.placeholder = nodeOf(metric);
    if (node.disabled || (metric?.nodes && !metric.nodes.includes(node.value))) node.value = '';
    const nodes = metric?.nodes ?? (document.activeElement === node ? await (everything ??= nodesOf(context)) : undefined);
    if (!nodes || metric !== picker.metric() || fitted === metric?.name) return;
    fitted = metric?.name ?? '';
    names.replaceChildren(...nodes.map((name) => element('option', { value: name })));
  };
  const picker = metricPicker(groupsOf(own, []), 'cpu_seconds', fit);
  catalogue.then(({ metrics, failure }) => {
    picker.fill(groupsOf(own, metrics));
    if (failure) note.textContent = `Metrics from outside: ${failure.message}`;
  });
  node.addEventListener('focus', fit);
  fit();
  const form = element('form.curve-add', {
    'aria-label': 'add a curve',
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      const metric = picker.metric();
      if (metric) choose({ metric: metric.name, node: (node.disabled ? '' : node.value.trim()) || nodeOf(metric) });
    },
  }, picker.element, element('span.faint', null, ' of '), node, names, element('button', { 'data-part': 'curve-add' }, 'Add curve'), note);
  return element('details', { open: innerWidth > 700 }, element('summary.faint', null, 'Add a curve'), form);
}

/**
 * What a metric can be of, as `of` and curves call it: from the reports that have the names.
 * @param {import('../main.js').Context} context
 * @returns {Promise<string[]>}
 */
async function nodesOf({ ask }) {
  const [threads, procedures, objects] = await Promise.all(['threads', 'npt', 'objects'].map((view) =>
    ask('report', { view }).then((report) => report.rows, () => [])));
  const some = (/** @type {any[]} */ rows, /** @type {(row: any) => string|undefined} */ of) => [...new Set(rows.map(of).filter(Boolean))].slice(0, 300);
  const machines = some(threads, (row) => row.machine && `machine:${row.machine}`);
  return /** @type {string[]} */ (['program', ...(machines.length > 1 ? machines : []), ...some(threads, (row) => row.pid && `process:${row.pid}`),
    ...some(threads, (row) => row.thread && `thread:${row.thread}`), ...some(threads, (row) => row.tid && `thread:${row.tid}`),
    ...some(procedures, (row) => row.procedure && `procedure:${row.procedure}`), ...some(objects, (row) => row.object && `object:${row.object}`)]);
}

/**
 * An exported file has only some curves: those are offered.
 * @param {{metric: string, title: string}[]} own
 * @param {Promise<import('./catalogue.js').Catalogue>} catalogue
 * @param {(curve: {metric: string, node: string}) => void} choose
 */
function inFile(own, catalogue, choose) {
  const titles = new Map(own.map(({ metric, title }) => [metric, title]));
  const select = element('select', { 'aria-label': 'curves in this file', 'data-part': 'curve-metric' });
  const form = element('form.curve-add', {
    'aria-label': 'add a curve', title: 'Curves of threads, procedures and objects: `longpole view` on the recording',
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      const [metric, node] = JSON.parse(select.value);
      choose({ metric, node });
    },
  }, select, element('button', { 'data-part': 'curve-add' }, 'Add curve'), element('span.faint', null, 'only these are in the file'));
  Promise.all([curvesInFile(), catalogue]).then(([curves, { metrics }]) => {
    for (const { name, title } of metrics) if (!titles.has(name)) titles.set(name, title);
    select.append(...(curves ?? []).map(({ metric, node }) =>
      element('option', { value: JSON.stringify([metric, node]) }, `${titles.get(metric) ?? metric}${node === 'program' ? '' : ` of ${node}`}`)));
    if (!curves?.length) form.replaceChildren(element('span.faint', null, 'This file has no curves.'));
  });
  return form;
}
