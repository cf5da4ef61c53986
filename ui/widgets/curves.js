/** Time histograms of any metrics of any nodes on one axis, over the timeline's window; with their legend and chooser. */

import { aligned, curvesOf, DEFAULT, MOST, styleOf, textsOf, valueAt } from '../model/curves.js';
import { shorten } from '../model/names.js';
import { asked, ticks } from '../model/timelinewindow.js';
import uPlot from '../vendor/uPlot.esm.js';
import { chooser } from './curvechooser.js';
import { askCurve } from './curvestore.js';
import { drawing, element } from './element.js';
import { colours } from './palette.js';

/** @typedef {import('../model/timelinewindow.js').Window} Window */

/** Pixels of the drawing, and of one bin; milliseconds for which a window must rest. */
const [HEIGHT, BIN, REST] = [140, 3, 120];

export class Curves {
  /**
   * @param {import('../main.js').Context} context
   * @param {{elapsed: number, window: Window, states: any[]}} run
   */
  constructor(context, { elapsed, window, states }) {
    this.context = context;
    this.elapsed = elapsed;
    this.window = window;
    /** @type {(over: HTMLElement) => void} called with what lies over a new drawing: it has the window's left and width */
    this.built = () => {};
    this.chosen = curvesOf(context.place.curves);
    /** @type {Map<string, any>} the newest answer of each curve, or its failure */
    this.answers = new Map();
    this.plotBox = element('div.plot');
    this.list = element('ul.curve-list', { 'data-part': 'curve-legend', 'aria-label': 'Curves' });
    this.said = element('p.timeline-note', { role: 'status' });
    this.element = element('div.curves', { 'data-part': 'curves' }, 
      element('div.curve-bar', null, this.list, chooser(context, states, (curve) => this.choose([...this.chosen, curve]))), this.said, this.plotBox);
    this.names = 0;
    this.width = 0;
    /** @type {any} */
    this.plot = undefined;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.timer = undefined;
    /** @type {number|null} */
    this.cursor = null;
  }

  /** @param {{metric: string, node: string}[]} curves */
  choose(curves) {
    const texts = textsOf(curves);
    this.chosen = curvesOf(texts);
    this.said.textContent = curves.length > MOST ? `No more than ${MOST} curves can be told apart: take one away first.` : '';
    this.context.note({ curves: texts });
    this.rebuild();
    this.fetch();
  }

  /**
   * @param {number} names pixels left of the axis
   * @param {number} width pixels of the window
   */
  measure(names, width) {
    if (names === this.names && width === this.width) return;
    [this.names, this.width] = [names, width];
    this.rebuild();
    this.fetch();
  }

