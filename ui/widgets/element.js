/** Makes elements. Names of a recording are only ever text: nothing here takes markup, and what is not seen is spelt out. */

import { visible } from '../model/visible.js';

/** Attributes that are read, not followed. */
const READ = new Set(['title', 'aria-label', 'aria-valuetext', 'alt', 'placeholder']);

/**
 * @param {string} tag with classes, as `td.number`
 * @param {Record<string, any>|null} [properties] attributes; `on…` are listeners, `style` is an object; undefined and false
 *   ones are left out
 * @param {...(Node|string|number|null|undefined|false)} children
 * @returns {any} the element
 */
export function element(tag, properties, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElement(name);
  fill(made, classes, properties ?? {}, children);
  return made;
}

/** As `element`, of a drawing. @type {typeof element} */
export function drawing(tag, properties, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  fill(made, classes, properties ?? {}, children);
  return made;
}

/**
 * @param {Element & ElementCSSInlineStyle} made
 * @param {string[]} classes
 * @param {Record<string, any>} properties
 * @param {any[]} children
 */
function fill(made, classes, properties, children) {
  if (classes.length > 0) made.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false || value === null) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (key === 'style') for (const [name, one] of Object.entries(value)) made.style.setProperty(name, one);
    else made.setAttribute(key, value === true ? '' : READ.has(key) ? visible(String(value)) : String(value));
  }
  const there = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  made.append(...there.map((child) => typeof child === 'string' ? visible(child) : child));
}
