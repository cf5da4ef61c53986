/** Every view on four widths of windows: nothing that matters is cut off or covered, and no box scrolls without need. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { defects } from './layout.mjs';
import { browse, folder, goTo, open, record, recordProgram, serve } from './support.mjs';

/** Windows of two laptops, a large screen and a phone. */
const WINDOWS = [{ width: 1280, height: 800 }, { width: 1440, height: 900 }, { width: 1920, height: 1080 }, { width: 390, height: 844 }];

/** 65 threads, and a name that is longer than any column. */
const CROWD = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#define LONG_NAME rotate_the_partition_of_the_shared_table_until_every_worker_has_seen_each_of_its_rows_twice
static pthread_mutex_t shared_table = PTHREAD_MUTEX_INITIALIZER;
static void LONG_NAME(long want) { struct timespec t; long begin, now; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); begin = t.tv_sec * 1000000000L + t.tv_nsec;
  do { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); now = t.tv_sec * 1000000000L + t.tv_nsec; } while (now - begin < want); }
static void *work(void *p) { (void)p; for (int i = 0; i < 8; i++) { LONG_NAME(300000); pthread_mutex_lock(&shared_table); LONG_NAME(300000); pthread_mutex_unlock(&shared_table); } return 0; }
int main(void) { pthread_t threads[64]; char name[16];
  for (int i = 0; i < 64; i++) { pthread_create(threads + i, 0, work, 0); snprintf(name, sizeof name, "worker-%d", i); pthread_setname_np(threads[i], name); }
  for (int i = 0; i < 64; i++) pthread_join(threads[i], 0); return 0; }
`;

/** Places of the page: every view, and what can be opened in it. @param {string} procedure @param {string} object */
const places = (procedure, object) => [
  'overview', 'overview?open=notes&open=guidance&open=evidence', 'timeline', 'timeline?thread=1&time=0.05', 'path', `path?set=procedure%3A${procedure}%3D0.5`,
  'path?metric=zeroing%2Cslack', 'path?by=thread', 'path?by=object', 'waits', 'waits?all=1', 'waits?explain=1', 'objects', 'objects?all=1', `objects?of=object%3A${object}`,
  'communication', 'parallelism', `parallelism?of=procedure%3A${procedure}`, 'tree', 'flame', 'source', 'rankings', 'rankings?by=object', 'rankings?by=thread&unit=seconds', 'compare', 'help',
];

/** @type {any} */
let browser;
/** @type {Record<string, {server: any, places: string[]}>} */
const programs = {};

before(async () => {
  const [source, program] = [path.join(folder, 'crowd.c'), path.join(folder, 'crowd')];
  writeFileSync(source, CROWD);
  execFileSync('gcc', ['-O1', '-g', '-pthread', source, '-o', program]);
  const crowd = record(path.join(folder, 'crowd.longpole'), ['--locks'], [program]);
  programs.lock_hog = { server: await serve(recordProgram('lock_hog', ['--locks'])), places: places('hog_table', 'table_lock') };
  programs.crowd = { server: await serve(crowd), places: places('work', 'shared_table') };
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await Promise.all(Object.values(programs).map(({ server }) => server.stop()));
});

for (const program of ['lock_hog', 'crowd']) {
  for (const viewport of WINDOWS) {
    test(`every view of ${program} is whole in a window of ${viewport.width} pixels`, async () => {
      const { server, places } = programs[program];
      const { page, faults } = await open(browser, server.url, { viewport });
      for (const place of places) {
        await goTo(page, place);
        assert.deepEqual(await defects(page, viewport.width), [], place);
      }
      assert.deepEqual(faults, []);
      await page.close();
    });
  }
}

for (const viewport of WINDOWS) {
  test(`the sliders of the what-if are in sight in a window of ${viewport.width} pixels`, async () => {
    const { page } = await open(browser, programs.lock_hog.server.url, { viewport });
    await goTo(page, 'path');
    const sliders = await page.$$eval('[data-part="path"] input[type=range]', (all) => all.map((slider) => {
      const [box, room] = [slider, slider.closest('.scroll')].map((each) => each.getBoundingClientRect());
      return { width: box.width, isWhole: box.left >= room.left && box.right <= Math.min(room.right, innerWidth) };
    }));
    assert.ok(sliders.length >= 3);
    assert.deepEqual(sliders.filter(({ width, isWhole }) => !isWhole || width < 60), []);
    await page.close();
  });
}

for (const viewport of WINDOWS) {
  test(`the rows of 65 threads have their names, and most of the timeline, in a window of ${viewport.width} pixels`, async () => {
    const { page } = await open(browser, programs.crowd.server.url, { viewport });
    await goTo(page, 'timeline');
    const rows = () => page.$$eval('[data-part="lanes"] .lane-name', (all) => all.map((row) => ({ text: row.textContent, height: row.getBoundingClientRect().height })));
    const named = await rows();
    assert.ok(named.length >= 12 && named.length < 65, `${named.length} rows are in sight`);
    assert.deepEqual(named.filter(({ text, height }) => !text || height < 14), []);
    const [lanes, plot] = await page.$$eval('[data-part="lanes"], [data-part="curves"] .plot', (all) => all.map((each) => each.getBoundingClientRect().height).sort((one, other) => other - one));
    assert.ok(plot <= viewport.height / 5 && lanes >= 2 * plot, `the curve has ${plot} pixels, the rows ${lanes}`);
    await page.$eval('[data-part="lanes"]', (box) => box.scrollTo(0, box.scrollHeight));
    await page.waitForFunction(() => [...document.querySelectorAll('.lane-name')].some((row) => row.textContent.startsWith('worker-63')));
    await page.keyboard.press('t');
    await page.waitForFunction(() => /rows=low/.test(location.hash) && document.querySelectorAll('.lane-name').length === 0);
    await page.keyboard.press('t');
    await page.waitForFunction(() => document.querySelectorAll('.lane-name').length >= 12);
    await page.close();
  });
}

test('a table in a box of half its width, text over text, and a box that scrolls are found', async () => {
  const { page } = await open(browser, programs.lock_hog.server.url, { viewport: WINDOWS[0] });
  await goTo(page, 'path');
  const broken = async (rule) => {
    await page.evaluate((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [sheet];
    }, rule);
    return (await defects(page, 1280)).join('\n');
  };
  assert.match(await broken('section[data-part=path] { max-width: 400px !important; }'), /cut: table[\s\S]*cut: input[\s\S]*scrolls sideways/);
  assert.match(await broken('.controls { height: 0; }'), /covered: /);
  assert.match(await broken('[data-part=path] .scroll { height: 60px; overflow-y: auto; }'), /scrolls down: /);
  assert.match(await broken('.controls { margin-left: 800px; width: 700px; }'), /beyond the window: /);
  assert.equal(await broken(''), '');
  await page.close();
});
