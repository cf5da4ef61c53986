/** A causality graph, laid out: places of the program, and between them the causes of requests, W → I → R (Carnival, figure 2). */

import { Graph, layout } from '../vendor/dagre.esm.js';

import { patternsOf, placeOf } from './communication.js';
import { fileName, shorten } from './names.js';
import { count, percent } from './quantity.js';

/**
 * A box of the drawing: a place (`W`, `R`, or both), or what is between two, a cause (`I`).
 * @typedef {{id: string, kind: 'place'|'cause', lines: string[], title: string, roles: string, mark?: string, look?: string, cause?: number,
 *   node?: any, x: number, y: number, width: number, height: number}} Box
 * @typedef {{from: string, to: string, share: number, points: {x: number, y: number}[]}} Arrow
 * @typedef {{boxes: Box[], arrows: Arrow[], width: number, height: number}} Drawing
 */

/** Characters of a line of a box, and its heights in pixels. */
const [ROOM, LINE, PADDING] = [26, 16, 7];
/** Pixels between boxes of a rank, and between ranks. */
const GAPS = { nodesep: 18, ranksep: 44, edgesep: 20, marginx: 6, marginy: 6 };

/**
 * The causes that are drawn: those with requests of the pattern, of the highest cost first, at most so many.
 * @param {any} graph row of `causality`
 * @param {string|undefined} pattern by its name
 * @param {number} most
 */
export function causesShown(graph, pattern, most) {
  const wanted = graph.edges.filter((/** @type {any} */ edge) => !pattern || patternsOf(edge.patterns).some((one) => one.pattern.name === pattern));
  return { causes: wanted.slice(0, most), left: wanted.slice(most) };
}

/**
 * The boxes and arrows of these causes, without their places yet.
 * @param {any} graph
 * @param {any[]} causes
 * @param {(text: string) => number} measure the width of a text, pixels
 */
export function boxesOf(graph, causes, measure) {
  const nodes = new Map(graph.nodes.map((/** @type {any} */ node) => [node.node, node]));
  /** @type {Box[]} */
  const boxes = [];
  /** @type {Omit<Arrow, 'points'>[]} */
  const arrows = [];
  const add = (/** @type {Omit<Box, 'x'|'y'|'width'|'height'>} */ box) => {
    const width = Math.ceil(Math.max(...box.lines.map(measure)) + 4 * PADDING);
    boxes.push({ ...box, x: 0, y: 0, width, height: box.lines.length * LINE + 2 * PADDING });
  };
  for (const node of graph.nodes) {
    const isRead = causes.some((cause) => cause.to === node.node);
    const isWritten = causes.some((cause) => cause.from === node.node);
    if (!isRead && !isWritten) continue;
    const roles = [isWritten && 'W', isRead && 'R'].filter(Boolean).join(' ');
    const where = node.line ? `${fileName(node.file)}:${node.line}` : fileName(node.module ?? '');
    const who = [isWritten && `W: ${threads(node.writers)}`, isRead && `R: ${threads(node.readers)}`].filter(Boolean).join('; ');
    const [caller] = callersOf(causes, node);
    const from = caller && placeOf(caller);
    add({
      id: `place ${node.node}`, kind: 'place', node, roles,
      lines: [shorten(node.procedure, ROOM), where, from && `in ${within(from)}`, who].filter(Boolean),
      title: `${node.procedure} ${where}\n${who}`,
    });
  }
  for (const cause of causes) {
    const id = `cause ${cause.edge}`;
    const isFirst = cause.from === undefined;
    const [most] = patternsOf(cause.patterns);
    const at = cause.through_procedure ? within({ procedure: cause.through_procedure, file: cause.through_file, line: cause.through_line }) : '';
    const name = isFirst ? 'first references' : cause.through;
    const amount = `${count(cause.requests)} ${cause.requests === 1 ? 'request' : 'requests'}, ${percent(cause.percent)}`;
    add({
      id, kind: 'cause', cause: cause.edge, roles: isFirst ? '' : 'I', mark: most?.pattern.mark, look: most?.pattern.look,
      lines: [`${cause.edge}  ${shorten(name, ROOM)}`, at && `in ${at}`, amount].filter(Boolean),
      title: `cause ${cause.edge}: ${name}${at ? `, in ${at}` : ''}\n${amount} of the graph's cost\n${cause.patterns ?? ''}`,
    });
    if (!isFirst) arrows.push({ from: `place ${cause.from}`, to: id, share: cause.percent / 100 });
    arrows.push({ from: id, to: `place ${cause.to}`, share: cause.percent / 100 });
  }
  const known = new Set(boxes.map(({ id }) => id));
  return { boxes, arrows: arrows.filter(({ from, to }) => known.has(from) && known.has(to)), nodes };
}

