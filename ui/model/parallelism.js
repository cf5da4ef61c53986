/** What was charged while so many threads were busy, stacked by procedure (Quartz, figure 1). */

/**
 * A procedure's part of all bars.
 * @typedef {{key: string, procedure: string, module?: string, file?: string, part: string, seconds: number, percent: number, mark: string, look: string}} Layer
 * @typedef {{label: string, seconds: number, parts: {layer: Layer, seconds: number}[]}} Level
 * @typedef {{levels: Level[], layers: Layer[], largest: number, whole: number}} Stacks
 */

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** Layers with a look of their own; what is smaller is one layer. */
const LAYERS = 11;

/**
 * @param {{label: string, order: number, key: string, seconds: number, row: Record<string, any>, part: string}[]} pieces
 * @returns {Stacks}
 */
function stacks(pieces) {
  const whole = pieces.reduce((sum, { seconds }) => sum + seconds, 0);
  /** @type {Map<string, {row: Record<string, any>, part: string, seconds: number}>} */
  const sums = new Map();
  for (const { key, row, part, seconds } of pieces) {
    const sum = sums.get(key) ?? { row, part, seconds: 0 };
    sum.seconds += seconds;
    sums.set(key, sum);
  }
  const own = (/** @type {{part: string}} */ sum) => Number(sum.part === 'self');
  const sorted = [...sums].sort(([, one], [, other]) => own(other) - own(one) || other.seconds - one.seconds);
  const named = sorted.length > LAYERS + 1 ? sorted.slice(0, LAYERS) : sorted;
  let letter = 0;
  const layers = named.map(([key, { row, part, seconds }]) => layer(key, row, part, seconds, whole, part === 'self' ? '' : LETTERS[letter++]));
  const rest = sorted.slice(named.length);
  if (rest.length > 0) {
    const seconds = rest.reduce((sum, [, one]) => sum + one.seconds, 0);
    layers.push({ ...layer('', { procedure: `${rest.length} others` }, 'others', seconds, whole, '·'), look: 'rest' });
  }
  const ofKey = new Map(layers.map((one) => [one.key, one]));
  const levels = levelsOf(pieces, layers, (key) => /** @type {Layer} */ (ofKey.get(key) ?? layers.at(-1)));
  return { levels, layers, whole, largest: Math.max(0, ...levels.map(({ seconds }) => seconds)) };
}

/**
 * @param {string} key
 * @param {Record<string, any>} row
 * @param {string} part
 * @param {number} seconds
 * @param {number} whole
 * @param {string} mark
 * @returns {Layer}
 */
function layer(key, row, part, seconds, whole, mark) {
  const look = part === 'self' ? 'self' : String(LETTERS.indexOf(mark));
  return {
    key, procedure: row.procedure ?? 'not known, or nobody in the program', module: row.module, file: row.file, part, seconds,
    percent: whole > 0 ? 100 * seconds / whole : 0, mark: part === 'self' ? 'self' : mark, look,
  };
}

/**
 * @param {{label: string, order: number, key: string, seconds: number}[]} pieces
 * @param {Layer[]} layers
 * @param {(key: string) => Layer} layerOf
 * @returns {Level[]} in their order, each with its parts in the order of the layers
 */
function levelsOf(pieces, layers, layerOf) {
  /** @type {Map<number, {label: string, times: Map<Layer, number>}>} */
  const levels = new Map();
  for (const { label, order, key, seconds } of pieces) {
    const level = levels.get(order) ?? { label, times: new Map() };
    const layer = layerOf(key);
    level.times.set(layer, (level.times.get(layer) ?? 0) + seconds);
    levels.set(order, level);
  }
  return [...levels].sort(([one], [other]) => one - other).map(([, { label, times }]) => {
    const parts = layers.filter((layer) => times.has(layer)).map((layer) => ({ layer, seconds: times.get(layer) ?? 0 }));
    return { label, parts, seconds: parts.reduce((sum, { seconds }) => sum + seconds, 0) };
  });
}

/** Levels that have a bar of their own; where there are more, some together have one. */
const LEVELS = 40;

/**
 * How many levels have a bar together.
 * @param {Record<string, any>[]} rows
 */
const stepOf = (rows) => Math.ceil((Math.max(0, ...rows.map(({ level }) => level)) + 1) / LEVELS);

/**
 * The bar of a level: its place, and the levels that it stands for.
 * @param {number} level
 * @param {number} step
 */
function binOf(level, step) {
  const order = Math.floor(level / step);
  return { order, label: step === 1 ? String(level) : `${order * step}–${(order + 1) * step - 1}` };
}

/**
 * Rows of `parallelism`, several levels together where they are many.
 * @param {Record<string, any>[]} rows
 * @returns {Record<string, any>[]} with a `label` each, and the procedure of the longest level
 */
export function levelsShown(rows) {
  const step = stepOf(rows);
  /** @type {Map<number, Record<string, any>>} */
  const bins = new Map();
  for (const row of rows) {
    const { order, label } = binOf(row.level, step);
    const bin = bins.get(order);
    if (!bin) bins.set(order, { ...row, label, longest: row.effective_seconds });
    else {
      for (const key of ['effective_seconds', 'effective_percent', 'nominal_seconds', 'nominal_percent']) bin[key] += row[key];
      if (row.effective_seconds > bin.longest) {
        const { procedure, module, procedure_percent } = row;
        Object.assign(bin, { procedure, module, procedure_percent, longest: row.effective_seconds });
      }
    }
  }
  return [...bins.values()];
}

/**
 * Stacks of one procedure, thread or object, from `parallelism` with `of`: a level for each number of busy threads.
 * @param {Record<string, any>[]} rows
 */
export function stacksOf(rows) {
  const step = stepOf(rows);
  return stacks(rows.map((row) => ({
    ...binOf(row.level, step), key: `${row.part}\n${row.procedure ?? ''}\n${row.module ?? ''}`, seconds: row.seconds, row, part: row.part,
  })));
}

const BUCKETS = [['npt_1_seconds', '1'], ['npt_2_seconds', '2'], ['npt_3_4_seconds', '3–4'], ['npt_5_up_seconds', '5 and more']];

/**
 * Stacks of all procedures, from `npt`: what ran while one, two, three or four, or more threads were busy.
 * @param {Record<string, any>[]} rows
 */
export const stacksOfAll = (rows) => stacks(rows.flatMap((row) => BUCKETS.map(([key, label], order) => ({
  label, order, key: `\n${row.procedure}\n${row.module ?? ''}`, seconds: row[key] ?? 0, row, part: 'in',
}))).filter(({ seconds }) => seconds > 0));

/**
 * The mean number of busy threads, and the shares of the run with none and with one.
 * @param {Record<string, any>[]} rows of `parallelism`
 */
export function means(rows) {
  const share = (/** @type {number} */ level) => rows.find((row) => row.level === level)?.effective_percent ?? 0;
  const mean = (/** @type {string} */ key) => rows.reduce((sum, row) => sum + row.level * row[key], 0) / 100;
  return { busy: mean('effective_percent'), runnable: mean('nominal_percent'), none: share(0), one: share(1) };
}
