/** How long so many threads were busy at once, and what ran meanwhile. */

import { percent, time } from '../../model/quantity.js';
import { shorten } from '../../model/names.js';
import { meter } from '../../widgets/meters.js';
import { element } from '../../widgets/element.js';
import { panel } from '../../widgets/panel.js';

/**
 * @param {HTMLElement} root
 * @param {any[]} rows of the summary
 * @param {import('../../main.js').Context} context
 */
export function drawBusy(root, rows, context) {
  const list = element('div.busy', { role: 'list' });
  const mean = element('p.faint');
  root.append(list, mean);
  const draw = (/** @type {any[]} */ levels) => list.replaceChildren(...rows.map((row) => level(row, levels, context)));
  draw([]);
  panel(mean, () => context.report('parallelism'), (report) => {
    draw(report.rows);
    const { effective_parallelism: busy, cpus } = report.recording;
    mean.append(`On average ${busy.toFixed(2)} busy; the machine has ${cpus} CPU${cpus === 1 ? '' : 's'}. `,
      element('a', { href: context.link({ view: 'parallelism' }) }, 'Parallelism'));
  });
}

/**
 * @param {any} row
 * @param {any[]} levels rows of the view parallelism
 * @param {import('../../main.js').Context} context
 */
function level(row, levels, { link }) {
  const found = String(row.level) === row.text ? levels.find((each) => each.level === row.level) : undefined;
  const ran = row.procedure ? { ...row, procedure_percent: row.procedure_percent ?? row.percent } : found;
  const ready = row.percent - (found?.nominal_percent ?? row.percent);
  const runnable = row.level === 0 && ready > 0.05 ? `ready or spinning ${percent(ready)}` : '';
  return element('div', { role: 'listitem', 'data-row': row.text },
    element('span.number', null, `${row.text} busy`),
    meter(row.percent, row.level === 0 ? 'chosen' : 'busy'),
    element('span.number', { title: time(row.seconds) }, percent(row.percent)),
    element('span.number.faint', null, time(row.seconds)),
    ran?.procedure
      ? element('span.ran', null, element('a', { href: link({ view: 'parallelism', of: `procedure:${ran.procedure}` }), title: ran.procedure }, shorten(ran.procedure, 36)),
        ran.procedure_percent === undefined ? '' : ` ${percent(ran.procedure_percent)}`)
      : element('span.ran.faint', null, runnable));
}
