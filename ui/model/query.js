/** Questions and places of the page as text: keys of requests, and the part of the URL after `#`. */

/**
 * The key of a request: its path with its parameters, sorted by name.
 * @param {string} path
 * @param {Record<string, string|number|string[]|undefined>} parameters undefined and empty ones are left out; a list is
 *   several parameters of one name, in its own order
 */
export function keyOf(path, parameters) {
  const pairs = Object.keys(parameters).sort().flatMap((name) => {
    const value = parameters[name];
    const values = Array.isArray(value) ? value : [value];
    return values
      .filter((one) => one !== undefined && one !== '')
      .map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`);
  });
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
}

/** Keys of the URL that can stand several times. */
const LISTS = ['set', 'curves', 'open', 'folded', 'define'];

/**
 * A place of the page: the view and what is seen of it.
 * @typedef {{view: string} & Record<string, any>} Place
 */

/**
 * Reads the part of the URL after `#`.
 * @param {string} hash with or without `#`
 * @returns {Place}
 */
export function placeOf(hash) {
  const [view, query = ''] = hash.replace(/^#/, '').split('?');
  /** @type {Place} */
  const place = { view: view || 'overview' };
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'view' || name === '__proto__') continue;
    if (LISTS.includes(name)) (place[name] ??= []).push(value);
    else place[name] = value;
  }
  return place;
}

/**
 * The part of the URL after `#`, with it.
 * @param {Place} place
 */
export function hashOf(place) {
  const { view, ...rest } = place;
  return `#${keyOf(view, rest)}`;
}

/** Keys that stay when one goes from view to view. */
const COMMON = ['phase', 'io', 'weight', 'define'];

/**
 * The place after a change.
 * @param {Place} place
 * @param {Partial<Place>} change undefined takes a key away; a change of the view keeps only what all views have in common
 * @returns {Place}
 */
export function changed(place, change) {
  /** @type {Place} */
  const kept = change.view === undefined || change.view === place.view
    ? { ...place }
    : { view: change.view, ...Object.fromEntries(COMMON.filter((key) => key in place).map((key) => [key, place[key]])) };
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) delete kept[key];
    else kept[key] = value;
  }
  return /** @type {Place} */ (kept);
}
