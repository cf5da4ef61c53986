/** Chooses a curve: a metric, and whose it is. */

import { metricsOf } from '../model/curves.js';
import { curvesInFile } from './curvestore.js';
import { element } from './element.js';

/**
 * @param {import('../main.js').Context} context
 * @param {{name: string, title: string}[]} states of the recording's frames
 * @param {(curve: {metric: string, node: string}) => void} choose
 * @returns {HTMLElement}
 */
export function chooser(context, states, choose) {
  const metrics = metricsOf(states);
  if (context.recording.is_export) return inFile(metrics, choose);
  const select = element('select', { 'aria-label': 'metric', 'data-part': 'curve-metric' }, ...metrics.map(({ metric, title }) => element('option', { value: metric }, title)));
  const names = element('datalist', { id: 'curve-nodes' });
  const node = element('input', { 'aria-label': 'of what: program, process:PID, thread:NAME, procedure:NAME, object:NAME', placeholder: 'program', list: 'curve-nodes', 'data-part': 'curve-node' });
  const fit = () => {
    node.disabled = Boolean(metrics.find(({ metric }) => metric === select.value)?.isWhole);
    node.title = node.disabled ? 'This metric is of the program as a whole' : '';
  };
  select.addEventListener('change', fit);
  select.value = 'cpu_seconds';
  let isKnown = false;
  node.addEventListener('focus', async () => {
    if (isKnown) return;
    isKnown = true;
    names.replaceChildren(...(await nodesOf(context)).map((name) => element('option', { value: name })));
  });
  fit();
  const form = element('form.curve-add', {
    'aria-label': 'add a curve',
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      choose({ metric: select.value, node: (node.disabled ? '' : node.value.trim()) || 'program' });
    },
  }, select, element('span.faint', null, ' of '), node, names, element('button', { 'data-part': 'curve-add' }, 'Add curve'));
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
 * @param {{metric: string, title: string}[]} metrics
 * @param {(curve: {metric: string, node: string}) => void} choose
 */
function inFile(metrics, choose) {
  const titles = new Map(metrics.map(({ metric, title }) => [metric, title]));
  const select = element('select', { 'aria-label': 'curves in this file', 'data-part': 'curve-metric' });
  const form = element('form.curve-add', {
    'aria-label': 'add a curve', title: 'Curves of threads, procedures and objects: `longpole view` on the recording',
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      const [metric, node] = JSON.parse(select.value);
      choose({ metric, node });
    },
  }, select, element('button', { 'data-part': 'curve-add' }, 'Add curve'), element('span.faint', null, 'only these are in the file'));
  curvesInFile().then((curves) => {
    select.append(...(curves ?? []).map(({ metric, node }) =>
      element('option', { value: JSON.stringify([metric, node]) }, `${titles.get(metric) ?? metric}${node === 'program' ? '' : ` of ${node}`}`)));
    if (!curves?.length) form.replaceChildren(element('span.faint', null, 'This file has no curves.'));
  });
  return form;
}
