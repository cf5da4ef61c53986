/** What every number and word means. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'help',
  title: 'Help',
  about: "What every number and word means.",
  key: 'h',
  draw: (root) => root.append(empty('This view is being built.')),
};
