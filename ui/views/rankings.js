/**
 * What each metric says of the same rows, on one scale. In the URL: `by`; `unit=seconds` for times instead of shares.
 */

import { disagreements, gainsMost, LEVELS, measured, metricsOf, parts, shareText, speedUp } from '../model/rankings.js';
import { leadsOf } from '../model/links.js';
import { nameOf } from '../model/names.js';
import { count, percent, time } from '../model/quantity.js';
import { choice } from '../widgets/choice.js';
import { element } from '../widgets/element.js';
import { panel } from '../widgets/panel.js';
import { table } from '../widgets/table.js';

/** @typedef {import('../main.js').Context} Context */

const UNITS = [
  { value: undefined, title: 'shares', about: 'In per cent of the sum of each metric: one scale for all' },
  { value: 'seconds', title: 'seconds', about: 'The same rows as times' },
];
const NONE = {
  object: 'No thread waited for a lock or another object that the recording names; the view Waits has the places.',
  procedure: 'The recording has too little CPU time to be divided among rows; by thread the times are exact.',
};

/** @type {import('../main.js').View} */
export default {
  name: 'rankings',
  title: 'Rankings',
  about: 'What each metric says of the same rows, side by side, and where they disagree.',
  key: 'r',
  draw(root, context) {
    const { place, link } = context;
    const by = place.by && place.by !== 'procedure' ? place.by : undefined;
    root.append(element('div.controls', null,
      choice('By', LEVELS.map((level) => ({ value: level, title: level })), by ?? 'procedure', (level) => link({ by: level === 'procedure' ? undefined : level, sort: undefined, find: undefined })),
      choice('In', UNITS, place.unit, (unit) => link({ unit, sort: undefined }))));
    const body = element('div', { 'data-part': 'rankings' });
    root.append(body);
    return panel(body, () => context.report('rankings', { by }), (report) => {
      const { ranked, correlations } = parts(report.rows);
      drawRankings(body, { ...report, rows: ranked }, by, context);
      if (correlations.length > 0) body.append(guides({ ...report, rows: correlations }, ranked, context));
    });
  },
};

/**
 * @param {HTMLElement} root
 * @param {any} report
 * @param {string|undefined} by
 * @param {Context} context
 */
function drawRankings(root, report, by, context) {
  const { shown, silent } = metricsOf(report.rows, by);
  const suffix = context.place.unit === 'seconds' ? 'seconds' : 'percent';
  const keys = shown.map(({ name }) => `${name}_${suffix}`);
  const name = ['object', 'procedure', 'thread', 'process', 'machine'].find((key) => report.rows[0]?.[key]) ?? 'procedure';
  if (report.rows.length > 0) root.append(answer(report.rows, shown), run(report.recording));
  root.append(table(report, {
    name, links: true, limit: 40, bar: keys,
    label: (row) => (row.thread ? `${row.thread} #${row.tid}` : row.line ? nameOf(row) : name === 'process' ? `${row.process} [${row.pid}]` : row[name]),
    href: (row) => {
      const lead = leadsOf(row)[0];
      return lead && context.link(lead.change);
    },
    columns: ['rank', ...keys, 'replay_range', 'measured', 'disagreement'],
    titles: { replay_range: 'Gain, replayed', measured: 'Measured gain', disagreement: '≠ Disagreement', ...Object.fromEntries(shown.map(({ name: metric, title }) => [`${metric}_${suffix}`, title])) },
    cells: {
      ...Object.fromEntries(keys.map((key) => [key, (/** @type {any} */ row) => figure(row, key)])),
      ...(report.rows.some((/** @type {any} */ row) => row.gain_low_seconds !== undefined) ? { replay_range: (/** @type {any} */ row) => range(row.gain_low_seconds, row.gain_high_seconds, time) } : {}),
      ...(measured(report.rows).length > 0 ? { measured: (/** @type {any} */ row) => truth(row) } : {}),
      ...(disagreements(report.rows).length > 0 ? { disagreement: (/** @type {any} */ row) => row.disagreement && element('span', { 'data-disagrees': true }, `≠ ${row.disagreement}`) } : {}),
    },
    empty: NONE[by === 'object' ? 'object' : 'procedure'], caption: `metrics side by side, by ${by ?? 'procedure'}`,
  }, context));
  if (report.rows.length > 0) root.append(reading(report.rows, shown, silent));
}

