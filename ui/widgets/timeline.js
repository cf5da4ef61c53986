/** The timeline as a whole: its rows, curves, tools and what is said below them, kept in step with each other and with the URL. */

import { cover, shares } from '../model/frames.js';
import { shorten } from '../model/names.js';
import { count, percent, phase as phaseText, phaseSeconds, time } from '../model/quantity.js';
import { blocksOf, nameThreads } from '../model/timelinerows.js';
import { clamped, moment, nanoseconds, words } from '../model/timelinewindow.js';
import { visible } from '../model/visible.js';
import { Curves } from './curves.js';
import { element } from './element.js';
import { BLOCK } from './framestore.js';
import { listen } from './gestures.js';
import { Lanes } from './lanes.js';
import { legend } from './legend.js';
import { drawMoment } from './moment.js';
import { askedOf, gesturesOf } from './timelineactions.js';
import { press } from './timelinekeys.js';
import { timelineTools } from './timelinetools.js';
import { Wakes } from './wakes.js';

/** @typedef {import('../model/timelinewindow.js').Window} Window */

/** Milliseconds after which a window that is not moved any more is written into the URL and put into words. */
const REST = 200;

export class Timeline {
  /**
   * @param {import('../main.js').Context} context
   * @param {import('./framestore.js').FrameStore} store
   */
  constructor(context, store) {
    const { place, recording } = context;
    this.context = context;
    this.store = store;
    this.isExport = Boolean(recording.is_export);
    this.names = nameThreads(store.roster);
    const phase = phaseSeconds(place.phase);
    /** @type {import('./lanes.js').Shown} */
    this.shown = {
      window: clamped({ from: Number(place.from ?? 0), to: Number(place.to ?? store.elapsed) }, store.elapsed),
      phase: phase && { from: phase[0], to: phase[1] }, brush: null, cursor: null,
      told: place.time === undefined ? null : Number(place.time), chosen: this.threadOf(place), folded: new Set([place.folded ?? []].flat()), wakes: null, isLow: place.rows === 'low',
    };
    this.isPanning = false;
    this.failure = '';
    if (this.shown.chosen === undefined || !Number.isFinite(this.shown.told)) this.shown.told = null;
    /** @type {import('./lanespainter.js').Counts} */
    this.counts = { handoffs: 0, isExact: true, drawn: 0, wakes: 0 };
    this.said = element('p.aside-text', { role: 'status', 'data-part': 'said' });
    this.note = element('p.timeline-note', { 'data-part': 'note' });
    this.legend = element('div');
    this.moment = element('div', { 'data-part': 'moment' });
    this.lanes = new Lanes(store, this.shown, {
      fold: (key) => this.fold(key), choose: (key) => this.choose(key), drawn: (counts) => this.drawn(counts),
    });
    this.wakes = new Wakes(() => this.showWakes());
    this.curves = new Curves(context, { elapsed: store.elapsed, window: this.shown.window, states: store.states });
    this.tools = timelineTools(this.isExport, askedOf(this));
    this.parts = [this.tools.element, this.curves.element, this.lanes.element, this.legend, this.note, this.said, this.moment];
  }

  /** @param {import('../model/query.js').Place} place @returns {string|undefined} a thread's id */
  threadOf(place) {
    const name = /^thread:(.*)$/.exec(place.of ?? '')?.[1];
    const found = name === undefined
      ? this.store.roster.find(({ id }) => String(id) === place.thread)
      : this.store.roster.find((thread, index) => [this.names[index], `${thread.thread} #${thread.tid}`, String(thread.tid), thread.thread].includes(name));
    return found && String(found.id);
  }

