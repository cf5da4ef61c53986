/** A causality graph as a drawing: boxes of places and causes with arrows between them, each cause a link. */

import { boxesOf, curve, laidOut } from '../model/causality.js';
import { drawing, element } from './element.js';

/** Arrows of no and of all cost, pixels. */
const [THIN, THICK] = [1.2, 4.5];
/** A drawing that would be smaller than this share of its size is moved sideways instead. */
const SMALLEST = 0.72;

/**
 * @param {any} graph row of `causality`
 * @param {any[]} causes those that are drawn
 * @param {number|undefined} chosen
 * @param {(cause: number) => string} href
 * @param {number} width of the page's part that it becomes the content of, 0 where that is not known yet
 * @returns {HTMLElement}
 */
export function causalityGraph(graph, causes, chosen, href, width) {
  const frame = element('div.graph-frame.scroll', { 'data-part': 'graph', role: 'region', tabindex: '0', 'aria-label': `causality graph of ${graph.object}: ${causes.length} causes; the table below says the same` });
  const boxes = boxesOf(graph, causes, measured());
  let drawnFor = 0;
  const fill = (/** @type {number} */ room) => {
    if (room === 0 || room === drawnFor) return;
    drawnFor = room;
    frame.replaceChildren(drawn(laidOut(boxes, room), room, chosen, href));
  };
  fill(width);
  new ResizeObserver(() => fill(frame.clientWidth)).observe(frame);
  return frame;
}

/** Measures text as the drawing shows it. @returns {(text: string) => number} */
function measured() {
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  context.font = `600 12px ${getComputedStyle(document.documentElement).fontFamily}`;
  return (text) => context.measureText(text).width;
}

/**
 * @param {import('../model/causality.js').Drawing} plan
 * @param {number} room
 * @param {number|undefined} chosen
 * @param {(cause: number) => string} href
 */
function drawn(plan, room, chosen, href) {
  const scale = Math.min(1, Math.max(SMALLEST, room / plan.width));
  const head = (/** @type {string} */ id, /** @type {string} */ look) => drawing('marker', { id, viewBox: '0 0 8 8', refX: '7', refY: '4', markerWidth: '11', markerHeight: '11', markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' },
    drawing(`path.${look}`, { d: 'M0,0 L8,4 L0,8 z' }));
  return drawing('svg.causality', { viewBox: `0 0 ${plan.width} ${plan.height}`, width: Math.floor(plan.width * scale), height: Math.floor(plan.height * scale), role: 'group' },
    drawing('defs', null, head('arrow-head', 'head')),
    ...plan.arrows.map(({ points, share }) => drawing('path.arrow', { d: curve(points), 'stroke-width': (THIN + (THICK - THIN) * share).toFixed(1), 'marker-end': 'url(#arrow-head)' })),
    ...plan.boxes.map((box) => boxOf(box, box.cause !== undefined && box.cause === chosen, href)));
}

/**
 * @param {import('../model/causality.js').Box} box
 * @param {boolean} isChosen
 * @param {(cause: number) => string} href
 */
function boxOf(box, isChosen, href) {
  const { x, y, width, height, lines, kind, title } = box;
  const parts = [
    drawing('title', null, title),
    drawing(`rect${box.look ? `.look-${box.look}` : ''}`, { x, y, width, height, rx: kind === 'cause' ? 12 : 2 }),
    ...lines.map((line, at) => drawing(at === 0 ? 'text.name' : 'text', { x: x + width / 2, y: y + 19 + 16 * at, 'text-anchor': 'middle' }, line)),
  ];
  if (box.cause === undefined) return drawing('g.place', { 'data-box': box.id, 'data-roles': box.roles }, ...parts);
  return drawing('a.cause', {
    href: href(box.cause), 'data-box': box.id, 'data-roles': box.roles, 'data-cause': box.cause, 'aria-label': title, 'aria-current': isChosen ? 'true' : undefined,
  }, ...parts);
}
