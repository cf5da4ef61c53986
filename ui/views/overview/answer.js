/** The answer in a sentence, what speaks against it, and the commands that show more. */

import { leadsOf, placeOfCommand } from '../../model/links.js';
import { wordsOf } from '../../model/summary.js';
import { command } from '../../widgets/copy.js';
import { element } from '../../widgets/element.js';

/**
 * A sentence with its names in the letters of names; those that the row tells more about lead there.
 * @param {string} text
 * @param {any} row whose `mentions` tell which thing a name is
 * @param {import('../../main.js').Context} context
 */
export const sentence = (text, row, { link }) => wordsOf(text).map(({ text, isName }) => {
  if (!isName) return text;
  const lead = leadsOf(row?.mentions?.find((/** @type {any} */ thing) => thing.text === text) ?? {})[0];
  return lead ? element('a', { href: link(lead.change), title: lead.title }, element('code', null, text)) : element('code', null, text);
});

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {import('../../model/summary.js').Sections} sections
 * @param {import('../../main.js').Context} context
 */
export function drawAnswer(root, report, { answer, warning }, context) {
  const [first, ...others] = answer;
  if (first) root.append(element('p.long-pole', { 'data-part': 'long-pole' }, ...sentence(first.text, first, context)));
  root.append(...others.map((row) => element('p.because', null, ...sentence(row.text, row, context))));
  // The notes hold every warning of the summary, and more.
  const notes = [...new Set([...(report.evidence?.notes ?? []), ...warning.map((row) => row.text)])];
  root.append(...notes.map((note) => element('p.caution', { role: 'note', 'data-part': 'caution' }, element('strong', null, 'Caution:'), ...sentence(note, null, context))));
}

/**
 * @param {HTMLElement} root
 * @param {any[]} rows
 * @param {import('../../main.js').Context} context
 */
export function drawNext(root, rows, { link }) {
  root.append(element('ul.next', null, ...rows.map((row) => {
    const place = placeOfCommand(row.text);
    return element('li', null, command(row.text), place && element('a', { href: link(place) }, 'the same here'));
  })));
}
