/**
 * How many threads were busy, and what ran when few were (Quartz, figure 1). Keys of its own in the URL: `of` is the procedure,
 * thread or object that is looked at; `open`, several times, are those from which one came down to it.
 */

import { levelsShown, means, stacksOf, stacksOfAll } from '../model/parallelism.js';
import { argumentOf, shorten } from '../model/names.js';
import { percent, time } from '../model/quantity.js';
import { chooser } from '../widgets/chooser.js';
import { explained } from '../widgets/choice.js';
import { element } from '../widgets/element.js';
import { linksOf } from '../widgets/links.js';
import { callers } from '../widgets/callers.js';
import { empty, panel } from '../widgets/panel.js';
import { procedureLink } from '../widgets/places.js';
import { drawStacks } from '../widgets/stacks.js';
import { table } from '../widgets/table.js';

/** @typedef {import('../main.js').Context} Context */

/** @type {import('../main.js').View} */
export default {
  name: 'parallelism',
  title: 'Parallelism',
  about: 'How many threads were busy, and what ran when few were.',
  key: '6',
  draw(root, context) {
    if (context.place.of) return drawOne(root, context.place.of, context);
    const whole = element('section', { 'data-part': 'levels' });
    const processors = element('section', { 'data-part': 'processors' });
    const parts = element('section', { 'data-part': 'serial' });
    root.append(element('div.controls', null, chooser(context)), whole, processors, parts);
    return Promise.all([
      panel(processors, () => context.report('processors'), (report) => drawProcessors(processors, report)),
      panel(whole, () => context.report('parallelism'), (report) => drawLevels(whole, report, context)),
      panel(parts, () => context.report('npt'), (report) => drawAll(parts, report, context)),
    ]).then(() => undefined);
  },
};

/**
 * How long so many threads were busy, and how long so many could run.
 * @param {HTMLElement} root
 * @param {any} report
 * @param {Context} context
 */
function drawLevels(root, { rows, recording }, context) {
  const { busy, runnable, none, one } = means(rows);
  const shown = levelsShown(rows);
  const largest = Math.max(1e-9, ...shown.flatMap((/** @type {any} */ row) => [row.effective_percent, row.nominal_percent]));
  const fill = (/** @type {string} */ look, /** @type {number} */ share) => element(`div.level.look-${look}`, { style: { width: `${100 * share / largest}%` } });
  root.append(
    element('p.answer', null, explained(`${busy.toFixed(2)} threads busy`, 'effective_parallelism', context), ' on average, ',
      explained(`${runnable.toFixed(2)} runnable`, 'nominal_parallelism', context), `, on ${recording.cpus} CPUs. `,
      `One thread alone was busy for ${percent(one)} of the time, none for ${percent(none)}.`),
    element('table.levels', { 'aria-label': 'elapsed time by number of busy threads' },
      element('thead', null, element('tr', null, element('th.number', { scope: 'col' }, 'threads'),
        element('th.wide', { scope: 'col' }, element('span.part-mark.look-busy', null, 'U'), ' busy ', element('span.part-mark.look-ready', null, 'N'), ' runnable'),
        element('th.number', { scope: 'col', title: 'time in which so many threads were busy' }, 'busy'), element('th.number', { scope: 'col' }, '%'),
        element('th.number.extra', { scope: 'col', title: 'time in which so many threads could run' }, 'runnable %'), element('th', { scope: 'col' }, 'most ran'))),
      element('tbody', null, ...shown.map((/** @type {any} */ row) => element('tr', { 'data-level': row.label },
        element('th.number', { scope: 'row' }, row.label),
        element('td.wide', null, fill('busy', row.effective_percent), fill('ready', row.nominal_percent)),
        element('td.number', null, time(row.effective_seconds)), element('td.number', null, percent(row.effective_percent)),
        element('td.number.extra', null, percent(row.nominal_percent)),
        element('td', null, ...(row.procedure ? [procedureLink(row, context, 40), ` ${percent(row.procedure_percent)}`] : [])))))));
}

/**
 * Where the time of all processors went.
 * @param {HTMLElement} root
 * @param {any} report
 */
function drawProcessors(root, { rows }) {
  const all = rows.filter((/** @type {any} */ row) => row.processor === undefined);
  const largest = Math.max(1e-9, ...all.map((/** @type {any} */ row) => row.percent));
  const looks = /** @type {Record<string, string>} */ ({ useful: 'busy', kernel: 'busy', 'ready elsewhere': 'ready' });
  root.append(element('h2.later', null, 'Where the time of the processors went'),
    element('table.levels', { 'aria-label': 'time of all processors by what they did' },
      element('tbody', null, ...all.map((/** @type {any} */ row) => element('tr', { 'data-activity': row.activity },
        element('th', { scope: 'row' }, row.cause ? `${row.activity}: ${row.cause}` : row.activity),
        element('td.wide', null, element(`div.level.look-${looks[row.activity] ?? 'device'}`, { style: { width: `${100 * row.percent / largest}%` } })),
        element('td.number', null, time(row.seconds)), element('td.number', null, percent(row.percent)))))));
}

