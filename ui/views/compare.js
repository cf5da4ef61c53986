/**
 * Two recordings of a program, before and after a change: why the elapsed time differs, and what else changed. Of its own in the URL: `because-sort`, and
 * `prediction-sort`, `procedure-sort`, `object-sort`, `wait-sort`, `phase-sort`.
 */

import { causes, common, labelOf, phasesCorrespond, predictions, RUN, sectionOf } from '../model/comparison.js';
import { percent, time } from '../model/quantity.js';
import { visible } from '../model/visible.js';
import { element } from '../widgets/element.js';
import { panel } from '../widgets/panel.js';
import { procedureLink, objectLink } from '../widgets/places.js';
import { table } from '../widgets/table.js';

/** @typedef {import('../main.js').Context} Context */

/** The tables below the causes: section, title, what its rows are. */
const TABLES = [
  ['procedure', 'Procedures, by CPU time of all threads', 'procedures'], ['object', 'Objects, by waiting of all threads', 'objects'],
  ['wait', 'Waits, by waiting that is to be explained', 'places'], ['phase', 'Phases, by length', 'phases'],
];
const TIMES = ['change_seconds', 'before_seconds', 'after_seconds', 'change_percent'];

/** @type {import('../main.js').View} */
export default {
  name: 'compare',
  title: 'Comparison',
  about: 'What changed from a recording before a change to this one, and why the elapsed time differs.',
  key: 'd',
  draw(root, context) {
    const { against, name, is_export: isExport } = context.recording;
    if (!against) return root.append(alone(name, isExport));
    return panel(root, () => context.ask('diff'), (report) => drawComparison(root, report, context));
  },
};

/** Why there is nothing to compare, and which command brings it. @param {string} name @param {boolean} isExport */
function alone(name, isExport) {
  const command = isExport ? `longpole export ${visible(name)} --to html --against BEFORE` : `longpole view ${visible(name)} --against BEFORE`;
  return element('div.empty', { role: 'status', 'data-part': 'alone' },
    element('p', null, 'This page is of one recording. To see what a change did, record the program before and after it, and give both:'),
    element('p', null, element('code', null, command)),
    element('p', null, 'In the terminal it is ', element('code', null, 'longpole diff BEFORE AFTER'), '.'));
}

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {Context} context
 */
function drawComparison(root, report, context) {
  const { rows } = report;
  const found = causes(rows);
  root.append(element('p.answer', { 'data-part': 'answer' }, headline(found.elapsed)), element('p', { 'data-part': 'sides' }, 'Before: ', element('code', null, visible(context.recording.against)), `, ${commandOf(report.before)}. After: `, element('code', null, visible(context.recording.name)), `, ${commandOf(report.recording)}.`));
  if (context.place.phase) root.append(element('p.caution', { role: 'note' }, 'The whole runs are compared, not the phase.'));
  const { both, all } = common(rows);
  if (all > 0 && both * 2 < all) root.append(element('p.warning', { 'data-part': 'different' }, `Only ${both} of ${all} procedures are in both recordings: these may be different programs. What only one has is marked.`));
  const part = (/** @type {string} */ name, /** @type {string} */ title) => {
    const section = element('section', { 'data-part': name, 'aria-label': title }, element('h2', null, title));
    root.append(section);
    return section;
  };
  drawCauses(part('because', 'Why: the parts of the longest chain of work and waits, in both runs'), report, found, context);
  const predicted = predictions(rows);
  if (predicted.length > 0) drawPredictions(part('prediction', 'Predicted before, beside what the run gained'), report, predicted, context);
  for (const [section, title, noun] of TABLES) drawSection(part(section, title), report, [section, noun], context);
  drawRun(part('run', 'The runs as a whole'), report, context);
  root.append(element('p.faint', null, '± is one standard error, from the samples of both runs. A change within two of them, or below 1 ms or 2 %, is said to be none. One run of each side does not show what differs by chance from run to run: ', element('code', null, 'longpole check'), ' compares several.'));
}

/** @param {any} recording of a report */
const commandOf = (recording) => `${time(recording.elapsed_seconds)} elapsed, ${time(recording.cpu_seconds)} CPU`;

/** @param {any} elapsed the row of the elapsed time */
function headline({ before_seconds: before, after_seconds: after, change_seconds: change, change_percent: share, verdict }) {
  if (verdict === 'none') return `No difference in the elapsed time: ${time(before)} before, ${time(after)} after; what lies between is chance.`;
  return `The run takes ${time(Math.abs(change))} ${change > 0 ? 'longer' : 'less'}: ${time(after)} instead of ${time(before)}${share === undefined ? '' : ` (${percent(Math.abs(share))})`}.`;
}

/**
 * The parts of the difference and, below them, their sum: the change of the elapsed time.
 * @param {HTMLElement} root
 * @param {any} report
 * @param {ReturnType<typeof causes>} found
 * @param {Context} context
 */
function drawCauses(root, report, { parts, rest, elapsed, missing }, context) {
  const rows = [...parts, ...(rest.count > 0 ? [{ section: 'because', rest: `${rest.count} ${rest.count === 1 ? 'part' : 'parts'} with no or small changes`, before_seconds: rest.before, after_seconds: rest.after, change_seconds: rest.change }] : []),
    { section: 'sum', rest: 'the elapsed time', before_seconds: elapsed.before_seconds, after_seconds: elapsed.after_seconds, change_seconds: elapsed.change_seconds, change_percent: elapsed.change_percent }];
  root.append(changes(report, rows, 'because', context));
  root.append(element('p.faint', { 'data-part': 'sum' }, Math.abs(missing) < 1e-6 ? 'The parts add up to the change of the elapsed time.' : `The parts miss the change of the elapsed time by ${time(missing)}.`));
}

