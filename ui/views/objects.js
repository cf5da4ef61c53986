/**
 * Locks, conditions, barriers, pipes: who waits for them, how long, and for whom. Keys of its own in the URL: `of=object:NAME`
 * shows one in full; `all=1` adds locks that nobody waited for.
 */

import { orderNotes } from '../model/contention.js';
import { percent, time } from '../model/quantity.js';
import { choice } from '../widgets/choice.js';
import { element } from '../widgets/element.js';
import { drawObject } from '../widgets/object.js';
import { panel } from '../widgets/panel.js';
import { objectLink, procedureLink } from '../widgets/places.js';
import { table } from '../widgets/table.js';

/** @typedef {import('../main.js').Context} Context */

const COLUMNS = [
  'kind', 'percent', 'seconds', 'blocks', 'mean_wait_seconds', 'p90_wait_seconds', 'longest_wait_seconds', 'mean_queue', 'acquisitions',
  'cost_seconds', 'contended_acquisitions_percent', 'mean_hold_seconds', 'held_seconds', 'holder_npt_seconds', 'holder', 'handovers', 'objects',
];

/** @type {import('../main.js').View} */
export default {
  name: 'objects',
  title: 'Objects',
  about: 'Locks, conditions, barriers, pipes: who waits for them, how long, and for whom.',
  key: '5',
  draw(root, context) {
    const { place, link } = context;
    if (place.of) return drawObject(root, place.of, context);
    const body = element('div', { 'data-part': 'objects' });
    const all = { value: '1', title: 'all', about: 'also locks that nobody waited for (record --locks)' };
    // An exported file has those alone that were waited for.
    root.append(element('div.controls', null, choice('objects', [
      { value: undefined, title: 'waited for' }, ...(context.recording.is_export && !place.all ? [] : [all]),
    ], place.all, (value) => link({ all: value }))), body);
    return panel(body, () => context.report('objects', { all: place.all }), (report) => {
      body.append(...orderNotes(report.evidence?.notes).map((note) =>
        element('p.warning', { 'data-part': 'order-conflict' }, element('strong', null, 'Deadlock possible: '), note, '.')));
      if (report.rows.length > 0 && report.rows[0].seconds > 0) body.append(answer(report.rows, context));
      body.append(table(report, {
        name: 'object', columns: COLUMNS, bar: 'percent', titles: { seconds: 'Waited', blocks: 'Waits', percent: '% of waiting', p90_wait_seconds: '90 % below', holder_npt_seconds: 'NPT held', held_seconds: 'Held, wanted' }, href: (row) => link({ of: `object:${row.object}`, all: undefined }), links: true,
        empty: 'No thread waited for an object.', caption: 'objects by the time that threads waited for them',
      }, context));
    });
  },
};

/**
 * What threads waited for most, and who kept it.
 * @param {any[]} rows
 * @param {Context} context
 */
function answer(rows, context) {
  const [most] = rows;
  const whole = rows.reduce((sum, row) => sum + row.seconds, 0);
  return element('p.answer', { 'data-part': 'answer' }, `Threads waited ${time(whole)} for objects, ${percent(most.percent)} of it for ${most.kind} `, objectLink(most.object, context),
    ...(most.holder ? [', held longest by ', procedureLink({ procedure: most.holder_procedure ?? most.holder, module: most.holder_module }, context)] : []), '.');
}
