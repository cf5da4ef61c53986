/**
 * The longest chain of work: only what is on it is worth making faster. In the URL: `by`, `weight`, `metric` (`zeroing`, `slack`, both
 * with a comma between them), a `set` for each change of the what-if, and `after-sort`, the order of the path after them.
 */

import { holds } from '../api.js';
import { changeOf, twinsOf } from '../model/what-if.js';
import { leadsOf } from '../model/links.js';
import { nameOf } from '../model/names.js';
import { identity, withZeroing } from '../model/path.js';
import { time } from '../model/quantity.js';
import { element } from '../widgets/element.js';
import { panel } from '../widgets/panel.js';
import { table } from '../widgets/table.js';
import { drawAfter } from './path/after.js';
import { Changes } from './path/changes.js';
import { drawControls, metricsOf } from './path/controls.js';
import { drawChanges, drawPrediction, objectChoice } from './path/prediction.js';

const ZEROING = 'What the path would be shorter by if the row took no time, as a share of the path.';

/** @type {import('../main.js').View} */
export default {
  name: 'path',
  title: 'Critical path',
  about: 'The longest chain of work: only what is on it is worth making faster.',
  key: '3',
  draw,
};

/**
 * @param {HTMLElement} root
 * @param {import('../main.js').Context} context
 */
async function draw(root, context) {
  const { place, recording } = context;
  const box = element('div.what-if', { 'data-part': 'what-if' });
  const [after, path] = [element('section', { 'data-part': 'after' }), element('section', { 'data-part': 'path' })];
  const by = place.by && place.by !== 'procedure' ? place.by : undefined;
  drawControls(root, context, await holds('report', { view: 'critical-path', weight: 'elapsed', by }));
  root.append(element('div.path-tables', null, path, after), box);
  const changes = recording.is_export ? null : drawWhatIf(box, path, after, context);
  if (recording.is_export) {
    after.remove();
    box.append(element('p.caution', { role: 'note' }, element('strong', null, 'Exported file:'),
      'there is no what-if here, as every change is computed anew; the column Zeroing says what the run would gain if a row took no time. ',
      element('code', null, 'longpole view'), ' on the recording has the sliders.'));
  }
  const metrics = metricsOf(context);
  const isJoined = (metrics.length > 0 || by === 'object') && await holds('report', { view: 'zeroing', weight: place.weight, by, phase: place.phase, io: place.io });
  panel(path, () => Promise.all([context.report('critical-path', { by }), isJoined ? context.report('zeroing', { by }) : null]), ([report, zeroing]) =>
    drawPath(path, report, zeroing, metrics, changes, context));
}

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {any} zeroing
 * @param {string[]} metrics
 * @param {Changes|null} changes
 * @param {import('../main.js').Context} context
 */
function drawPath(root, report, zeroing, metrics, changes, context) {
  const { link } = context;
  const rows = zeroing ? withZeroing(report.rows, zeroing.rows) : report.rows;
  const columns = [...report.columns, ...(zeroing?.columns ?? []), { name: 'zeroing_percent', unit: '%', title: 'Zeroing %', explanation: ZEROING }];
  const twins = twinsOf(rows);
  const name = ['object', 'procedure', 'thread', 'process', 'machine'].find((key) => rows[0]?.[key]) ?? 'procedure';
  const isObjects = name === 'object';
  const chosen = isObjects ? ['zeroing_percent', 'zeroing_seconds'] : [
    ...(metrics.includes('zeroing') ? ['zeroing_percent', 'zeroing_seconds'] : []), ...(metrics.includes('slack') ? ['slack_seconds'] : [])];
  if (!zeroing && (metrics.length > 0 || context.place.by === 'object')) {
    root.append(element('p.caution', { role: 'note' }, 'This exported file holds zeroing and slack of the whole run by CPU time only.'));
  }
  root.append(table({ columns, rows }, {
    name, links: true, limit: 40,
    label: (row) => (row.thread ? `${row.thread} #${row.tid}` : row.line ? nameOf(row) : name === 'process' ? `${row.process} [${row.pid}]` : row[name]),
    href: (row) => {
      const lead = leadsOf(row)[0];
      return lead && link(lead.change);
    },
    columns: ['rank', 'percent', 'error_percent', 'seconds', ...(changes ? ['what_if'] : []), ...(changes && (context.place.by ?? 'procedure') === 'procedure' && context.place.weight !== 'elapsed' ? ['after'] : []), ...chosen, 'inclusive_percent', 'critical_path_elapsed_percent', ...(name === 'thread' ? ['process'] : []), 'kind'],
    bar: [isObjects ? 'zeroing_percent' : 'percent', 'zeroing_percent'],
    titles: { percent: 'On the path', what_if: 'What if its time were', after: 'Path after', seconds: 'Path now' },
    cells: changes ? { what_if: (row) => {
      const of = changeOf(row, twins);
      return of ? changes.slider(of, nameOf(row)) : element('span.faint', { title: 'A machine cannot be changed; its processes can' }, '–');
    }, after: (row) => element('span.after-cell', { 'data-after': identity(row) }, afterText(row, changes.after)) } : {},
    caption: `the critical path by ${name}`, empty: context.place.by === 'object' ? 'Nobody waited for a lock or another object.' : 'Nothing ran.',
  }, context));
}

