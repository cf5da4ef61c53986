/** A part of a view that waits for its answer: it says that it loads, why it failed, or why there is nothing. */

import { element } from './element.js';

/**
 * Fills `root` with what `draw` makes of the answer.
 * @template T
 * @param {HTMLElement} root
 * @param {Promise<T>|(() => Promise<T>)} answer a function can be asked again after a failure
 * @param {(answer: T, root: HTMLElement) => void|Promise<void>} draw
 * @returns {Promise<void>}
 */
export async function panel(root, answer, draw) {
  const turn = {};
  turns.set(root, turn);
  root.setAttribute('aria-busy', 'true');
  // Quick answers are drawn without a flicker.
  const wait = setTimeout(() => {
    if (turns.get(root) === turn) root.replaceChildren(element('p.loading', { role: 'status' }, 'Analysing the recording…'));
  }, 120);
  try {
    const data = await (typeof answer === 'function' ? answer() : answer);
    clearTimeout(wait);
    if (turns.get(root) !== turn) return;
    root.replaceChildren();
    await draw(data, root);
  } catch (error) {
    if (turns.get(root) !== turn) return;
    root.replaceChildren(failed(error, typeof answer === 'function' ? () => panel(root, answer, draw) : undefined));
  } finally {
    clearTimeout(wait);
    if (turns.get(root) === turn) root.removeAttribute('aria-busy');
  }
}

/** @type {WeakMap<HTMLElement, object>} the last filling of each root; earlier ones come too late */
const turns = new WeakMap();

/**
 * @param {any} error
 * @param {(() => void)|undefined} again
 */
function failed(error, again) {
  const hints = error?.hints ?? [];
  return element('div.failed', { role: 'alert' },
    element('p', null, element('strong', null, 'No answer: '), String(error?.message ?? error)),
    hints.length > 0 && element('ul', null, ...hints.map((/** @type {string} */ hint) => element('li', null, hint))),
    again && element('button', { onclick: again }, 'Ask again'));
}

/**
 * What stands where there is nothing, and why.
 * @param {string} why
 */
export const empty = (why) => element('p.empty', { role: 'status' }, why);
