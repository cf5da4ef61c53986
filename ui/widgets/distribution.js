/** A distribution: a bar for each range, with its number beside it. */

import { element } from './element.js';

/**
 * @param {string} title
 * @param {{label: string, share: number, texts: string[], note?: any}[]} rows `share` is of the longest bar's, 0 to 1
 * @param {string[]} heads of the label, the bar, and each text
 * @param {string} [part] what browser tests call it
 * @returns {HTMLElement}
 */
export function distribution(title, rows, heads, part) {
  const [label, bar, ...texts] = heads;
  return element('figure.distribution', { 'data-part': part }, element('figcaption', null, element('h2', null, title)),
    element('div.scroll', null, element('table', null,
      element('thead', null, element('tr', null, element('th.number', { scope: 'col' }, label), element('th.wide', { scope: 'col' }, bar),
        ...texts.map((text) => element('th.number', { scope: 'col' }, text)))),
      element('tbody', null, ...rows.map((row) => element('tr', null, element('th.number', { scope: 'row' }, row.label),
        element('td.wide', null, element('div.fill', { style: { width: `${100 * Math.min(1, row.share)}%` } }), row.note ?? null),
        ...row.texts.map((text) => element('td.number', null, text))))))));
}
