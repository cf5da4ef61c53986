/** Call paths by CPU time, normalised processor time, critical path or waiting. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'flame',
  title: 'Flame graph',
  about: "Call paths by CPU time, normalised processor time, critical path or waiting.",
  key: '8',
  draw: (root) => root.append(empty('This view is being built.')),
};
