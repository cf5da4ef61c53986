/** One procedure with those that call it and those that it calls, and the choice of where leaves are charged. In the URL: `callers`, `fold`. */

import { choice } from '../../widgets/choice.js';
import { element } from '../../widgets/element.js';
import { panel } from '../../widgets/panel.js';
import { table } from '../../widgets/table.js';

/** Where kernel and libraries are charged. */
const FOLDS = [
  { value: undefined, title: 'the caller', about: 'Kernel, C library and language runtime belong to the procedure of the program that called them.' },
  { value: 'none', title: 'themselves', about: 'Each procedure has its own time.' },
];

/**
 * The switch between folded and plain procedures; an exported page has the folded ones only.
 * @param {import('../../main.js').Context} context
 */
export const foldChoice = ({ place, link, recording }) => (recording.is_export ? ''
  : choice('Libraries and kernel are charged to', FOLDS, place.fold, (fold) => link({ fold })));

/**
 * The link that unfolds a procedure's callers and callees; an exported page has none.
 * @param {any} row
 * @param {import('../../main.js').Context} context
 */
export function callersLink(row, { place, link, recording }) {
  if (recording.is_export || !row.procedure) return '';
  const isOpen = place.callers === row.procedure;
  return element('a', { href: link({ callers: isOpen ? undefined : row.procedure }), title: 'Who calls it, and what it calls', 'data-callers-of': row.procedure }, isOpen ? 'hide' : 'callers');
}

/**
 * @param {HTMLElement} root
 * @param {import('../../main.js').Context} context
 */
export function drawCallers(root, context) {
  const { place, link } = context;
  if (!place.callers || context.recording.is_export) return;
  const body = element('section', { 'data-part': 'callers' });
  root.append(body);
  panel(body, () => context.report('callers', { of: `procedure:${place.callers}` }), (report) => {
    for (const [relation, title] of [['caller', 'Called by'], ['callee', 'Calls']]) {
      const rows = report.rows.filter((/** @type {any} */ row) => row.relation === relation);
      body.append(element('h3', null, `${title}: ${place.callers}`), table({ ...report, rows }, {
        name: 'procedure', own: relation, links: true, limit: 12,
        href: (row) => (row.procedure ? link({ callers: row.procedure }) : undefined),
        columns: ['percent', 'cpu_inclusive_seconds', 'cpu_seconds', 'wait_inclusive_seconds', 'calls'],
        bar: ['percent'], empty: relation === 'caller' ? 'No procedure calls it.' : 'It calls nothing that was seen.',
        caption: `${title.toLowerCase()} ${place.callers}`,
      }, context));
    }
  });
}
