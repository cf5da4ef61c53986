/** Lines between rows: hand-offs of the critical path, and wakes. As many as can be told apart. */

/**
 * Leaves out lines that would lie on each other: of those between two heights, one for each stretch of pixels. Stretches are
 * those of the run, not of the window, so that lines stay the same while the window moves.
 * @template T
 * @param {T[]} lines in time order
 * @param {(line: T) => {seconds: number, between: string}} of when a line is, and the pair that it connects
 * @param {number} stretch seconds
 * @returns {T[]}
 */
export function thinned(lines, of, stretch) {
  const taken = new Set();
  return lines.filter((line) => {
    const { seconds, between } = of(line);
    const key = `${Math.floor(seconds / stretch)} ${between}`;
    if (taken.has(key)) return false;
    taken.add(key);
    return true;
  });
}

/**
 * As `thinned`, with stretches made longer until no more than so many lines are left.
 * @template T
 * @param {T[]} lines in time order
 * @param {(line: T) => {seconds: number, between: string}} of
 * @param {number} stretch seconds, the shortest
 * @param {number} most lines
 * @returns {T[]}
 */
export function fitted(lines, of, stretch, most) {
  let kept = thinned(lines, of, stretch);
  for (let wide = stretch * 2, turn = 0; kept.length > most && turn < 12; wide *= 2, turn++) kept = thinned(kept, of, wide);
  const each = Math.ceil(kept.length / most);
  return each > 1 ? kept.filter((_, index) => index % each === 0) : kept;
}
