/**
 * Call paths by CPU time, normalised processor time, critical path or waiting. Keys of its own in the URL: `metric` (one of
 * MEASURES, CPU when left out); `open`, several times, the way of names to the path that is as wide as the graph; `layout=flame`
 * draws callers at the bottom; `of` asks for the paths below one procedure, or of one thread.
 */

import { MEASURES, nodeAt, search, treeOf, wayTo } from '../model/call-tree.js';
import { percent, time } from '../model/quantity.js';
import { choice } from '../widgets/choice.js';
import { chooser } from '../widgets/chooser.js';
import { element } from '../widgets/element.js';
import { flame } from '../widgets/flame.js';
import { empty, panel } from '../widgets/panel.js';
import { details } from '../widgets/path-details.js';

/** @typedef {import('../main.js').Context} Context */
/** @typedef {import('../model/call-tree.js').Node} Node */

/** @type {import('../main.js').View} */
export default {
  name: 'flame',
  title: 'Flame graph',
  about: 'Call paths by CPU time, normalised processor time, critical path or waiting.',
  key: '8',
  draw(root, context) {
    const { place, link } = context;
    const body = element('section', { 'data-part': 'flame' });
    root.append(element('div.controls', null,
      choice('width is', MEASURES, place.metric, (metric) => link({ metric })),
      choice('callers', [{ value: undefined, title: 'above' }, { value: 'flame', title: 'below' }], place.layout, (layout) => link({ layout })),
      chooser(context)), body);
    // An exported file has the whole tree alone.
    const isWhole = context.recording.is_export && place.of;
    return panel(body, () => context.report('call-tree', { of: isWhole ? undefined : place.of }), (report) => {
      const measure = MEASURES.find(({ value }) => value === place.metric) ?? MEASURES[0];
      const tree = treeOf(report.rows, measure.key);
      if (isWhole) body.append(element('p.caution', null, 'This file has the tree of the whole program only: what was asked for is searched in it. `longpole view` on the recording shows it alone.'));
      if (!tree || tree.total <= 0) body.append(empty(`Nothing was charged to any call path: there is no ${measure.title} here.`));
      else drawGraph(body, tree, { report, measure }, context);
    });
  },
};

/**
 * @param {HTMLElement} body
 * @param {Node} tree
 * @param {{report: any, measure: typeof MEASURES[0]}} about
 * @param {Context} context
 */
function drawGraph(body, tree, { report, measure }, context) {
  const { place, note, signal } = context;
  const state = { zoom: nodeAt(tree, place.open ?? []), find: String(place.find ?? (context.recording.is_export && place.of ? place.of.replace(/^[a-z]+:/, '') : '')) };
  const column = report.columns.find((/** @type {any} */ one) => one.name === `${measure.key}_inclusive_seconds`);
  const title = element('p.answer', { 'data-part': 'whole' });
  const matched = element('span.faint', { role: 'status', 'data-part': 'matched' });
  const about = element('aside.path-details', { 'data-part': 'details' });
  const sentence = () => {
    const share = state.zoom === tree ? '' : ` of ${time(tree.total)} (${percent(100 * state.zoom.total / tree.total)})`;
    title.replaceChildren(element('span', { title: column?.explanation }, `${measure.title}: ${time(state.zoom.total)}${share}`),
      ...(state.zoom === tree ? [] : [' ', element('button', { onclick: () => zoomTo(tree), 'data-part': 'out' }, 'Show all')]));
  };
  const zoomTo = (/** @type {Node} */ node) => {
    state.zoom = node;
    note({ open: wayTo(node) });
    sentence();
    graph.draw(node, search(tree, state.find).found);
  };
  const look = () => {
    const { found, total } = search(tree, state.find);
    matched.textContent = state.find.trim() === '' ? '' : `${found.size} ${found.size === 1 ? 'path matches' : 'paths match'}, with ${percent(100 * total / tree.total)} of the ${measure.title}`;
    return found;
  };
  const graph = flame(tree, {
    signal, isUpward: place.layout === 'flame', total: tree.total, title: measure.title,
    onZoom: zoomTo,
    onLook: (rectangle) => about.replaceChildren(details(rectangle, tree, { report, measure }, context)),
  });
  const field = element('input.search', {
    type: 'search', placeholder: 'search procedures and modules', 'aria-label': 'search procedures and modules', 'data-search': true, value: state.find,
    oninput: () => {
      state.find = field.value;
      note({ find: field.value || undefined });
      graph.draw(state.zoom, look());
    },
  });
  body.append(title, element('div.controls', null, field, matched), graph.root, about);
  sentence();
  graph.draw(state.zoom, look());
}
