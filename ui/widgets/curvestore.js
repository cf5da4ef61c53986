/** Asks for curves: of a window from a server; an exported file has some of the whole run. */

import { ask, exported, Failure } from '../api.js';
import { keyIn } from '../model/curves.js';
import { definesFor } from './catalogue.js';

/**
 * @param {{metric: string, node: string}} curve
 * @param {{from?: number, to?: number, bins: number, io?: string}} question without its ends for the whole run
 * @param {import('./catalogue.js').Catalogue} [catalogue] with what the URL defines
 * @returns {Promise<any>} as `api/curve`
 */
export async function askCurve(curve, question, catalogue) {
  const file = await exported();
  if (!file) return ask('curve', { metric: curve.metric, node: curve.node, define: catalogue && definesFor(catalogue, curve.metric), ...question });
  const key = keyIn(file.keys(), curve);
  if (key) return file.get(key);
  throw new Failure(`this file does not hold the curve of ${curve.metric} of ${curve.node}`, ['`longpole view` on the recording draws every curve']);
}

/** The curves that an exported file has; null where the page has a server. @returns {Promise<{metric: string, node: string}[]|null>} */
export async function curvesInFile() {
  const file = await exported();
  return file && [...file.keys()].filter((key) => key.startsWith('curve?')).map((key) => {
    const parameters = new URLSearchParams(key.slice('curve?'.length));
    return { metric: parameters.get('metric') ?? '', node: parameters.get('node') ?? 'program' };
  });
}
