/** The view communication, of programs whose requests are known in closed form: what it shows is what the command line says of the same recording. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { PATTERNS, rangesOf, unitPlace } from '../../model/communication.js';
import { count, percent, time } from '../../model/quantity.js';
import { defects } from './layout.mjs';
import { browse, folder, goTo, LONGPOLE, open, recordAccesses, report, serve, settled } from './support.mjs';

const WINDOWS = [{ width: 1280, height: 800 }, { width: 1440, height: 900 }, { width: 1920, height: 1080 }, { width: 390, height: 844 }];
const [THREADS, ROUNDS] = [4, 30];

/** 64 threads that count on eight lines and in one sum, in a procedure with a name that is longer than any column. */
const CROWD = `
#include <pthread.h>
static _Alignas(64) long counters[64];
static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
__attribute__((noinline)) static void add_one_to_the_counter_of_this_thread_and_never_to_that_of_any_other_thread(long thread) { counters[thread]++; }
static void *work(void *p) { long thread = (long)p; for (int i = 0; i < 20; i++) { add_one_to_the_counter_of_this_thread_and_never_to_that_of_any_other_thread(thread);
  pthread_mutex_lock(&lock); total += thread; pthread_mutex_unlock(&lock); } return 0; }
int main(void) { pthread_t threads[64]; for (long i = 0; i < 64; i++) pthread_create(threads + i, 0, work, (void *)i);
  for (int i = 0; i < 64; i++) pthread_join(threads[i], 0); return 0; }
`;

/** @type {any} */
let browser;
/** @type {Record<string, {recording: string, server: any}>} */
const programs = {};

before(async () => {
  const crowd = path.join(folder, 'access_crowd.c');
  writeFileSync(crowd, CROWD);
  const pages = path.join(folder, 'pages.longpole');
  execFileSync(LONGPOLE, ['simulate', recordAccesses('red_black', ['tiles', '4', '3']), '-o', pages, '--protocol', 'lrc', '--unit', '8192'], { stdio: 'pipe' });
  const recordings = { sum: recordAccesses('shared_sum', [String(THREADS), String(ROUNDS)]), regression: recordAccesses('regression', ['4', '500']), crowd: recordAccesses('access_crowd', [], crowd), pages };
  for (const [name, recording] of Object.entries(recordings)) programs[name] = { recording, server: await serve(recording) };
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await Promise.all(Object.values(programs).map(({ server }) => server.stop()));
});

/**
 * @param {string} name
 * @param {(page: any, recording: string) => Promise<void>} run
 * @param {any} [options]
 */
async function on(name, run, options) {
  const { recording, server } = programs[name];
  const { page, faults } = await open(browser, server.url, options);
  try {
    await run(page, recording);
    assert.deepEqual(faults, []);
  } finally {
    await page.close();
  }
}

/** What cells of a column show. @param {any} page @param {string} column */
const cells = (page, column) => page.$$eval(`[data-part="rows"] tbody td[data-cell="${column}"]`, (all) => all.map((one) => one.textContent));

for (const name of ['sum', 'regression', 'pages']) {
  test(`${name}: the table says what the command line says, by procedure, line, object and pair of threads`, () => on(name, async (page, recording) => {
    for (const by of ['procedure', 'line', 'object', 'thread']) {
      await goTo(page, by === 'procedure' ? 'communication' : `communication?by=${by}`);
      const more = await page.$('[data-part="rows"] .more button');
      await more?.click();
      const { rows } = report(recording, '--view', 'communication', '--by', by);
      assert.ok(rows.length > 0);
      for (const [column, text] of /** @type {[string, (value: any) => string][]} */ ([['requests', count], ['transfers', count], ['request_seconds', time], ['percent', percent], ['used_percent', percent]])) {
        assert.deepEqual(await cells(page, column), rows.map((row) => text(row[column])), `${column} by ${by}`);
      }
      const bars = await page.$$eval('[data-part="rows"] td[data-cell="pattern"]', (all) => all.map((cell) => [...cell.querySelectorAll('.part')].map((one) => [one.title, Number.parseFloat(one.style.width)])));
      assert.deepEqual(bars.map((bar) => bar.map(([title]) => title)), rows.map((row) => PATTERNS.filter(({ key }) => row[key] > 0).map(({ key, name: pattern }) => `${pattern}: ${percent(row[key])} of the requests`)), by);
      // A pair of threads may have a part in requests that are all counted at another pair.
      bars.forEach((bar, at) => assert.ok(Math.abs(bar.reduce((sum, [, width]) => sum + width, 0) - (rows[at].requests > 0 ? 100 : 0)) < 0.01, `the bar of row ${at + 1} is all its requests`));
      if (by === 'object') {
        const ranges = await cells(page, 'range');
        rows.forEach((row, at) => assert.equal(ranges[at], row.requests_low === row.requests_high ? count(row.requests_low) : `${count(row.requests_low)} – ${count(row.requests_high)}`));
      }
      const { simulation } = report(recording, '--view', 'communication');
      const head = await page.innerText('[data-part="answer"]');
      assert.ok(head.startsWith(`${count(simulation.requests)} requests of `) && head.includes(`${count(simulation.transfers)} transfers`), head);
    }
  }));
}