/**
 * What ran while one, two, few or many were busy.
 * @param {HTMLElement} root
 * @param {any} report
 * @param {Context} context
 */
function drawAll(root, report, context) {
  const stacks = stacksOfAll(report.rows);
  const ofRow = (/** @type {any} */ row) => context.link({ of: argumentOf(row), open: undefined });
  root.append(element('h2', null, 'What ran while so many were busy'));
  if (stacks.levels.length === 0) {
    root.append(empty('No thread was busy.'));
    return;
  }
  root.append(drawStacks(stacks, (layer) => (layer.key ? ofRow(layer) : undefined), context, 'time with so many busy, by procedure'),
    element('h2.later', null, 'All procedures'),
    table(report, {
      name: 'procedure', columns: ['percent', 'error_percent', 'seconds', 'inclusive_percent', 'npt_1_seconds', 'npt_2_seconds', 'npt_3_4_seconds', 'npt_5_up_seconds', 'idle_blame_seconds'],
      bar: 'percent', href: ofRow, limit: 20, links: true, caption: 'normalised processor time of all procedures',
    }, context));
}

/**
 * One procedure, thread or object, with the way that led to it.
 * @param {HTMLElement} root
 * @param {string} of
 * @param {Context} context
 */
function drawOne(root, of, context) {
  const { place, link } = context;
  const trail = /** @type {string[]} */ (place.open ?? []);
  const body = element('section', { 'data-part': 'one', 'data-row': of });
  const crumbs = element('nav.crumbs', { 'aria-label': 'the way down', 'data-part': 'crumbs' }, element('a', { href: link({ of: undefined, open: undefined }) }, 'all'),
    ...trail.flatMap((step, at) => [' › ', element('a.code', { href: link({ of: step, open: trail.slice(0, at) }), title: step }, shorten(nameIn(step), 30))]),
    ' › ', element('span.code', { title: of, 'aria-current': 'page' }, shorten(nameIn(of), 60)), ' ', linksOf(rowOf(of), context));
  root.append(element('div.controls', null, chooser(context)), crumbs, body);
  return panel(body, () => context.report('parallelism', { of }), (report) => {
    const stacks = stacksOf(report.rows);
    if (stacks.levels.length === 0) {
      body.append(empty('Nothing was charged to it: it did not run while this was recorded.'));
      return;
    }
    const down = (/** @type {any} */ layer) =>
      (layer.part === 'self' || layer.key === '' || layer.part === 'nobody' ? undefined : link({ of: argumentOf(layer), open: [...trail, of] }));
    const { procedure } = rowOf(of);
    const beside = procedure ? callers(procedure, (name) => link({ of: `procedure:${name}`, open: undefined }), context) : undefined;
    body.append(sentence(of, report, context),
      drawStacks(stacks, down, context, of.startsWith('object:') ? 'time for which it was waited for' : 'normalised processor time', beside));
  });
}

/** @param {string} of */
const nameIn = (of) => of.replace(/^(procedure|thread|object|process|machine):/, '');

/** @param {string} of @returns {Record<string, any>} */
function rowOf(of) {
  const [, kind, name] = /^(procedure|thread|object):(.*)$/s.exec(of) ?? [];
  return kind ? { [kind]: name } : {};
}

/**
 * @param {string} of
 * @param {any} report
 * @param {Context} context
 */
function sentence(of, { rows, recording }, context) {
  const sum = (/** @type {any[]} */ list) => list.reduce((total, row) => total + row.seconds, 0);
  const at = (/** @type {number} */ level) => sum(rows.filter((/** @type {any} */ row) => row.level === level));
  const whole = sum(rows);
  if (of.startsWith('object:')) {
    return element('p.answer', null, `Threads waited for it for ${time(whole)} of the run; nobody was busy for ${time(at(0))} of that, one thread for ${time(at(1))}.`);
  }
  return element('p.answer', null, `${time(whole)} of `, explained('normalised processor time', 'npt_seconds', context), ' with all it called and started, ',
    `${percent(100 * at(1) / whole)} of it while no other thread was busy`, recording.elapsed_seconds ? `; the run took ${time(recording.elapsed_seconds)}.` : '.');
}
