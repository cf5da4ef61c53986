/** The causality graphs of an object (part of the view `communication`): drawn, as an incidence matrix, and one cause in full. */

import { causesShown, incidence } from '../../model/causality.js';
import { PATTERNS, patternsOf, rowOfPlace } from '../../model/communication.js';
import { shorten } from '../../model/names.js';
import { count, percent, time } from '../../model/quantity.js';
import { swatch } from '../../widgets/bars.js';
import { causalityGraph } from '../../widgets/causality-graph.js';
import { choice } from '../../widgets/choice.js';
import { element } from '../../widgets/element.js';
import { empty, panel } from '../../widgets/panel.js';
import { callPath } from './paths.js';

/** @typedef {import('../../main.js').Context} Context */

/** Causes that are drawn, those of the highest cost; and graphs that can be chosen by a press. */
const [CAUSES, GRAPHS] = [8, 6];

/**
 * @param {HTMLElement} root
 * @param {any[]} graphs of the object, rows of `causality`
 * @param {(view: string, parameters?: Record<string, any>) => Promise<any>} ask
 * @param {import('../../state.js').Place} place what is chosen
 * @param {Context} context
 */
export function drawGraphs(root, graphs, ask, place, context) {
  const { link } = context;
  root.append(element('h3', null, 'What leads to what'));
  if (graphs.length === 0) {
    root.append(empty('No graph: no thread\'s write took a unit of it from another thread that asked for it again.'));
    return;
  }
  const graph = graphs.find(({ rank }) => String(rank) === place.graph) ?? graphs[0];
  const patterns = PATTERNS.filter(({ name }) => graph.edges.some((/** @type {any} */ edge) => patternsOf(edge.patterns).some(({ pattern }) => pattern.name === name)));
  const pattern = patterns.find(({ name }) => name === place.pattern)?.name;
  const { causes, left } = causesShown(graph, pattern, CAUSES);
  const chosen = causes.find((/** @type {any} */ cause) => String(cause.edge) === place.cause);
  root.append(element('div.controls', null,
    graphs.length > 1 && chooser(graphs, graph, context),
    patterns.length > 1 && choice('causes', [{ value: undefined, title: 'all' }, ...patterns.map(({ name, about }) => ({ value: name, title: name, about }))], pattern, (value) => link({ pattern: value, cause: undefined }))));
  const rest = left.reduce((/** @type {number} */ sum, /** @type {any} */ cause) => sum + cause.percent, 0);
  root.append(
    element('p', { 'data-part': 'graph-title' }, `${count(graph.units)} ${graph.units === 1 ? 'unit' : 'units that behave alike'}, ${count(graph.transfers)} transfers (${time(graph.transfer_seconds)}), ${percent(graph.percent)} of all transfers' cost. `,
      element('span.faint', null, 'An arrow leads from the place that wrote (W) through what the reader learnt of it by (I) to the place that asked (R); the wider, the more of the cost. Choose a cause for its call paths.')),
    causalityGraph(graph, causes, chosen?.edge, (cause) => link({ graph: String(graph.rank), cause: String(cause) }), root.clientWidth),
    left.length > 0 ? element('p.more', null, `${left.length} more ${left.length === 1 ? 'cause' : 'causes'}, ${percent(rest)} of the graph's cost; \`longpole report --view causality --format json\` has them.`) : '');
  const detail = element('section', { 'data-part': 'cause', 'aria-live': 'polite' });
  root.append(detail, matrix(graph, causes, Boolean(chosen), context));
  if (chosen) void panel(detail, () => ask('communication', { by: 'line' }), ({ rows }) => detail.append(...causeInFull(graph, chosen, rows, context)));
}

/**
 * @param {any[]} graphs
 * @param {any} now
 * @param {Context} context
 */
