/** The answer in a sentence, the cautions that can change it, the notes on its accuracy, and the commands that show more. */

import { notesOf } from '../../model/evidence.js';
import { leadsOf, placeOfCommand } from '../../model/links.js';
import { isName, wordsOf } from '../../model/summary.js';
import { command } from '../../widgets/copy.js';
import { element } from '../../widgets/element.js';
import { unfold } from '../../widgets/unfold.js';

/**
 * A sentence of spans: names in the letters of names, and each leads to what it names.
 * @param {any[]|undefined} spans
 * @param {import('../../main.js').Context} context
 */
export const sentence = (spans, { link }) => (spans ?? []).map((span) => {
  const lead = leadsOf(span)[0];
  if (!lead && !isName(span)) return span.text;
  const code = element('code', null, span.text);
  return lead ? element('a', { href: link(lead.change), title: lead.title }, code) : code;
});

/**
 * A note of the evidence, which has no spans: names stand between backticks.
 * @param {string} text
 */
export const note = (text) => wordsOf(text).map(({ text, isName }) => (isName ? element('code', null, text) : text));

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {import('../../model/summary.js').Sections} sections
 * @param {import('../../main.js').Context} context
 */
export function drawAnswer(root, report, { answer, warning }, context) {
  const [first, ...others] = answer;
  if (first) root.append(element('p.long-pole', { 'data-part': 'long-pole' }, ...sentence(first.spans, context)));
  root.append(...others.map((row) => element('p.because', null, ...sentence(row.spans, context))));
  const cautions = warning.map((row) => row.text);
  root.append(...cautions.map((text) => element('p.caution', { role: 'note', 'data-part': 'caution' }, element('strong', null, 'Caution:'), ...note(text))));
  const notes = notesOf(report.evidence, cautions);
  if (notes.length === 0) return;
  const title = `${notes.length === 1 ? '1 note' : `${notes.length} notes`} on this recording's accuracy`;
  unfold(root, 'notes', title, context, (body) => body.append(element('ul.notes', null, ...notes.map((text) => element('li', null, ...note(text))))));
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
