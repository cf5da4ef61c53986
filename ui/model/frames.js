/** Frames: what fills the bins of each thread's time. Decoded, cut from larger ones, and asked what is at a moment. */

/** @typedef {import('./timelinewindow.js').Window} Window */

/**
 * A frame as it is drawn from. A mix is a list of [state, eighths]; `cells` has the mix of each bin, `path` the eighths of it
 * on the critical path.
 * @typedef {object} Frame
 * @property {number} from seconds
 * @property {number} to seconds
 * @property {number} bins
 * @property {number} first index of the first thread in the roster
 * @property {{name: string, title: string, kind: string}[]} states
 * @property {[number, number][][]} mixes
 * @property {(any & {cells: Uint32Array, path: Uint8Array})[]} threads
 * @property {[number, number, number][]} handoffs seconds, from, to
 * @property {number} handoffsTotal
 * @property {boolean} [isCoarse] cut from a frame whose bins are longer
 */

/**
 * @param {any} answer of `api/timeline`
 * @returns {Frame}
 */
export function decode(answer) {
  return {
    from: answer.from_seconds, to: answer.to_seconds, bins: answer.bins, first: answer.first ?? 0,
    states: answer.states, mixes: answer.mixes,
    threads: answer.threads.map((/** @type {any} */ { runs, path, ...thread }) => ({
      ...thread, cells: expand(runs, new Uint32Array(answer.bins)), path: expand(path ?? [], new Uint8Array(answer.bins)),
    })),
    handoffs: answer.handoffs ?? [], handoffsTotal: answer.handoffs_total ?? 0,
  };
}

/**
 * Writes runs out, a value a bin.
 * @template {Uint32Array|Uint8Array} T
 * @param {number[]} runs count, value, count, value, …
 * @param {T} into
 * @returns {T}
 */
export function expand(runs, into) {
  let at = 0;
  for (let index = 0; index + 1 < runs.length; index += 2) {
    into.fill(runs[index + 1], at, at + runs[index]);
    at += runs[index];
  }
  return into;
}

/**
 * A frame of a part of a frame's window, with other bins. Bins that are shorter than the frame's own take what the bin has in
 * which they lie; the frame then says that it is coarse.
 * @param {Frame} frame
 * @param {Window} window within the frame's
 * @param {number} bins
 * @returns {Frame}
 */
export function cut(frame, { from, to }, bins) {
  const own = (frame.to - frame.from) / frame.bins;
  const width = (to - from) / bins;
  const spans = spansOf((from - frame.from) / own, width / own, bins, frame.bins);
  const blend = new Blend(frame);
  const threads = frame.threads.map((thread) => {
    const cells = new Uint32Array(bins);
    const path = new Uint8Array(bins);
    for (let bin = 0; bin < bins; bin++) {
      const span = spans[bin];
      cells[bin] = blend.of(thread.cells, span);
      path[bin] = pathOf(thread.path, span);
    }
    return { ...thread, cells, path };
  });
  const handoffs = frame.handoffs.filter(([seconds]) => seconds >= from && seconds <= to);
  const share = handoffs.length / Math.max(frame.handoffs.length, 1);
  return {
    ...frame, from, to, bins, mixes: blend.mixes, threads, handoffs, handoffsTotal: Math.round(frame.handoffsTotal * share), isCoarse: width < own * 0.999,
  };
}

/**
 * Bins of a frame that lie below another bin: the first and the last of them, and where the other begins and ends, in bins with fractions.
 * @typedef {{first: number, last: number, begin: number, end: number}} Span
 */

/**
 * @param {number} start of the first bin, in the frame's bins
 * @param {number} width of each
 * @param {number} count
 * @param {number} bins of the frame
 * @returns {Span[]}
 */
function spansOf(start, width, count, bins) {
  return Array.from({ length: count }, (_, bin) => {
    const begin = Math.min(Math.max(start + bin * width, 0), bins);
    const end = Math.min(Math.max(start + (bin + 1) * width, 0), bins);
    const first = Math.min(Math.floor(begin + 1e-9), bins - 1);
    return { first, last: Math.max(first, Math.min(Math.ceil(end - 1e-9), bins) - 1), begin, end };
  });
}

/** Blends the mixes of several bins into one, each different result once. */
class Blend {
  /** @param {Frame} frame */
  constructor({ mixes, states }) {
    this.own = mixes;
    /** @type {[number, number][][]} */
    this.mixes = [];
    this.sums = new Float64Array(states.length);
    /** What the frame's own mixes are called here. */
    this.names = new Int32Array(mixes.length).fill(-1);
    /** @type {Map<string, number>} */
    this.known = new Map();
  }

  /**
   * @param {Uint32Array} cells
   * @param {Span} span
   * @returns {number} index of the mix
   */
  of(cells, { first, last, begin, end }) {
    const only = cells[first];
    let bin = first + 1;
    while (bin <= last && cells[bin] === only) bin += 1;
    if (bin > last) return this.same(only);
    this.sums.fill(0);
    for (bin = first; bin <= last; bin++) {
      const share = Math.min(bin + 1, end) - Math.max(bin, begin);
      for (const [state, eighths] of this.own[cells[bin]]) this.sums[state] += share * eighths;
    }
    return this.named(eighthsOf(this.sums));
  }

