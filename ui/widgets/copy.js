/** Text that people take with them: commands and links. */

import { element } from './element.js';

/**
 * A button that copies.
 * @param {() => string} text asked when it is pressed
 * @param {string} title what is copied
 * @param {string} [label]
 */
export function copyButton(text, title, label = 'Copy') {
  const button = element('button.copy', {
    type: 'button', title, 'aria-label': title, 'data-part': 'copy',
    onclick: async () => {
      const isCopied = await copy(text());
      button.textContent = isCopied ? 'Copied' : 'Not allowed';
      setTimeout(() => button.replaceChildren(label), 1500);
    },
  }, label);
  return button;
}

/**
 * A command as text, with the button that copies it.
 * @param {string} command
 */
export const command = (command) => element('span.copied', null, element('code', null, command), copyButton(() => command, `copy ${command}`));

/** @param {string} text @returns {Promise<boolean>} whether the clipboard took it */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
