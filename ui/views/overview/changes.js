/** The merged list of what to change, with the range of what each change would gain alone. */

import { nameOf, shorten } from '../../model/names.js';
import { percent, time } from '../../model/quantity.js';
import { leadsOf } from '../../model/links.js';
import { rangeText } from '../../model/summary.js';
import { interval } from '../../widgets/meters.js';
import { element } from '../../widgets/element.js';
import { linksOf } from '../../widgets/links.js';
import { empty } from '../../widgets/panel.js';
import { sentence } from './answer.js';

/**
 * @param {HTMLElement} root
 * @param {any[]} rows
 * @param {import('../../main.js').Context} context
 */
export function drawChanges(root, rows, context) {
  if (rows.length === 0) {
    root.append(empty('No single change would gain anything that can be told from chance.'));
    return;
  }
  root.append(
    element('p.faint', null, 'Each alone; gains overlap. The bar is the range of the gain on the length of the run. ',
      element('a', { href: context.link({ view: 'help', of: 'gain_high_seconds' }) }, 'How it is found')),
    element('ol.changes', null, ...rows.map((row) => change(row, context))));
}

/**
 * @param {any} row
 * @param {import('../../main.js').Context} context
 */
function change(row, context) {
  const name = row.text ?? nameOf(row);
  const lead = leadsOf(row)[0];
  const seconds = rangeText(row.gain_low_seconds, row.gain_high_seconds, time);
  const share = rangeText(row.gain_low_percent, row.gain_high_percent, percent);
  const text = name === nameOf(row) ? shorten(name, 70) : element('span', null, ...(row.spans ? sentence(row.spans, context) : [name]));
  return element('li.change', { 'data-row': name },
    element('span.rank', { title: 'place in the ranking; equal places differ by no more than chance' }, String(row.rank ?? '')),
    element('span.what', null,
      element(lead ? 'a.thing' : 'span.thing', { href: lead && context.link(lead.change), title: [name, row.module, row.file].filter(Boolean).join('\n') }, text),
      linksOf(row, context), element('span.remedy', null, row.remedy)),
    element('span.gain', null, element('strong', null, seconds), ` ${share}`),
    element('span.range', null, interval(row.gain_low_percent, row.gain_high_percent, `gain ${seconds}, ${share} of the run`)),
    row.about && element('span.about', null, ...sentence(row.about_spans, context)));
}
