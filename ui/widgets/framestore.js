/**
 * Frames of the timeline: asked for when the window has come to rest, kept while they are of use. While an answer is under way
 * earlier frames are drawn in its place. An exported file has one frame of the whole run, from which all others are cut.
 */

import { ask, exported } from '../api.js';
import { cut, decode } from '../model/frames.js';
import { asked } from '../model/timelinewindow.js';

/** @typedef {import('../model/frames.js').Frame} Frame */
/** @typedef {import('../model/timelinewindow.js').Window} Window */

/** Threads that are asked for together. */
export const BLOCK = 64;
/** Milliseconds for which a window must rest, frames kept of each block that is seen, of each other one, and what is asked for beside the window. */
const [REST, KEPT, UNSEEN, MARGIN] = [40, 5, 2, 0.25];

/** @type {Map<string, FrameStore>} by the critical path's weight and what idleness is; they outlive the drawings of the view */
const stores = new Map();

/** @param {import('../model/query.js').Place} place */
export function storeOf({ weight, io }) {
  const key = `${weight ?? ''} ${io ?? ''}`;
  let store = stores.get(key);
  if (!store) {
    store = new FrameStore({ weight, io });
    stores.set(key, store);
  }
  return store;
}

export class FrameStore {
  /** @param {{weight?: string, io?: string}} options of the analysis */
  constructor(options) {
    this.options = options;
    /** @type {any[]} all threads, without what they did */
    this.roster = [];
    /** @type {{name: string, title: string, kind: string}[]} */
    this.states = [];
    this.elapsed = 0;
    /** @type {Frame|undefined} of an exported file */
    this.whole = undefined;
    /** @type {Map<number, Frame[]>} by block, the newest first */
    this.kept = new Map();
    /** @type {{window: Window, pixels: number, blocks: number[]}|undefined} */
    this.wanted = undefined;
    this.isAsking = false;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.timer = undefined;
    /** What was asked for in vain: it is not asked for again until the window is another. */
    this.refused = '';
    /** @type {() => void} called when frames came */
    this.arrived = () => {};
    /** @type {(error: any) => void} */
    this.failed = () => {};
  }

  /** Learns which threads there are. */
  async open() {
    if (this.elapsed > 0) return;
    const file = await exported();
    const key = file && [...file.keys()].find((key) => key.startsWith('timeline?'));
    const answer = file && key ? file.get(key) : await ask('timeline', { ...this.options, bins: 1 });
    if (key) this.whole = decode(answer);
    this.roster = answer.threads.map((/** @type {any} */ { runs, path, ...thread }) => thread);
    this.states = answer.states;
    this.elapsed = answer.elapsed_seconds;
  }

  /** @param {number} block */
  frames(block) {
    return this.kept.get(block) ?? [];
  }

  /**
   * Says what is on the screen; what is missing of it is asked for.
   * @param {Window} window
   * @param {number} pixels
   * @param {number[]} blocks
   */
  want(window, pixels, blocks) {
    this.wanted = { window, pixels, blocks };
    if (this.isAsking || this.timer !== undefined || this.refused === nameOf(this.wanted) || this.missing().length === 0) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.fetch();
    }, REST);
  }

  /** Whether an answer is under way. */
  get isWaiting() {
    return this.isAsking || this.timer !== undefined;
  }

  /** Blocks of which there is no frame of what is on the screen, as fine as the screen is. */
  missing() {
    if (!this.wanted) return [];
    const { window, pixels, blocks } = this.wanted;
    const width = (window.to - window.from) / pixels;
    return blocks.filter((block) => !this.frames(block).some((frame) =>
      frame.from <= window.from + width && frame.to >= window.to - width && Math.abs((frame.to - frame.from) / frame.bins / width - 1) < 2e-3));
  }

  async fetch() {
    const blocks = this.missing();
    if (!this.wanted || blocks.length === 0) {
      this.arrived();
      return;
    }
    const wanted = this.wanted;
    const question = asked(wanted.window, wanted.pixels, this.elapsed, MARGIN);
    this.isAsking = true;
    try {
      const frames = await Promise.all(blocks.map((block) => this.frame(question, block)));
      frames.forEach((frame, index) => this.keep(blocks[index], frame));
      this.isAsking = false;
      this.arrived();
      if (this.wanted !== wanted) this.want(this.wanted.window, this.wanted.pixels, this.wanted.blocks);
    } catch (error) {
      this.isAsking = false;
      this.refused = nameOf(wanted);
      this.failed(error);
    }
  }

  /**
   * @param {Window & {bins: number}} question
   * @param {number} block
   * @returns {Promise<Frame>}
   */
  async frame({ from, to, bins }, block) {
    const first = block * BLOCK;
    if (this.whole) {
      const threads = this.whole.threads.slice(first, first + BLOCK);
      return cut({ ...this.whole, first, threads }, { from, to }, bins);
    }
    const some = this.roster.length > BLOCK ? { first, count: BLOCK } : {};
    // The whole run is asked for without its ends: such an answer is kept by the server.
    const part = from === 0 && to >= this.elapsed - 1e-9 ? {} : { from, to };
    return decode(await ask('timeline', { ...this.options, ...part, ...some, bins }, { isKept: false }));
  }

  /**
   * Keeps a frame; those of the whole run stay, as something to draw in any window.
   * @param {number} block
   * @param {Frame} frame
   */
  keep(block, frame) {
    const isWhole = (/** @type {Frame} */ one) => one.to - one.from > this.elapsed * 0.999;
    const others = this.frames(block);
    const whole = isWhole(frame) ? undefined : others.find(isWhole);
    const newest = [frame, ...others.filter((one) => one !== whole)].slice(0, KEPT);
    this.kept.set(block, whole ? [...newest, whole] : newest);
    for (const [other, frames] of this.kept) if (!this.wanted?.blocks.includes(other)) frames.splice(UNSEEN);
  }
}

/** @param {{window: Window, pixels: number, blocks: number[]}} wanted */
const nameOf = ({ window, pixels, blocks }) => [window.from, window.to, pixels, ...blocks].join(' ');
