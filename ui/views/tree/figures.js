/** Values of outside and derived metrics in the tree: asked for by column, of all its nodes at once. */

import { nodeOfRow } from '../../model/metrics.js';
import { amount } from '../../model/quantity.js';
import { definesFor } from '../../widgets/catalogue.js';

/** @typedef {import('../../model/tree.js').Node} Node */

export class Figures {
  /**
   * @param {import('../../main.js').Context} context
   * @param {import('../../widgets/catalogue.js').Catalogue} catalogue
   * @param {Node[]} nodes of the whole tree
   * @param {() => void} changed called when values have come into the rows
   */
  constructor(context, catalogue, nodes, changed) {
    this.context = context;
    this.catalogue = catalogue;
    this.nodes = nodes;
    this.changed = changed;
    /** @type {Map<string, Map<string, any>|Error|null>} by metric: figures by node, why there are none, or null while they are under way */
    this.answers = new Map();
  }

  /**
   * Asks for the columns that are not there yet.
   * @param {any[]} columns
   */
  want(columns) {
    for (const { name } of columns.filter(({ isAsked }) => isAsked)) {
      if (this.answers.has(name)) continue;
      this.answers.set(name, null);
      this.ask(name).finally(() => !this.context.signal.aborted && this.changed());
    }
  }

  /** Whether a column is under way. */
  get isBusy() {
    return [...this.answers.values()].includes(null);
  }

  /**
   * What stands in a cell, and why.
   * @param {Node} node
   * @param {{name: string, unit: string}} column
   * @returns {{text: string, isValue: boolean, title: string|undefined}}
   */
  cell({ row }, { name, unit }) {
    const answer = this.answers.get(name);
    if (answer instanceof Error) return { text: '!', isValue: false, title: `No answer: ${answer.message}` };
    const of = nodeOfRow(row);
    if (!answer) return { text: of === undefined ? '–' : '…', isValue: false, title: undefined };
    const figure = of === undefined ? undefined : answer.get(of);
    const title = [figure?.calculation, ...[figure?.notes ?? []].flat()].filter(Boolean).join('. ');
    return typeof figure?.value === 'number'
      ? { text: amount(figure.value, figure.unit ?? unit), isValue: true, title: `${title ? `${title}. ` : ''}Over time` }
      : { text: '–', isValue: false, title: title || `no value for this ${row.kind}` };
  }

  /** @param {string} metric */
  async ask(metric) {
    try {
      const { rows } = await this.context.report('metrics', { by: 'thread', metric: [metric], define: definesFor(this.catalogue, metric) });
      /** @type {Map<string, any>} */
      const figures = new Map();
      // Processes of several machines can have one number: then the name means none of them.
      for (const figure of rows) figures.set(figure.node, figures.has(figure.node) ? { notes: 'several have this name' } : figure);
      this.answers.set(metric, figures);
      for (const { row } of this.nodes) {
        const value = figures.get(nodeOfRow(row) ?? '')?.value;
        // Beside the row's own values, by which rows are sorted.
        if (typeof value === 'number' && !(metric in row)) row[metric] = value;
      }
    } catch (failure) {
      this.answers.set(metric, /** @type {Error} */ (failure));
    }
  }
}
