/** Why threads wait, explained by what the others did meanwhile. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'waits',
  title: 'Waiting',
  about: "Why threads wait, explained by what the others did meanwhile.",
  key: '4',
  draw: (root) => root.append(empty('This view is being built.')),
};
