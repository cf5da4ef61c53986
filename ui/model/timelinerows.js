/** Rows of the timeline: threads below their processes and machines, in the height that there is. */

/**
 * @typedef {object} Row
 * @property {'machine'|'process'|'thread'} kind
 * @property {string} key of a group: what the URL calls it when it is folded; of a thread: its id
 * @property {string} title
 * @property {number} index of a thread: its place in the roster
 * @property {boolean} isFolded
 * @property {boolean} isAlone a thread whose process has no other: it stands for both, without a head
 * @property {number} count of a group: its threads
 * @property {number} top pixels
 * @property {number} height pixels
 */

/** Pixels of a group's head. */
export const HEAD = 20;
const [LOWEST, NAMED, HIGHEST] = [4, 14, 18];

/**
 * The height of a thread's row, with the gap below it.
 * @param {number} count of threads
 * @param {number} room pixels
 * @param {boolean} [isLow] whether rows may be too low for their names, so that more of them are in sight
 */
export const rowHeight = (count, room, isLow) => Math.min(HIGHEST, Math.max(isLow ? LOWEST : NAMED, Math.floor(room / Math.max(count, 1))));

/**
 * @param {any[]} threads of the whole run, by machine, process and start
 * @param {ReadonlySet<string>} folded keys of groups whose rows are hidden
 * @param {number} room pixels that the rows should not need more than
 * @param {boolean} [isLow]
 * @returns {{rows: Row[], height: number, threadHeight: number}}
 */
export function layout(threads, folded, room, isLow) {
  const machines = new Set(threads.map((thread) => thread.machine));
  /** @type {Row[]} */
  const rows = [];
  /** @type {Row|undefined} */
  let machine;
  /** @type {Row|undefined} */
  let process;
  const names = nameThreads(threads);
  const counts = countThreads(threads, machines.size > 1);
  threads.forEach((thread, index) => {
    const machineKey = String(thread.machine);
    if (machines.size > 1 && machine?.key !== machineKey) {
      machine = head('machine', machineKey, `machine ${machineKey}`, folded);
      process = undefined;
      rows.push(machine);
    }
    const processKey = keyOf(thread, machines.size > 1);
    const isAlone = counts.get(processKey) === 1;
    if (isAlone) process = undefined;
    else if (process?.key !== processKey) {
      process = head('process', processKey, `${thread.process} ${thread.pid}`, folded);
      if (!machine?.isFolded) rows.push(process);
    }
    if (machine) machine.count += 1;
    if (process) process.count += 1;
    if (machine?.isFolded || process?.isFolded) return;
    const title = isAlone ? aloneName(thread) : names[index];
    rows.push({ kind: 'thread', key: String(thread.id), title, index, isFolded: false, isAlone, count: 1, top: 0, height: 0 });
  });
  const shown = rows.filter((row) => row.kind === 'thread').length;
  const threadHeight = rowHeight(shown, room - HEAD * (rows.length - shown), isLow);
  let top = 0;
  for (const row of rows) {
    row.top = top;
    row.height = row.kind === 'thread' ? threadHeight : HEAD;
    top += row.height;
  }
  return { rows, height: top, threadHeight };
}

/**
 * @param {'machine'|'process'} kind
 * @param {string} key
 * @param {string} title
 * @param {ReadonlySet<string>} folded
 * @returns {Row}
 */
const head = (kind, key, title, folded) => ({ kind, key, title, index: -1, isFolded: folded.has(key), isAlone: false, count: 0, top: 0, height: 0 });

/**
 * What the URL calls a thread's process when it is folded.
 * @param {any} thread
 * @param {boolean} hasMachines whether there are several
 */
const keyOf = ({ machine, pid }, hasMachines) => `${hasMachines ? `${machine} ` : ''}${pid}`;

/**
 * @param {any[]} threads
 * @param {boolean} hasMachines
 * @returns {Map<string, number>} by process
 */
function countThreads(threads, hasMachines) {
  const counts = new Map();
  for (const thread of threads) counts.set(keyOf(thread, hasMachines), (counts.get(keyOf(thread, hasMachines)) ?? 0) + 1);
  return counts;
}

/** @param {any} thread the only one of its process */
const aloneName = ({ thread, process, pid }) => (thread === process || !thread ? `${process} ${pid}` : `${thread} (${process} ${pid})`);

/**
 * Names of threads: with their tid where several have one name.
 * @param {any[]} threads
 * @returns {string[]}
 */
export function nameThreads(threads) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { thread } of threads) counts.set(thread, (counts.get(thread) ?? 0) + 1);
  return threads.map(({ thread, tid }) => ((counts.get(thread) ?? 0) > 1 || !thread ? `${thread} #${tid}` : thread));
}

/**
 * Rows that lie between two heights, and the row at one.
 * @param {Row[]} rows
 * @param {number} top
 * @param {number} bottom
 */
export const between = (rows, top, bottom) => rows.slice(indexAt(rows, top), indexAt(rows, Math.max(top, bottom - 1e-6)) + 1);

/**
 * The index of the row at a height; the nearest where there is none.
 * @param {Row[]} rows
 * @param {number} y pixels
 */
export function indexAt(rows, y) {
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows[middle].top <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/**
 * The row of a thread a step up or down from another: heads are stepped over.
 * @param {Row[]} rows
 * @param {string|undefined} key of the thread that is chosen; undefined: from the edge
 * @param {number} step -1 or 1
 * @returns {Row|undefined}
 */
export function neighbour(rows, key, step) {
  const threads = rows.filter((row) => row.kind === 'thread');
  const at = threads.findIndex((row) => row.key === key);
  if (at < 0) return step > 0 ? threads[0] : threads[threads.length - 1];
  return threads[Math.min(Math.max(at + step, 0), threads.length - 1)];
}

/**
 * Blocks of the roster that hold the threads of some rows: threads are asked for block by block.
 * @param {Row[]} rows
 * @param {number} size threads of a block
 * @returns {number[]}
 */
export const blocksOf = (rows, size) => [...new Set(rows.filter((row) => row.kind === 'thread').map((row) => Math.floor(row.index / size)))];

/**
 * Where each thread is on the screen: the middle of its row, or of the head of the group that hides it.
 * @param {any[]} threads
 * @param {Row[]} rows
 * @returns {Map<number, number>} by the thread's id
 */
export function middles(threads, rows) {
  const found = new Map();
  let next = 0;
  let seen = 0;
  for (const row of rows) {
    const middle = row.top + row.height / 2;
    if (row.kind === 'thread') {
      found.set(threads[row.index].id, middle);
      next = row.index + 1;
    } else if (row.isFolded) {
      for (seen = next; seen < next + row.count; seen++) found.set(threads[seen].id, middle);
      next += row.count;
    }
  }
  return found;
}