/**
 * What was predicted of the recording before, and what was achieved.
 * @param {HTMLElement} root
 * @param {any} report
 * @param {any[]} rows
 * @param {Context} context
 */
function drawPredictions(root, report, rows, context) {
  root.append(table({ columns: report.columns, rows }, {
    name: 'name', own: 'prediction', limit: 10, label: (row) => visible(row.name), caption: 'prediction',
    columns: ['elapsed_gain_percent', 'gain_low_percent', 'gain_high_percent', 'achieved_gain_percent', 'inside'],
    titles: { name: 'Change', elapsed_gain_percent: 'Predicted', gain_low_percent: 'from', gain_high_percent: 'to', achieved_gain_percent: 'Achieved', inside: 'Inside' },
  }, context), element('p.faint', null, 'Which of these changes was made the recordings do not say.'));
}

/**
 * What changed of one kind, and how many did not.
 * @param {HTMLElement} root
 * @param {any} report
 * @param {string[]} kind its section, and what its rows are
 * @param {Context} context
 */
function drawSection(root, report, [section, noun], context) {
  const { changed, ties } = sectionOf(report.rows, section);
  if (section === 'phase' && !phasesCorrespond(report.rows)) {
    root.append(element('p.faint', null, 'The phases of the two runs do not correspond; ', element('code', null, 'longpole report --view phases'), ' shows those of each recording.'));
    return;
  }
  if (changed.length > 0) root.append(changes(report, changed, section, context));
  if (ties.length > 0) root.append(element('p.faint', { 'data-ties': String(ties.length) }, `No change beyond the errors: ${ties.length} ${ties.length === 1 ? noun.slice(0, -1) : noun}.`));
  else if (changed.length === 0) root.append(element('p.faint', null, `Neither recording has any ${noun}.`));
}

/**
 * @param {any} report
 * @param {any[]} rows
 * @param {string} own
 * @param {Context} context
 */
function changes(report, rows, own, context) {
  const columns = [...report.columns.filter((/** @type {any} */ { name }) => name !== 'name'), { name: 'label', title: { because: 'On the path', run: 'Time', wait: 'Place' }[own] ?? `${own[0].toUpperCase()}${own.slice(1)}`, unit: '' }];
  const largest = rows.reduce((most, row) => (row.section === 'sum' ? most : Math.max(most, Math.abs(row.change_seconds))), 0);
  const bar = { name: 'bar', unit: '', title: '' };
  return table({ columns: [...columns, bar], rows }, {
    name: 'label', own, limit: 20, label: (row) => label(row, context), caption: own,
    columns: ['bar', ...TIMES, ...(own === 'wait' ? ['causes'] : []), 'only_in'],
    titles: { bar: 'Less ◂ ▸ more', causes: 'Explained by', only_in: 'Only in' },
    cells: {
      bar: (row) => changeBar(row, largest),
      change_seconds: (row) => element('span', { 'data-change': String(row.change_seconds) }, signed(row.change_seconds), row.change_error_seconds === undefined ? '' : element('span.faint', null, ` ± ${time(row.change_error_seconds)}`)),
      ...(own === 'wait' ? { causes: explanation } : {}),
      ...(rows.some((row) => row.only_in) ? { only_in: (/** @type {any} */ row) => row.only_in ?? '' } : {}),
    },
  }, context);
}

/** @param {number} seconds */
const signed = (seconds) => `${seconds > 0 ? '+' : seconds < 0 ? '−' : ''}${time(Math.abs(seconds))}`;

/** A bar from the middle: to the left what became less. @param {any} row @param {number} largest */
function changeBar(row, largest) {
  if (row.section === 'sum' || largest === 0) return '';
  const made = element('span.change-bar', { 'aria-hidden': 'true' }, element(row.change_seconds > 0 ? 'span.is-more' : 'span.is-less'));
  made.style.setProperty('--share', String(Math.min(1, Math.abs(row.change_seconds) / largest)));
  return made;
}

/** @param {any} row @param {Context} context */
function label(row, context) {
  if (row.rest) return element(row.section === 'sum' ? 'strong' : 'span', null, row.rest);
  if (row.section === 'run') return /** @type {Record<string, string>} */ (RUN)[row.name] ?? row.name;
  if (row.only_in === 'before') return labelOf(row);
  if (row.section === 'procedure') return procedureLink(row, context);
  if (row.section === 'object') return objectLink(row.object, context);
  return labelOf(row);
}

/** What explains a wait, of both where that is another cause. @param {any} row */
function explanation(row) {
  if (row.explanation !== 'changed') return row.after_cause ?? row.before_cause ?? '';
  return element('span', { 'data-explanation': 'changed' }, element('strong', null, 'changed: '), `before ${row.before_cause ?? 'nothing'}; after ${row.after_cause ?? 'nothing'}`);
}

/** @param {HTMLElement} root @param {any} report @param {Context} context */
function drawRun(root, report, context) {
  root.append(changes(report, report.rows.filter((/** @type {any} */ row) => row.section === 'run'), 'run', context));
}
