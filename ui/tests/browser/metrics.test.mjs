/** Metrics from outside and derived ones, of a program whose second half does nothing but fault pages in, alone. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';

import { browse, folder, goTo, LONGPOLE, open, record, serve, settled } from './support.mjs';

/** Half a second of work on two threads, then one thread that faults pages in; it writes how many faults it had, and when they began. */
const PROGRAM = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *p) { (void)p; while (now(CLOCK_THREAD_CPUTIME_ID) < 0.5) { } return 0; }
static void fault(double seconds) { double end = now(CLOCK_MONOTONIC) + seconds;
  while (now(CLOCK_MONOTONIC) < end) { char *p = mmap(0, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 1 << 22, MADV_NOHUGEPAGE); for (int at = 0; at < 1 << 22; at += 4096) p[at] = 1; munmap(p, 1 << 22); } }
int main(int argc, char **argv) { (void)argc; double start = now(CLOCK_MONOTONIC); pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  double worked = now(CLOCK_MONOTONIC) - start; fault(0.7);
  struct rusage usage; getrusage(RUSAGE_SELF, &usage); FILE *told = fopen(argv[1], "w");
  fprintf(told, "%ld %f", usage.ru_minflt + usage.ru_majflt, worked); return fclose(told); }
`;

/** @type {any} */
let browser;
/** @type {{url: string, stop: () => Promise<void>}} */
let server;
/** @type {string} */
let recording;
/** What the program tells of itself: faults, and seconds before most of them. @type {{faults: number, worked: number}} */
let truth;

before(async () => {
  const [source, program, told] = ['faults.c', 'faults', 'told'].map((name) => path.join(folder, name));
  writeFileSync(source, PROGRAM);
  execFileSync('gcc', ['-O1', '-g', '-pthread', source, '-o', program]);
  recording = record(path.join(folder, 'faults.longpole'), [], [program, told]);
  const [faults, worked] = readFileSync(told, 'utf8').split(' ').map(Number);
  truth = { faults, worked };
  server = await serve(recording);
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/**
 * @param {string} what
 * @param {(page: import('playwright-core').Page, expected: RegExp[]) => Promise<void>} run
 */
const check = (what, run) => test(what, async () => {
  const { page, faults } = await open(browser, server.url);
  /** @type {RegExp[]} */
  const expected = [];
  try {
    await settled(page, 'overview');
    await run(page, expected);
    assert.deepEqual(faults.filter((fault) => !expected.some((one) => one.test(fault))), []);
  } finally {
    await page.close();
  }
});

/** @param {import('playwright-core').Page} page */
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
/** @param {import('playwright-core').Page} page @param {string} request */
const answer = (page, request) => page.evaluate(async (request) => (await fetch(`api/${request}`)).json(), request);
/** @param {import('playwright-core').Page} page @param {string} name @param {string} formula */
async function define(page, name, formula) {
  if (!(await page.$eval('[data-part="definitions"]', (box) => box.hasAttribute('open')))) await page.click('[data-part="definitions"] > summary');
  await page.fill('[data-part="define-name"]', name);
  await page.fill('[data-part="define-formula"]', formula);
  await page.click('[data-part="define"]');
}
/** About as many faults as the program counted; collectors look every 10 ms. @param {number} count */
const isAsTold = (count) => assert.ok(Math.abs(count / truth.faults - 1) < 0.1, `${count} faults, not ${truth.faults}`);

check('a metric is found by its name, and its curve has an axis of its own', async (page) => {
  await goTo(page, 'timeline');
  await page.click('[data-part="curve-metric"]');
  await page.fill('[data-part="metric-search"]', 'page_faults');
  await page.click('[data-part="metric-menu"] [data-metric="page_faults"]');
  await page.click('[data-part="curve-add"]');
  await page.waitForSelector('[data-part="curve-legend"] [data-row="page_faults@program"]:has-text("(right)")');
  assert.equal(await page.innerText('[data-part="unit-left"]'), 'threads');
  assert.equal(await page.innerText('[data-part="unit-right"]'), 'faults/s');
  assert.match(await hash(page), /curves=page_faults@program/);
  const { values, from_seconds: from, to_seconds: to } = await answer(page, 'curve?metric=page_faults&node=program&bins=50');
  const width = (to - from) / values.length;
  const sum = (/** @type {(seconds: number) => boolean} */ when) => values.reduce((/** @type {number} */ all, /** @type {number|null} */ value, /** @type {number} */ bin) => all + (when(from + (bin + 1) * width) ? (value ?? 0) * width : 0), 0);
  isAsTold(sum(() => true));
  assert.ok(sum((end) => end < truth.worked) < 0.1 * truth.faults, 'there were few faults before');
});

check('nodes are offered that have the metric, keys choose, and escape leaves all as it was', async (page) => {
  await goTo(page, 'timeline');
  await page.focus('[data-part="curve-metric"]');
  await page.keyboard.press('Enter');
  await page.keyboard.type('page_faults');
  await page.waitForSelector('[data-part="metric-menu"] [data-metric="page_faults"]');
  while (await page.getAttribute('[data-part="metric-menu"] [aria-selected=true]', 'data-metric') !== 'page_faults') await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.focus('[data-part="curve-node"]');
  await page.waitForFunction(() => document.querySelectorAll('#curve-nodes option').length > 1);
  const offered = await page.$$eval('#curve-nodes option', (all) => all.map((each) => /** @type {HTMLOptionElement} */ (each).value));
  const { metrics } = await answer(page, 'metrics');
  assert.deepEqual(offered, metrics.find((/** @type {any} */ metric) => metric.name === 'page_faults').nodes);
  await page.click('[data-part="curve-metric"]');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('[data-part="metric-menu"]'));
  assert.match(await page.innerText('[data-part="curve-metric"]'), /fault/i);
});

check('a metric is defined while looking, names complete, and the link restores it', async (page) => {
  await goTo(page, 'timeline');
  await page.click('[data-part="definitions"] > summary');
  await page.fill('[data-part="define-name"]', 'faults_per_cpu');
  await page.focus('[data-part="define-formula"]');
  await page.keyboard.type('page_fau');
  await page.waitForSelector('[data-part="completions"] [data-metric="page_faults"]');
  while (await page.$eval('[data-part="define-formula"]', (field) => field.getAttribute('aria-activedescendant')) === null
    || await page.getAttribute('[data-part="completions"] [aria-selected=true]', 'data-metric') !== 'page_faults') await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.keyboard.type(' / cpu_time');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-part="curve-legend"] [data-row="faults_per_cpu@program"]');
  assert.match(await hash(page), /define=faults_per_cpu = page_faults \/ cpu_time/);
  const again = await open(browser, page.url());
  await again.page.waitForSelector('[data-part="curve-legend"] [data-row="faults_per_cpu@program"]');
  await settled(again.page, 'timeline');
  assert.equal(await again.page.$('main [role=alert]'), null);
  await goTo(again.page, 'tree?metric=percent%2Cfaults_per_cpu&define=faults_per_cpu%20%3D%20page_faults%20%2F%20cpu_time');
  await again.page.waitForSelector('tr[data-kind="program"] [data-cell="faults_per_cpu"]:has-text("faults")');
  assert.deepEqual(again.faults, []);
  await again.page.close();
  await page.click('[data-part="definitions"] [data-row="faults_per_cpu"] button');
  await page.waitForFunction(() => !location.hash.includes('faults_per_cpu'));
  await page.waitForFunction(() => !document.querySelector('[data-part="curve-legend"] [data-row="faults_per_cpu@program"]'));
});

check('a mistake in a formula is told at its column, and harms nothing else', async (page, expected) => {
  expected.push(/status of [45]00/);
  await goTo(page, 'timeline');
  await define(page, 'wrong', 'page_faults / no_such_metric');
  await page.waitForSelector('[data-part="define-failed"] [role=alert]');
  assert.match(await page.innerText('[data-part="define-failed"]'), /no_such_metric/);
  assert.match(await page.innerText('[data-part="define-failed"] pre'), /^wrong = page_faults \/ no_such_metric\n {22}\^$/);
  assert.doesNotMatch(await hash(page), /define=/);
  await goTo(page, `timeline?define=${encodeURIComponent('bad = (1 +')}&define=${encodeURIComponent('twice = page_faults * 2')}&curves=${encodeURIComponent('twice@program')}`);
  await page.waitForSelector('[data-part="definitions"] [data-row="bad"] [role=alert]');
  await page.waitForSelector('[data-part="curve-legend"] [data-row="twice@program"]:has-text("faults/s")');
});

check('a metric from outside stands beside the names of the tree, and sorts it', async (page) => {
  await goTo(page, 'tree?metric=percent');
  await page.click('[data-part="metrics"] > summary');
  await page.fill('[data-part="metrics-search"]', 'page_faults');
  await page.check('[data-part="metrics"] input[value="page_faults"]');
  await page.click('[data-part="metrics"] > summary');
  const value = (/** @type {string} */ kind) => page.$eval(`tr[data-kind="${kind}"] [data-cell="page_faults"]`, (cell) => Number(cell.textContent?.replace(/[^\d.]/g, '')));
  await page.waitForFunction(() => ['program', 'process', 'thread'].every((kind) => /\d/.test(document.querySelector(`tr[data-kind="${kind}"] [data-cell="page_faults"]`)?.textContent ?? '')));
  isAsTold(await value('program'));
  isAsTold(await value('process'));
  await page.click('th[data-column="page_faults"] button');
  await page.waitForFunction(() => /\d/.test(document.querySelector('tr[data-kind="thread"] [data-cell="page_faults"]')?.textContent ?? ''));
  assert.match(await page.getAttribute('tr[data-kind="thread"]', 'data-row') ?? '', /^faults #/, 'the thread of main has them');
  assert.match(await hash(page), /metric=percent,page_faults&sort=-page_faults/);
  await page.click('tr[data-kind="program"] [data-cell="page_faults"] a');
  await page.waitForSelector('[data-part="curve-legend"] [data-row="page_faults@program"]');
});

check('what moves with the program is told on the overview, or why nothing is', async (page) => {
  const { rows } = await answer(page, 'report?view=correlation');
  const text = await page.innerText('[data-part="moves"]');
  const found = rows.filter((/** @type {any} */ row) => row.metric);
  const shown = await page.$$eval('[data-part="moves"] li', (all) => all.map((row) => row.getAttribute('data-row')));
  assert.deepEqual([...shown].sort(), found.map((/** @type {any} */ row) => row.metric).sort());
  assert.ok(text.split('\n').filter(Boolean).length > 1, 'it has more than its title');
  if (found.length === 0) return;
  await page.click('[data-part="moves"] li a');
  await settled(page, 'timeline');
  await page.waitForFunction(() => document.querySelectorAll('[data-part="curve-legend"] [data-row]').length === 2);
  assert.equal(await page.$('[data-part="curve-legend"] [role=alert]'), null);
});

check('the help explains metrics from outside, and those that were defined', async (page) => {
  await goTo(page, `help?define=${encodeURIComponent('twice = page_faults * 2')}`);
  assert.match(await page.innerText('[data-entry="page_faults"]'), /process/);
  assert.match(await page.innerText('[data-entry="twice"]'), /page_faults \* 2/);
});

test('it fits a phone, in the dark', async () => {
  const { page, faults } = await open(browser, server.url, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  const defined = `define=${encodeURIComponent('faults_per_cpu = page_faults / cpu_time')}`;
  for (const place of [`timeline?${defined}&curves=faults_per_cpu%40program&curves=effective_parallelism%40program`, `tree?${defined}&metric=percent%2Cpage_faults%2Cfaults_per_cpu`, `help?${defined}`]) {
    await goTo(page, place);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${place} is ${wide} px wide`);
  }
  assert.deepEqual(faults, []);
  await page.close();
});

test('an exported file says what of it is not in it', async () => {
  const file = path.join(folder, 'faults.html');
  execFileSync(LONGPOLE, ['export', recording, '--to', 'html', '-o', file]);
  const { page, faults } = await open(browser, pathToFileURL(file).href);
  await goTo(page, 'overview');
  assert.ok((await page.innerText('[data-part="moves"]')).split('\n').filter(Boolean).length > 1);
  await goTo(page, 'timeline');
  if (await page.$('[data-part="definitions"]')) assert.match(await page.innerText('[data-part="definitions"]'), /computes no new metrics/);
  await goTo(page, 'help');
  assert.ok(await page.$('[data-entry="page_faults"]') || /does not hold the metrics from outside/.test(await page.innerText('[data-part="no-others"]')));
  assert.deepEqual(faults, []);
  await page.close();
});
