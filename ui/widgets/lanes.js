/** The timeline's rows on the page: names on the left, the canvas beside them, both scrolled together; the axis above. */

import { shorten } from '../model/names.js';
import { time } from '../model/quantity.js';
import { between, blocksOf, indexAt, layout } from '../model/timelinerows.js';
import { moment, pixelAt, secondsAt } from '../model/timelinewindow.js';
import { binAt, cover } from '../model/frames.js';
import { element } from './element.js';
import { BLOCK } from './framestore.js';
import { paintAxis, paintLanes } from './lanespainter.js';
import { colours } from './palette.js';

/** @typedef {import('../model/timelinewindow.js').Window} Window */
/** @typedef {import('../model/timelinerows.js').Row} Row */

/**
 * What the timeline shows; the view changes it and asks for a new drawing.
 * @typedef {object} Shown
 * @property {Window} window
 * @property {Window|null} phase
 * @property {Window|null} brush
 * @property {number|null} cursor where the pointer is, or where keys moved it
 * @property {number|null} told the moment of the chosen thread that is told of
 * @property {string|undefined} chosen
 * @property {Set<string>} folded
 * @property {any[]|null} wakes
 * @property {boolean} isLow whether rows may be too low for their names
 */

/** Pixels of the axis. */
const AXIS = 24;

/** Rows that were scrolled to, so that a new drawing of the view is where the old one was. */
let scrolled = 0;

export class Lanes {
  /**
   * @param {import('./framestore.js').FrameStore} store
   * @param {Shown} shown
   * @param {{fold: (key: string) => void, choose: (key: string) => void, drawn: (counts: import('./lanespainter.js').Counts) => void}} told
   */
  constructor(store, shown, told) {
    this.store = store;
    this.shown = shown;
    this.told = told;
    this.names = element('div.lane-names');
    this.canvas = element('canvas.lane-canvas', { 'aria-hidden': 'true' });
    this.sheet = element('div.lane-sheet', null, this.names, this.canvas);
    this.tip = element('div.lane-tip', { hidden: true, 'aria-hidden': 'true' });
    this.scroller = element('div.lanes', { tabindex: '0', role: 'application', 'data-part': 'lanes', 'aria-roledescription': 'timeline', onscroll: () => this.redraw() }, this.sheet);
    this.axis = element('canvas.axis', { 'aria-hidden': 'true', 'data-part': 'axis' });
    this.waiting = element('p.lane-waiting.loading', { role: 'status', hidden: true }, 'Analysing the recording…');
    this.element = element('div.timeline', null, this.axis, this.scroller, this.waiting, this.tip);
    this.nameWidth = 0;
    this.width = 0;
    this.height = 0;
    this.isDue = false;
    this.isFresh = true;
    /** Milliseconds that a drawing took, on average over the last ones. */
    this.cost = 0;
    this.colours = colours();
    /** The window's height, for which rows are laid out. */
    this.room = 0;
    /** Which names are drawn. */
    this.nameKey = '';
    this.rows = this.arrange();
  }

  /** Lays the rows out, as they are folded. */
  arrange() {
    this.room = innerHeight;
    const rows = layout(this.store.roster, this.shown.folded, Math.max(260, innerHeight * 0.55), this.shown.isLow);
    this.sheet.style.setProperty('height', `${rows.height}px`);
    this.height = Math.min(rows.height, Math.max(260, Math.round(innerHeight * 0.6)));
    this.scroller.style.setProperty('max-height', `${this.height + 2}px`);
    return rows;
  }

  /** Takes the size that the page gives; called when it is in the page, and when that changes its size. */
  measure() {
    const whole = this.scroller.clientWidth;
    if (whole === 0) return;
    this.nameWidth = whole < 520 ? 104 : 190;
    this.width = Math.max(60, whole - this.nameWidth);
    this.element.style.setProperty('--names', `${this.nameWidth}px`);
    size(this.canvas, this.width, this.height);
    size(this.axis, this.width, AXIS);
    this.colours = colours();
    if (this.isFresh) this.scroller.scrollTop = scrolled;
    this.isFresh = false;
    this.nameKey = '';
    this.paint();
  }

