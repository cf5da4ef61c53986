/**
 * The program's own text, shaded by what its lines cost (Carnival, figure 1a). Keys of its own in the URL: `file`, by its name or
 * the end of it; `line`, the one looked at; `metric`, one of HEATS or that of REQUESTS, by which lines are shaded; `calls=1` adds what lines call; `of=procedure:NAME` looks
 * at that procedure's hottest line where no `line` is given.
 */

import { fileName, shorten } from '../model/names.js';
import { time } from '../model/quantity.js';
import { fileNamed, filesOf, HEATS, INCLUSIVE, REQUESTS } from '../model/source.js';
import { choice } from '../widgets/choice.js';
import { element } from '../widgets/element.js';
import { empty, panel } from '../widgets/panel.js';
import { lineLink } from '../widgets/places.js';
import { listing } from '../widgets/source-listing.js';
import { table } from '../widgets/table.js';

/** @typedef {import('../main.js').Context} Context */

/** @type {import('../main.js').View} */
export default {
  name: 'source',
  title: 'Source',
  about: "The program's own text, shaded by what its lines cost.",
  key: '9',
  draw(root, context) {
    const { place, link } = context;
    const ofAccesses = context.recording.has_accesses ? [REQUESTS] : [];
    const heats = [...(place.file && place.calls ? INCLUSIVE : HEATS), ...ofAccesses];
    const heat = heats.find(({ value }) => value === place.metric) ?? heats[0];
    const controls = element('div.controls', null, choice('shaded by', [...HEATS, ...ofAccesses], place.metric, (metric) => link({ metric })),
      place.file ? choice('a line', [{ value: undefined, title: 'itself' }, { value: '1', title: 'with what it calls', about: 'NPT and critical path of all that was done on the line\'s behalf' }],
        place.calls, (calls) => link({ calls })) : '');
    const body = element('section', { 'data-part': place.file ? 'listing' : 'hottest' });
    root.append(controls, body);
    return panel(body, () => linesOfAll(heat === REQUESTS, context), (report) => {
      const files = filesOf(report.rows, heat.key);
      if (files.length === 0) {
        body.append(empty('No line of any source file is known: the program and its libraries have no line information (compile with -g).'));
        if (!place.file) return undefined;
      }
      const file = place.file && fileNamed(report.rows, place.file);
      controls.append(fileChooser(files, file, heat, context));
      if (!file) return drawHottest(body, report, files, heat, context);
      return drawFile(body, file, { rows: report.rows, heats, heat }, context);
    });
  },
};

/**
 * What lines cost; with their requests where these are wanted, since they are simulated for it.
 * @param {boolean} isOfRequests
 * @param {Context} context
 */
async function linesOfAll(isOfRequests, context) {
  const asked = [context.report('source'), isOfRequests && context.ask('report', { view: 'communication', by: 'line' })];
  const [report, requests] = await Promise.all(asked);
  if (!requests) return report;
  const column = requests.columns.find((/** @type {any} */ one) => one.name === REQUESTS.key);
  const rows = requests.rows.map((/** @type {any} */ { procedure, module, file, line, request_seconds: cost }) => ({ procedure, module, file, line, [REQUESTS.key]: cost }));
  return { ...report, columns: [...report.columns, column], rows: [...report.rows, ...rows] };
}

/**
 * @param {import('../model/source.js').File[]} files
 * @param {string|undefined} now
 * @param {typeof HEATS[0]} heat
 * @param {Context} context
 */
function fileChooser(files, now, heat, { go }) {
  const known = files.some(({ file }) => file === now);
  const select = element('select', {
    'aria-label': 'file', 'data-part': 'files',
    onchange: () => go({ file: select.value || undefined, line: hottestOf(files, select.value) }),
  },
  element('option', { value: '' }, 'hottest places of all files'),
  now && !known && element('option', { value: now, selected: true }, shorten(now, 60)),
  ...files.map(({ file, seconds }) => element('option', { value: file, title: file, selected: file === now }, `${shorten(file, 50)} – ${time(seconds[heat.key])}`)));
  return element('label.control', null, element('span.label', null, 'file'), ' ', select);
}

/** @param {import('../model/source.js').File[]} files @param {string} name */
function hottestOf(files, name) {
  const found = files.find(({ file }) => file === name);
  return found ? String(found.hottest) : undefined;
}

/**
 * @param {HTMLElement} body
 * @param {any} report
 * @param {import('../model/source.js').File[]} files
 * @param {typeof HEATS[0]} heat
 * @param {Context} context
 */