  /** @param {Window} window */
  show(window) {
    this.window = window;
    this.plot?.setScale('x', { min: window.from, max: window.to });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetch(), REST);
  }

  async fetch() {
    if (this.width === 0 || this.context.signal.aborted) return;
    const { window } = this;
    const isWhole = window.to - window.from > this.elapsed * 0.9999;
    const bins = Math.max(20, Math.floor(this.width / BIN));
    const question = { io: this.context.place.io, ...(isWhole ? { bins } : asked(window, bins, this.elapsed, 0.2)) };
    this.element.setAttribute('aria-busy', 'true');
    await Promise.all(this.chosen.map(async (curve) => {
      const key = `${curve.metric}@${curve.node}`;
      try {
        this.answers.set(key, await askCurve(curve, question));
      } catch (error) {
        this.answers.set(key, { error });
      }
    }));
    if (window !== this.window || this.context.signal.aborted) return;
    this.element.removeAttribute('aria-busy');
    this.fill();
  }

  fill() {
    const { times, values } = aligned(this.chosen.map((curve) => this.answerOf(curve)));
    this.plot?.setData([times, ...values], false);
    this.plot?.setScale('x', { min: this.window.from, max: this.window.to });
    this.drawList();
  }

  /** @param {{metric: string, node: string}} curve */
  answerOf({ metric, node }) {
    const answer = this.answers.get(`${metric}@${node}`);
    return answer?.error ? undefined : answer;
  }

  /** Makes the drawing anew, with a line for each curve. */
  rebuild() {
    this.plot?.destroy();
    this.plot = undefined;
    this.plotBox.replaceChildren();
    this.drawList();
    if (this.width === 0 || this.chosen.length === 0) return;
    const { of } = colours();
    const axis = { stroke: of('faint'), grid: { stroke: of('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
    const series = this.chosen.map((curve, index) => {
      const style = styleOf(index);
      return { label: curve.metric, stroke: of(style.colour), width: 1.5, dash: style.dash, paths: uPlot.paths.stepped?.({ align: 1 }), points: { show: false } };
    });
    this.plot = new uPlot({
      width: this.names + this.width, height: HEIGHT, padding: [6, 0, 0, 0], legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: { x: { time: false, auto: false, min: this.window.from, max: this.window.to }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ max) => [0, max > 0 ? max * 1.05 : 1] } },
      axes: [
        { ...axis, size: 4, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map(() => ''), splits: () => ticks(this.window, this.width).map(({ seconds }) => seconds) },
        { ...axis, size: this.names },
      ],
      series: [{}, ...series],
    }, [[], ...this.chosen.map(() => [])], this.plotBox);
    this.plotBox.append(element('span.curve-unit.faint', { 'aria-hidden': 'true' }, 'threads'));
    this.plotBox.setAttribute('role', 'img');
    this.built(this.plot.over);
    this.fill();
  }

  /** Shows the values at a moment. @param {number|null} cursor */
  at(cursor) {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    this.plot?.setCursor({ left: cursor === null ? -10 : this.plot.valToPos(cursor, 'x'), top: 0 }, false);
    this.list.querySelectorAll('output').forEach((/** @type {HTMLElement} */ output, /** @type {number} */ index) => {
      output.textContent = this.valueOf(this.chosen[index]);
    });
  }

  /** @param {{metric: string, node: string}} curve */
  valueOf(curve) {
    const answer = this.answerOf(curve);
    const value = answer && this.cursor !== null ? valueAt(answer, this.cursor) : null;
    return value === null ? '' : value.toFixed(2);
  }

  drawList() {
    const { of } = colours();
    this.list.replaceChildren(...this.chosen.map((curve, index) => {
      const key = `${curve.metric}@${curve.node}`;
      const answer = this.answers.get(key);
      const title = answer?.title ?? curve.metric;
      const node = curve.node === 'program' ? 'of the program' : `of ${curve.node}`;
      return element('li', { 'data-row': key, title: `${title} ${node}` }, sample(styleOf(index), of),
        element('span', null, `${title} `, element('span.faint', null, shorten(node, 44))),
        answer?.error && element('span', { role: 'alert' }, `no answer: ${answer.error.message}`),
        element('output', null, this.valueOf(curve)),
        element('button', { 'aria-label': `take ${title} ${node} away`, title: 'Take away', onclick: () => this.choose(this.chosen.filter((_, other) => other !== index)) }, '×'));
    }), ...(this.chosen.length === 0 ? [element('li.faint', null, 'No curve is chosen.',
      element('button', { onclick: () => this.choose(curvesOf([DEFAULT])) }, 'Effective parallelism'))] : []));
    this.plotBox.setAttribute('aria-label', `Curves over time, mean number of threads: ${this.chosen.map(({ metric, node }) => `${metric} of ${node}`).join(', ') || 'none'}`);
  }
}

/**
 * A piece of a curve's line.
 * @param {{colour: string, dash: number[]}} style
 * @param {(name: string) => string} of
 */
const sample = ({ colour, dash }, of) => drawing('svg', { width: 34, height: 10, 'aria-hidden': 'true' },
  drawing('line', { x1: 0, x2: 34, y1: 5, y2: 5, stroke: of(colour), 'stroke-width': 2.5, 'stroke-dasharray': dash.join(' ') || undefined }));
