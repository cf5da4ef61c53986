/**
 * What to change first, and how far to trust that. In the URL: `open` (`notes`, `guidance`, `evidence`: shown in full), and the order and search of its tables:
 * `callers` (the procedure that is unfolded), `fold` (`none`: kernel and libraries are charged to themselves), `procedures-sort`, `threads-sort`, `threads-find`, `waits-sort`.
 */

import { sectionsOf } from '../model/summary.js';
import { drawAnswer, drawNext } from './overview/answer.js';
import { drawBusy } from './overview/busy.js';
import { drawChanges } from './overview/changes.js';
import { drawMoves } from './overview/moves.js';
import { drawProcedures, drawThreads, drawWaits } from './overview/tables.js';
import { drawEvidence, drawTrust } from './overview/trust.js';
import { element } from '../widgets/element.js';
import { panel } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'overview',
  title: 'Overview',
  about: 'What holds the program back, what a change would gain, and how sure that is.',
  key: '1',
  draw: (root, context) => panel(root, () => context.report('summary'), (report) => {
    const sections = sectionsOf(report.rows);
    drawAnswer(part(root, 'answer'), report, sections, context);
    drawChanges(part(root, 'changes', 'What to change'), sections.change, context);
    const columns = element('div.columns');
    root.append(columns);
    drawBusy(part(columns, 'busy', 'Elapsed time by number of busy threads'), sections.busy, context);
    drawTrust(part(columns, 'trust', 'Which ranking to trust'), sections.trust, context);
    drawProcedures(part(root, 'procedures', 'Procedures'), report, sections.procedure, context);
    drawThreads(part(root, 'threads', 'Threads'), context);
    drawWaits(part(root, 'waits', 'Longest waits'), sections.wait, context);
    drawMoves(part(root, 'moves', 'From outside: what moves with the program'), context);
    drawEvidence(part(root, 'evidence', 'Evidence'), context);
    drawNext(part(root, 'next', 'Next'), sections.next, context);
  }),
};

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {string} [title]
 * @returns {HTMLElement}
 */
function part(root, name, title) {
  const made = element('section', { 'data-part': name, 'aria-label': title }, title && element('h2', null, title));
  root.append(made);
  return made;
}
