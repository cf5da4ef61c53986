/**
 * Who makes whom fetch what: requests of cache lines or pages in the simulated run, and the writes behind them (Carnival, §2.2). Keys
 * of its own in the URL: `explain`, a row's place, shows its requests in full; `object` is the data whose bytes and graph are shown,
 * `graph` the place of one of its graphs, `pattern` that of the causes in it, `cause` the number of one of them; `classes=1` shows how
 * its units and the data in them are shared.
 */

import { unitName } from '../model/communication.js';
import { count, time } from '../model/quantity.js';
import { choice, explained } from '../widgets/choice.js';
import { command } from '../widgets/copy.js';
import { element } from '../widgets/element.js';
import { panel } from '../widgets/panel.js';
import { drawData } from './communication/data.js';
import { drawRequests } from './communication/requests.js';
import { drawRows } from './communication/rows.js';
import { drawThreads } from './communication/threads.js';

/** @typedef {import('../main.js').Context} Context */

const BY = [
  { value: undefined, title: 'procedure' }, { value: 'line', title: 'line' }, { value: 'object', title: 'object', about: 'the data that is requested' },
  { value: 'thread', title: 'pair of threads' },
];

/** @type {import('../main.js').View} */
export default {
  name: 'communication',
  title: 'Communication',
  about: 'Who makes whom fetch what, and why.',
  key: 'c',
  draw(root, context) {
    const { place, link, recording } = context;
    if (!recording.has_accesses) return root.append(absence());
    if (place.explain) return drawRequests(root, context);
    const [rows, threads, data] = ['rows', 'threads', 'data'].map((part) => element('section', { 'data-part': part }));
    const head = element('section', { 'data-part': 'simulation' });
    const ask = (/** @type {string} */ view, parameters = {}) => context.ask('report', { view, ...parameters });
    return panel(root, () => ask('communication', { by: place.by }), async (report) => {
      // A log that holds no access is as good as none.
      if (!report.simulation) return root.append(absence());
      root.append(head, element('div.controls', null, choice('a row is a', BY, place.by, (by) => link({ by, sort: undefined }))), rows, threads, data);
      head.append(...heading(report.simulation, context));
      drawRows(rows, report, context);
      await Promise.all([
        panel(threads, () => ask('communication', { by: 'thread' }), (pairs) => drawThreads(threads, pairs, context)),
        drawData(data, ask, context),
      ]);
      return undefined;
    });
  },
};

/** Why there is nothing, and how to get it. */
function absence() {
  return element('section.empty', { 'data-part': 'absent', role: 'status' },
    element('p', null, 'No accesses to memory were recorded. Build the program with longpole in place of the compiler, and record it with its accesses:'),
    element('p', null, command('longpole cc -O2 -pthread program.c -o program')),
    element('p', null, command('longpole record --access -- ./program')),
    element('p', null, 'longpole c++, longpole rustc and longpole cargo do the same for C++ and Rust. Any build takes them: ', element('code', null, 'make CC="longpole cc" CXX="longpole c++"'), '.'),
    element('p', null, 'Without a new build, the program runs in the emulator QEMU, many times slower:'),
    element('p', null, command('longpole record --access=emulate -- ./program')));
}

/**
 * The simulated run in a sentence, what it is, and what it lacks.
 * @param {any} simulation
 * @param {Context} context
 */
function heading(simulation, context) {
  const { requests, transfers, transfers_low: low, transfers_high: high, upgrades, accesses, threads, protocol } = simulation;
  const first = requests - transfers;
  return [
    element('p.answer', { 'data-part': 'answer' }, `${count(requests)} ${requests === 1 ? 'request' : 'requests'} of ${unitName(simulation)}, ${count(first)} of them first references; ${count(transfers)} `,
      explained('transfers', 'transfers', context), low === high
        ? (transfers === low ? ', in any order that the program permits.' : `, ${count(low)} in any other order that the program permits.`)
        : `, ${count(low)} to ${count(high)} over all orders that the program permits.`),
    element('p.faint', null, `Simulated (protocol ${protocol}) from ${count(accesses)} accesses of ${count(threads.length)} ${threads.length === 1 ? 'thread' : 'threads'}, in virtual time (${time(simulation.virtual_seconds)}). `
      + 'A request is an access without a valid copy; a transfer is one that is not the thread\'s first.'
      + (upgrades > 0 ? ` ${count(upgrades)} ${upgrades === 1 ? 'write' : 'writes'} took a copy from others without a fetch here.` : '')
      + (context.place.phase ? ' It is of the whole run, whatever part of it is looked at.' : '')),
    ...(simulation.sample ? [element('p.faint', { 'data-part': 'sample' }, simulation.sample.text)] : []),
    ...simulation.doubts.map((/** @type {string} */ doubt) => element('p.caution', { 'data-part': 'doubt' }, doubt)),
  ];
}
