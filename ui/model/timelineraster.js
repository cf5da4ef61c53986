/**
 * Pixels of the timeline: a column a bin, what fills the bin stacked in it. Kinds of states differ in their hatching, too, so
 * that colour alone says nothing. The pixels are painted once a frame and then only moved and stretched.
 */

/** @typedef {import('./frames.js').Frame} Frame */

/** Kinds of states in the order in which they are stacked, from the bottom. */
export const KINDS = ['busy', 'spin', 'overhead', 'ready', 'synchronisation', 'device', 'chosen', 'absent'];

/** Pixels after which each hatching repeats itself. */
export const PERIOD = 8;

/**
 * Whether a pixel belongs to the lines of its kind's hatching.
 * @type {Record<string, (x: number, y: number) => boolean>}
 */
const HATCHES = {
  busy: () => false,
  spin: (x, y) => (x + PERIOD - (y % PERIOD)) % 8 < 3,
  overhead: (x, y) => x % 4 < 2 && y % 4 < 2,
  ready: (_, y) => y % 4 === 1,
  synchronisation: (x, y) => (x + y) % 4 === 0,
  device: (x) => x % 4 === 0,
  chosen: () => false,
  absent: () => false,
};

/**
 * @param {string} kind
 * @param {number} x pixels from the run's begin
 * @param {number} y pixels from the row's top
 */
export const isHatched = (kind, x, y) => (HATCHES[kind] ?? HATCHES.busy)(x, y);

/**
 * How many pixels of a column each kind fills.
 * @param {[number, number][]} mix
 * @param {{kind: string}[]} states
 * @param {number} height pixels
 * @returns {[string, number][]} from the bottom; the pixels add up to the height
 */
export function stack(mix, states, height) {
  const eighths = new Array(KINDS.length).fill(0);
  for (const [state, count] of mix) {
    const kind = KINDS.indexOf(states[state].kind);
    eighths[kind < 0 ? KINDS.indexOf('chosen') : kind] += count;
  }
  let [sum, filled] = [0, 0];
  return eighths.flatMap((count, kind) => {
    sum += count;
    const pixels = Math.round((sum / 8) * height) - filled;
    filled += pixels;
    return pixels > 0 ? [/** @type {[string, number]} */ ([KINDS[kind], pixels])] : [];
  });
}

/**
 * What colours pixels: each number is a pixel as canvases have it, alpha first in it.
 * @typedef {object} Palette
 * @property {Record<string, [number, number]>} kinds the colour of a kind, and of its hatching
 * @property {number} path
 * @property {number} halo what separates the path from what is behind it
 * @property {number} scale pixels of the screen per pixel of the hatching
 */

/**
 * Paints all threads of a frame, one below the other.
 * @param {Frame} frame
 * @param {{pitch: number, gap: number}} row pixels of a row, and those of them that stay empty at its end
 * @param {Palette} palette
 * @returns {Uint32Array} `frame.bins` pixels wide, `pitch` times the threads high
 */
export function paint(frame, { pitch, gap }, palette) {
  const { bins } = frame;
  const pixels = new Uint32Array(bins * pitch * frame.threads.length);
  const height = pitch - gap;
  const period = PERIOD * palette.scale;
  const columns = new Uint32Array(frame.mixes.length * period * height);
  frame.mixes.forEach((mix, index) => columns.set(columnsOf(mix, frame.states, height, palette), index * period * height));
  // Hatching is anchored in the run's begin, so that it stays where it is when frames follow each other.
  const anchor = Math.round(frame.from / ((frame.to - frame.from) / bins)) % period;
  const starts = new Uint32Array(bins);
  frame.threads.forEach(({ cells, path }, index) => {
    for (let bin = 0; bin < bins; bin++) starts[bin] = (cells[bin] * period + (bin + anchor) % period) * height;
    for (let y = 0; y < height; y++) {
      const at = (index * pitch + y) * bins;
      for (let bin = 0; bin < bins; bin++) pixels[at + bin] = columns[starts[bin] + y];
    }
    paintPath(pixels, path, index * pitch * bins, height, palette);
  });
  return pixels;
}

/**
 * The columns that a mix can become, one for each place in the hatching.
 * @param {[number, number][]} mix
 * @param {{kind: string}[]} states
 * @param {number} height
 * @param {Palette} palette
 */
function columnsOf(mix, states, height, { kinds, scale }) {
  const columns = new Uint32Array(PERIOD * scale * height);
  const parts = stack(mix, states, height);
  for (let x = 0; x < PERIOD * scale; x++) {
    let y = height;
    for (const [kind, count] of parts) {
      const [fill, line] = kinds[kind];
      for (let left = count; left > 0; left--) {
        y -= 1;
        columns[x * height + y] = isHatched(kind, Math.floor(x / scale), Math.floor(y / scale)) ? line : fill;
      }
    }
  }
  return columns;
}

/**
 * The critical path: a line in the middle of the row, fainter in bins of which it takes only a part.
 * @param {Uint32Array} pixels
 * @param {Uint8Array} path
 * @param {number} start the row's first pixel
 * @param {number} height
 * @param {Palette} palette
 */
function paintPath(pixels, path, start, height, { path: line, halo }) {
  const bins = path.length;
  const thick = Math.max(2, Math.round(height / 5));
  const edge = height >= 8 ? 1 : 0;
  const top = Math.floor((height - thick) / 2);
  for (let y = top - edge; y < top + thick + edge; y++) {
    const isEdge = y < top || y >= top + thick;
    for (let bin = 0; bin < bins; bin++) {
      const at = start + y * bins + bin;
      if (path[bin] === 8) pixels[at] = isEdge ? halo : line;
      else if (path[bin] > 0 && !isEdge) pixels[at] = blended(pixels[at], line, Math.max(path[bin], FAINTEST));
    }
  }
}

/** Eighths of the path's colour where it is only for a moment. */
const FAINTEST = 3;

/**
 * A pixel between two, channel by channel.
 * @param {number} below
 * @param {number} above
 * @param {number} eighths of the one above
 */
export function blended(below, above, eighths) {
  let pixel = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const [one, other] = [(below >>> shift) & 255, (above >>> shift) & 255];
    pixel |= Math.round(one + ((other - one) * eighths) / 8) << shift;
  }
  return pixel >>> 0;
}
