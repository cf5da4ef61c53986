/** One object in full, from the rows of `objects` with `of`: who waited for whom, and places as links can use them. */

/**
 * A place of code as the reports write it: `procedure file.c:12`, or a procedure alone.
 * @param {string|undefined} text
 * @returns {{text: string, procedure: string, file?: string, line?: number}}
 */
export function placeOf(text) {
  const found = /^(.*\S) (\S+):(\d+)$/.exec(text ?? '');
  if (!found) return { text: text ?? '', procedure: (text ?? '').replace(/ (\(.*\)|\[kernel\])$/, '') };
  return { text: text ?? '', procedure: found[1], file: found[2], line: Number(found[3]) };
}

/**
 * Who waited for whom: the threads of each side by their time, the longest first.
 * @param {Record<string, any>[]} pairs rows with `waiting`, `ended_by`, `seconds`, `blocks`
 * @returns {{waiting: string[], ending: string[], largest: number, at: (waiting: string, ending: string) => any}}
 */
export function matrixOf(pairs) {
  const sums = (/** @type {string} */ key) => {
    /** @type {Map<string, number>} */
    const times = new Map();
    for (const pair of pairs) times.set(pair[key], (times.get(pair[key]) ?? 0) + pair.seconds);
    return [...times].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  };
  const cells = new Map(pairs.map((pair) => [JSON.stringify([pair.waiting, pair.ended_by]), pair]));
  return {
    waiting: sums('waiting'),
    ending: sums('ended_by'),
    largest: Math.max(0, ...pairs.map(({ seconds }) => seconds)),
    at: (waiting, ending) => cells.get(JSON.stringify([waiting, ending])),
  };
}

/**
 * Objects that the same thread held before and after this one: taken in both orders, threads can wait for each other for ever.
 * @param {Record<string, any>[]} rows of the section `order`
 * @returns {string[]}
 */
export function conflicts(rows) {
  const of = (/** @type {string} */ order) => rows.filter((row) => row.order === order).map((row) => row.other);
  const after = new Set(of('after'));
  return [...new Set(of('before'))].filter((name) => after.has(name));
}

/**
 * Notes of the evidence that tell of locks taken in both orders.
 * @param {string[]|undefined} notes
 */
export const orderNotes = (notes) => (notes ?? []).filter((note) => /was acquired while|acquired in both orders/.test(note));