test('writers and synchronisations of a row are those of the program', () => on('sum', async (page) => {
  await goTo(page, 'communication');
  const row = (name) => page.innerText(`[data-part="rows"] [data-row="${name}"]`);
  assert.match(await row('look'), /add shared_sum\.c:24[\s\S]*barrier meeting/);
  assert.match(await row('add'), /add shared_sum\.c:24[\s\S]*lock/);
}));

test('the matrix is that of the command line; arrow keys walk in it, and a pair leads to its requests', () => on('sum', async (page, recording) => {
  await goTo(page, 'communication');
  const { rows } = report(recording, '--view', 'communication', '--by', 'thread');
  const pairs = rows.filter((row) => row.writer);
  const shown = await page.$$eval('[data-part="matrix"] a[data-pair]', (all) => all.map((one) => [one.dataset.pair, Number(one.dataset.transfers), one.textContent]));
  assert.deepEqual([...shown].sort(), pairs.map((row) => [`${row.thread} ← ${row.writer}`, row.transfers, count(row.transfers)]).sort());
  // Each pair of different threads: whoever adds or looks asks for what each other one added.
  assert.equal(pairs.length, THREADS * (THREADS - 1));
  assert.equal((await page.$$('[data-part="matrix"] a[tabindex="0"]')).length, 1, 'one stop of the tabulator');
  await page.focus('[data-part="matrix"] a[tabindex="0"]');
  const at = () => page.evaluate(() => document.activeElement.dataset.pair);
  const first = await at();
  for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight']) await page.keyboard.press(key);
  const pair = await at();
  assert.ok(pair && first);
  await page.keyboard.press('Enter');
  await settled(page, 'communication');
  await page.waitForSelector('[data-part="requests"] p.answer');
  assert.ok((await page.innerText('[data-part="requests"] p.answer')).includes(pair), pair);
}));

test('bytes of a unit are those of the command line, exactly, and are named to those who do not see them', () => on('regression', async (page, recording) => {
  await goTo(page, 'communication');
  for (let more = await page.$('[data-part="bytes"] .more button'); more; more = await page.$('[data-part="bytes"] .more button')) await more.click();
  const { rows } = report(recording, '--view', 'sharing');
  const object = await page.$eval('[data-part="objects-choice"]', (select) => select.value);
  const units = rows.filter((row) => row.object === object && row.transfers > 0);
  const maps = await page.$$eval('[data-part="bytes"] .unit', (all) => all.map((unit) => [...unit.querySelectorAll('[data-map]')].map((map) => [map.closest('[data-thread]').dataset.thread, map.dataset.map, map.getAttribute('aria-label')])));
  const heads = await page.$$eval('[data-part="bytes"] .unit > p', (all) => all.map((one) => one.textContent));
  assert.equal(maps.length, units.length);
  units.forEach((unit, at) => {
    assert.ok(heads[at].startsWith(`${unitPlace(unit)}: ${count(unit.transfers)} transfer`), heads[at]);
    assert.deepEqual(maps[at].map(([thread]) => thread), unit.uses.map((use) => use.thread));
    unit.uses.forEach((use, row) => {
      const [, map, label] = maps[at][row];
      const does = (byte) => map.split(' ').map((part) => /^(\d+)\.\.(\d+)(r?w?)$/.exec(part)).find(([, from, to]) => Number(from) <= byte && byte < Number(to))[3];
      const holds = (text, byte) => rangesOf(text).some(([from, to]) => from <= byte && byte < to);
      for (let byte = 0; byte < 64; byte++) assert.equal(does(byte), `${holds(use.read, byte) ? 'r' : ''}${holds(use.written, byte) ? 'w' : ''}`, `byte ${byte} of ${use.thread}`);
      assert.ok(label.startsWith(`${use.thread} `) && /(reads|writes) /.test(label), label);
    });
  });
  // The structs are 64 bytes long and begin 16 bytes after the begin of a line: two threads share one.
  assert.ok(maps[0].some(([, map]) => map.startsWith('0..16rw')) && maps[0].length >= 3, JSON.stringify(maps[0]));
  const letters = await page.$$eval('[data-part="bytes"] [data-map] .byte', (all) => all.map((one) => one.textContent));
  assert.ok(['r', 'w', 'rw'].every((letter) => letters.includes(letter)), 'what is done is said by letters');
}));

