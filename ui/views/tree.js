/** Program, machine, process, thread, procedure. */

import { empty } from '../widgets/panel.js';

/** @type {import('../main.js').View} */
export default {
  name: 'tree',
  title: 'Tree',
  about: "Program, machine, process, thread, procedure.",
  key: '7',
  draw: (root) => root.append(empty('This view is being built.')),
};
