/** What every thread did, with the critical path drawn through them. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'timeline',
  title: 'Timeline',
  about: "What every thread did, with the critical path drawn through them.",
  key: '2',
  draw: (root) => root.append(empty('This view is being built.')),
};
