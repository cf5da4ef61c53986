/** Stacked bars over the number of busy threads, with the legend that names the parts. */

import { percent, time } from '../model/quantity.js';
import { shorten } from '../model/names.js';
import { bar, swatch } from './bars.js';
import { element } from './element.js';
import { linksOf } from './links.js';

/** @typedef {import('../main.js').Context} Context */
/** @typedef {import('../model/parallelism.js').Layer} Layer */

/**
 * @param {import('../model/parallelism.js').Stacks} stacks
 * @param {(layer: Layer) => string|undefined} hrefOf where a part leads
 * @param {Context} context
 * @param {string} label what the bars show
 * @param {HTMLElement} [beside] what stands beside the legend
 * @returns {HTMLElement}
 */
export function drawStacks({ levels, layers, largest, whole }, hrefOf, context, label, beside) {
  const titleOf = (/** @type {Layer} */ layer, /** @type {number} */ seconds, /** @type {string} */ level) =>
    `${layer.procedure}${layer.part === 'self' ? ' itself' : ''}: ${time(seconds)} while ${level} busy`;
  return element('div.stacks', { 'data-part': 'stacks' },
    element('table.levels', { 'aria-label': label }, element('thead', null, element('tr', null,
      element('th.number', { scope: 'col', title: 'number of busy threads' }, 'busy'), element('th.wide', { scope: 'col' }, label), element('th.number', { scope: 'col' }, 'time'),
      element('th.number', { scope: 'col' }, '%'))),
    element('tbody', null, ...levels.map((level) => element('tr', { 'data-level': level.label },
      element('th.number', { scope: 'row' }, level.label),
      element('td.wide', null, bar(level.parts.map(({ layer, seconds }) => ({
        value: seconds, look: layer.look, mark: layer.mark, title: titleOf(layer, seconds, level.label), href: hrefOf(layer),
      })), largest, `${level.label} busy: ${time(level.seconds)}`)),
      element('td.number', null, time(level.seconds)),
      element('td.number', null, percent(whole > 0 ? 100 * level.seconds / whole : 0)))))),
    element('div.beside', null, legend(layers, hrefOf, context), beside));
}

/** @type {Record<string, string>} */
const WORDS = { self: 'itself', called: 'called', in: '', 'handed over': 'handed over by', nobody: '', others: '' };

/**
 * @param {Layer[]} layers
 * @param {(layer: Layer) => string|undefined} hrefOf
 * @param {Context} context
 */
function legend(layers, hrefOf, context) {
  return element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'legend' }, element('table', { 'data-part': 'legend' },
    element('thead', null, element('tr', null, element('th', { scope: 'col' }), element('th.number', { scope: 'col' }, '%'),
      element('th.number', { scope: 'col' }, 'time'), element('th', { scope: 'col' }), element('th', { scope: 'col' }, 'procedure'))),
    element('tbody', null, ...layers.map((layer) => {
      const href = hrefOf(layer);
      const title = [layer.procedure, layer.module, layer.file].filter(Boolean).join('\n');
      return element('tr', { 'data-row': layer.procedure },
        element('td', null, swatch(layer.look, layer.mark)),
        element('td.number', null, percent(layer.percent)),
        element('td.number', null, time(layer.seconds)),
        element('td.faint', null, WORDS[layer.part] ?? layer.part),
        element('th.name', { scope: 'row', title }, href ? element('a', { href }, shorten(layer.procedure, 60)) : shorten(layer.procedure, 60),
          layer.key && layer.part !== 'nobody' ? linksOf({ procedure: layer.procedure, module: layer.module, file: layer.file }, context) : null));
    }))));
}
