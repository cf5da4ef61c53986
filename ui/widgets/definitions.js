/** Metrics that are defined while looking: those of the URL, each to be taken away, and a form for one more. */

import { completed, completionsOf, definitionOf, FUNCTIONS, leftOut, partsOf, placeOf } from '../model/formula.js';
import { wordsOf } from '../model/summary.js';
import { place as now } from '../state.js';
import { element } from './element.js';

/** @typedef {import('./catalogue.js').Catalogue} Catalogue */

/** Whether the form was used last: a view that is drawn anew gives it the focus back. */
let wasUsed = false;

/**
 * @param {import('../main.js').Context} context
 * @param {Catalogue} catalogue
 * @param {string[]} operands names of metrics that have no entry of their own but curves
 * @param {(name: string) => Partial<import('../model/query.js').Place>} shown what of the place changes, so that the new metric is seen
 * @returns {HTMLElement}
 */
export function definitions(context, catalogue, operands, shown) {
  if (catalogue.isAbsent) return element('span');
  const { go, place } = context;
  const texts = /** @type {string[]} */ ([place.define ?? []].flat());
  const list = element('ul.definitions', { 'aria-label': 'defined metrics' }, ...texts.map((text) => defined(text, catalogue.refused.get(text), () => {
    wasUsed = true;
    const { name } = partsOf(text);
    // What is shown now: the view has noted more in the URL since it was drawn.
    const { view, curves, metric } = now();
    go({
      define: texts.filter((other) => other !== text),
      ...(curves ? { curves: curves.filter((/** @type {string} */ curve) => curve.split('@')[0] !== name) } : {}),
      ...(view === 'tree' && metric ? { metric: metric.split(',').filter((/** @type {string} */ one) => one !== name).join(',') } : {}),
    });
  })));
  if (context.recording.is_export) {
    return element('div', { 'data-part': 'definitions' }, texts.length > 0 && list, element('p.faint', null, 'An exported file computes no new metrics: `longpole view` on the recording does.'));
  }
  const box = element('details.define', { 'data-part': 'definitions', open: texts.length > 0 || wasUsed },
    element('summary', null, 'Define a metric'), texts.length > 0 && list, form(context, catalogue, operands, texts, shown));
  if (wasUsed) requestAnimationFrame(() => /** @type {HTMLElement|null} */ (box.querySelector('[data-part="define-name"]'))?.focus({ preventScroll: true }));
  wasUsed = false;
  return box;
}

/**
 * @param {string} text
 * @param {any} failure
 * @param {() => void} remove
 */
function defined(text, failure, remove) {
  const where = failure && placeOf(failure, text);
  return element('li', { 'data-row': partsOf(text).name }, element('code', null, text),
    element('button', { type: 'button', 'aria-label': `take ${text} away`, title: 'Take away', onclick: remove }, '×'),
    failure && element('div.failed', { role: 'alert' }, where && element('pre', { 'aria-hidden': 'true' }, where.text), told(failure, where?.column)));
}

/**
 * @param {any} failure
 * @param {number|undefined} column
 */
function told(failure, column) {
  // With a place the lines below the first show the same as the mark, and what stands before it is the place in words.
  const message = failure.message ?? String(failure);
  const text = [column ? `Column ${column}: ${message.split('\n')[0].replace(/^.*?\bcolumn \d+: /, '')}` : message, ...(failure.hints ?? []).map((/** @type {string} */ hint) => ` – ${hint}`)].join('');
  return element('p', null, ...wordsOf(text).map(({ text, isName }) => (isName ? element('code', null, text) : text)));
}

/**
 * @param {import('../main.js').Context} context
 * @param {Catalogue} catalogue
 * @param {string[]} operands
 * @param {string[]} texts
 * @param {(name: string) => Partial<import('../model/query.js').Place>} shown
 */