/** A share or time, its standard error to be read where it is pointed at. @param {any} row @param {string} key */
function figure(row, key) {
  const value = row[key];
  if (value === undefined || value === null) return element('span.faint', { title: 'this metric says nothing of the row' }, '–');
  const error = row[key.replace(/_percent$/, '_error_percent')];
  const isShare = key.endsWith('_percent');
  return element('span', { title: isShare && error !== undefined ? `± ${error.toFixed(1)} percentage points (one standard error)` : undefined }, isShare ? shareText(value) : time(value));
}

/**
 * @param {number|undefined} low
 * @param {number|undefined} high
 * @param {(value: number|undefined) => string} text
 */
const range = (low, high, text) => (low === undefined || high === undefined ? '' : element('span.range', null, `${text(low)} to ${text(high)}`));

/**
 * How well each metric agrees with what was measured.
 * @param {any} report of the correlations
 * @param {any[]} ranked the rows that they are about
 * @param {Context} context
 */
function guides(report, ranked, context) {
  const most = gainsMost(ranked);
  const keys = ['pearson', 'spearman', 'pearson_without', 'spearman_without'];
  return element('section', { 'data-part': 'correlations' },
    element('h3', null, 'How well each metric guides'),
    element('p.faint', null, `Correlation with the measured gains, from −1 to 1${most ? `; then without ${nameOf(most)}, which gains most` : ''}.`),
    table(report, {
      own: 'guides', columns: keys, name: 'metric', caption: 'correlation of each metric with the measured gains',
      cells: Object.fromEntries(keys.map((key) => [key, (/** @type {any} */ row) => (row[key] === undefined ? '–' : row[key].toFixed(2))])),
    }, context));
}

/** What `longpole zero` measured. @param {any} row */
function truth(row) {
  if (row.measured_gain_percent === undefined) return '';
  const interval = row.measured_low_percent === undefined ? ' (too few runs for an interval)' : ` (${row.measured_low_percent.toFixed(1)} to ${row.measured_high_percent.toFixed(1)})`;
  return `${percent(row.measured_gain_percent)}${interval}`;
}

/**
 * Whether the metrics agree, in a sentence.
 * @param {any[]} rows
 * @param {import('../model/rankings.js').RankedMetric[]} shown
 */
function answer(rows, shown) {
  const apart = disagreements(rows);
  if (shown.length < 2) return element('p.answer', { 'data-part': 'answer' }, 'One metric alone says anything of these rows: there is nothing to compare.');
  if (apart.length === 0) return element('p.answer', { 'data-part': 'answer' }, `The ${shown.length} metrics do not disagree about any row.`);
  return element('p.answer', { 'data-part': 'answer' }, `The ${shown.length} metrics disagree about ${apart.length} of ${rows.length} rows, most of all about `, element('strong', null, nameOf(apart[0])), `: ${apart[0].disagreement}.`);
}

/** The run as a whole: what the shares are shares of. @param {any} recording */
const run = (recording) => element('p', { 'data-part': 'run' }, `${time(recording.elapsed_seconds)} elapsed; speed-up ${speedUp(recording).toFixed(2)} on ${count(recording.cpus)} CPUs (useful CPU time ÷ elapsed); ${time(recording.cpu_seconds)} CPU time, ${time(recording.spin_seconds)} of it spinning.`);

/**
 * How to read the table, and what it lacks.
 * @param {any[]} rows
 * @param {import('../model/rankings.js').RankedMetric[]} shown
 * @param {import('../model/rankings.js').RankedMetric[]} silent
 */
function reading(rows, shown, silent) {
  return element('div.reading', { 'data-part': 'reading' },
    element('p.faint', null, 'Each metric is in per cent of its own sum, so that all bars have one scale. ≠: two metrics are at least 10 points and a factor of 2 apart, and more than two standard errors. A dash: the metric says nothing of the row.'),
    silent.length > 0 && element('p.faint', { 'data-part': 'silent' }, `Without a value here: ${silent.map(({ title }) => title).join(', ')}. `, element('code', null, 'longpole report --view rankings'), ' says why.'),
    measured(rows).length === 0 && shown.length > 0 && element('p.faint', { 'data-part': 'unmeasured' }, 'What leaving a row out gains in truth was not measured: ', element('code', null, 'longpole zero REC -- PROGRAM ARGS…'), ' adds a column.'));
}
