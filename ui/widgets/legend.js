/** What the colours and hatchings of the timeline mean: those states that are in the window, with their shares. */

import { percent } from '../model/quantity.js';
import { isHatched, KINDS } from '../model/timelineraster.js';
import { element } from './element.js';
import { colours } from './palette.js';

/** What kinds of states are called. */
export const TITLES = {
  busy: 'running', spin: 'spinning', overhead: 'overhead', ready: 'ready, no processor', synchronisation: 'waiting for others', device: 'waiting for a device',
  chosen: 'waiting by choice',
};

/**
 * @param {{name: string, title: string, kind: string, share: number}[]} shares
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
export function legend(shares, context) {
  const { of } = colours();
  const kinds = KINDS.filter((kind) => shares.some((share) => share.kind === kind));
  return element('ul.legend', { 'data-part': 'legend', 'aria-label': 'States in the window, with their share of the threads\' time' },
    ...kinds.map((kind) => {
      const states = shares.filter((share) => share.kind === kind);
      const all = states.reduce((sum, { share }) => sum + share, 0);
      const title = /** @type {Record<string, string>} */ (TITLES)[kind] ?? kind;
      const parts = states.map(({ title, share }) => `${title} ${percent(share * 100)}`).join(', ');
      const names = states.slice(0, 3).map(({ title }) => title.replace(/^blocked: /, '')).join(', ');
      return element('li', { 'data-row': kind, title: parts }, swatch(kind, of), `${title} ${percent(all * 100)}`,
        isBlocked(kind) && element('span.faint', null, ` (${names}${states.length > 3 ? ', …' : ''})`));
    }),
    element('li', { 'data-row': 'path' }, pathSwatch(of), ...pathTexts(context)));
}

/**
 * By what weight the critical path is the longest, and the way to the other one. An exported file has the one of CPU time.
 * @param {import('../main.js').Context} context
 */
function pathTexts({ place, recording, link }) {
  if (recording.is_export) return ['critical path by CPU time'];
  const isElapsed = place.weight === 'elapsed';
  return [`critical path by ${isElapsed ? 'elapsed' : 'CPU'} time (`,
    element('a', { href: link({ weight: isElapsed ? undefined : 'elapsed' }), 'data-part': 'weight' }, `by ${isElapsed ? 'CPU' : 'elapsed'} time`), ')'];
}

/** Whether several causes are of the kind. @param {string} kind */
const isBlocked = (kind) => ['synchronisation', 'device', 'chosen'].includes(kind);

/**
 * @param {string} kind
 * @param {(name: string) => string} of
 */
function swatch(kind, of) {
  const canvas = element('canvas.swatch', { width: 24, height: 12, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  context.fillStyle = of(kind);
  context.fillRect(0, 0, 24, 12);
  context.globalAlpha = 0.6;
  context.fillStyle = of('ground');
  for (let x = 0; x < 24; x++) for (let y = 0; y < 12; y++) if (isHatched(kind, x, y)) context.fillRect(x, y, 1, 1);
  return canvas;
}

/** @param {(name: string) => string} of */
function pathSwatch(of) {
  const canvas = element('canvas.swatch', { width: 24, height: 12, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  context.fillStyle = of('path');
  context.fillRect(0, 2, 12, 3);
  context.fillRect(11, 2, 1.5, 8);
  context.fillRect(11, 8, 13, 3);
  return canvas;
}
