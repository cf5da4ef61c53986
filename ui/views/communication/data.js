/** One object's units with their bytes, and its causality graphs (part of the view `communication`). */

import { graphOfUnit } from '../../model/communication.js';
import { shorten } from '../../model/names.js';
import { percent } from '../../model/quantity.js';
import { changed, placeOf } from '../../model/query.js';
import { element } from '../../widgets/element.js';
import { empty, panel } from '../../widgets/panel.js';
import { drawBytes } from './bytes.js';
import { classesOf } from './classes.js';
import { drawGraphs } from './graphs.js';

/** @typedef {import('../../main.js').Context} Context */

/** Units and graphs that are asked for, those with the most transfers, and of the highest cost; an exported file has as many. */
const [UNITS, GRAPHS] = [400, 100];
/** What is chosen here: a change of it alone does not draw the rest anew. */
const CHOSEN = ['object', 'graph', 'pattern', 'cause'];

/**
 * @param {HTMLElement} root
 * @param {(view: string, parameters?: Record<string, any>) => Promise<any>} ask
 * @param {Context} context
 */
export function drawData(root, ask, context) {
  const { recording } = context;
  const top = (/** @type {number} */ most) => (recording.is_export ? {} : { top: String(most) });
  const answers = () => Promise.all([ask('communication', { by: 'object' }), ask('sharing', top(UNITS)), ask('causality', top(GRAPHS))]);
  return panel(root, answers, ([objects, sharing, causality]) => {
    const moved = objects.rows.filter((/** @type {any} */ row) => row.transfers > 0);
    root.append(element('h2', null, 'The data'));
    if (moved.length === 0) {
      root.append(empty('No data was transferred: each thread fetched its own, once.'));
      return;
    }
    const [controls, bytes, graphs] = [element('div.controls'), ...['bytes', 'graphs'].map((part) => element('section', { 'data-part': part }))];
    root.append(controls, bytes, graphs);
    /** @type {string|undefined} */
    let drawn;
    const show = (/** @type {import('../../state.js').Place} */ place) => {
      const isKnown = objects.rows.some((/** @type {any} */ row) => row.object === place.object);
      const object = isKnown ? place.object : moved[0].object;
      const of = causality.rows.filter((/** @type {any} */ row) => row.object === object);
      if (object !== drawn) {
        drawn = object;
        const units = sharing.rows.filter((/** @type {any} */ row) => row.object === object);
        controls.replaceChildren(chooser(moved, object));
        bytes.replaceChildren();
        drawBytes(bytes, { units, simulation: sharing.simulation, isCut: !recording.is_export && sharing.rows.length >= UNITS, graphOf: (unit) => graphOfUnit(of, unit) }, context);
        bytes.append(classesOf(object, ask, place.classes === '1', context));
      }
      graphs.replaceChildren();
      drawGraphs(graphs, of, ask, place, context);
    };
    show(context.place);
    chooseHere(root, show, context);
  });
}

/**
 * Choices among the data are shown where they are, so that the page stays where it is scrolled to.
 * @param {HTMLElement} root
 * @param {(place: import('../../state.js').Place) => void} show
 * @param {Context} context
 */
function chooseHere(root, show, { place, link, note, signal }) {
  const view = /** @type {HTMLElement} */ (root.parentElement);
  const turnTo = (/** @type {Record<string, string|undefined>} */ change) => {
    note(change);
    const now = placeOf(link({}));
    show(now);
  };
  view.addEventListener('click', (event) => {
    const anchor = /** @type {Element} */ (event.target).closest('a[href^="#communication"]');
    if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    const to = placeOf(anchor.getAttribute('href') ?? '');
    const chosen = Object.fromEntries(CHOSEN.map((key) => [key, to[key]]));
    const rest = (/** @type {import('../../state.js').Place} */ one) => JSON.stringify(changed(one, { ...Object.fromEntries([...CHOSEN, 'classes', 'sort', 'find'].map((key) => [key, undefined])) }));
    if (rest(to) !== rest(place)) return;
    event.preventDefault();
    const isBeside = root.contains(anchor);
    const mark = anchor.getAttribute('data-cause');
    turnTo(chosen);
    if (!isBeside) root.scrollIntoView({ block: 'start' });
    else if (anchor.hasAttribute('data-graph')) root.querySelector('[data-part="graphs"]')?.scrollIntoView({ block: 'start' });
    // What was pressed was drawn anew: the keyboard stays on it.
    if (mark !== null) /** @type {HTMLElement|null} */ (root.querySelector(`a[data-cause="${mark}"]`))?.focus();
    else if (anchor.matches('.choice a')) /** @type {HTMLElement|null} */ ([...root.querySelectorAll('.choice a')].find((one) => one.textContent === anchor.textContent))?.focus();
  }, { signal });
  root.addEventListener('change', (event) => {
    const select = /** @type {HTMLSelectElement} */ (event.target);
    const key = select.dataset.key;
    if (!key) return;
    turnTo({ graph: undefined, cause: undefined, pattern: undefined, [key]: select.value });
    /** @type {HTMLElement|null} */ (root.querySelector(`select[data-key="${key}"]`))?.focus();
  }, { signal });
}

/**
 * @param {any[]} rows
 * @param {string} chosen
 */
function chooser(rows, chosen) {
  const known = rows.some((row) => row.object === chosen);
  return element('label.control', null, element('span.label', null, 'object'), ' ', element('select', { 'data-part': 'objects-choice', 'data-key': 'object' },
    !known && element('option', { value: chosen, selected: true }, shorten(chosen, 60)),
    ...rows.map((row) => element('option', { value: row.object, selected: row.object === chosen }, `${shorten(row.object, 60)} – ${percent(row.percent)}`))));
}
