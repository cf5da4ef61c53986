/** The page: its head, its list of views, and the one view that the URL names. */

import { ask, exported, keepAlive } from './api.js';
import { go, link, note, place } from './state.js';
import { shorten } from './model/names.js';
import { visible } from './model/visible.js';
import { element } from './widgets/element.js';
import { panel } from './widgets/panel.js';
import { drawHead } from './widgets/head.js';
import { listenForKeys } from './widgets/keys.js';
import communication from './views/communication.js';
import compare from './views/compare.js';
import flame from './views/flame.js';
import help from './views/help.js';
import objects from './views/objects.js';
import overview from './views/overview.js';
import parallelism from './views/parallelism.js';
import path from './views/path.js';
import rankings from './views/rankings.js';
import source from './views/source.js';
import timeline from './views/timeline.js';
import tree from './views/tree.js';
import waits from './views/waits.js';

/**
 * What a view is given: the place it is at, ways to ask and to go, and the recording.
 * @typedef {object} Context
 * @property {import('./model/query.js').Place} place
 * @property {(path: string, parameters?: Record<string, any>) => Promise<any>} ask as in `api.js`
 * @property {(view: string, parameters?: Record<string, any>) => Promise<any>} report asks for a report with the
 *   place's phase, io and weight
 * @property {typeof go} go
 * @property {typeof link} link
 * @property {typeof note} note
 * @property {any} recording the answer of `api/recording`
 * @property {AbortSignal} signal ends when the view is left or drawn anew: listeners on the window go with it
 */

/**
 * A view: a file below `views/`.
 * @typedef {object} View
 * @property {string} name its name in the URL
 * @property {string} title
 * @property {string} about one sentence, shown below the title
 * @property {string} key the digit or letter that opens it
 * @property {(root: HTMLElement, context: Context) => void|Promise<void>} draw fills the empty root
 */

/** @type {View[]} in the order of the list */
const VIEWS = [overview, timeline, path, waits, objects, communication, parallelism, tree, flame, source, rankings, compare, help];

/** Reports that the critical path's weight changes. */
const WEIGHED = ['critical-path', 'zeroing', 'slack', 'tree', 'call-tree'];

const root = /** @type {HTMLElement} */ (document.querySelector('[data-view]'));
const list = /** @type {HTMLElement} */ (document.querySelector('[data-views]'));
const head = /** @type {HTMLElement} */ (document.querySelector('[data-top]'));

/** @type {AbortController|undefined} */
let drawn;
/** @type {any} */
let recording;

async function start() {
  const starting = panel(root, () => ask('recording'), (answer) => {
    recording = answer;
  });
  await starting;
  if (!recording) return;
  recording.is_export = Boolean(await exported());
  if (recording.keep_alive_seconds) keepAlive(recording.keep_alive_seconds);
  document.title = `${visible(recording.name)} – longpole`;
  addEventListener('hashchange', draw);
  listenForKeys(VIEWS);
  document.querySelector('[data-skip]')?.addEventListener('click', (event) => {
    event.preventDefault();
    root.focus();
  });
  draw();
}

function draw() {
  drawn?.abort();
  drawn = new AbortController();
  const { view: asked } = place();
  const view = VIEWS.find(({ name }) => name === asked) ?? overview;
  // The address names what is seen; what it asked for is said.
  if (view.name !== asked) note({ view: view.name });
  const here = place();
  list.replaceChildren(...VIEWS.map((each) => element('a', {
    // An exported file has only the path in both weights.
    href: link({ view: each.name, ...(each === view ? {} : { of: undefined, ...(recording.is_export ? { weight: undefined } : {}) }) }),
    'aria-current': each === view ? 'page' : undefined,
    title: `${each.about} (key ${each.key})`,
  }, each.title)));
  // On a phone the list is longer than the window: where we are stays in sight.
  list.scrollLeft = (/** @type {HTMLElement|null} */ (list.querySelector('[aria-current]'))?.offsetLeft ?? 0) - list.offsetLeft - 60;
  /** @type {Context} */
  const context = {
    place: here, ask, go, link, note, recording, signal: drawn.signal,
    report: (name, parameters = {}) => ask('report', {
      view: name, phase: here.phase, io: here.io, weight: WEIGHED.includes(name) ? here.weight : undefined, ...parameters,
    }),
  };
  drawHead(head, context);
  const body = element('div.body', { 'data-drawn': view.name });
  root.replaceChildren(element('div.title', null, element('h1', null, view.title), element('p', null, view.about)),
    view.name === asked ? '' : element('p.caution', { role: 'alert', 'data-part': 'no-such-view' }, `There is no view “${shorten(asked, 40)}”: this is the overview. The list above has all views.`), body);
  panel(body, Promise.resolve(), () => view.draw(body, context));
}

start();
