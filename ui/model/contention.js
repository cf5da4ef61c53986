/** One object in full, from the rows of `objects` with `of`: who waited for whom, places, and orders of locks. */

/**
 * The place of code that a row tells of, as links need it.
 * @param {Record<string, any>} row
 * @param {string} [side] `ended_by_` for those that ended the waits
 * @returns {Record<string, any>} `procedure` and what is known of its line; nothing where it is not known
 */
export function placeOf(row, side = '') {
  const { [`${side}procedure`]: procedure, [`${side}module`]: module, [`${side}file`]: file, [`${side}line`]: line } = row;
  return procedure ? { procedure, module, file, line } : {};
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
