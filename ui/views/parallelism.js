/** How many threads were busy, and what ran when few were. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'parallelism',
  title: 'Parallelism',
  about: "How many threads were busy, and what ran when few were.",
  key: '6',
  draw: (root) => root.append(empty('This view is being built.')),
};
