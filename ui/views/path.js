/** The longest chain of work: only what is on it is worth making faster. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'path',
  title: 'Critical path',
  about: "The longest chain of work: only what is on it is worth making faster.",
  key: '3',
  draw: (root) => root.append(empty('This view is being built.')),
};
