/** The registry of what is measured, in groups and searched. */

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} title
 * @property {string} unit
 * @property {string} explanation
 * @property {string} source
 * @property {string} [group]
 */

/**
 * Entries that hold all of the words, in the registry's groups and order; groups without any are left out.
 * @param {Entry[]} metrics
 * @param {string} wanted
 * @returns {{name: string, entries: Entry[]}[]}
 */
export function groupsOf(metrics, wanted) {
  /** @type {Map<string, Entry[]>} */
  const groups = new Map();
  for (const entry of metrics.filter((entry) => holds(entry, wanted))) {
    const group = entry.group ?? '';
    groups.set(group, [...(groups.get(group) ?? []), entry]);
  }
  return [...groups].map(([name, entries]) => ({ name, entries }));
}

/**
 * Whether an entry holds all of the words, in its name, its title or its explanation.
 * @param {{name: string, title: string, explanation: string}} entry
 * @param {string} wanted
 */
export function holds({ name, title, explanation }, wanted) {
  const text = `${name} ${title} ${explanation}`.toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/**
 * A metric from outside, or a derived one, as an entry of the help.
 * @param {import('./metrics.js').Metric} metric
 * @returns {Entry}
 */
export function entryOfMetric({ name, title, unit, explanation, class: own, group, level, formula }) {
  const isDerived = own === 'derived';
  const told = [explanation, isDerived && formula && `Defined as \`${formula}\`.`, !isDerived && group && `Collected by \`${group}\`.`, level && `Of each ${level}${level === 'program' ? '' : ' and all above it'}.`];
  return { name, title, unit, explanation: told.filter(Boolean).join(' '), source: '', group: isDerived ? 'Derived' : group ? `From outside: ${group}` : 'From outside' };
}

/**
 * The entry that a link means: by its name, else the one whose title it is, `_` and `-` being the same as a space.
 * @template {{name: string, title: string}} T
 * @param {T[]} entries
 * @param {string|undefined} of
 * @returns {T|undefined}
 */
export function entryOf(entries, of) {
  if (!of) return undefined;
  const plain = (/** @type {string} */ text) => text.toLowerCase().replace(/[_-]+/g, ' ').trim();
  return entries.find(({ name }) => name === of) ?? entries.find(({ name, title }) => plain(name) === plain(of) || plain(title) === plain(of));
}

/** @type {Record<string, string>} */
const PAPERS = { Q: 'Quartz', I: 'IPS-2', M: 'the comparison of metrics', C: 'Carnival' };

/**
 * The reference of a definition in words: sections of docs/metrics.md, then of the papers; sections behind a paper are its own.
 * @param {string} source as `§2, Q §3, §5, I §4`
 */
export function sourceText(source) {
  /** @type {{of: string, sections: string[]}[]} */
  const works = [];
  for (const part of source.split(/,\s*/)) {
    const [, paper, rest] = /^([QIMC]) (.*)$/.exec(part) ?? [];
    if (!paper && part.startsWith('§') && works.length > 0) works[works.length - 1].sections.push(part);
    else works.push({ of: paper ? PAPERS[paper] : part.startsWith('§') ? 'docs/metrics.md' : '', sections: [rest ?? part] });
  }
  return works.map(({ of, sections }) => [of, sections.join(', ')].filter(Boolean).join(' ')).join('; ');
}