  /** Begins, when the parts are in the page. */
  start() {
    const { signal } = this.context;
    const { store, lanes } = this;
    store.arrived = () => {
      this.failure = '';
      this.arrived();
    };
    store.failed = (error) => {
      this.failure = [`No answer: ${error?.message ?? error}.`, ...(error?.hints ?? [])].join(' ');
      this.say();
      lanes.redraw();
    };
    lanes.measure();
    const size = new ResizeObserver(() => this.measure());
    size.observe(lanes.element);
    signal.addEventListener('abort', () => size.disconnect());
    addEventListener('resize', () => this.measure(), { signal });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour(), { signal });
    const row = lanes.rows.rows.find((row) => row.kind === 'thread' && row.key === this.shown.chosen);
    if (row) lanes.reveal(row);
    const [gestures, options] = [gesturesOf(this), { signal, isPanning: () => this.isPanning }];
    const along = { ...gestures, hover: (/** @type {number} */ x) => this.point(lanes.secondsAt(x)), click: () => {} };
    listen(lanes.canvas, gestures, options);
    listen(lanes.axis, along, options);
    this.curves.built = (over) => listen(over, along, options);
    this.curves.measure(lanes.nameWidth, lanes.width);
    this.listenForKeys(signal);
    if (this.context.place.arrows === '1' && !this.isExport) this.switchArrows(true);
    if (this.shown.told !== null) this.tell(this.shown.told);
    this.settle();
  }

  measure() {
    const { lanes } = this;
    const whole = lanes.scroller.clientWidth;
    if (whole === 0 || (whole === lanes.nameWidth + lanes.width && innerHeight === lanes.room)) return;
    if (innerHeight !== lanes.room) lanes.rows = lanes.arrange();
    lanes.measure();
    this.curves.measure(lanes.nameWidth, lanes.width);
  }

  recolour() {
    this.lanes.measure();
    this.curves.rebuild();
    this.settle();
  }

  arrived() {
    this.lanes.redraw();
    this.rest();
  }

  /** @param {Window} window */
  setWindow(window) {
    this.shown.window = window;
    this.lanes.redraw();
    this.curves.show(window);
    if (this.shown.wakes) this.wakes.want(window);
    this.rest();
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), REST);
  }

  /** Writes what is shown into the URL and into words. */
  settle() {
    clearTimeout(this.timer);
    if (this.context.signal.aborted) return;
    this.write();
    const { rows } = this.lanes.rows;
    const frames = blocksOf(rows, BLOCK).flatMap((block) => {
      const wanted = (this.shown.window.to - this.shown.window.from) / this.lanes.width;
      return cover(this.shown.window, this.store.frames(block), wanted).slice(0, 1).map(({ frame }) => frame);
    });
    const states = shares(frames, this.shown.window);
    this.legend.replaceChildren(legend(states, this.context));
    const part = states.slice(0, 4).map(({ title, share }) => `${title} ${percent(share * 100)}`).join(', ');
    this.lanes.scroller.setAttribute('aria-label', `Timeline of ${this.store.roster.length} threads from ${words(this.shown.window)}: ${part}. `
      + 'Arrows choose a thread and move the window, enter tells what the thread does. The table below has the same in numbers.');
    this.say();
  }

  write() {
    const { window, chosen, told, folded } = this.shown;
    const isWhole = window.to - window.from > this.store.elapsed * 0.99999;
    this.context.note({
      from: isWhole ? undefined : nanoseconds(window.from), to: isWhole ? undefined : nanoseconds(window.to), of: undefined,
      thread: chosen, time: told === null ? undefined : nanoseconds(told), folded: [...folded], arrows: this.shown.wakes ? '1' : undefined, rows: this.shown.isLow ? 'low' : undefined,
    });
  }

  /** Goes to a phase, so that every view is about it. @param {Window|null} phase */
  go(phase) {
    if (this.isExport && phase) {
      this.setWindow(clamped(phase, this.store.elapsed));
      return;
    }
    this.write();
    this.context.go({ phase: phase ? phaseText(phase.from, phase.to) : undefined });
  }

  /** A phase that the URL does not give in seconds. @param {Window} phase */
  showPhase(phase) {
    this.shown.phase = phase;
    this.lanes.redraw();
  }

  /** @param {import('./lanespainter.js').Counts} counts */
  drawn(counts) {
    this.counts = counts;
    this.tools.show(this.shown, this.lanes.rows.height <= this.lanes.height);
    this.curves?.at(this.shown.cursor);
  }

  /** What is not in the picture, and why. */
  say() {
    const { handoffs, isExact, drawn } = this.counts;
    const isCoarse = this.store.frames(0).some((frame) => frame.isCoarse && frame.from <= this.shown.window.from && frame.to >= this.shown.window.to);
    const { rows, height } = this.lanes;
    const threads = rows.rows.filter(({ kind }) => kind === 'thread').length;
    const parts = [
      this.failure,
      rows.height > height && `${Math.floor(height / rows.threadHeight)} of ${threads} threads are in sight: the wheel over the names scrolls to the others.`,
      drawn > 0 && (drawn < handoffs ? `${drawn} of ${isExact ? '' : 'about '}${count(handoffs)} hand-offs of the critical path are drawn: zoom in for the rest.` : `${handoffs} ${handoffs === 1 ? 'hand-off' : 'hand-offs'} of the critical path.`),
      this.shown.wakes && (this.wakes.failure ? `No wakes: ${this.wakes.failure}.` : `${this.counts.wakes} of ${this.wakes.total} wakes are drawn as arrows.`),
      isCoarse && this.store.whole && `This file holds the run in ${this.store.whole.bins} steps of ${time(this.store.elapsed / this.store.whole.bins)}: nothing shorter can be seen. \`longpole view\` on the recording shows it.`,
    ];
    this.note.textContent = parts.filter(Boolean).join(' ');
  }

  /** Lays the rows out anew. */
  arrange() {
    this.lanes.rows = this.lanes.arrange();
    this.lanes.measure();
    this.settle();
  }

  /** Makes rows as low as fits, or as high as their names need. */
  switchRows() {
    this.shown.isLow = !this.shown.isLow;
    this.arrange();
    const row = this.lanes.rows.rows.find(({ kind, key }) => kind === 'thread' && key === this.shown.chosen);
    if (row) this.lanes.reveal(row);
  }

  /** @param {string} key of a group */
  fold(key) {
    const { folded } = this.shown;
    if (!folded.delete(key)) folded.add(key);
    this.arrange();
    /** @type {HTMLElement|null} */ (this.lanes.names.querySelector(`[data-row$="${CSS.escape(`:${key}`)}"]`))?.focus();
  }

  /** @param {string} key a thread's id */
  choose(key) {
    this.shown.chosen = key;
    const row = this.lanes.rows.rows.find((row) => row.kind === 'thread' && row.key === key);
    if (!row) return;
    this.lanes.reveal(row);
    this.lanes.redraw();
    const seconds = this.shown.cursor;
    const bin = seconds === null ? undefined : this.lanes.binAt(row.index, seconds);
    const mix = bin?.mix.map(([state]) => bin.frame.states[state].title).join(' and ');
    this.said.textContent = `thread ${visible(row.title)}${mix ? `: ${mix} at ${time(seconds ?? 0)}` : ''}`;
    if (this.shown.told !== null) this.tell(this.shown.told);
    this.rest();
  }

  /** Tells what the chosen thread does at a moment. @param {number} seconds */
  tell(seconds) {
    const index = this.store.roster.findIndex(({ id }) => String(id) === this.shown.chosen);
    if (index < 0) return;
    this.shown.told = seconds;
    drawMoment(this.moment, this.context, {
      thread: this.store.roster[index], title: `${shorten(this.names[index], 60)} at ${moment(seconds, (this.shown.window.to - this.shown.window.from) / 1000)}`, seconds, bin: this.lanes.binAt(index, seconds), close: () => this.clear(),
      titleOf: (id) => this.names[this.store.roster.findIndex((thread) => thread.id === id)] ?? `thread ${id}`,
    });
    this.lanes.redraw();
    this.rest();
  }

  /** @param {number|null} seconds */
  point(seconds) {
    this.shown.cursor = seconds;
    this.lanes.redraw();
  }

  /** @param {boolean} isOn */
  switchArrows(isOn) {
    this.shown.wakes = isOn ? this.wakes.wakes : null;
    if (isOn) this.wakes.want(this.shown.window);
    this.arrived();
  }

  showWakes() {
    if (this.shown.wakes) this.shown.wakes = this.wakes.wakes;
    this.arrived();
  }

  clear() {
    if (this.shown.brush) this.shown.brush = null;
    else if (this.shown.chosen !== undefined) {
      this.shown.told = null;
      this.shown.chosen = undefined;
      this.moment.replaceChildren();
    } else if (this.context.place.phase) this.go(null);
    this.arrived();
  }

  /** @param {AbortSignal} signal */
  listenForKeys(signal) {
    const asked = askedOf(this);
    addEventListener('keydown', (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      // What lies over the view has its own keys.
      if (event.defaultPrevented || target.matches?.('input, select, textarea') || document.querySelector('dialog[open], [popover]:popover-open')) return;
      const isInside = target === this.lanes.scroller;
      if (event.key === ' ' && (isInside || target === document.body)) {
        this.isPanning = true;
        event.preventDefault();
      } else if (press(event, asked, isInside)) {
        event.preventDefault();
      }
    }, { signal });
    addEventListener('keyup', (event) => {
      if (event.key === ' ') this.isPanning = false;
    }, { signal });
    this.lanes.scroller.addEventListener('wheel', () => this.lanes.hideTip(), { signal, passive: true });
  }
}