  /** Draws in the next frame of the screen, once. */
  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      if (this.canvas.isConnected) this.paint();
    });
  }

  paint() {
    const begun = performance.now();
    const { shown, width, height } = this;
    const top = this.scroller.scrollTop;
    scrolled = top;
    const visible = between(this.rows.rows, top, top + height);
    const blocks = blocksOf(visible, BLOCK);
    this.store.want(shown.window, Math.round(width * devicePixelRatio), blocks);
    this.waiting.hidden = blocks.length === 0 || blocks.some((block) => this.store.frames(block).length > 0) || !this.store.isWaiting;
    this.scroller.setAttribute('aria-busy', String(this.store.isWaiting));
    const context = this.canvas.getContext('2d');
    const scene = { ...shown, width, height, top, rows: this.rows.rows, visible, threadHeight: this.rows.threadHeight, store: this.store, colours: this.colours, budget: { left: 1, isSpent: false } };
    const counts = paintLanes(context, scene);
    if (scene.budget.isSpent) this.redraw();
    const label = shown.cursor === null ? '' : moment(shown.cursor, (shown.window.to - shown.window.from) / width);
    paintAxis(this.axis.getContext('2d'), { ...scene, height: AXIS, label });
    this.drawNames(visible);
    this.cost += (performance.now() - begun - this.cost) / 8;
    this.scroller.dataset.drawMilliseconds = this.cost.toFixed(2);
    this.told.drawn(counts);
  }

  /**
   * Names of the rows that are seen, where there is room for them.
   * @param {Row[]} visible
   */
  drawNames(visible) {
    const key = `${visible[0]?.key} ${visible.at(-1)?.key} ${visible.length} ${this.shown.chosen}`;
    if (key === this.nameKey) return;
    this.nameKey = key;
    const room = Math.floor((this.nameWidth - 20) / 7.3);
    this.names.replaceChildren(...visible.filter((row) => row.height >= 11 || row.kind !== 'thread' || row.key === this.shown.chosen)
      .map((row) => (row.kind === 'thread' ? this.threadName(row, room) : this.groupName(row, room))));
  }

  /**
   * @param {Row} row
   * @param {number} room
   */
  threadName(row, room) {
    const { pid, tid, process } = this.store.roster[row.index];
    const made = element('div.lane-name', {
      'data-row': `thread:${tid}`, title: `${row.title}\nthread ${tid} of ${process} ${pid}`, onclick: () => this.told.choose(row.key),
    }, shorten(row.title, room));
    made.classList.toggle('is-chosen', row.key === this.shown.chosen);
    made.classList.toggle('is-alone', row.isAlone);
    return placed(made, row.top, Math.max(row.height, row.key === this.shown.chosen ? 14 : 0));
  }

  /**
   * @param {Row} row
   * @param {number} room
   */
  groupName(row, room) {
    const threads = `${row.count} ${row.count === 1 ? 'thread' : 'threads'}`;
    const made = element('button.lane-group', {
      'data-row': `${row.kind}:${row.key}`, 'aria-expanded': String(!row.isFolded), title: `${row.title}, ${threads}\n${row.isFolded ? 'Unfold' : 'Fold'}`,
      onclick: () => this.told.fold(row.key),
    }, `${row.isFolded ? '▸' : '▾'} ${shorten(row.title, room - 2)}`, row.isFolded && element('span.faint', null, ` ${threads}`));
    return placed(made, row.top, row.height);
  }

  /** @param {number} x pixels in the canvas */
  secondsAt(x) {
    return secondsAt(this.shown.window, this.width, Math.min(Math.max(x, 0), this.width));
  }

  /** @param {number} y pixels in the canvas @returns {Row|undefined} */
  rowAt(y) {
    const row = this.rows.rows[indexAt(this.rows.rows, y + this.scroller.scrollTop)];
    return row && y + this.scroller.scrollTop < row.top + row.height ? row : undefined;
  }

  /** Scrolls so that a row is seen. @param {Row} row */
  reveal(row) {
    if (row.top < this.scroller.scrollTop) this.scroller.scrollTop = row.top;
    else if (row.top + row.height > this.scroller.scrollTop + this.height) this.scroller.scrollTop = row.top + row.height - this.height;
  }

  /**
   * What the best frame says of a thread at a moment.
   * @param {number} index of the thread in the roster
   * @param {number} seconds
   */
  binAt(index, seconds) {
    const wanted = (this.shown.window.to - this.shown.window.from) / (this.width * devicePixelRatio);
    const [part] = cover({ from: seconds, to: seconds + wanted }, this.store.frames(Math.floor(index / BLOCK)), wanted);
    const frame = part?.frame ?? this.store.whole;
    const bin = frame && binAt(frame, index, seconds);
    return bin && { ...bin, frame };
  }

  /**
   * Says shortly what is below the pointer.
   * @param {number} x
   * @param {number} y
   */
  showTip(x, y) {
    const row = this.rowAt(y);
    const bin = row?.kind === 'thread' ? this.binAt(row.index, this.secondsAt(x)) : undefined;
    this.tip.hidden = !bin;
    if (!bin || !row) return;
    const states = bin.mix.map(([state, eighths]) => `${bin.frame.states[state].title}${eighths < 8 ? ` ${Math.round(eighths * 12.5)} %` : ''}`);
    this.tip.replaceChildren(element('strong', null, shorten(row.title, 40)), element('div', null, states.join(', ')),
      element('div.faint', null, `${bin.path > 0 ? 'on the critical path · ' : ''}in ${time(bin.to - bin.from)}`));
    const left = this.nameWidth + x + 14;
    const isRight = left > this.nameWidth + this.width - 190;
    this.tip.style.setProperty('left', isRight ? 'auto' : `${left}px`);
    this.tip.style.setProperty('right', isRight ? `${this.width - x + 14}px` : 'auto');
    this.tip.style.setProperty('top', `${Math.min(y, this.height - 40) + AXIS + 14}px`);
  }

  hideTip() {
    this.tip.hidden = true;
  }

  /** @param {number} seconds */
  pixelAt(seconds) {
    return pixelAt(this.shown.window, this.width, seconds);
  }
}

/**
 * @param {HTMLElement} made
 * @param {number} top
 * @param {number} height
 */
function placed(made, top, height) {
  made.style.setProperty('top', `${top}px`);
  made.style.setProperty('height', `${height}px`);
  made.style.setProperty('line-height', `${height}px`);
  return made;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function size(canvas, width, height) {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  canvas.style.setProperty('width', `${width}px`);
  canvas.style.setProperty('height', `${height}px`);
}
