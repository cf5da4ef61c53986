/** The search over the whole recording: a dialog that finds procedures, objects and threads, and leads to the views of them. */

import { leadsOf } from '../model/links.js';
import { shorten } from '../model/names.js';
import { percent } from '../model/quantity.js';
import { found, thingsOf } from '../model/search.js';
import { element } from './element.js';
import { panel } from './panel.js';

/** Things that are listed. */
const MOST = 30;

/** Which reports know things of which kind. */
const REPORTS = { procedure: 'npt', object: 'objects', thread: 'threads' };

/** @type {Record<string, string>} what the share of a thing is of */
const SHARES = { procedure: 'of the normalised processor time', object: 'of the waiting for objects', thread: 'of the CPU time' };

/**
 * Opens the search.
 * @param {import('../main.js').Context} context
 */
export function openSearch(context) {
  if (document.querySelector('dialog.search-all')) return;
  const input = element('input', {
    type: 'search', placeholder: 'a procedure, object or thread', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-autocomplete': 'list',
    'aria-label': 'search procedures, objects and threads', 'data-part': 'search-input',
  });
  const [list, leads] = [element('ul.found', { role: 'listbox', id: 'found', 'aria-label': 'found' }), element('div.leads-of', { 'data-part': 'leads' })];
  const body = element('div', null);
  const dialog = element('dialog.search-all', { 'aria-label': 'search', 'data-part': 'search' }, input, body,
    element('p.faint', null, '↑ ↓ choose, Enter goes there, Tab to the other views of it, Esc closes'));
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (/** @type {MouseEvent} */ event) => event.target === dialog && dialog.close());
  context.signal.addEventListener('abort', () => dialog.close(), { once: true });
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  panel(body, () => askThings(context), (things) => {
    body.append(list, leads);
    listen(input, list, leads, things, context, () => dialog.close());
  });
}

/** @param {import('../main.js').Context} context */
async function askThings({ report }) {
  const answers = await Promise.all(Object.values(REPORTS).map((view) => report(view)));
  return thingsOf(Object.fromEntries(Object.keys(REPORTS).map((kind, index) => [kind, answers[index].rows])));
}

/**
 * @param {any} input
 * @param {HTMLElement} list
 * @param {HTMLElement} leads
 * @param {import('../model/search.js').Thing[]} things
 * @param {import('../main.js').Context} context
 * @param {() => void} close
 */
function listen(input, list, leads, things, { go, link }, close) {
  let [shown, at] = [/** @type {import('../model/search.js').Thing[]} */ ([]), 0];
  const choose = (/** @type {number} */ next) => {
    at = next;
    [...list.children].forEach((option, index) => option.setAttribute('aria-selected', String(index === at)));
    input.setAttribute('aria-activedescendant', shown.length > 0 ? `found-${at}` : '');
    list.children[at]?.scrollIntoView?.({ block: 'nearest' });
    leads.replaceChildren(...(shown[at] ? leadsOf(shown[at].row).map(({ title, change }) => element('a', { href: link(change), onclick: close }, title)) : []));
  };
  const open = (/** @type {import('../model/search.js').Thing|undefined} */ thing) => {
    const lead = thing && leadsOf(thing.row)[0];
    if (!lead) return;
    close();
    go(lead.change);
  };
  const fill = () => {
    shown = found(things, input.value, MOST);
    list.replaceChildren(...shown.map((thing, index) => element('li', {
      role: 'option', id: `found-${index}`, 'data-row': thing.name, 'data-kind': thing.kind, title: [thing.name, thing.row.module, thing.row.file].filter(Boolean).join('\n'),
      onmousemove: () => at !== index && choose(index), onclick: () => open(thing),
    }, element('span.kind', null, thing.kind), element('code', null, shorten(thing.name, 60)), element('span.faint', { title: SHARES[thing.kind] }, percent(thing.weight)))));
    if (shown.length === 0) list.append(element('li.faint', { role: 'option', 'aria-disabled': 'true' }, `No procedure, object or thread is called like “${input.value}”.`));
    choose(0);
  };
  input.addEventListener('input', fill);
  input.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    if (event.key === 'Enter') open(shown[at]);
    else if (step && shown.length > 0) choose((at + step + shown.length) % shown.length);
    else return;
    event.preventDefault();
  });
  fill();
}