function chooser(graphs, now, { link }) {
  const title = (/** @type {any} */ graph) => `${graph.rank}: ${count(graph.units)} ${graph.units === 1 ? 'unit' : 'units'}, ${percent(graph.percent)}`;
  if (graphs.length <= GRAPHS) {
    return choice('graph', graphs.map((graph) => ({ value: String(graph.rank), title: title(graph) })), String(now.rank), (graph) => link({ graph, cause: undefined }));
  }
  const select = element('select', { 'data-part': 'graph-choice', 'data-key': 'graph' },
    ...graphs.map((graph) => element('option', { value: String(graph.rank), selected: graph === now }, title(graph))));
  return element('label.control', null, element('span.label', null, 'graph'), ' ', select);
}

/**
 * R ← I ← W of a cause with their call paths.
 * @param {any} graph
 * @param {any} cause
 * @param {any[]} rows of `communication` by line
 * @param {Context} context
 */
function causeInFull(graph, cause, rows, context) {
  const node = (/** @type {number|undefined} */ number) => graph.nodes.find((/** @type {any} */ one) => one.node === number);
  const [reader, writer] = [node(cause.to), node(cause.from)];
  const row = reader && rowOfPlace(rows, reader);
  const isFirst = cause.from === undefined;
  return [
    element('h3', null, `Cause ${cause.edge}`),
    element('p', null, `${count(cause.requests)} ${cause.requests === 1 ? 'request' : 'requests'}, ${time(cause.request_seconds)}, ${percent(cause.percent)} of the graph's cost`,
      cause.contributions > cause.requests && `; its writes are behind ${count(cause.contributions - cause.requests)} more, together with others'`, `. ${cause.patterns}. `,
      row && element('a', { href: context.link({ by: 'line', explain: String(row.rank), cause: undefined }), 'data-explain': row.rank }, 'Explain all requests of this line')),
    element('div.r-i-w', null,
      callPath('R', 'asks', cause.read_path, reader?.readers, context),
      isFirst ? element('div.call-path', null, element('p', null, element('strong', null, 'First reference'), ': the thread had no copy before.')) : callPath('I', 'through', cause.through_path, undefined, context, cause.through === 'unordered' ? 'unordered: nothing orders the write before the request' : cause.through),
      !isFirst && callPath('W', 'writes', cause.write_path, writer?.writers, context)),
    cause.paths > 1 ? element('p.faint', null, `These are the call paths of the highest cost, of ${count(cause.paths)}.`) : '',
  ];
}

/**
 * The incidence matrix: the drawing as text.
 * @param {any} graph
 * @param {any[]} causes
 * @param {boolean} isOpen
 * @param {Context} context
 */
function matrix(graph, causes, isOpen, { link }) {
  const { causes: columns, from } = incidence(graph, causes);
  const line = (/** @type {string} */ title, /** @type {(column: any) => any} */ cell, tag = 'td.code') => element('tr', null, element('th', { scope: 'row' }, title), ...columns.map((column) => element(tag, null, cell(column))));
  return element('details', { 'data-part': 'incidence', open: isOpen }, element('summary', null, 'The graph as a table (incidence matrix)'),
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'incidence matrix' }, element('table', null,
      element('thead', null, element('tr', null, element('th', { scope: 'col' }, 'cause'), ...columns.map(({ cause }) => element('th.number', { scope: 'col' }, element('a', { href: link({ graph: String(graph.rank), cause: String(cause.edge) }), 'aria-label': `cause ${cause.edge}` }, String(cause.edge)))))),
      element('tbody', null,
        line('pattern', ({ pattern }) => pattern && element('span', null, swatch(pattern.look, pattern.mark), ` ${pattern.name}`), 'td'),
        line('requests', ({ cause }) => count(cause.requests), 'td.number'),
        line('cost', ({ cause }) => percent(cause.percent), 'td.number'),
        line('R', ({ read }) => shorten(read, 60)),
        line('I', ({ through, at }) => (through ? `${shorten(through, 50)}${at ? `, in ${shorten(at, 40)}` : ''}` : '–')),
        line('W', ({ write }) => shorten(write, 60) || '–'),
        ...from.map(({ title, cells }) => element('tr', null, element('th', { scope: 'row' }, title), ...cells.map((share) => element('td.number', null, share > 0 ? percent(share) : '·'))))))),
    element('p.faint', null, '“from 0”: how often the copy that a request of cause 0 had fetched was written, and so led to a request of the column, in % of all such steps.'));
}
