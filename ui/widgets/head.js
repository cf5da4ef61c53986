/** The head of the page: which recording, which part of it, and how far it can be trusted. */

import { time } from '../model/quantity.js';
import { shorten } from '../model/names.js';
import { element } from './element.js';
import { strip } from './strip.js';

/**
 * @param {HTMLElement} root
 * @param {import('../main.js').Context} context
 */
export function drawHead(root, context) {
  const { place, go, recording } = context;
  const command = recording.command.join(' ');
  root.replaceChildren(
    element('strong.brand', null, 'longpole'),
    element('span.command', { title: command }, shorten(command, 60)),
    element('span.facts', null, time(recording.elapsed_seconds)),
    phaseOf(place, go),
    strip(context),
  );
}

/**
 * @param {import('../model/query.js').Place} place
 * @param {typeof import('../state.js').go} go
 */
function phaseOf(place, go) {
  if (!place.phase) return element('span.phase', { title: 'Brush the timeline to look at a part of the run' }, 'whole run');
  return element('span.phase.is-part', null, `phase ${place.phase} `, element('button', {
    title: 'Back to the whole run', 'aria-label': 'back to the whole run', onclick: () => go({ phase: undefined }),
  }, '×'));
}
