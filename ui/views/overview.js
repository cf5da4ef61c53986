/** What to change first, and how far to trust that. */

import { cell } from '../model/quantity.js';
import { element } from '../widgets/element.js';
import { panel } from '../widgets/panel.js';
import { table } from '../widgets/table.js';

/** @type {import('../main.js').View} */
export default {
  name: 'overview',
  title: 'Overview',
  about: 'What holds the program back, what a change would gain, and how sure that is.',
  key: '1',
  draw: (root, context) => panel(root, () => context.report('summary'), (report) => {
    void cell;
    root.append(element('section', null, table(report, { name: 'text', columns: ['seconds', 'percent'] }, context)));
  }),
};