  /** @param {number} cell */
  same(cell) {
    if (this.names[cell] < 0) this.names[cell] = this.named(this.own[cell]);
    return this.names[cell];
  }

  /** @param {[number, number][]} mix */
  named(mix) {
    const key = mix.join(' ');
    let index = this.known.get(key);
    if (index === undefined) {
      index = this.mixes.push(mix) - 1;
      this.known.set(key, index);
    }
    return index;
  }
}

/**
 * Weights as eighths of their sum, by largest remainder, the largest first.
 * @param {ArrayLike<number>} weights
 * @returns {[number, number][]}
 */
export function eighthsOf(weights) {
  let sum = 0;
  for (let state = 0; state < weights.length; state++) sum += weights[state];
  /** @type {{state: number, exact: number, eighths: number}[]} */
  const parts = [];
  let left = 8;
  for (let state = 0; state < weights.length; state++) {
    if (!(weights[state] > 0)) continue;
    const exact = (weights[state] / sum) * 8;
    const eighths = Math.floor(exact + 1e-9);
    parts.push({ state, exact, eighths });
    left -= eighths;
  }
  parts.sort((a, b) => (b.exact - b.eighths) - (a.exact - a.eighths) || b.exact - a.exact || a.state - b.state);
  for (let at = 0; left > 0 && at < parts.length; at++, left--) parts[at].eighths += 1;
  return parts.filter(({ eighths }) => eighths > 0).sort((a, b) => b.eighths - a.eighths || a.state - b.state)
    .map(({ state, eighths }) => [state, eighths]);
}

/**
 * @param {Uint8Array} path
 * @param {Span} span
 */
function pathOf(path, { first, last }) {
  let sum = 0;
  for (let bin = first; bin <= last; bin++) sum += path[bin];
  // A path that passes only for a moment is seen, too.
  return sum > 0 ? Math.max(1, Math.round(sum / (last - first + 1))) : 0;
}

/**
 * Which frames show which parts of a window: each part by the frame whose bins are nearest to the wanted length.
 * @template {Window & {bins: number}} T
 * @param {Window} window
 * @param {T[]} frames
 * @param {number} wanted seconds of a bin
 * @returns {{frame: T, from: number, to: number}[]} parts do not overlap
 */
export function cover(window, frames, wanted) {
  const distance = (/** @type {T} */ frame) => Math.abs(Math.log((frame.to - frame.from) / frame.bins / wanted));
  /** @type {{frame: T, from: number, to: number}[]} */
  const parts = [];
  let open = [window];
  for (const frame of [...frames].sort((a, b) => distance(a) - distance(b))) {
    /** @type {Window[]} */
    const left = [];
    for (const gap of open) {
      const from = Math.max(gap.from, frame.from);
      const to = Math.min(gap.to, frame.to);
      if (!(to > from)) {
        left.push(gap);
        continue;
      }
      parts.push({ frame, from, to });
      if (gap.from < from) left.push({ from: gap.from, to: from });
      if (gap.to > to) left.push({ from: to, to: gap.to });
    }
    open = left;
    if (open.length === 0) break;
  }
  return parts;
}

/**
 * What fills the bin of a thread at a moment.
 * @param {Frame} frame
 * @param {number} thread its index in the roster
 * @param {number} seconds
 * @returns {{from: number, to: number, mix: [number, number][], path: number}|undefined}
 */
export function binAt(frame, thread, seconds) {
  const found = frame.threads[thread - frame.first];
  if (!found || seconds < frame.from || seconds > frame.to) return undefined;
  const width = (frame.to - frame.from) / frame.bins;
  const bin = Math.min(frame.bins - 1, Math.floor((seconds - frame.from) / width));
  return { from: frame.from + bin * width, to: frame.from + (bin + 1) * width, mix: frame.mixes[found.cells[bin]], path: found.path[bin] };
}

/**
 * What the threads of some frames did in a window, as shares of the time they were alive.
 * @param {Frame[]} frames of different threads
 * @param {Window} window
 * @returns {{name: string, title: string, kind: string, share: number}[]} states that occur, the largest share first
 */
export function shares(frames, window) {
  /** @type {Map<string, {name: string, title: string, kind: string, share: number}>} */
  const sums = new Map();
  let all = 0;
  for (const frame of frames) {
    const width = (frame.to - frame.from) / frame.bins;
    const first = Math.max(0, Math.floor((window.from - frame.from) / width + 1e-6));
    const last = Math.min(frame.bins, Math.ceil((window.to - frame.from) / width - 1e-6));
    const counts = new Float64Array(frame.mixes.length);
    for (const { cells } of frame.threads) for (let bin = first; bin < last; bin++) counts[cells[bin]] += 1;
    frame.mixes.forEach((mix, index) => {
      for (const [state, eighths] of counts[index] > 0 ? mix : []) {
        const { name, title, kind } = frame.states[state];
        if (kind === 'absent') continue;
        const entry = sums.get(name) ?? { name, title, kind, share: 0 };
        entry.share += counts[index] * eighths * width;
        all += counts[index] * eighths * width;
        sums.set(name, entry);
      }
    });
  }
  return [...sums.values()].map((entry) => ({ ...entry, share: entry.share / all })).sort((a, b) => b.share - a.share);
}
