/** The metrics of the recording with those that the URL defines, asked for once and shared by all that choose among them. */

import { holds } from '../api.js';
import { leftOut, partsOf } from '../model/formula.js';

/** @typedef {import('../model/metrics.js').Metric} Metric */

/**
 * @typedef {object} Catalogue
 * @property {Metric[]} metrics
 * @property {string[]} notes
 * @property {string[]} defines definitions of the URL that are understood
 * @property {Map<string, any>} refused those that are not, with why
 * @property {boolean} isAbsent nothing is known of metrics from outside: a file without them, or a failure
 * @property {any} [failure] why, where it is one
 */

/**
 * Whether the recording's answers have a view.
 * @param {import('../main.js').Context} context
 * @param {string} view
 */
export const answers = ({ recording }, view) => (recording.views ?? []).some((/** @type {any} */ one) => one.name === view);

/**
 * @param {import('../main.js').Context} context
 * @returns {Promise<Catalogue>} never fails: what failed is said in it
 */
export async function catalogueOf(context) {
  const none = { metrics: [], notes: [], defines: [], refused: new Map(), isAbsent: true };
  if (!answers(context, 'metrics') || !(await holds('metrics'))) return none;
  // An exported file computes nothing: it has the metrics that were defined when it was made.
  const wanted = context.recording.is_export ? [] : [context.place.define ?? []].flat();
  try {
    return made(await context.ask('metrics', { define: wanted }), wanted, new Map());
  } catch (failure) {
    return wanted.length === 0 ? { ...none, failure } : sifted(context, wanted, none);
  }
}

/**
 * One of the definitions is wrong, in this recording at least: each is tried with those before it.
 * @param {import('../main.js').Context} context
 * @param {string[]} wanted
 * @param {Catalogue} none
 * @returns {Promise<Catalogue>}
 */
async function sifted(context, wanted, none) {
  /** @type {string[]} */
  const defines = [];
  const refused = new Map();
  for (const one of wanted) {
    await context.ask('metrics', { define: [...defines, one] }).then(() => defines.push(one), (failure) => refused.set(one, failure));
  }
  return context.ask('metrics', { define: defines }).then((answer) => made(answer, defines, refused), (failure) => ({ ...none, refused, failure }));
}

/**
 * @param {any} answer
 * @param {string[]} defines
 * @param {Map<string, any>} refused
 * @returns {Catalogue}
 */
function made(answer, defines, refused) {
  const missing = leftOut(answer, defines);
  return {
    metrics: answer.metrics, notes: answer.notes ?? [], defines: defines.filter((text) => !missing.has(text)), refused: new Map([...refused, ...missing]), isAbsent: false,
  };
}

/**
 * The definitions that a question about a metric needs: none where the recording knows it without.
 * @param {Catalogue} catalogue
 * @param {string} metric
 * @returns {string[]|undefined}
 */
export const definesFor = ({ defines }, metric) => (defines.some((one) => partsOf(one).name === metric) ? defines : undefined);
