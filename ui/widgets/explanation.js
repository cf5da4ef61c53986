/** One wait in full (part of the view `waits`): what those did beyond who ended it, beside what the waiting threads did beyond. */

import { classShares, deedOf, lookOf, mainCauses, sidesOf } from '../model/waiting.js';
import { nameOf, shorten } from '../model/names.js';
import { count, percent, time } from '../model/quantity.js';
import { swatch } from './bars.js';
import { choice, explained } from './choice.js';
import { element } from './element.js';
import { linksOf } from './links.js';
import { lineLink, objectLink, procedureLink } from './places.js';

/** @typedef {import('../main.js').Context} Context */

/** Steps with less of the column's height, in percent, are drawn without their mark. */
const ROOM = 4;
/** Kinds of explanation that are listed at first. */
const KINDS = 6;

/** @type {Record<string, string>} */
const UNWANTED = {
  join: 'for the end of what the thread started', outside: 'ended from outside the program',
  spare: 'of threads to spare', end: 'until the thread or the run ended',
};

/**
 * Where was waited and for what.
 * @param {any} row
 * @param {Context} context
 */
export function where(row, context) {
  const thread = row.thread && `${row.thread}${row.tid ? ` #${row.tid}` : ''}`;
  const at = row.procedure ? [procedureLink(row, context), ' ', lineLink(row, context)]
    : [thread ?? (nameOf(row) === row.object ? '' : nameOf(row)), linksOf(row.object ? {} : row, context)];
  const what = row.object ? [objectLink(row.object, context)] : [];
  // Many objects are named by their kind and place: `barrier in solve (solve.c:12)`.
  const word = String(row.object ?? '').startsWith(row.kind) ? '' : `${row.kind} `;
  const kind = row.kind && element('span.faint', null, row.procedure || row.thread ? ` for ${word}` : word);
  const parts = [...at, kind, ...what];
  if (!row.wanted && row.unwanted_because) parts.push(element('span.faint', null, ` – ${UNWANTED[row.unwanted_because] ?? row.unwanted_because}`));
  return parts;
}

/**
 * @param {HTMLElement} root
 * @param {any} row
 * @param {number} number the row's place
 * @param {Context} context
 */
export function drawExplanation(root, row, number, context) {
  const { place, link } = context;
  const toRoots = place.causes !== 'direct';
  const kinds = row.explanations ?? [];
  const kind = kinds[Number(place.kind) - 1];
  const sides = sidesOf(kind ?? row, toRoots);
  root.append(
    element('div.controls', null,
      element('a', { href: link({ explain: undefined, causes: undefined, kind: undefined }), 'data-back': true }, '← all waiting'), ' ',
      choice('causes', [
        { value: undefined, title: 'root causes', about: 'every wait among the causes is replaced by its own causes, down to work, devices and timers' },
        { value: 'direct', title: 'direct causes', about: 'what was done between, waits included' },
      ], place.causes, (causes) => link({ causes }))),
    element('section', { 'data-part': 'wait' },
      element('p.answer', null, `Wait ${number}: `, ...where(row, context)),
      element('p', null, `${time(row.seconds)} in ${count(row.count)} ${row.count === 1 ? 'wait' : 'waits'}`,
        row.percent !== undefined && `, ${percent(row.percent)} of all waiting`, row.count > 1 && `, ${time(row.seconds / row.count)} each`, '. ',
        ...classShares(row).flatMap(({ kind, percent: share }) =>
          [swatch(kind.look, kind.mark), ' ', explained(kind.name, kind.key, context), ` ${percent(share)}  `]))),
    element('section.sides', { 'data-part': 'sides' },
      side('waiting', 'Those who waited, beyond the others', sides.negative, sides, context),
      side('ending', 'Those who ended the waits, beyond them', sides.positive, sides, context)),
    element('p.faint', null, 'Both columns last equally long, from where the threads last had met. What both did is left out; '
      + 'what only one side did explains the rest, and the waiting fills the gap.'),
    kinds.length > 1 ? kindsOf(kinds, row, kind, context) : '');
}

/**
 * The kinds of explanation that the waits have, one of them chosen.
 * @param {any[]} kinds
 * @param {any} row
 * @param {any} chosen
 * @param {Context} context
 */
