/** What one thread does at one time: its state, what it waits for, where in the code it is, and who ended the wait. */

import { fileName, shorten } from '../model/names.js';
import { percent, time } from '../model/quantity.js';
import { nanoseconds, words } from '../model/timelinewindow.js';
import { element } from './element.js';
import { linksOf } from './links.js';
import { panel } from './panel.js';

/**
 * Draws what a thread does at a time. An exported file has no call paths: there the bin of its frame says what is known.
 * @param {HTMLElement} root
 * @param {import('../main.js').Context} context
 * @param {{thread: any, title: string, seconds: number, bin: any, titleOf: (id: number) => string, close: () => void}} asked
 */
export function drawMoment(root, context, asked) {
  const { ask, recording } = context;
  const { thread, seconds } = asked;
  if (recording.is_export) {
    root.replaceChildren(binCard(asked));
    return;
  }
  panel(root, () => ask('moment', { thread: thread.id, time: nanoseconds(seconds) }), (moment) => {
    root.append(momentCard(moment, asked, context));
  });
}

/** @param {{thread: any, title: string, seconds: number, bin: any, close: () => void}} asked */
function binCard({ thread, title, bin, close }) {
  const states = bin?.mix.map((/** @type {[number, number]} */ [state, eighths]) => `${bin.frame.states[state].title} ${percent(eighths * 12.5)}`).join(', ');
  return element('div.moment', { 'data-row': `thread:${thread.tid}` },
    heading(title, close),
    element('p', null, bin ? `${states}; ${bin.path > 0 ? 'on the critical path' : 'not on the critical path'}, in ${time(bin.to - bin.from)}.` : 'Nothing is known here.'),
    element('p.faint', null, 'This file holds no call paths and no single waits of a moment: longpole view on the recording tells them.'));
}

/**
 * @param {any} moment the answer of `api/moment`
 * @param {{thread: any, seconds: number, title: string, titleOf: (id: number) => string, close: () => void}} asked
 * @param {import('../main.js').Context} context
 * @returns {HTMLElement}
 */
function momentCard(moment, { thread, title, titleOf, close }, context) {
  const { link } = context;
  const ended = moment.ended_by;
  const facts = [
    ['State', moment.title, 'state'],
    ['From', words({ from: moment.from_seconds, to: moment.to_seconds }), 'span'],
    moment.object && ['For', element('a', { href: link({ view: 'objects', of: `object:${moment.object}` }), title: moment.object }, shorten(moment.object, 60)), 'object'],
    ended && ['Ended by', [
      element('a', { href: link({ thread: String(ended.thread), time: String(ended.seconds) }), title: 'What that thread did then' }, titleOf(ended.thread)),
      ` at ${time(ended.seconds)}${ended.kind ? ` (${ended.kind})` : ''}`,
    ], 'ended-by'],
    ['Critical path', moment.on_critical_path ? 'on it at this moment' : 'not on it at this moment', 'path'],
  ].filter(Boolean);
  return element('div.moment', { 'data-row': `thread:${thread.tid}` },
    heading(title, close),
    element('dl', null, ...facts.map(([name, value, part]) => element('div', { 'data-part': part }, element('dt', null, name), element('dd', null, ...[value].flat())))),
    pathList(moment.path ?? [], context));
}

/**
 * @param {string} text
 * @param {() => void} close
 */
const heading = (text, close) => element('h2', null, text, element('button', { title: 'Close (esc)', 'aria-label': 'close', onclick: close, 'data-part': 'close' }, '×'));

/**
 * The call path, innermost first, with links to source and to the procedure's parallelism.
 * @param {any[]} path
 * @param {import('../main.js').Context} context
 */
function pathList(path, context) {
  if (path.length === 0) return element('p.empty', null, 'The call path is not known here: no sample and no wait of the thread tells it.');
  return element('ol.call-path', { 'data-part': 'call-path', 'aria-label': 'call path, innermost procedure first' },
    ...path.map((row) => callOf(row, context)));
}

/**
 * @param {{procedure: string, module?: string, file?: string, line?: number}} row
 * @param {import('../main.js').Context} context
 */
function callOf({ procedure, module, file, line }, context) {
  const title = [procedure, module].filter(Boolean).join('\n');
  return element('li', null,
    element('a.code', { href: context.link({ view: 'parallelism', of: `procedure:${procedure}` }), title }, shorten(procedure, 70)), ' ',
    file && element('a.faint', { href: context.link({ view: 'source', file, line }), title: `${file}:${line ?? ''}` }, `${fileName(file)}${line ? `:${line}` : ''}`), ' ',
    linksOf({ procedure, file, line }, context));
}
