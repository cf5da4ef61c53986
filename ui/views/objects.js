/** Locks, conditions, barriers, pipes: who waits for them, how long, and for whom. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'objects',
  title: 'Objects',
  about: "Locks, conditions, barriers, pipes: who waits for them, how long, and for whom.",
  key: '5',
  draw: (root) => root.append(empty('This view is being built.')),
};
