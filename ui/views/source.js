/** The program's own text, shaded by what its lines cost. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'source',
  title: 'Source',
  about: "The program's own text, shaded by what its lines cost.",
  key: '9',
  draw: (root) => root.append(empty('This view is being built.')),
};