test('the graph is the one derived by hand; a cause has the call paths of R, I and W', () => on('sum', async (page, recording) => {
  await goTo(page, 'communication');
  await page.waitForSelector('svg.causality');
  const boxes = await page.$$eval('svg.causality [data-box]', (all) => all.map((box) => [box.dataset.box, box.dataset.roles, [...box.querySelectorAll('text')].map((text) => text.textContent)]));
  const requests = { barrier: ROUNDS * (THREADS - 1), lock: (ROUNDS - 1) * (THREADS - 1) };
  const [graph] = report(recording, '--view', 'causality').rows;
  const text = (edge) => `${count(edge.requests)} requests, ${percent(edge.percent)}`;
  assert.deepEqual(graph.edges.map((edge) => edge.requests), [requests.barrier, requests.lock, THREADS]);
  assert.deepEqual(boxes, [
    ['place 0', 'W R', ['add', 'shared_sum.c:24', 'in work shared_sum.c:33', 'W: 4 threads; R: 4 threads']],
    ['place 1', 'R', ['look', 'shared_sum.c:28', 'in work shared_sum.c:35', `R: ${THREADS - 1} threads`]],
    ['cause 0', 'I', ['0  barrier meeting', 'in work shared_sum.c:34', text(graph.edges[0])]],
    ['cause 1', 'I', ['1  lock', 'in add shared_sum.c:23', text(graph.edges[1])]],
    ['cause 2', '', ['2  first references', text(graph.edges[2])]],
  ]);
  assert.equal((await page.$$('svg.causality .arrow')).length, 5);

  await page.focus('svg.causality a[data-cause="1"]');
  const scrolled = await page.evaluate(() => scrollY);
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-part="cause"] h3:has-text("Cause 1")');
  assert.match(page.url(), /cause=1/);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.cause), '1', 'the keyboard stays on the cause');
  assert.equal(await page.evaluate(() => scrollY), scrolled, 'the page stays where it is');
  const path = (letter) => page.$$eval(`[data-part="cause"] [data-part="path-${letter}"] li`, (all) => all.map((one) => one.textContent));
  assert.deepEqual([await path('R'), await path('I'), await path('W')], [
    ['add shared_sum.c:24', 'called by work shared_sum.c:33'], ['in add shared_sum.c:23', 'called by work shared_sum.c:33'], ['add shared_sum.c:24', 'called by work shared_sum.c:33'],
  ]);
  const again = await open(browser, page.url());
  await again.page.waitForSelector('[data-part="cause"] h3:has-text("Cause 1")');
  assert.ok(await again.page.$('svg.causality a[data-cause="1"][aria-current]'));
  await again.page.close();

  const line = (title) => page.$$eval('[data-part="incidence"] tbody tr', (all, wanted) => [...all.find((row) => row.children[0].textContent === wanted).children].slice(1).map((one) => one.textContent), title);
  assert.deepEqual(await line('requests'), graph.edges.map((edge) => count(edge.requests)));
  assert.deepEqual(await line('cost'), graph.edges.map((edge) => percent(edge.percent)));
  assert.deepEqual(await line('W'), ['add shared_sum.c:24', 'add shared_sum.c:24', '–']);
  for (const from of [0, 1, 2]) {
    const steps = graph.edges.map(({ edge }) => graph.transitions.find((one) => one.from === from && one.to === edge)?.percent ?? 0);
    assert.deepEqual(await line(`from ${from}`), steps.map((share) => (share > 0 ? percent(share) : '·')));
  }
  await page.click('[data-part="graphs"] [data-choice="migratory"]');
  await page.waitForFunction(() => document.querySelectorAll('svg.causality a[data-cause]').length === 2);
  assert.match(page.url(), /pattern=migratory/);
}));

