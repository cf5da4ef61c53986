/** Quantities as text, as the reports write them. */

const UNITS = /** @type {const} */ ([[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']]);

/**
 * A time with three digits and its unit.
 * @param {number|undefined} seconds
 */
export function time(seconds) {
  if (seconds === undefined || !Number.isFinite(seconds)) return '';
  if (seconds === 0) return '0 s';
  const size = Math.abs(seconds);
  const [scale, unit] = UNITS.find(([scale]) => size >= scale * 0.9995) ?? UNITS[3];
  return `${digits(seconds / scale)} ${unit}`;
}

/** @param {number} number with three digits that count */
export function digits(number) {
  const size = Math.abs(number);
  if (size >= 100) return number.toFixed(0);
  if (size >= 10) return number.toFixed(1);
  return number.toFixed(2);
}

/**
 * A share.
 * @param {number|undefined} percent
 */
export function percent(percent) {
  if (percent === undefined || !Number.isFinite(percent)) return '';
  return `${percent.toFixed(1)} %`;
}

/**
 * A count with thin spaces between thousands.
 * @param {number|undefined} count
 */
export function count(count) {
  if (count === undefined) return '';
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ' ');
}

/**
 * A value in its column's unit.
 * @param {any} value
 * @param {string} unit as columns have it
 */
export function cell(value, unit) {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return String(value);
  if (unit === 's') return time(value);
  if (unit === '%') return percent(value);
  if (unit === 'percentage points') return `± ${value.toFixed(1)}`;
  if (unit === 'threads') return value.toFixed(2);
  return Number.isInteger(value) ? count(value) : digits(value);
}

/** @type {[number, string][]} */
const THOUSANDS = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M']];

/**
 * A number of any size: three digits that count, whole to a million, then in millions and above.
 * @param {number} number
 */
export function short(number) {
  const size = Math.abs(number);
  if (size === 0) return '0';
  const [scale, letter] = THOUSANDS.find(([scale]) => size >= scale * 0.9995) ?? [1, ''];
  if (letter) return `${digits(number / scale)} ${letter}`;
  if (size >= 1000) return `${number < 0 ? '−' : ''}${count(size)}`;
  if (size < 0.01) return number.toPrecision(3);
  return Number.isInteger(number) ? String(number) : digits(number);
}

/**
 * A value with its unit, whatever that is.
 * @param {number|null|undefined} value
 * @param {string} unit
 */
export function amount(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '';
  if (unit === 's') return time(value);
  if (unit === '%') return percent(value);
  if (unit === 'threads') return `${value.toFixed(2)} threads`;
  const [, per] = /^B(\/.*)?$/.exec(unit) ?? [undefined, null];
  if (per !== null) return bytes(value, per ?? '');
  return unit ? `${short(value)} ${unit}` : short(value);
}

/** @param {number} value @param {string} per what stands behind the unit */
function bytes(value, per) {
  const power = Math.min(5, Math.max(0, Math.floor(Math.log2(Math.abs(value) || 1) / 10)));
  return `${short(value / 1024 ** power)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power]}${per}`;
}

/**
 * A point of the run or a phase, as `--phase` takes it: with as many digits as the grain needs.
 * @param {number} from seconds
 * @param {number} to seconds
 */
export function phase(from, to) {
  const places = Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(Math.max(to - from, 1e-9)))));
  const text = (/** @type {number} */ seconds) => `${Number(seconds.toFixed(places))}s`;
  return `${text(from)}..${text(to)}`;
}

/**
 * Begin and end of a phase that is given in seconds; null for percent and procedures, which only the analysis knows.
 * @param {string|undefined} text
 * @returns {[number, number]|null}
 */
export function phaseSeconds(text) {
  const found = /^([\d.e-]+)s\.\.([\d.e-]+)s$/.exec(text ?? '');
  return found ? [Number(found[1]), Number(found[2])] : null;
}
