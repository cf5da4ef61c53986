/** A choice between a few ways to see the same: links beside each other, the one that is seen marked. */

import { element } from './element.js';

/**
 * @param {string} label what is chosen
 * @param {{value: string|undefined, title: string, about?: string}[]} options
 * @param {string|undefined} now the value that is seen
 * @param {(value: string|undefined) => string} hrefOf
 * @returns {HTMLElement}
 */
export function choice(label, options, now, hrefOf) {
  return element('span.control', null, element('span.label', null, label), element('span.choice', { role: 'group', 'aria-label': label },
    ...options.map(({ value, title, about }) => freshLink(() => hrefOf(value), {
      title: about, 'aria-current': value === now ? 'true' : undefined, 'data-choice': value ?? '',
    }, title))));
}

/**
 * A link to a change of what is seen now: what was noted in the URL since it was drawn is not lost.
 * @param {() => string} href
 * @param {Record<string, any>} properties
 * @param {string} title
 */
export function freshLink(href, properties, title) {
  const refresh = () => made.setAttribute('href', href());
  const made = element('a', { href: href(), onpointerdown: refresh, onfocus: refresh, onclick: refresh, ...properties }, title);
  return made;
}

/**
 * A word that the help explains.
 * @param {string} word
 * @param {string} name what the registry calls it
 * @param {import('../main.js').Context} context
 */
export const explained = (word, name, { link }) =>
  element('a.explained', { href: link({ view: 'help', of: name }), title: 'What does that mean?' }, word);