function form({ ask, go }, catalogue, operands, texts, shown) {
  const names = namesOf(catalogue, operands);
  const [name, formula] = [
    element('input.define-name', { 'aria-label': 'name of the metric', placeholder: 'share', 'data-part': 'define-name', autocomplete: 'off', spellcheck: 'false' }),
    element('input.define-formula', {
      'aria-label': 'formula', placeholder: '(cpu_time + spin_time) / sys_user_time', 'data-part': 'define-formula', autocomplete: 'off', spellcheck: 'false',
      role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': 'formula-names',
    }),
  ];
  const failed = element('div', { 'data-part': 'define-failed' });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = definitionOf(name.value, formula.value);
    failed.replaceChildren();
    if (!name.value.trim() || !formula.value.trim()) {
      failed.append(element('p', { role: 'alert' }, 'A metric has a name and a formula.'));
      (name.value.trim() ? formula : name).focus();
      return;
    }
    try {
      const answer = await ask('metrics', { define: [...catalogue.defines, text] });
      const missing = leftOut(answer, [text]).get(text);
      if (missing) throw missing;
    } catch (failure) {
      const where = placeOf(/** @type {any} */ (failure), text);
      failed.replaceChildren(element('div.failed', { role: 'alert' }, where && element('pre', { 'aria-hidden': 'true' }, where.text), told(failure, where?.column)));
      const at = where ? where.column - 1 - (text.length - formula.value.trim().length) : -1;
      (where && at < 0 ? name : formula).focus();
      if (at >= 0) formula.setSelectionRange(at, at);
      return;
    }
    wasUsed = true;
    go({ define: [...texts, text], ...shown(name.value.trim()) });
  };
  return element('form.define-form', { 'aria-label': 'define a metric', onsubmit: submit }, name, element('span', { 'aria-hidden': 'true' }, '='),
    element('span.completing', null, formula, completing(formula, names)), element('button', { 'data-part': 'define' }, 'Define'), failed);
}

/**
 * What a formula can name.
 * @param {Catalogue} catalogue
 * @param {string[]} operands
 */
function namesOf({ metrics }, operands) {
  const known = new Map(metrics.filter(({ has_curve, name }) => has_curve !== false || operands.includes(name)).map(({ name, title, unit }) => [name, { name, title, unit }]));
  for (const name of operands) if (!known.has(name)) known.set(name, { name, title: '', unit: 'threads' });
  return [...known.values(), ...FUNCTIONS];
}

/**
 * The list of names that complete the word at the caret of a field.
 * @param {any} field
 * @param {{name: string, title: string, unit?: string}[]} names
 * @returns {HTMLElement}
 */
function completing(field, names) {
  const list = element('div.completions', { role: 'listbox', id: 'formula-names', 'aria-label': 'names', hidden: true, 'data-part': 'completions' });
  /** @type {ReturnType<typeof completionsOf>} */
  let found = { from: 0, to: 0, names: [] };
  let at = -1;
  const close = () => {
    found = { ...found, names: [] };
    at = -1;
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };
  const take = (/** @type {string} */ name) => {
    const { text, caret } = completed(field.value, found, name);
    field.value = text;
    field.setSelectionRange(caret, caret);
    close();
    field.focus();
  };
  const mark = (/** @type {number} */ next) => {
    at = next;
    [...list.children].forEach((option, index) => option.setAttribute('aria-selected', String(index === at)));
    if (at >= 0) field.setAttribute('aria-activedescendant', `formula-name-${at}`);
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  };
  field.addEventListener('input', () => {
    found = completionsOf(field.value, field.selectionStart ?? 0, names);
    if (found.names.length === 0) return close();
    // What is pressed must not take the field's focus before it is taken.
    list.replaceChildren(...found.names.map(({ name, title, unit }, index) => element('div.option', {
      role: 'option', id: `formula-name-${index}`, 'data-metric': name, onpointerdown: (/** @type {Event} */ event) => event.preventDefault(), onclick: () => take(name),
    }, element('code', null, name), element('span.faint', null, [title, unit].filter(Boolean).join(', ')))));
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    mark(-1);
  });
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const { length } = found.names;
    if (length === 0) return;
    if (event.key === 'ArrowDown') mark((at + 1) % length);
    else if (event.key === 'ArrowUp') mark((Math.max(at, 0) + length - 1) % length);
    else if (event.key === 'Escape') close();
    else if (event.key === 'Tab' && !event.shiftKey) take(found.names[Math.max(0, at)].name);
    else if (event.key === 'Enter' && at >= 0) take(found.names[at].name);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return list;
}
