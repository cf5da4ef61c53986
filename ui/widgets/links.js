/** A small menu of the places that a row leads to: source, parallelism, flame graph, timeline, what if. */

import { leadsOf } from '../model/links.js';
import { nameOf } from '../model/names.js';
import { element } from './element.js';

/**
 * A button that opens the menu; null for rows that lead nowhere.
 * @param {Record<string, any>} row of a report: `procedure`, `object`, `thread` or `process` tell what it is about
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement|null}
 */
export function linksOf(row, context) {
  const leads = leadsOf(row);
  if (leads.length === 0) return null;
  const button = element('button.leads', {
    type: 'button', 'aria-haspopup': 'menu', 'aria-label': `more about ${nameOf(row)}`, title: 'Where to look further', 'data-part': 'leads',
    onclick: () => open(button, leads, context),
  }, '⋯');
  return button;
}

/**
 * @param {HTMLElement} button
 * @param {import('../model/links.js').Lead[]} leads
 * @param {import('../main.js').Context} context
 */
function open(button, leads, { link, signal }) {
  const menu = element('div.menu', { popover: 'auto', role: 'menu', 'data-part': 'menu' },
    ...leads.map(({ title, change }) => element('a', { role: 'menuitem', href: link(change), onclick: () => menu.hidePopover() }, title)));
  const items = /** @type {HTMLElement[]} */ ([...menu.children]);
  menu.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    items[(at + step + items.length) % items.length].focus();
  });
  menu.addEventListener('toggle', (/** @type {any} */ event) => {
    if (event.newState !== 'closed') return;
    menu.remove();
    if (button.isConnected && document.activeElement === document.body) button.focus();
  });
  signal.addEventListener('abort', () => menu.remove(), { once: true });
  document.body.append(menu);
  menu.showPopover();
  place(menu, button.getBoundingClientRect());
  items[0].focus();
}

/**
 * Puts the menu below the button, or above where there is no room, and never beyond the window.
 * @param {HTMLElement} menu
 * @param {DOMRect} beside
 */
function place(menu, beside) {
  const { width, height } = menu.getBoundingClientRect();
  const left = Math.max(4, Math.min(beside.left, innerWidth - width - 4));
  const below = beside.bottom + 2;
  const top = below + height > innerHeight ? Math.max(4, beside.top - height - 2) : below;
  menu.style.setProperty('left', `${left}px`);
  menu.style.setProperty('top', `${top}px`);
}
