/** What a row of the path is, what weighs on it, and which columns stand beside it. */

import { choice, freshLink } from '../../widgets/choice.js';
import { element } from '../../widgets/element.js';

const COLUMNS = [
  ['zeroing', 'What the run would gain if the row took no time'],
  ['slack', 'How far the row can be improved before another path is the longest'],
];
const LEVELS = ['procedure', 'line', 'thread', 'process', 'machine', 'object'];

/**
 * The columns on demand that the place names; an exported file, which has no what-if, shows zeroing always.
 * @param {import('../../main.js').Context} context
 * @returns {string[]}
 */
export function metricsOf({ place, recording }) {
  const named = (place.metric ?? '').split(',').filter((/** @type {string} */ name) => name === 'zeroing' || name === 'slack');
  return recording.is_export ? [...new Set([...named, 'zeroing'])] : named;
}

/**
 * @param {HTMLElement} root
 * @param {import('../../main.js').Context} context
 * @param {boolean} hasElapsed whether the path by elapsed time can be had
 */
export function drawControls(root, context, hasElapsed) {
  const { place, link, recording } = context;
  const by = place.by ?? 'procedure';
  const metrics = metricsOf(context);
  const toggled = (/** @type {string} */ name) => (metrics.includes(name) ? metrics.filter((each) => each !== name) : [...metrics, name]).join(',') || undefined;
  const elapsed = { value: 'elapsed', title: 'elapsed', about: 'Devices, sleep, time without a CPU and messages weigh, too' };
  root.append(element('div.controls', null,
    choice('By', LEVELS.map((level) => ({ value: level, title: level })), by,
      (level) => link({ by: level === 'procedure' ? undefined : level, sort: undefined, find: undefined })),
    choice('Weight', [{ value: undefined, title: 'CPU time', about: 'Only useful CPU time weighs' }, ...(hasElapsed ? [elapsed] : [])], place.weight,
      (weight) => link({ weight })),
    hasElapsed ? null : element('span.faint', null, 'This exported file does not hold the path by elapsed weight.'),
    element('span.control', null, element('span.label', null, 'Columns'), element('span.choice', { role: 'group', 'aria-label': 'Columns' }, ...COLUMNS.map(([name, about]) => freshLink(() => link({ metric: toggled(name) }), { title: about, 'aria-current': metrics.includes(name) ? 'true' : undefined }, name))))));
}
