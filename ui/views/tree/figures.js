/** Values of outside and derived metrics in the tree: asked for node by node, as their rows come into sight. */

import { nodeOfRow, reaches } from '../../model/metrics.js';
import { amount } from '../../model/quantity.js';
import { definesFor } from '../../widgets/catalogue.js';

/** @typedef {import('../../model/tree.js').Node} Node */

/** Questions under way at once, and nodes that are asked for at most: the rest when fewer rows are shown. */
const [AT_ONCE, MOST] = [3, 400];

export class Figures {
  /**
   * @param {import('../../main.js').Context} context
   * @param {import('../../widgets/catalogue.js').Catalogue} catalogue
   * @param {() => void} changed called when values have come into the rows
   */
  constructor(context, catalogue, changed) {
    this.context = context;
    this.changed = changed;
    /** @type {Map<Node, Map<string, any>|Error|null>} rows of the answers by metric, why there is none, or null while it is under way */
    this.answers = new Map();
    /** @type {Node[]} */
    this.queue = [];
    this.busy = 0;
    this.said = '';
    this.defines = catalogue.metrics.map(({ name }) => definesFor(catalogue, name)).find(Boolean);
    /** @type {number|undefined} */
    this.frame = undefined;
  }

  /**
   * Asks for what the rows that are seen lack.
   * @param {Node[]} seen
   * @param {any[]} columns
   */
  want(seen, columns) {
    const asked = columns.filter(({ isAsked }) => isAsked);
    const nodes = seen.filter((node) => !this.answers.has(node) && asked.some((column) => reaches(column, node.row.kind)));
    this.queue = nodes.slice(0, Math.max(0, MOST - this.answers.size));
    const rest = nodes.length - this.queue.length;
    this.said = rest > 0 ? `Values of metrics from outside are asked for row by row; those of ${rest} rows are not.` : '';
    this.next();
  }

  /**
   * What stands in a cell, and why.
   * @param {Node} node
   * @param {{name: string, unit: string, level?: string}} column
   * @returns {{text: string, isValue: boolean, title: string|undefined}}
   */
  cell(node, column) {
    const answer = this.answers.get(node);
    if (answer instanceof Error) return { text: '!', isValue: false, title: answer.message };
    const figure = answer?.get(column.name);
    const title = [figure?.calculation, ...[figure?.notes ?? []].flat()].filter(Boolean).join('. ');
    if (typeof figure?.value === 'number') return { text: amount(figure.value, figure.unit ?? column.unit), isValue: true, title: `${title ? `${title}. ` : ''}Over time` };
    const isAwaited = reaches(column, node.row.kind) && !answer;
    return { text: isAwaited ? '…' : '–', isValue: false, title: isAwaited ? undefined : title || `no value for a ${node.row.kind}` };
  }

  next() {
    while (this.busy < AT_ONCE && this.queue.length > 0 && !this.context.signal.aborted) {
      const node = /** @type {Node} */ (this.queue.shift());
      this.answers.set(node, null);
      this.busy += 1;
      this.ask(node).finally(() => {
        this.busy -= 1;
        this.draw();
        this.next();
      });
    }
  }

  /** @param {Node} node */
  async ask(node) {
    try {
      const { rows } = await this.context.report('metrics', { of: nodeOfRow(node.row), define: this.defines });
      this.answers.set(node, new Map(rows.map((/** @type {any} */ figure) => [figure.metric, figure])));
      // Beside the row's own values, by which rows are sorted.
      for (const { metric, value } of rows) if (!(metric in node.row) && typeof value === 'number') node.row[metric] = value;
    } catch (failure) {
      this.answers.set(node, /** @type {Error} */ (failure));
    }
  }

  /** Draws once for all answers of a frame. */
  draw() {
    cancelAnimationFrame(this.frame ?? 0);
    this.frame = requestAnimationFrame(() => !this.context.signal.aborted && this.changed());
  }
}
