/** The path before and after the changes, procedure by procedure. */

import { cell } from '../../model/quantity.js';
import { paths } from '../../model/what-if.js';
import { element } from '../../widgets/element.js';
import { table } from '../../widgets/table.js';

const COLUMNS = [
  { name: 'procedure', unit: '', title: 'Procedure' },
  { name: 'before', unit: 's', title: 'Path now', explanation: 'Time of the procedure on the critical path as recorded.' },
  { name: 'after', unit: 's', title: 'Path after', explanation: 'Time of the procedure on the path that is the longest after the changes.' },
  { name: 'difference', unit: 's', title: 'Difference', explanation: 'Path after less path now: what is above zero comes onto the path by the changes, or moves up on it.' },
];

/**
 * @param {HTMLElement} root
 * @param {any[]} before rows of the critical path by procedure
 * @param {any[]} report rows of the what-if
 * @param {import('../../main.js').Context} context
 */
export function drawAfter(root, before, report, context) {
  const rows = paths(before, report).map(({ row, before, after }) => ({ procedure: row.procedure, module: row.module, file: row.file, before, after, difference: after - before }));
  const sign = (/** @type {number} */ seconds) => (Math.abs(seconds) < 5e-10 ? '' : `${seconds > 0 ? '+' : '−'}${cell(Math.abs(seconds), 's')}`);
  root.append(element('h2', null, 'The path now and after'), table({ columns: COLUMNS, rows }, {
    name: 'procedure', own: 'after', limit: 15, links: true, columns: ['before', 'after', 'difference'], bar: ['before', 'after'],
    cells: { difference: (row) => sign(row.difference) }, caption: 'the critical path now and after the changes',
  }, context));
}
