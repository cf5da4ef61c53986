/** The head of the page: which recording, which part of it, how far it can be trusted, and the search over all of it. */

import { markOf } from '../model/evidence.js';
import { time } from '../model/quantity.js';
import { shorten } from '../model/names.js';
import { copyButton } from './copy.js';
import { element } from './element.js';
import { openSearch } from './search.js';
import { strip } from './strip.js';

/**
 * @param {HTMLElement} root
 * @param {import('../main.js').Context} context
 */
export function drawHead(root, context) {
  const { place, go, recording } = context;
  const command = recording.command.join(' ');
  const facts = element('span.facts', { 'data-part': 'facts' }, time(recording.elapsed_seconds));
  const mark = element('span', { 'data-part': 'evidence-mark' });
  root.replaceChildren(
    element('strong.brand', null, 'longpole'),
    element('span.command', { title: command }, shorten(command, 60)),
    facts, mark, phaseOf(place, go),
    element('span.actions', null,
      element('button.search-open', { type: 'button', 'data-search-all': true, title: 'Search procedures, objects and threads (key /)', onclick: () => openSearch(context) }, 'Search ', element('kbd', null, '/')),
      copyButton(() => location.href, recording.is_export ? 'copy the address of what is seen here' : 'copy the address of what is seen here; it works as long as this viewer runs', 'Copy link')),
    strip(context),
  );
  tell(facts, mark, context);
}

/**
 * What only the analysis knows; where it fails, the view says why.
 * @param {HTMLElement} facts
 * @param {HTMLElement} mark
 * @param {import('../main.js').Context} context
 */
async function tell(facts, mark, { report, link, signal, recording }) {
  const answer = await report('summary').catch(() => null);
  if (!answer || signal.aborted) return;
  const { cpus, threads, processes, machines, effective_parallelism: busy } = answer.recording;
  const counted = [[machines, 'machine', machines > 1], [processes, 'process', processes > 1], [threads, 'thread', true], [cpus, 'CPU', true]]
    .filter(([count, , isTold]) => count && isTold).map(([count, thing]) => `${count} ${thing}${count === 1 ? '' : thing === 'process' ? 'es' : 's'}`);
  facts.textContent = [time(recording.elapsed_seconds), ...counted, `${busy.toFixed(2)} busy on average`].join(' · ');
  const { text, isBad } = markOf(answer.evidence);
  mark.replaceChildren(element(isBad ? 'a.mark.is-bad' : 'a.mark', { href: link({ view: 'overview', open: ['evidence'] }), title: 'What the answers rest on' },
    `${isBad ? '!' : '✓'} evidence: ${text}`));
}

/**
 * @param {import('../model/query.js').Place} place
 * @param {typeof import('../state.js').go} go
 */
function phaseOf(place, go) {
  if (!place.phase) return element('span.phase', { title: 'Brush the timeline or the strip to look at a part of the run', 'data-part': 'phase' }, 'whole run');
  return element('span.phase.is-part', { 'data-part': 'phase' }, `phase ${place.phase} `, element('button', {
    title: 'Back to the whole run', 'aria-label': 'back to the whole run', onclick: () => go({ phase: undefined }),
  }, '×'));
}
