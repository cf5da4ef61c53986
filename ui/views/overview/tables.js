/** Procedures by three metrics side by side, threads with what they did, and the longest waits. */

import { leadsOf } from '../../model/links.js';
import { callersLink, drawCallers, foldChoice } from './callers.js';
import { explanationOf, sectionsOf, withErrors } from '../../model/summary.js';
import { stack } from '../../widgets/meters.js';
import { element } from '../../widgets/element.js';
import { empty, panel } from '../../widgets/panel.js';
import { table } from '../../widgets/table.js';

/** The errors that the other reports know of these columns. */
const ERRORS = { npt_error_percent: 'npt', cpu_error_percent: 'profile' };

/**
 * @param {HTMLElement} root
 * @param {any} report the summary
 * @param {any[]} rows
 * @param {import('../../main.js').Context} context
 */
export function drawProcedures(root, report, rows, context) {
  const body = element('div');
  root.append(foldChoice(context), body);
  const { fold } = context.place;
  const draw = (/** @type {any[]} */ rows) => body.replaceChildren(table({ ...report, rows }, {
    name: 'procedure', own: 'procedures', links: true, href: (row) => href(row, context),
    columns: ['callers', 'critical_path_percent', 'critical_path_inclusive_percent', 'npt_percent', 'npt_inclusive_percent', 'cpu_percent', 'cpu_inclusive_percent'],
    bar: ['critical_path_percent', 'npt_percent', 'cpu_percent'],
    cells: {
      callers: (row) => callersLink(row, context),
      critical_path_percent: (row) => share(row.critical_path_percent, row.critical_path_error_percent),
      npt_percent: (row) => share(row.npt_percent, row.npt_error_percent),
      cpu_percent: (row) => share(row.cpu_percent, row.cpu_error_percent),
    },
    titles: { callers: '', critical_path_inclusive_percent: 'inclusive', npt_inclusive_percent: 'inclusive', cpu_inclusive_percent: 'inclusive' },
    empty: 'No procedure was seen running.', caption: 'procedures by critical path, NPT and CPU time',
  }, context));
  draw(rows);
  if (rows.length === 0) return;
  root.append(element('p.faint', null, '± is one standard error. All procedures: ',
    element('a', { href: context.link({ view: 'path' }) }, 'critical path'), ', ',
    element('a', { href: context.link({ view: 'parallelism' }) }, 'NPT'), ', ', element('a', { href: context.link({ view: 'tree' }) }, 'tree'), '.'));
  drawCallers(root, context);
  if (fold) {
    context.report('summary', { fold }).then((unfolded) => !context.signal.aborted && draw(sectionsOf(unfolded.rows).procedure), () => {});
    return;
  }
  // The table stands without these errors, too.
  Promise.all(Object.entries(ERRORS).map(async ([key, view]) => [key, (await context.report(view)).rows])).then((found) => {
    if (!context.signal.aborted) draw(withErrors(rows, Object.fromEntries(found)));
  }, () => {});
}

/** @param {number|undefined} percent @param {number|undefined} error */
const share = (percent, error) => (percent === undefined ? '' : element('span', null, percent.toFixed(1), error ? element('span.faint', null, ` ± ${error.toFixed(1)}`) : ''));

/** @param {any} row @param {import('../../main.js').Context} context */
function href(row, { link }) {
  const lead = leadsOf(row)[0];
  return lead && link(lead.change);
}

/**
 * @param {HTMLElement} root
 * @param {import('../../main.js').Context} context
 */
export function drawThreads(root, context) {
  const body = element('div');
  root.append(body);
  panel(body, () => context.report('threads'), (report) => {
    body.append(
      element('p.faint', null, 'What each did while it lived: ', ...STATES.map(([kind, title]) => element('span.key', null, stack([{ percent: 100, kind, title }]), ` ${title}`))),
      table(report, {
        name: 'thread', own: 'threads', limit: 12, links: true, href: (row) => href(row, context),
        label: (row) => `${row.thread} #${row.tid}`,
        columns: ['process', 'states', 'critical_path_percent', 'npt_percent', 'running_seconds', 'spin_seconds', 'ready_seconds', 'wait_seconds', 'switches'],
        bar: ['critical_path_percent'], cells: { states: (row) => states(row) }, titles: { states: 'States' }, caption: 'threads',
      }, context));
  });
}

/** @type {[string, string, string][]} kind, title, key */
const STATES = [['busy', 'running', 'running_seconds'], ['spin', 'spinning', 'spin_seconds'], ['ready', 'ready', 'ready_seconds'], ['synchronisation', 'blocked', 'wait_seconds']];

/** @param {any} row */
function states(row) {
  const all = STATES.reduce((sum, [, , key]) => sum + (row[key] ?? 0), 0);
  return all > 0 ? stack(STATES.map(([kind, title, key]) => ({ kind, title, percent: 100 * (row[key] ?? 0) / all }))) : '';
}

/**
 * @param {HTMLElement} root
 * @param {any[]} rows
 * @param {import('../../main.js').Context} context
 */
export function drawWaits(root, rows, context) {
  if (rows.length === 0) {
    root.append(empty('No thread waited long for another.'));
    return;
  }
  const columns = [{ name: 'procedure', unit: '', title: 'In' }, { name: 'cause', unit: '', title: 'For' }, { name: 'seconds', unit: 's', title: 'All threads' }];
  const body = element('div');
  const draw = (/** @type {any[]} */ explained) => body.replaceChildren(table({ columns, rows }, {
    name: 'procedure', own: 'waits', columns: ['cause', 'seconds'], bar: 'seconds', links: true, caption: 'longest waits',
    href: (row) => context.link({ view: 'waits', explain: explanationOf(row, explained) }),
  }, context));
  root.append(body, element('p.faint', null, 'Explained by what the others did meanwhile: ', element('a', { href: context.link({ view: 'waits' }) }, 'waiting'), '.'));
  draw([]);
  // The place of the wait in the view waits is known only by that view.
  context.report('waits').then((report) => !context.signal.aborted && draw(report.rows), () => {});
}
