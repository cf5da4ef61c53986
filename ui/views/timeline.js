/**
 * What every thread did, with the critical path drawn through them. Of the URL it takes `from` and `to` (the window, in seconds),
 * `phase`, `thread` (a thread's id in the frames; or `of=thread:NAME`, by name or tid) and `time` (the moment that is told of),
 * `folded` (a group, several times), `arrows=1`, `rows=low`, and `curves` (METRIC@NODE, several times).
 */

import { nameThreads } from '../model/timelinerows.js';
import { element } from '../widgets/element.js';
import { storeOf } from '../widgets/framestore.js';
import { empty, panel } from '../widgets/panel.js';
import { table } from '../widgets/table.js';
import { KEYS, POINTERS } from '../widgets/timelinekeys.js';
import { Timeline } from '../widgets/timeline.js';

/** @type {import('../main.js').View} */
export default {
  name: 'timeline',
  title: 'Timeline',
  about: 'What every thread did, with the critical path drawn through them. Drag over a part, and every view is about that part.',
  key: '2',
  draw: (root, context) => {
    const store = storeOf(context.place);
    return panel(root, () => store.open(), () => {
      if (store.roster.length === 0 || !(store.elapsed > 0)) {
        root.append(empty('The recording has no threads: nothing ran while it was made.'));
        return;
      }
      const timeline = new Timeline(context, store);
      const threads = element('section', { 'data-part': 'threads' });
      root.append(...timeline.parts, help(), threads);
      timeline.start();
      panel(threads, () => context.report('threads'), (report) => drawThreads(threads, report, context, store, timeline));
    });
  },
};

/** What keys and pointers do. */
const help = () => element('details.timeline-help', null, element('summary', null, 'Keys and pointer'),
  element('dl', null, ...[...KEYS, ...POINTERS].map(([key, what]) => element('div', null, element('dt', null, element('kbd', null, key)), element('dd', null, what)))));

/**
 * The same in numbers: what the picture says to those who do not see it.
 * @param {HTMLElement} root
 * @param {any} report
 * @param {import('../main.js').Context} context
 * @param {import('../widgets/framestore.js').FrameStore} store
 * @param {Timeline} timeline
 */
function drawThreads(root, report, context, store, timeline) {
  const [begin, end] = report.recording.phase ?? [];
  if (end !== undefined) timeline.showPhase({ from: begin, to: end });
  const names = nameThreads(store.roster);
  const at = new Map(store.roster.map((thread, index) => [`${thread.pid} ${thread.tid}`, index]));
  const indexOf = (/** @type {any} */ row) => at.get(`${row.pid} ${row.tid}`);
  root.append(element('h2', null, context.place.phase ? 'Threads in the phase' : 'Threads'), table(report, {
    name: 'thread',
    columns: ['running_seconds', 'spin_seconds', 'ready_seconds', 'wait_seconds', 'critical_path_seconds', 'critical_path_percent', 'npt_percent', 'switches', 'process', 'created_by'],
    bar: 'running_seconds',
    links: true,
    caption: 'Threads, and how long they were in each state',
    label: (row) => names[indexOf(row) ?? -1] ?? row.thread,
    href: (row) => {
      const index = indexOf(row);
      return index === undefined ? undefined : context.link({ thread: String(store.roster[index].id), time: undefined });
    },
    empty: 'No thread was there in this phase.',
  }, context));
}
