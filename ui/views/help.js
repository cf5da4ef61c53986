/** What every number and word means: the registry, the keys, and how to read each view. In the URL: `of`, an entry's name, and `find`. */

import { entryOf, entryOfMetric, groupsOf, holds, sourceText } from '../model/help.js';
import { wordsOf } from '../model/summary.js';
import { answers, catalogueOf } from '../widgets/catalogue.js';
import { element } from '../widgets/element.js';
import { KEYS } from '../widgets/keys.js';
import { panel } from '../widgets/panel.js';
import { KEYS as FLAME } from '../widgets/flame.js';
import { KEYS as SOURCE } from '../widgets/source-listing.js';
import { KEYS as TIMELINE_KEYS, POINTERS } from '../widgets/timelinekeys.js';
import { GUIDES } from './help/guides.js';

/** @typedef {import('../model/help.js').Entry} Entry */

/** @type {import('../main.js').View} */
export default {
  name: 'help',
  title: 'Help',
  about: 'What every number and word means.',
  key: 'h',
  draw: (root, context) => panel(root, () => Promise.all([context.ask('help'), catalogueOf(context)]), ([{ metrics, topics }, catalogue]) => {
    const others = catalogue.metrics.filter((/** @type {any} */ metric) => metric.class !== 'built-in');
    drawHelp(root, { metrics: [...metrics, ...others.map(entryOfMetric)], topics }, context);
    const why = absence(context, catalogue);
    if (why) root.append(element('p.faint', { 'data-part': 'no-others' }, why));
  }),
};

/**
 * @param {HTMLElement} root
 * @param {{metrics: Entry[], topics: Entry[]}} registry
 * @param {import('../main.js').Context} context
 */
function drawHelp(root, { metrics, topics }, context) {
  const { place, note, link } = context;
  const entries = element('div', { 'data-part': 'entries' });
  const fill = (/** @type {string} */ wanted) => entries.replaceChildren(...entriesOf(metrics, topics, wanted, link));
  const search = element('input.search', {
    type: 'search', value: place.find ?? '', placeholder: 'search the help', 'aria-label': 'search the help', 'data-search': true,
    oninput: () => {
      note({ find: search.value || undefined });
      fill(search.value);
    },
  });
  const parts = [['views', 'How to read each view'], ['keys', 'Keys'], ['topics', 'Words'], ...groupsOf(metrics, '').map(({ name }) => [name, name])];
  root.append(
    element('div.controls', null, search, element('nav.contents', { 'aria-label': 'parts of the help' },
      ...parts.map(([name, title]) => element('button', { type: 'button', onclick: () => reveal(partNamed(root, name)) }, title)))),
    drawGuides(context), drawKeys(), entries);
  fill(place.find ?? '');
  if (!place.of) return;
  const wanted = entryOf([...metrics, ...topics], place.of);
  const found = wanted && [...entries.querySelectorAll('[data-entry]')].find((each) => /** @type {HTMLElement} */ (each).dataset.entry === wanted.name);
  if (found) {
    found.classList.add('is-meant');
    requestAnimationFrame(() => reveal(/** @type {HTMLElement} */ (found)));
  } else {
    root.prepend(element('p.caution', { role: 'note' }, wanted ? 'The search hides what the link means: ' : 'There is no entry of this name: ', element('code', null, place.of)));
  }
}

/**
 * Why no metrics from outside are explained, or not all.
 * @param {import('../main.js').Context} context
 * @param {import('../widgets/catalogue.js').Catalogue} catalogue
 */
function absence(context, { isAbsent, failure, metrics, notes }) {
  if (failure) return `Metrics from outside: ${failure.message}`;
  if (isAbsent) return context.recording.is_export && answers(context, 'metrics') ? 'This file does not hold the metrics from outside and the derived ones: `longpole view` on the recording explains them.' : '';
  return metrics.some((metric) => metric.class !== 'built-in') ? notes.join(' ') : ['The recording has no metrics from outside.', ...notes].join(' ');
}

/** @param {HTMLElement} root @param {string} name */
const partNamed = (root, name) => /** @type {HTMLElement|undefined} */ ([...root.querySelectorAll('section')].find((section) => section.dataset.part === name));

/** @param {HTMLElement|undefined} part */
function reveal(part) {
  if (!part) return;
  part.tabIndex = -1;
  part.scrollIntoView({ block: 'start' });
  part.focus({ preventScroll: true });
}

/**
 * @param {Entry[]} metrics
 * @param {Entry[]} topics
 * @param {string} wanted
 * @param {import('../main.js').Context['link']} link
 */
function entriesOf(metrics, topics, wanted, link) {
  const words = topics.filter((topic) => holds(topic, wanted));
  const groups = [...(words.length > 0 ? [{ part: 'topics', name: 'Words', entries: words }] : []), ...groupsOf(metrics, wanted).map((group) => ({ part: group.name, ...group }))];
  if (groups.length === 0) return [element('p.empty', { role: 'status' }, `Nothing in the help holds “${wanted}”.`)];
  return groups.map(({ part, name, entries }) => element('section', { 'data-part': part }, element('h2', null, name),
    element('dl.entries', null, ...entries.map((entry) => element('div', { 'data-entry': entry.name },
      element('dt', null, entry.title, entry.unit && !entry.title.includes(entry.unit) ? element('span.faint', null, ` in ${entry.unit}`) : '', ' ', element('a', { href: link({ view: 'help', of: entry.name }) }, element('code', null, entry.name))),
      element('dd', null, ...wordsOf(entry.explanation).map(({ text, isName }) => (isName ? element('code', null, text) : text)), entry.source ? element('span.faint', null, ` (${sourceText(entry.source)})`) : ''))))));
}

/** @param {import('../main.js').Context} context */
function drawGuides({ link }) {
  return element('section', { 'data-part': 'views' }, element('h2', null, 'How to read each view'),
    element('dl.entries', null, ...GUIDES.map(({ view, title, text }) => element('div', { 'data-entry': `view-${view}` },
      element('dt', null, element('a', { href: link({ view }) }, title)), ...text.map((one) => element('dd', null, one))))));
}

function drawKeys() {
  const list = (/** @type {string} */ title, /** @type {string[][]} */ keys) => element('div', null, element('h3', null, title),
    element('dl.keys', null, ...keys.map(([key, what]) => element('div', null, element('dt', null, element('kbd', null, key)), element('dd', null, what)))));
  return element('section', { 'data-part': 'keys' }, element('h2', null, 'Keys'), element('div.columns', null,
    list('Everywhere', KEYS), list('Timeline', TIMELINE_KEYS), list('Timeline, with a pointer', POINTERS), list('Tree', TREE), list('Critical path', PATH), list('Flame graph', FLAME), list('Source', SOURCE)));
}

const TREE = [['↑ ↓', 'the row above, below'], ['→', 'open, or the first row below'], ['←', 'close, or the row above it in the tree'], ['home end', 'first, last row'], ['space', 'open or close'], ['enter', 'the first view of the row']];
const PATH = [['← →', 'on a slider: less, more of the time'], ['delete', 'on a slider: take the change away']];
