/** What speaks against the answers, from the evidence of a report. */

/** From this share on, what is unknown is told at once: percent. */
const MUCH = 5;

/**
 * The evidence in a few words.
 * @param {any} evidence of a report
 * @returns {{text: string, isBad: boolean}}
 */
export function markOf(evidence) {
  const lost = [
    many(evidence.lost_events, 'event', 'lost'),
    many(evidence.lost_stacks, 'call path', 'lost'),
    many(evidence.unmatched_wakes, 'wait', 'without a known end'),
    share(evidence.unsymbolised_percent, 'of CPU time without names'),
    share(evidence.unexplained_wait_percent, 'of waiting without a cause'),
    share(evidence.overhead_percent, 'overhead'),
  ].filter((text) => text !== null);
  return lost.length > 0 ? { text: lost.join(', '), isBad: true } : { text: 'nothing lost', isBad: false };
}

/** @param {number|null|undefined} count @param {string} thing @param {string} how */
const many = (count, thing, how) => (count ? `${count} ${thing}${count === 1 ? '' : 's'} ${how}` : null);

/** @param {number|null|undefined} percent @param {string} of */
const share = (percent, of) => ((percent ?? 0) >= MUCH ? `${(percent ?? 0).toFixed(0)} % ${of}` : null);

/** Rows of the view evidence that speak against the answers when they count anything. */
const AGAINST = ['lost events', 'lost samples', 'lost stacks', 'without a stack', 'contradictions', 'unmatched wakes', 'wakes from outside', 'waits without an object'];

/** Rows that are told first. */
const FIRST = ['collector', 'sampling rate', 'events', 'samples', 'effective, path', 'unsymbolised', 'unexplained waiting', 'cost in the program'];

/**
 * Whether a row of the view evidence speaks against the answers.
 * @param {any} row
 */
export const isAgainst = (row) => AGAINST.includes(row.name) && (row.count ?? 0) > 0;

/**
 * The rows that are worth telling at once; the rest only on demand.
 * @param {any[]} rows of the view evidence
 */
export const ledgerOf = (rows) => rows.filter((row) => isAgainst(row) || FIRST.includes(row.name));

/**
 * What the collector noted and what does not change the answer: the notes without the cautions of the summary.
 * @param {any} evidence of a report
 * @param {string[]} cautions
 * @returns {string[]} each once
 */
export const notesOf = (evidence, cautions) => [...new Set(/** @type {string[]} */ (evidence?.notes ?? []))].filter((note) => !cautions.includes(note));