/** The time of a row on the path after the changes. @param {any} row @param {Map<string, number>|null} after */
const afterText = (row, after) => (after ? time(after.get(identity(row)) ?? 0) : '');

/**
 * The what-if: its box, which follows the changes, and the path after them.
 * @param {HTMLElement} box
 * @param {HTMLElement} path whose column `after` follows the changes, too
 * @param {HTMLElement} after
 * @param {import('../main.js').Context} context
 */
function drawWhatIf(box, path, after, context) {
  const [lengths, list] = [element('div.prediction', { 'aria-live': 'polite' }), element('div.changes-made')];
  const [add, hint] = [element('span'), element('span.faint', null, 'Move a slider: the path and the elapsed time are predicted anew. ')];
  box.append(element('div.add', null, element('strong', null, 'What if'), hint, add), lengths, list);
  const changes = new Changes(context, update);
  panel(add, () => context.report('objects'), (report) => add.append(report.rows.length > 0 ? objectChoice(report.rows, changes) : ''));
  const clear = (/** @type {any} */ error) => {
    changes.after = null;
    lengths.replaceChildren();
    if (error) panel(lengths, Promise.reject(error), () => {});
    keepFocus(list, () => drawChanges(list, [], changes));
    after.replaceChildren();
    drawAfterCells(path, null);
  };
  const show = (/** @type {any} */ report, /** @type {any[]} */ before) => {
    changes.after = new Map(report.rows.filter((/** @type {any} */ row) => row.section === 'path').map((/** @type {any} */ row) => [identity(row), row.seconds]));
    lengths.replaceChildren();
    drawPrediction(lengths, report);
    keepFocus(list, () => drawChanges(list, report.rows, changes));
    after.replaceChildren();
    drawAfter(after, before, report.rows, context);
    drawAfterCells(path, changes.after);
  };
  function update() {
    const set = changes.texts;
    hint.hidden = set.length > 0;
    if (set.length === 0) return clear(null);
    const isCurrent = () => !context.signal.aborted && set.join() === changes.texts.join();
    // The old prediction stands until the new one is there.
    Promise.all([context.ask('what-if', { set, phase: context.place.phase }), context.report('critical-path', { weight: undefined })])
      .then(([report, before]) => isCurrent() && show(report, before.rows), (error) => isCurrent() && clear(error));
  }
  update();
  return changes;
}

/** @param {HTMLElement} path @param {Map<string, number>|null} after */
function drawAfterCells(path, after) {
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (path.querySelectorAll('[data-after]'))) {
    cell.textContent = after ? time(after.get(cell.dataset.after ?? '') ?? 0) : '';
  }
}

/**
 * Draws a list anew without taking the slider away that is being moved by keys.
 * @param {HTMLElement} root
 * @param {() => void} draw
 */
function keepFocus(root, draw) {
  const held = /** @type {HTMLElement|null} */ (root.contains(document.activeElement) ? document.activeElement : null)?.dataset.change;
  draw();
  if (held) [...root.querySelectorAll('input')].find((slider) => slider.dataset.change === held)?.focus();
}
