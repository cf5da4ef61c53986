/**
 * Program, machine, process, thread, procedure, with any metric beside the names (IPS-2, figure 1). In the URL: `metric` (columns with commas
 * between them, of any class), `sort`, `find`, and `open`: an `open` for each row that was opened or closed against what is shown at first; `all`
 * and `none` for every row.
 */

import { treeOf } from '../model/tree.js';
import { catalogueOf } from '../widgets/catalogue.js';
import { panel } from '../widgets/panel.js';
import { drawTree } from './tree/grid.js';

/** @type {import('../main.js').View} */
export default {
  name: 'tree',
  title: 'Tree',
  about: 'Program, machine, process, thread, procedure, with any metric beside the names.',
  key: '7',
  draw: (root, context) => panel(root, () => Promise.all([context.report('tree'), catalogueOf(context)]), ([report, catalogue]) => {
    // Rows are added to: what was answered stays as it was.
    const rows = report.rows.map((/** @type {any} */ row) => ({ ...row }));
    drawTree(root, { ...report, rows }, treeOf(rows), catalogue, context);
  }),
};
