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
  // The bins below each new bin: half-open, at least one.
  const edges = Array.from({ length: bins }, (_, bin) => {
    const begin = (from + bin * width - frame.from) / own;
    return [Math.min(Math.max(begin, 0), frame.bins), Math.min(Math.max(begin + width / own, 0), frame.bins)];
  });
  /** @type {Map<string, number>} */
  const known = new Map();
  /** @type {[number, number][][]} */
  const mixes = [];
  const intern = (/** @type {[number, number][]} */ mix) => {
    const key = mix.join(' ');
    let index = known.get(key);
    if (index === undefined) {
      index = mixes.push(mix) - 1;
      known.set(key, index);
    }
    return index;
  };
  const sums = new Float64Array(frame.states.length);
  const threads = frame.threads.map((thread) => {
    const cells = new Uint32Array(bins);
    const path = new Uint8Array(bins);
    edges.forEach(([begin, end], bin) => {
      cells[bin] = intern(mixed(frame, thread.cells, begin, end, sums));
      path[bin] = pathOf(thread.path, begin, end);
    });
    return { ...thread, cells, path };
  });
  const handoffs = frame.handoffs.filter(([seconds]) => seconds >= from && seconds <= to);
  const share = handoffs.length / Math.max(frame.handoffs.length, 1);
  return {
    ...frame, from, to, bins, mixes, threads, handoffs, handoffsTotal: Math.round(frame.handoffsTotal * share), isCoarse: width < own * 0.999,
  };
}

/**
 * @param {Frame} frame
 * @param {Uint32Array} cells
 * @param {number} begin in bins, with fractions
 * @param {number} end
 * @param {Float64Array} sums scratch, a number a state
 * @returns {[number, number][]}
 */
function mixed(frame, cells, begin, end, sums) {
  const first = Math.min(Math.floor(begin), frame.bins - 1);
  const last = Math.max(first, Math.min(Math.ceil(end - 1e-9), frame.bins) - 1);
  if (first === last) return frame.mixes[cells[first]];
  sums.fill(0);
  for (let bin = first; bin <= last; bin++) {
    const share = Math.min(bin + 1, end) - Math.max(bin, begin);
    for (const [state, eighths] of frame.mixes[cells[bin]]) sums[state] += share * eighths;
  }
  return eighthsOf(sums);
}

/**
 * Weights as eighths of their sum, by largest remainder, the largest first.
 * @param {ArrayLike<number>} weights
 * @returns {[number, number][]}
 */
export function eighthsOf(weights) {
  const all = Array.from(weights, (weight, state) => ({ state, weight })).filter(({ weight }) => weight > 0);
  const sum = all.reduce((sum, { weight }) => sum + weight, 0);
  const parts = all.map(({ state, weight }) => ({ state, weight, eighths: Math.floor((weight / sum) * 8 + 1e-9), rest: (weight / sum) * 8 }));
  let left = 8 - parts.reduce((sum, { eighths }) => sum + eighths, 0);
  for (const part of [...parts].sort((a, b) => b.rest % 1 - a.rest % 1 || b.weight - a.weight || a.state - b.state)) {
    if (left <= 0) break;
    part.eighths += 1;
    left -= 1;
  }
  return parts.filter(({ eighths }) => eighths > 0).sort((a, b) => b.eighths - a.eighths || a.state - b.state)
    .map(({ state, eighths }) => [state, eighths]);
}

/**
 * @param {Uint8Array} path
 * @param {number} begin in bins
 * @param {number} end
 */
function pathOf(path, begin, end) {
  const first = Math.min(Math.floor(begin), path.length - 1);
  const last = Math.max(first, Math.min(Math.ceil(end - 1e-9), path.length) - 1);
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