/** A procedure in little room with its line in full. @param {{procedure: string, file?: string, line?: number}} place */
const within = ({ procedure, file, line }) => (line ? `${shorten(procedure, ROOM - 10)} ${shorten(fileName(file ?? ''), ROOM - 6)}:${line}` : shorten(procedure, ROOM));

/** How many threads a list names. @param {string|undefined} list */
function threads(list) {
  const number = list ? list.split(', ').length : 0;
  return `${number} ${number === 1 ? 'thread' : 'threads'}`;
}

/**
 * The innermost callers by which the causes reach a place, those of the highest cost first.
 * @param {any[]} causes
 * @param {any} node
 */
function callersOf(causes, node) {
  const paths = causes.flatMap((cause) => [cause.to === node.node && cause.read_path, cause.from === node.node && cause.write_path]);
  return paths.flatMap((path) => (path ? path.split(' < ').slice(1, 2) : []));
}

/**
 * Lays boxes and arrows out: ranks beside each other or below each other, what fits the room better.
 * @param {{boxes: Box[], arrows: Omit<Arrow, 'points'>[]}} graph
 * @param {number} room width in pixels
 * @returns {Drawing}
 */
export function laidOut(graph, room) {
  const [aside, down] = [placed(graph, 'LR'), placed(graph, 'TB')];
  if (aside.width <= room) return aside;
  return down.width < aside.width ? down : aside;
}

/**
 * @param {{boxes: Box[], arrows: Omit<Arrow, 'points'>[]}} graph
 * @param {'LR'|'TB'} rankdir
 * @returns {Drawing}
 */
function placed({ boxes, arrows }, rankdir) {
  const graph = new Graph({ directed: true, multigraph: true });
  graph.setGraph({ rankdir, ...GAPS });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of boxes) graph.setNode(id, { width, height });
  for (const { from, to, share } of arrows) graph.setEdge(from, to, { weight: 1 + Math.round(4 * share) });
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    boxes: boxes.map((box) => {
      const { x, y } = graph.node(box.id);
      return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
    }),
    arrows: arrows.map((arrow) => ({ ...arrow, points: graph.edge(arrow.from, arrow.to).points })),
    width: Math.ceil(width), height: Math.ceil(height),
  };
}

/**
 * A smooth line through points.
 * @param {{x: number, y: number}[]} points
 */
export function curve(points) {
  const at = ({ x, y } = points[0]) => `${x.toFixed(1)},${y.toFixed(1)}`;
  if (points.length < 3) return `M${points.map(at).join(' L')}`;
  const middles = points.slice(1, -2).map((point, index) => ({ x: (point.x + points[index + 2].x) / 2, y: (point.y + points[index + 2].y) / 2 }));
  const ends = [...middles, points[points.length - 1]];
  return `M${at()} ${ends.map((end, index) => `Q${at(points[index + 1])} ${at(end)}`).join(' ')}`;
}

/**
 * The incidence matrix: for each cause its place of requests, synchronisation and place of writes, and from which causes' copies
 * it follows, in percent of all steps.
 * @param {any} graph
 * @param {any[]} causes
 */
export function incidence(graph, causes) {
  const name = (/** @type {number|undefined} */ number) => {
    const node = graph.nodes.find((/** @type {any} */ one) => one.node === number);
    return node ? `${node.procedure}${node.line ? ` ${fileName(node.file)}:${node.line}` : ''}` : '';
  };
  const shown = new Set(causes.map(({ edge }) => edge));
  const steps = (/** @type {(from: number|undefined) => boolean} */ from, /** @type {number} */ to) =>
    graph.transitions.filter((/** @type {any} */ one) => one.to === to && from(one.from)).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.percent, 0);
  const line = (/** @type {string} */ title, /** @type {(from: number|undefined) => boolean} */ from) => ({ title, cells: causes.map(({ edge }) => steps(from, edge)) });
  const from = [
    ...causes.map(({ edge }) => line(`from ${edge}`, (one) => one === edge)),
    line('elsewhere', (one) => one === undefined || !shown.has(one)),
  ];
  return {
    causes: causes.map((cause) => ({
      cause, read: name(cause.to), through: cause.through ?? '', at: cause.through_line ? `${cause.through_procedure} ${fileName(cause.through_file)}:${cause.through_line}` : '', write: name(cause.from),
      pattern: patternsOf(cause.patterns)[0]?.pattern,
    })),
    from: from.filter(({ cells }) => cells.some((share) => share > 0)),
  };
}
