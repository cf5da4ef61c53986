/** Wakes of the timeline's window, asked for when it has come to rest. */

import { ask } from '../api.js';
import { nanoseconds } from '../model/timelinewindow.js';

/** Milliseconds. */
const REST = 150;

export class Wakes {
  /** @param {() => void} arrived */
  constructor(arrived) {
    this.arrived = arrived;
    /** @type {any[]} */
    this.wakes = [];
    this.total = 0;
    /** @type {string} */
    this.failure = '';
    this.key = '';
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.timer = undefined;
  }

  /** @param {import('../model/timelinewindow.js').Window} window */
  want({ from, to }) {
    const question = { from: nanoseconds(from), to: nanoseconds(to) };
    const key = `${question.from} ${question.to}`;
    if (key === this.key) return;
    this.key = key;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      try {
        const answer = await ask('wakes', question);
        if (key !== this.key) return;
        [this.wakes, this.total, this.failure] = [answer.wakes, answer.total, ''];
      } catch (error) {
        this.key = '';
        this.failure = String(/** @type {any} */ (error)?.message ?? error);
      }
      this.arrived();
    }, REST);
  }
}
