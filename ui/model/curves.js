/** Curves: time histograms of metrics of nodes, as the URL names them, and how each of them is drawn. */

/** Most curves on one axis: as many as there are colours. */
export const MOST = 8;

/** What is drawn when nothing was chosen, and what the URL says when nothing is wanted. */
export const [DEFAULT, NONE] = ['effective_parallelism@program', 'none'];

/** Metrics of any recording; causes of waits come from its states. `isWhole`: of the program alone. */
export const METRICS = [
  { metric: 'effective_parallelism', title: 'Effective parallelism', isWhole: true },
  { metric: 'nominal_parallelism', title: 'Nominal parallelism', isWhole: true },
  { metric: 'cpu_seconds', title: 'CPU time' },
  { metric: 'spin_seconds', title: 'Spinning' },
  { metric: 'ready_seconds', title: 'Ready' },
  { metric: 'wait_seconds', title: 'Blocked' },
  { metric: 'synchronisation_wait_seconds', title: 'Synchronisation wait' },
  { metric: 'npt_seconds', title: 'NPT' },
  { metric: 'critical_path_seconds', title: 'Critical path' },
];

/**
 * Metrics that a recording can have: those of every one, and a wait for each cause.
 * @param {{name: string, title: string}[]} states
 * @returns {{metric: string, title: string, isWhole?: boolean}[]}
 */
export const metricsOf = (states) => [...METRICS, ...states.filter(({ name }) => name.startsWith('blocked_'))
  .map(({ name }) => ({ metric: `${name}_seconds`, title: `Blocked: ${name.slice('blocked_'.length).replaceAll('_', ' ')}` }))];

/**
 * The curves of a place of the page.
 * @param {string[]|undefined} texts METRIC@NODE each
 * @returns {{metric: string, node: string}[]} each once
 */
export function curvesOf(texts) {
  const found = new Map();
  for (const text of texts?.length ? texts : [DEFAULT]) {
    const at = text.indexOf('@');
    if (text === NONE) continue;
    const [metric, node] = at < 0 ? [text, 'program'] : [text.slice(0, at), text.slice(at + 1) || 'program'];
    if (metric) found.set(`${metric}@${node}`, { metric, node });
  }
  return [...found.values()].slice(0, MOST);
}

/**
 * @param {{metric: string, node: string}[]} curves
 * @returns {string[]|undefined} what the URL has of them; nothing for what is drawn anyway
 */
export function textsOf(curves) {
  const texts = curves.map(({ metric, node }) => `${metric}@${node}`);
  if (texts.length === 0) return [NONE];
  return texts.length === 1 && texts[0] === DEFAULT ? undefined : texts;
}

/** Dashes of lines, in pixels; the first is a whole line. With the colours they make each curve's line its own. */
const DASHES = [[], [8, 3], [2, 2], [10, 3, 2, 3], [5, 5], [12, 2, 2, 2, 2, 2], [1, 4], [14, 5]];

/**
 * How the curve of a number is drawn.
 * @param {number} index
 */
export const styleOf = (index) => ({ colour: `series-${(index % MOST) + 1}`, dash: DASHES[index % DASHES.length] });

/**
 * Values of curves over the middles of their bins, as a drawing wants them: one list of times, and of each curve its values
 * there, null where it has none. Curves can have different windows and bins.
 * @param {({from_seconds: number, to_seconds: number, bins: number, values: (number|null)[]}|undefined)[]} curves
 * @returns {{times: number[], values: (number|null)[][]}}
 */
export function aligned(curves) {
  const known = curves.filter((curve) => curve !== undefined);
  if (known.length === 0) return { times: [], values: curves.map(() => []) };
  const edges = known.flatMap(({ from_seconds, to_seconds, bins }) =>
    Array.from({ length: bins + 1 }, (_, bin) => from_seconds + (bin / bins) * (to_seconds - from_seconds)));
  const times = [...new Set(edges)].sort((a, b) => a - b);
  return { times, values: curves.map((curve) => times.map((seconds) => (curve ? valueAt(curve, seconds) : null))) };
}

/**
 * The value of the bin that begins at or before a moment; at the end, of the last one.
 * @param {{from_seconds: number, to_seconds: number, bins: number, values: (number|null)[]}} curve
 * @param {number} seconds
 * @returns {number|null}
 */
export function valueAt({ from_seconds, to_seconds, bins, values }, seconds) {
  const width = (to_seconds - from_seconds) / bins;
  if (seconds < from_seconds - width * 1e-6 || seconds > to_seconds + width * 1e-6) return null;
  return values[Math.min(bins - 1, Math.max(0, Math.floor((seconds - from_seconds) / width + 1e-6)))] ?? null;
}

/**
 * A curve with fewer bins: means of the old ones.
 * @param {number[]} values of a curve that has one everywhere
 * @param {number} bins
 * @returns {number[]}
 */
export function binned(values, bins) {
  const size = values.length / bins;
  return Array.from({ length: bins }, (_, bin) => {
    const [begin, end] = [bin * size, (bin + 1) * size];
    let sum = 0;
    for (let at = Math.floor(begin); at < Math.min(Math.ceil(end - 1e-9), values.length); at++) sum += values[at] * (Math.min(at + 1, end) - Math.max(at, begin));
    return sum / size;
  });
}

/**
 * Of the keys of an exported file the one of a curve, whatever its bins are.
 * @param {Iterable<string>} keys
 * @param {{metric: string, node: string}} curve
 * @returns {string|undefined}
 */
export function keyIn(keys, { metric, node }) {
  for (const key of keys) {
    if (!key.startsWith('curve?')) continue;
    const parameters = new URLSearchParams(key.slice('curve?'.length));
    if (parameters.get('metric') === metric && (parameters.get('node') ?? 'program') === node) return key;
  }
  return undefined;
}
