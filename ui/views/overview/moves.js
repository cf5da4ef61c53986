/** Which series from outside move with low parallelism, or with waiting; each leads to both curves. */

import { contrastText, curvesOf, movesOf, strengthText } from '../../model/moves.js';
import { holds } from '../../api.js';
import { shorten } from '../../model/names.js';
import { answers } from '../../widgets/catalogue.js';
import { element } from '../../widgets/element.js';
import { empty, panel } from '../../widgets/panel.js';
import { note } from './answer.js';

/**
 * @param {HTMLElement} root
 * @param {import('../../main.js').Context} context
 */
export async function drawMoves(root, context) {
  const { phase, io } = context.place;
  if (!answers(context, 'correlation')) return root.remove();
  if (context.recording.is_export && !(await holds('report', { view: 'correlation', phase, io }))) {
    root.append(empty('This file does not hold which series from outside move with the program: `longpole view` on the recording does.'));
    return;
  }
  const body = element('div');
  root.append(body);
  panel(body, () => context.report('correlation'), (report) => {
    const { groups, said } = movesOf(report.rows);
    if (groups.length === 0) body.append(empty(said.join(' ') || 'No series from outside moves with low parallelism or with waiting more than chance does.'));
    else body.append(...groups.map((group) => drawGroup(group, context)), ...said.map((text) => element('p.faint', null, ...note(text))));
  });
}

/**
 * @param {import('../../model/moves.js').Moves['groups'][number]} group
 * @param {import('../../main.js').Context} context
 */
function drawGroup({ target, title, rows }, context) {
  return element('div', { 'data-part': `moves-${target}` }, element('h3', null, title),
    element('ul.moves', null, ...rows.map((row) => element('li', { 'data-row': row.metric },
      element('span', null, element('a', { href: context.link({ view: 'timeline', curves: curvesOf(row) }), title: 'Both curves over time' }, row.title ?? row.metric),
        ' ', element('span.faint', null, row.node === 'program' || !row.node ? 'of the program' : `of ${shorten(row.node, 40)}`)),
      element('span.strength', { title: 'Strength from −1 to 1: correlation of ranks. Then which comes first, and over how many bins' }, strengthText(row)),
      element('span', null, contrastText(row), row.trivial && element('span.faint', null, ' – the same thing, measured otherwise')), row.text && !contrastText(row) && element('span.said', null, ...note(row.text))))));
}