test('a press on an object, a unit and a graph shows its bytes and its graph', () => on('regression', async (page, recording) => {
  await goTo(page, 'communication?by=object');
  const { rows } = report(recording, '--view', 'communication', '--by', 'object');
  const other = rows.find((row, at) => at > 0 && row.transfers > 0) ?? rows[1];
  await page.click(`[data-part="rows"] [data-row="${other.object}"] th a`);
  await page.waitForFunction((name) => document.querySelector('[data-part="objects-choice"]').value === name, other.object);
  await page.selectOption('[data-part="objects-choice"]', rows[0].object);
  await page.waitForFunction(() => document.querySelectorAll('[data-part="bytes"] .unit').length > 1);
  const graphs = report(recording, '--view', 'causality').rows.filter((row) => row.object === rows[0].object);
  const unit = report(recording, '--view', 'sharing').rows.filter((row) => row.object === rows[0].object)[1];
  const of = graphs.find((graph) => rangesOf(graph.addresses).some(([from, to]) => from <= Number(unit.address) && Number(unit.address) < to));
  await page.click(`[data-unit="${unit.address}"] a[data-graph]`);
  await page.waitForFunction((transfers) => document.querySelector('[data-part="graph-title"]').textContent.includes(transfers), `${count(of.transfers)} transfers`);
  assert.match(page.url(), new RegExp(`graph=${of.rank}`));
}));

test('an explained row has its causes and ways back, as the command line has them', () => on('sum', async (page, recording) => {
  await goTo(page, 'communication');
  await page.click('[data-part="rows"] [data-row="add"] [data-explain]');
  await page.waitForSelector('[data-part="chains"]');
  const [row] = report(recording, '--view', 'communication', '--explain', '2').rows;
  const chains = await page.$$eval('ol.chains > li', (all) => all.map((item) => ({ head: item.querySelector('p').textContent, paths: ['R', 'I', 'W'].map((letter) => [...item.querySelectorAll(`[data-part="path-${letter}"] li`)].map((one) => one.textContent.replace(/^(called by|in) /, '')).join(' < ')) })));
  assert.equal(chains.length, row.chains.length);
  row.chains.forEach((chain, at) => {
    assert.deepEqual(chains[at].paths, [chain.read_path, chain.through_path ?? '', chain.write_path ?? '']);
    assert.ok(chains[at].head.includes(count(chain.requests)) && chains[at].head.includes(time(chain.request_seconds)) && chains[at].head.includes(percent(chain.percent)), chains[at].head);
  });
  const ways = await page.$$eval('ol.ways > li', (all) => all.map((item) => [item.querySelector('strong').textContent, item.querySelectorAll('.way > li').length]));
  assert.deepEqual(ways, row.ways.slice(0, ways.length).map((way) => [percent(way.percent), way.steps.length + 1]));
  assert.ok((await page.innerText('[data-part="ways"]')).includes(`${count(row.followed)} requests were followed`));
  await page.click('[data-back]');
  await page.waitForSelector('[data-part="rows"]');
}));

test('the source is shaded by requests, as the command line counts them', () => on('regression', async (page, recording) => {
  await goTo(page, 'source?metric=requests&file=regression.c');
  const { rows } = report(recording, '--view', 'communication', '--by', 'line');
  const sums = new Map();
  for (const row of rows) if (row.file?.endsWith('/regression.c') && row.line) sums.set(row.line, (sums.get(row.line) ?? 0) + row.request_seconds);
  const shown = await page.$$eval('[data-part="listing"] tr[data-line]', (all) => all.map((row) => [Number(row.dataset.line), row.querySelector('[data-key="request_seconds"]').textContent]).filter(([, text]) => text));
  assert.deepEqual(shown, [...sums].sort(([one], [other]) => one - other).map(([line, cost]) => [line, time(cost)]));
  assert.ok(await page.$('[data-line="26"][style*="--heat"]'));
}));

