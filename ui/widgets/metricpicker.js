/** Chooses one metric among many: a button that opens a searched list, in groups, with units. */

import { searched } from '../model/metrics.js';
import { unitText } from '../model/scales.js';
import { element } from './element.js';

/** @typedef {import('../model/metrics.js').Metric} Metric */

/**
 * @param {{group: string, metrics: Metric[]}[]} groups
 * @param {string} value the metric's name
 * @param {(metric: Metric) => void} changed
 * @returns {{element: HTMLElement, metric: () => Metric|undefined, fill: (groups: {group: string, metrics: Metric[]}[]) => void}}
 */
export function metricPicker(groups, value, changed) {
  const find = () => groups.flatMap(({ metrics }) => metrics).find(({ name }) => name === value) ?? groups[0]?.metrics[0];
  const title = element('span');
  const button = element('button.metric-choice', { type: 'button', 'aria-haspopup': 'listbox', 'data-part': 'curve-metric', onclick: () => open() }, title, element('span', { 'aria-hidden': 'true' }, ' ▾'));
  const show = () => {
    const metric = find();
    title.textContent = metric?.title ?? 'no metric';
    button.setAttribute('aria-label', `metric: ${metric?.title ?? 'none'}`);
    button.title = [metric?.name, metric?.explanation].filter(Boolean).join(': ');
  };
  const open = () => pick(button, groups, find()?.name ?? '', (metric) => {
    value = metric.name;
    show();
    changed(metric);
    button.focus();
  });
  show();
  return { element: button, metric: find, fill: (next) => {
    groups = next;
    show();
  } };
}

/**
 * The list over the page.
 * @param {HTMLElement} button
 * @param {{group: string, metrics: Metric[]}[]} groups
 * @param {string} value
 * @param {(metric: Metric) => void} chosen
 */
function pick(button, groups, value, chosen) {
  const input = element('input', {
    type: 'search', placeholder: 'search metrics', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'metrics-found', 'aria-autocomplete': 'list', 'aria-label': 'search metrics', 'data-part': 'metric-search',
  });
  const list = element('div.metrics-found', { role: 'listbox', id: 'metrics-found', 'aria-label': 'metrics' });
  const box = element('div.menu.metric-menu', { popover: 'auto', 'data-part': 'metric-menu' }, input, list);
  /** @type {Metric[]} */
  let shown = [];
  let at = 0;
  const options = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[role=option]')]);
  const mark = (/** @type {number} */ next) => {
    at = next;
    options().forEach((option, index) => option.setAttribute('aria-selected', String(index === at)));
    input.setAttribute('aria-activedescendant', shown.length > 0 ? `metric-${at}` : '');
    options()[at]?.scrollIntoView({ block: 'nearest' });
  };
  const take = (/** @type {Metric|undefined} */ metric) => {
    if (!metric) return;
    box.hidePopover();
    chosen(metric);
  };
  const fill = () => {
    const found = searched(groups, input.value);
    shown = found.flatMap(({ metrics }) => metrics);
    let index = 0;
    list.replaceChildren(...found.map(({ group, metrics }) => element('div', { role: 'group', 'aria-label': group }, element('div.group', { 'aria-hidden': 'true' }, group),
      ...metrics.map((metric) => {
        const own = index++;
        return element('div.option', {
          role: 'option', id: `metric-${own}`, 'data-metric': metric.name, title: metric.explanation, onclick: () => take(metric), onmousemove: () => at !== own && mark(own),
        }, element('span', null, metric.title), element('span.faint', null, unitText(metric.unit)));
      }))));
    if (shown.length === 0) list.append(element('p.faint', { role: 'status' }, `No metric is called like “${input.value}”.`));
    mark(Math.max(0, input.value ? 0 : shown.findIndex(({ name }) => name === value)));
  };
  input.addEventListener('input', fill);
  box.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 })[event.key];
    if (event.key === 'Enter') take(shown[at]);
    else if (step && shown.length > 0) mark(Math.min(shown.length - 1, Math.max(0, at + step)));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener('toggle', (/** @type {any} */ event) => event.newState === 'closed' && box.remove());
  // In the document beside the button: what draws the view anew takes it away.
  button.after(box);
  fill();
  box.showPopover();
  place(box, button.getBoundingClientRect());
  input.focus();
  mark(at);
}

/** Below the button, or above where there is more room, within the window. @param {HTMLElement} box @param {DOMRect} beside */
function place(box, beside) {
  const { width } = box.getBoundingClientRect();
  const [above, below] = [beside.top - 8, innerHeight - beside.bottom - 8];
  const isBelow = below >= Math.min(320, above);
  box.style.setProperty('max-height', `${Math.min(420, isBelow ? below : above)}px`);
  box.style.setProperty('left', `${Math.max(4, Math.min(beside.left, innerWidth - width - 4))}px`);
  const { height } = box.getBoundingClientRect();
  box.style.setProperty('top', `${isBelow ? beside.bottom + 2 : beside.top - height - 2}px`);
}