function kindsOf(kinds, row, chosen, { link }) {
  const line = (/** @type {any} */ one, /** @type {string|undefined} */ kind, /** @type {string} */ about) => element('li', null, element('a', {
    href: link({ kind }), 'aria-current': one === chosen ? 'true' : undefined, 'data-kind': kind ?? '',
  }, `${percent(one ? one.percent : 100)}`), ` ${time((one ?? row).seconds)} in ${count((one ?? row).count)} ${(one ?? row).count === 1 ? 'wait' : 'waits'}: `, element('span.faint', null, about));
  const about = (/** @type {any} */ one) => {
    const causes = mainCauses(one, 2).map(({ percent: share, text, by }) => `${percent(share)} ${shorten(text, 40)}${by ? ` in ${shorten(by, 20)}` : ''}`);
    return [one.class, ...causes].filter(Boolean).join(', ') || 'many small causes';
  };
  const lines = kinds.map((one, at) => line(one, String(at + 1), about(one)));
  const shown = Math.max(KINDS, kinds.indexOf(chosen) + 1);
  const list = element('ol.kinds', null, line(undefined, undefined, 'all together'), ...lines.slice(0, shown));
  const more = lines.length > shown && element('p.more', null, element('button', {
    onclick: () => {
      list.append(...lines.slice(shown));
      more.remove();
    },
  }, `Show ${lines.length - shown} more`));
  return element('section', { 'data-part': 'kinds' }, element('h2', null, 'Kinds of explanation'),
    element('p.faint', null, 'Waits that went the same way are one kind; the columns above show one of them alone when it is chosen.'), list, more);
}

/**
 * A column of steps, with the list that names them.
 * @param {string} name
 * @param {string} title
 * @param {any[]} causes
 * @param {ReturnType<typeof sidesOf>} sides
 * @param {Context} context
 */
function side(name, title, causes, sides, context) {
  const steps = causes.map((cause) => ({
    seconds: cause.seconds, look: lookOf(cause), mark: cause.mark, title: `${deedOf(cause)}: ${time(cause.seconds)}, ${percent(cause.percent)}`,
  }));
  if (name === 'waiting') steps.push({ seconds: sides.waited, look: 'waited', mark: 'waited', title: `waited: ${time(sides.waited)}` });
  return element('div.side', { 'data-side': name }, element('h2', null, title),
    element('div.column', { role: 'img', 'aria-label': `${title}: ${steps.map((step) => step.title).join('; ')}` },
      ...steps.map((step) => {
        const share = 100 * step.seconds / sides.height;
        return element(`div.step.look-${step.look}`, { title: step.title, style: { height: `${share}%` } }, share >= ROOM ? step.mark : '');
      })),
    causes.length === 0 ? element('p.faint', null, 'nothing') : list(causes, context));
}

/**
 * @param {any[]} causes
 * @param {Context} context
 */
function list(causes, context) {
  return element('div.scroll', null, element('table', null, element('thead', null, element('tr', null,
    element('th', { scope: 'col' }), element('th.number', { scope: 'col' }, 'time'),
    element('th.number', { scope: 'col', title: 'of the row\'s waiting' }, '% of wait'),
    element('th', { scope: 'col' }, 'what'), element('th', { scope: 'col' }, 'who'))),
  element('tbody', null, ...causes.map((cause) => element('tr', { 'data-row': cause.mark },
    element('td', null, swatch(lookOf(cause), cause.mark)),
    element('td.number', null, time(cause.seconds)),
    element('td.number', null, percent(cause.percent)),
    element('td', null, deed(cause, context)),
    element('td.code', { title: cause.by_threads }, shorten(cause.by_threads ?? '', 24)))))));
}

/**
 * What was done, its procedure a link.
 * @param {any} cause
 * @param {Context} context
 */
function deed(cause, context) {
  const text = deedOf(cause);
  const named = element(cause.procedure ? 'a.code' : 'span.code', {
    href: cause.procedure && context.link({ view: 'parallelism', of: `procedure:${cause.procedure}` }), title: text,
  }, shorten(text, 48));
  return element('span', null, named, ' ', lineLink(cause, context));
}
