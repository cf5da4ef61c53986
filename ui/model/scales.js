/** Scales of curves of different units on one time axis: which have an axis, and what is written on it. */

/** Units that have an axis of their own: at the left, at the right. */
const AXES = 2;

/**
 * @typedef {object} Scale
 * @property {string} key curves of one scale share it
 * @property {string} unit
 * @property {'left'|'right'|'own'} side `own`: without an axis, each curve of its own height
 */

/**
 * The scale of each curve, by the order in which their units come.
 * @param {(string|undefined)[]} units of the curves; undefined where it is not known yet
 * @returns {Scale[]}
 */
export function scalesOf(units) {
  const axes = [...new Set(units.filter((unit) => unit !== undefined))].slice(0, AXES);
  return units.map((unit, index) => {
    const axis = unit === undefined ? 0 : axes.indexOf(unit);
    return axis < 0
      ? { key: `own-${index}`, unit: unit ?? '', side: 'own' }
      : { key: axis === 0 ? 'left' : 'right', unit: unit ?? '', side: axis === 0 ? 'left' : 'right' };
  });
}

/**
 * Ends of a scale that holds all values and zero.
 * @param {number|null|undefined} least
 * @param {number|null|undefined} most
 * @returns {[number, number]}
 */
export function endsOf(least, most) {
  const [low, high] = [Math.min(0, least ?? 0), Math.max(0, most ?? 0)];
  if (low === 0 && high === 0) return [0, 1];
  const room = (high - low) * 0.05;
  return [low < 0 ? low - room : 0, high > 0 ? high + room : 0];
}

/**
 * Some round values between the ends of a scale.
 * @param {number} low
 * @param {number} high
 * @param {number} [about] how many
 */
export function levelsOf(low, high, about = 4) {
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((step) => step >= raw * 0.999) ?? raw;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, index) => (first + index) * step + 0);
}

/** What stands at an axis without a unit. @param {string} unit */
export const unitText = (unit) => (unit === '' ? 'number' : unit);
