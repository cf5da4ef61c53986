/** Rows of a table in the order and choice that was asked for. */

/** Keys whose text is searched. */
const NAMES = ['procedure', 'object', 'thread', 'process', 'machine', 'module', 'file', 'name', 'text', 'kind', 'cause'];

/**
 * @param {any[]} rows
 * @param {{sort?: string, find?: string}} choice `sort` is a key, `-` before it for falling order
 * @returns {any[]} rows that hold what is searched for in a name, sorted; rows without the sorted value come last
 */
export function arrange(rows, { sort, find }) {
  const wanted = (find ?? '').trim().toLowerCase();
  const chosen = wanted === '' ? [...rows] : rows.filter((row) =>
    NAMES.some((key) => typeof row[key] === 'string' && row[key].toLowerCase().includes(wanted)));
  if (!sort) return chosen;
  const falls = sort.startsWith('-');
  const key = falls ? sort.slice(1) : sort;
  const sign = falls ? -1 : 1;
  return chosen.sort((a, b) => {
    const [one, other] = [a[key], b[key]];
    if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
    return sign * (typeof one === 'number' && typeof other === 'number' ? one - other : String(one).localeCompare(String(other)));
  });
}

const COUNTS = /^(rank|count|samples|switches|acquisitions|contended|waits|blocks|tid|pid|line|level|handovers|objects|longest_queue|contended_acquisitions|entries|hand_offs|observations|requests|transfers)$/;

/**
 * Whether a column's values stand at the right, and fall at the first sorting.
 * @param {{name: string, unit: string, is_number?: boolean}} column
 */
export const isNumber = (column) => column.unit !== '' || column.is_number === true || COUNTS.test(column.name);