function drawHottest(body, report, files, heat, context) {
  const rows = report.rows.filter((/** @type {any} */ row) => row.file && row.line && shownWith(heat).some(({ key }) => row[key] > 0));
  const nowhere = report.rows.filter((/** @type {any} */ row) => !row.file || !row.line);
  const sum = (/** @type {any[]} */ list) => list.reduce((total, row) => total + (row[heat.key] ?? 0), 0);
  if (rows.length > 0) {
    const [hottest] = [...rows].sort((one, other) => (other[heat.key] ?? 0) - (one[heat.key] ?? 0));
    body.append(element('p.answer', null, `Most ${heat.title}: `, lineLink(hottest, context), ` in `, element('span.code', { title: hottest.procedure }, shorten(hottest.procedure ?? '', 60)),
      `, ${time(hottest[heat.key] ?? 0)} of ${time(sum(report.rows))}.`));
  }
  const place = (/** @type {any} */ row) => `${fileName(row.file)}:${row.line}`;
  body.append(element('h2', null, 'Hottest places'), table({ ...report, rows: sorted(rows, heat.key) }, {
    name: 'file', label: place, columns: [...shownWith(heat).map(({ key }) => key), 'procedure', 'cpu_seconds', 'observations'], bar: heat.key, limit: 40, titles: { file: 'Place' },
    href: (row) => context.link({ file: row.file, line: String(row.line) }), links: true, caption: 'lines by what they cost',
    empty: 'No line of any source file is known.',
  }, context));
  if (nowhere.length > 0 && sum(nowhere) > 0) {
    body.append(element('p.more', { 'data-part': 'nowhere' }, `${time(sum(nowhere))} of ${heat.title} is in code whose lines are not known (compiled without -g, or the kernel's).`));
  }
  if (files.length > 1) body.append(element('h2.later', null, 'Files'), fileList(files, heat, context));
}

/** The measures of tables: requests only where lines are shaded by them. @param {typeof HEATS[0]} heat */
const shownWith = (heat) => (heat === REQUESTS ? [REQUESTS, ...HEATS] : HEATS);

/** @param {any[]} rows @param {string} key */
const sorted = (rows, key) => [...rows].sort((one, other) => (other[key] ?? 0) - (one[key] ?? 0));

/**
 * @param {import('../model/source.js').File[]} files
 * @param {typeof HEATS[0]} heat
 * @param {Context} context
 */
function fileList(files, heat, { link }) {
  return element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'files' }, element('table', null,
    element('thead', null, element('tr', null, element('th', { scope: 'col' }, 'file'), ...shownWith(heat).map(({ title }) => element('th.number', { scope: 'col' }, title)))),
    element('tbody', null, ...files.slice(0, 100).map(({ file, seconds, hottest }) => element('tr', { 'data-row': file },
      element('th.name', { scope: 'row', title: file }, element('a', { href: link({ file, line: String(hottest) }) }, shorten(file, 70))),
      ...shownWith(heat).map(({ key }) => element('td.number', null, time(seconds[key]))))))));
}

/**
 * A file with its lines; where its text is not found, those that are known stand without it.
 * @param {HTMLElement} body
 * @param {string} file
 * @param {{rows: any[], heats: typeof HEATS, heat: typeof HEATS[0]}} about
 * @param {Context} context
 */
async function drawFile(body, file, about, context) {
  const missing = (/** @type {any} */ error) => ({ lines: /** @type {string[]|null} */ (null), error });
  const answer = await context.ask('source', { file }).catch(missing);
  body.append(element('p.path', null, element('a', { href: context.link({ file: undefined, line: undefined }), 'data-back': true }, '← hottest places'), ' ',
    element('span.code', { title: answer.path ?? file }, shorten(file, 90))));
  if (answer.error) body.append(notFound(answer.error));
  listing(body, file, answer.lines, about, context);
}

/** @param {any} error */
function notFound(error) {
  const hints = error.hints?.length > 0 ? error.hints
    : ['`longpole view --source-dir DIR` looks below DIR, `--source-dir FROM=TO` where the program was built elsewhere; `longpole record --sources` keeps the text in the recording'];
  return element('div.warning', { role: 'alert', 'data-part': 'missing' }, element('strong', null, 'The text is not there: '), String(error.message ?? error),
    element('ul', null, ...hints.map((/** @type {string} */ hint) => element('li', null, hint))));
}
