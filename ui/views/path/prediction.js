/** The box of the what-if: what is changed, and what is predicted of it. */

import { lessOrMore } from '../../model/path.js';
import { percent, time } from '../../model/quantity.js';
import { shorten } from '../../model/names.js';
import { longestOf, predictionOf } from '../../model/what-if.js';
import { element } from '../../widgets/element.js';

/** What a prediction does not know. */
const LIMITS = 'The path is that of useful CPU time. The elapsed time is that of the run executed again on its CPUs; time on devices and in waits that no thread explains stays. '
  + 'A range holds the run in its recorded order, and with locks and processors that go to whoever comes first. ± is one standard error of the sampling alone.';

/**
 * The lengths before and after.
 * @param {HTMLElement} root
 * @param {any} report the answer of `api/what-if`
 */
export function drawPrediction(root, report) {
  const found = predictionOf(report);
  if (!found) return;
  const whole = longestOf(found);
  root.append(
    length('elapsed', 'Elapsed', [found.elapsedBefore, found.elapsedAfter], found.elapsedRange ?? found.elapsedError, found.elapsedGainPercent, whole),
    length('path', 'Critical path', [found.pathBefore, found.pathAfter], found.pathError, found.pathGainPercent, whole));
}

/**
 * @param {string} name
 * @param {string} title
 * @param {[number, number]} lengths seconds before and after
 * @param {{least: number, most: number}|number|undefined} uncertain what it may be after, or its standard error, seconds
 * @param {number} gain percent
 * @param {number} whole what the bars' full width stands for
 */
function length(name, title, [before, after], uncertain, gain, whole) {
  const share = (/** @type {number} */ seconds) => `${100 * seconds / whole}%`;
  const isRange = typeof uncertain === 'object';
  const error = isRange ? 0 : uncertain ?? 0;
  const { least, most } = isRange ? uncertain : { least: Math.max(0, after - error), most: after + error };
  const predicted = isRange ? `${time(least)}–${time(most)}` : time(after);
  const change = isRange ? '' : ` (${lessOrMore(gain)})`;
  return element('div.length', { 'data-part': `predicted-${name}` },
    element('span.label', null, title),
    element('span.numbers', null, `${time(before)} → `, element('strong', null, predicted), error ? ` ± ${time(error)}` : '', change),
    element('span.lengths', { 'aria-hidden': 'true' },
      element('span.before', { style: { width: share(before) } }), element('span.after', { style: { width: share(after) } }),
      most > least ? element('span.error', { style: { left: share(least), width: share(most - least) } }) : null));
}

/**
 * The changes in a list, each with its slider and what it gains alone.
 * @param {HTMLElement} root
 * @param {any[]} rows of the answer
 * @param {import('./changes.js').Changes} changes
 */
export function drawChanges(root, rows, changes) {
  const alone = rows.filter((row) => row.section === 'change');
  const list = changes.texts.map((text, index) => {
    const of = text.slice(0, text.lastIndexOf('='));
    const row = alone[index];
    const name = row?.change ?? of;
    return element('li', { 'data-row': of },
      element('span.thing', { title: of }, shorten(name, 50)), changes.slider(of, name),
      element('span.faint', null, row ? `alone: elapsed ${lessOrMore(row.elapsed_gain_percent)}, path ${lessOrMore(row.path_gain_percent)}` : ''),
      element('button', { type: 'button', 'aria-label': `take back the change of ${name}`, title: 'Take it back', onclick: () => changes.set(of, undefined) }, '×'));
  });
  const isOpen = root.querySelector('details')?.open ?? innerWidth > 640;
  root.replaceChildren(element('ul.set', null, ...list),
    list.length > 1 ? element('button', { type: 'button', onclick: () => changes.clear() }, 'Take all back') : '',
    list.length > 0 ? element('details.limits', { open: isOpen }, element('summary', null, 'What is uncertain'), element('p.faint', null, LIMITS)) : '');
}

/**
 * Objects to choose from: the time that threads wait for them can be changed, too.
 * @param {any[]} rows of the view objects
 * @param {import('./changes.js').Changes} changes
 */
export function objectChoice(rows, changes) {
  const choice = element('select', {
    'aria-label': 'add a lock or another object', 'data-part': 'add-object',
    onchange: () => {
      if (choice.value) changes.set(choice.value, 0);
      choice.value = '';
    },
  }, element('option', { value: '' }, 'Add a lock or another object…'), ...rows.slice(0, 200).map((row) =>
    element('option', { value: `object:${row.object}` }, `${shorten(row.object, 50)}: ${time(row.seconds)} of waiting${row.percent === undefined ? '' : `, ${percent(row.percent)}`}`)));
  return choice;
}
