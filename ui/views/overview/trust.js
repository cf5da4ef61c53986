/** Which ranking to follow, and what the answers rest on; both in full on demand. */

import { isAgainst, ledgerOf } from '../../model/evidence.js';
import { placeOfCommand } from '../../model/links.js';
import { element } from '../../widgets/element.js';
import { panel } from '../../widgets/panel.js';
import { unfold } from '../../widgets/unfold.js';
import { sentence } from './answer.js';

/**
 * @param {HTMLElement} root
 * @param {any[]} rows
 * @param {import('../../main.js').Context} context
 */
export function drawTrust(root, rows, context) {
  root.append(...rows.map((row) => element('p', null, ...sentence(row.spans, context))));
  unfold(root, 'guidance', 'Why, and what of the other rankings', context, (body) => panel(body, () => context.report('guidance'), (report) => {
    const of = (/** @type {string} */ section) => report.rows.filter((/** @type {any} */ row) => row.section === section);
    body.append(
      ...of('answer').slice(rows.length > 0 ? 1 : 0).map((/** @type {any} */ row) => element('p', null, ...sentence(row.spans, context))),
      ledger(['Ranking', 'Verdict', 'Because'], of('ranking').map((/** @type {any} */ row) => ({ ...row, mark: row.value === 'misleads' })), context),
      element('h3', null, 'What the program is like'),
      ledger(['Measure', 'Value', 'Meaning'], of('measure'), context),
      element('p', null, element('a', { href: context.link({ view: 'help', of: 'trust' }) }, 'The rules')));
  }));
}

/**
 * @param {HTMLElement} root
 * @param {import('../../main.js').Context} context
 */
export function drawEvidence(root, context) {
  const body = element('div');
  root.append(body);
  panel(body, () => context.report('evidence'), (report) => {
    const against = report.rows.filter(isAgainst).length;
    const marked = (/** @type {any[]} */ rows) => rows.map((row) => ({ ...row, mark: isAgainst(row) }));
    body.append(element('p', null, against > 0
      ? `${against === 1 ? 'One count is' : `${against} counts are`} not zero, as they were in a perfect recording: marked with “!”.`
      : 'Nothing that was counted speaks against the answers.'), ledger(['Count', 'Value', 'Meaning'], marked(ledgerOf(report.rows)), context));
    unfold(body, 'evidence', `All ${report.rows.length} counts`, context, (all) => all.append(ledger(['Count', 'Value', 'Meaning'], marked(report.rows), context)));
  });
}

/**
 * @param {string[]} titles
 * @param {any[]} rows with `name`, `value`, `about`, `argument` and `mark`
 * @param {import('../../main.js').Context} context
 */
function ledger(titles, rows, { link }) {
  return element('div.scroll', null, element('table.ledger', null,
    element('thead', null, element('tr', null, ...titles.map((title, index) => element(index === 1 ? 'th.number' : 'th', { scope: 'col' }, title)))),
    element('tbody', null, ...rows.map((row) => {
      const place = row.argument ? placeOfCommand(row.argument) : null;
      const name = row.argument?.includes('elapsed') ? `${row.name}, elapsed` : row.name;
      return element('tr', { 'data-row': name },
        element('th', { scope: 'row' }, place ? element('a', { href: link(place) }, name) : name),
        element('td.number', null, row.mark ? element('span.mark.is-bad', null, `! ${row.value}`) : String(row.value ?? '')),
        element('td', null, row.about));
    }))));
}
