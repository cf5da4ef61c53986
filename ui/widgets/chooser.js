/** Chooses what a view is about: any procedure, thread or object of the recording, by its name. */

import { element } from './element.js';

/**
 * A field that completes names; choosing one goes to it.
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
export function chooser({ place, report, go }) {
  const names = element('datalist', { id: 'names-of-all' });
  let asked = false;
  const fill = async () => {
    if (asked) return;
    asked = true;
    const of = (/** @type {string} */ view, /** @type {string} */ key) => report(view)
      .then(({ rows }) => rows.filter((/** @type {any} */ row) => row[key]).map((/** @type {any} */ row) => `${key}:${row[key]}${key === 'thread' && row.tid ? ` #${row.tid}` : ''}`))
      .catch(() => []);
    const known = await Promise.all([of('npt', 'procedure'), of('objects', 'object'), of('threads', 'thread')]);
    names.replaceChildren(...[...new Set(known.flat())].slice(0, 3000).map((name) => element('option', { value: name })));
  };
  const field = element('input.wide', {
    type: 'search', list: 'names-of-all', placeholder: 'procedure, object or thread', 'aria-label': 'what to look at', value: place.of ?? '',
    'data-part': 'chooser', autocomplete: 'off', onfocus: fill,
  });
  return element('form.finder', {
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      go({ of: field.value.trim() || undefined, open: undefined });
    },
    onchange: () => field.value.includes(':') && go({ of: field.value.trim(), open: undefined }),
  }, field, names, element('button', null, 'Look'));
}