test('how units and their data are shared is asked for on demand, as the command line has it', () => on('pages', async (page, recording) => {
  await goTo(page, 'communication');
  const asked = [];
  page.on('request', (request) => request.url().includes('view=patterns') && asked.push(request.url()));
  assert.equal(await page.$('[data-part="classes"] table'), null);
  await page.focus('[data-part="classes"] summary');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-part="classes"] table');
  assert.equal(asked.length, 1);
  assert.match(page.url(), /classes=1/);
  const row = report(recording, '--view', 'patterns').rows.find((one) => one.object === 'grid');
  const order = (shares) => PATTERNS.flatMap(({ name }) => shares.filter((one) => one.pattern === name)).map((one) => `${one.pattern}: ${percent(one.percent)}`);
  const shown = await page.$$eval('[data-part="classes"] tbody tr', (all) => all.map((one) => ['units', 'data'].map((cell) => [...one.querySelectorAll(`[data-cell="${cell}"] .part`)].map((part) => part.title))));
  assert.deepEqual(shown, row.classes.map((one) => [order(one.patterns), order(one.data_patterns)]));
  const [falsely] = row.classes;
  assert.equal(falsely.pattern, 'false sharing');
  assert.ok(shown[0][1][0].startsWith('SPMC') || shown[0][1].some((part) => part.startsWith('SPSC')), 'only the page is falsely shared');
}));

/** Boxes of the drawn graph that cover each other, and text that is wider than its box, as they are seen. @param {any} page */
const graphFaults = (page) => page.evaluate(() => {
  const rects = [...document.querySelectorAll('svg.causality rect')].map((rect) => ({ box: rect.getBoundingClientRect(), texts: [...rect.parentElement.querySelectorAll('text')].map((text) => text.getBoundingClientRect()) }));
  const faults = [];
  rects.forEach(({ box, texts }, at) => {
    if (texts.some((text) => text.left < box.left || text.right > box.right || text.top < box.top - 1 || text.bottom > box.bottom + 1 || text.height < 8)) faults.push(`text of box ${at}`);
    rects.slice(at + 1).forEach(({ box: other }, next) => {
      if (box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom) faults.push(`boxes ${at} and ${at + 1 + next}`);
    });
  });
  return faults;
});

for (const viewport of WINDOWS) {
  test(`everything is whole in a window of ${viewport.width} pixels`, async () => {
    for (const name of Object.keys(programs)) {
      await on(name, async (page) => {
        for (const place of ['communication', 'communication?by=object&cause=0&classes=1', 'communication?by=thread', 'communication?by=line', 'communication?explain=1', 'communication?by=thread&explain=1', 'source?metric=requests']) {
          await goTo(page, place);
          assert.deepEqual(await defects(page, viewport.width), [], `${name}: ${place}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= viewport.width, `${name}: ${place} is ${wide} px wide`);
          if (!place.startsWith('communication') || place.includes('explain')) continue;
          assert.ok(await page.$('svg.causality'), `${name}: ${place}`);
          assert.deepEqual(await graphFaults(page), [], `${name}: ${place}`);
        }
      }, { viewport });
    }
  });
}

test('the exported file has the view with its graph and explained rows, and asks nobody', async () => {
  const file = path.join(folder, 'accesses.html');
  execFileSync(LONGPOLE, ['export', programs.sum.recording, '--to', 'html', '-o', file]);
  const { page, faults } = await open(browser, pathToFileURL(file).href);
  for (const place of ['communication', 'communication?by=object', 'communication?by=line', 'communication?by=thread', 'communication?explain=1', 'communication?by=object&explain=1', 'source?metric=requests']) {
    await goTo(page, place);
    assert.equal(await page.$('main [role=alert]'), null, `${place}: ${await page.innerText('main')}`);
  }
  await goTo(page, 'communication');
  assert.equal((await page.$$('svg.causality a[data-cause]')).length, 3);
  assert.deepEqual(faults, []);
  await page.close();
});
