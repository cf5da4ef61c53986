/** Time histograms of any metrics of any nodes on one axis of time, over the timeline's window; with their legend, chooser and definitions. */

import { aligned, curvesOf, DEFAULT, metricsOf, MOST, NONE, styleOf, textsOf, valueAt } from '../model/curves.js';
import { shorten } from '../model/names.js';
import { amount } from '../model/quantity.js';
import { scalesOf, unitText } from '../model/scales.js';
import { wordsOf } from '../model/summary.js';
import { asked, ticks } from '../model/timelinewindow.js';
import uPlot from '../vendor/uPlot.esm.js';
import { catalogueOf } from './catalogue.js';
import { chooser } from './curvechooser.js';
import { drawn, Labels, written } from './curvescales.js';
import { askCurve } from './curvestore.js';
import { definitions } from './definitions.js';
import { drawing, element } from './element.js';
import { colours } from './palette.js';

/** @typedef {import('../model/timelinewindow.js').Window} Window */

/** Pixels of one bin; milliseconds for which a window must rest. */
const [BIN, REST] = [3, 120];

/** Pixels of the drawing: an eighth of the window, so that the rows below have the most of it. */
const heightOf = () => Math.min(140, Math.max(80, Math.round(innerHeight / 8)));

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
    this.notes = element('p.timeline-note', { 'data-part': 'curve-notes' });
    this.catalogue = catalogueOf(context);
    const defined = element('div.curve-defined');
    this.element = element('div.curves', { 'data-part': 'curves' },
      element('div.curve-bar', null, this.list, defined, chooser(context, states, this.catalogue, (curve) => this.choose([...this.chosen, curve]))), this.said, this.plotBox, this.notes);
    this.catalogue.then((catalogue) => defined.append(definitions(context, catalogue, metricsOf(states).map(({ metric }) => metric), (name) => ({
      curves: textsOf(curvesOf([...(textsOf(this.chosen) ?? [DEFAULT]).filter((text) => text !== NONE), `${name}@program`])),
    }))));
    /** @type {import('../model/scales.js').Scale[]} those of the chosen curves, as they are drawn */
    this.scales = [];
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
    const catalogue = this.context.place.define ? await this.catalogue : undefined;
    await Promise.all(this.chosen.map(async (curve) => {
      const key = `${curve.metric}@${curve.node}`;
      try {
        this.answers.set(key, await askCurve(curve, question, catalogue));
      } catch (error) {
        this.answers.set(key, { error });
      }
    }));
    if (window !== this.window || this.context.signal.aborted) return;
    this.element.removeAttribute('aria-busy');
    this.fill();
  }

  fill() {
    if (JSON.stringify(this.scaling()) !== JSON.stringify(this.scales)) return this.rebuild();
    const { times, values } = aligned(this.chosen.map((curve) => this.answerOf(curve)));
    this.plot?.setData([times, ...values], false);
    this.plot?.setScale('x', { min: this.window.from, max: this.window.to });
    this.drawList();
    this.say();
  }

  /** What the answers say of themselves, and what is drawn without an axis. */
  say() {
    const told = this.chosen.flatMap((curve) => this.answerOf(curve)?.notes ?? []);
    const own = this.chosen.filter((_, index) => this.scales[index]?.side === 'own').map((curve) => this.answerOf(curve)?.title ?? curve.metric);
    const sentences = [...new Set(told), ...(own.length > 0 ? [`Two units have an axis; of another unit, and drawn to its own height: ${own.join(', ')}.`] : [])];
    this.notes.replaceChildren(...wordsOf(sentences.join(' ')).map(({ text, isName }) => (isName ? element('code', null, text) : text)));
  }

  scaling() {
    return scalesOf(this.chosen.map((curve) => this.answerOf(curve)?.unit));
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
    this.scales = this.scaling();
    this.drawList();
    this.say();
    if (this.width === 0 || this.chosen.length === 0) return;
    const { of } = colours();
    const axis = { stroke: of('faint'), grid: { stroke: of('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
    const series = this.chosen.map((curve, index) => {
      const style = styleOf(index);
      return { label: curve.metric, scale: this.scales[index].key, stroke: of(style.colour), width: 1.5, dash: style.dash, gaps: beyond, paths: uPlot.paths.stepped?.({ align: 1 }), points: { show: false } };
    });
    const labels = new Labels(this.scales);
    this.plot = new uPlot({
      width: this.names + this.width, height: heightOf(), padding: [6, 0, 0, 0], legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: { x: { time: false, auto: false, min: this.window.from, max: this.window.to }, ...drawn(this.scales) },
      axes: [
        { ...axis, size: 4, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map(() => ''), splits: () => ticks(this.window, this.width).map(({ seconds }) => seconds) },
        { ...axis, scale: 'left', size: this.names, values: written },
      ],
      series: [{}, ...series],
      hooks: { draw: [(/** @type {any} */ plot) => labels.show(plot)] },
    }, [[], ...this.chosen.map(() => [])], this.plotBox);
    this.plotBox.append(...labels.parts);
    labels.show(this.plot);
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
    if (!answer || this.cursor === null) return '';
    const value = valueAt(answer, this.cursor);
    return value === null ? 'no value' : amount(value, answer.unit);
  }

  drawList() {
    const { of } = colours();
    this.list.replaceChildren(...this.chosen.map((curve, index) => {
      const key = `${curve.metric}@${curve.node}`;
      const answer = this.answers.get(key);
      const title = answer?.title ?? curve.metric;
      const node = curve.node === 'program' ? 'of the program' : `of ${curve.node}`;
      return element('li', { 'data-row': key, title: `${title} ${node}` }, sample(styleOf(index), of),
        element('span', null, `${title} `, element('span.faint', null, shorten(node, 44), answer?.unit !== undefined ? `, ${unitText(answer.unit)}${SIDES[this.scales[index]?.side ?? 'left']}` : '')),
        answer?.error && element('span', { role: 'alert' }, `no answer: ${answer.error.message}`),
        element('output', null, this.valueOf(curve)),
        element('button', { 'aria-label': `take ${title} ${node} away`, title: 'Take away', onclick: () => this.choose(this.chosen.filter((_, other) => other !== index)) }, '×'));
    }), ...(this.chosen.length === 0 ? [element('li.faint', null, 'No curve is chosen.',
      element('button', { onclick: () => this.choose(curvesOf([DEFAULT])) }, 'Effective parallelism'))] : []));
    this.plotBox.setAttribute('aria-label', `Curves over time: ${this.chosen.map((curve) => `${curve.metric} of ${curve.node}${this.answerOf(curve) ? ` in ${unitText(this.answerOf(curve).unit)}` : ''}`).join(', ') || 'none'}`);
  }
}

/**
 * Gaps of a curve, in pixels of the screen: a step that ends a gap is no part of the curve, and its line is as wide as that.
 * @param {any} _ @param {number} __ @param {number} ___ @param {number} ____ @param {[number, number][]} gaps
 */
const beyond = (_, __, ___, ____, gaps) => gaps.map(([from, to]) => /** @type {[number, number]} */ ([from, to + Math.ceil(2 * devicePixelRatio)]));

/** Where a curve's scale is written. */
const SIDES = { left: '', right: ' (right)', own: ' (own height)' };

/**
 * A piece of a curve's line.
 * @param {{colour: string, dash: number[]}} style
 * @param {(name: string) => string} of
 */
const sample = ({ colour, dash }, of) => drawing('svg', { width: 34, height: 10, 'aria-hidden': 'true' },
  drawing('line', { x1: 0, x2: 34, y1: 5, y2: 5, stroke: of(colour), 'stroke-width': 2.5, 'stroke-dasharray': dash.join(' ') || undefined }));
