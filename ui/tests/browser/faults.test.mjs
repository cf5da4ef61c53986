/** What goes wrong is told plainly, and names of a recording are never more than text. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { browse, folder, goTo, open, record, recordProgram, serve, settled } from './support.mjs';

/** @type {any} */
let browser;
before(async () => {
  browser = await browse();
});
after(() => browser?.close());

/** A thread whose name is markup, in a program whose file name is, too. */
const PROGRAM = `
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
static void *work(void *p) { (void)p; pthread_setname_np(pthread_self(), "<img src=x o>"); struct timespec t; long now;
  do { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); now = t.tv_sec * 1000000000L + t.tv_nsec; } while (now < 200000000L); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); return 0; }
`;

test('names with markup in them are shown as they are, in every view', async () => {
  const source = path.join(folder, 'markup.c');
  const program = path.join(folder, '<b onclick=alert(1)>x<script>.bin');
  writeFileSync(source, PROGRAM);
  execFileSync('gcc', ['-O1', '-g', '-pthread', source, '-o', program]);
  const server = await serve(record(path.join(folder, 'markup.longpole'), [], [program, '<svg onload=document.title=1>']));
  const { page, faults } = await open(browser, server.url);
  for (const view of ['overview', 'timeline', 'path?by=thread', 'path?by=process', 'waits?all=1', 'objects', 'communication', 'parallelism', 'tree', 'flame', 'source', 'help']) {
    await goTo(page, view);
    const [bad, text] = await page.evaluate(() => [document.querySelectorAll('img, b[onclick], svg[onload], main script').length, document.body.innerText]);
    assert.equal(bad, 0, view);
    if (view === 'timeline' || view === 'path?by=thread') assert.ok(text.includes('<img src=x o>'), view);
  }
  assert.ok((await page.innerText('header')).includes('<svg onload'));
  assert.deepEqual(faults, []);
  await page.close();
  await server.stop();
});

test('a view that is not there is told, and the address becomes that of the overview', async () => {
  const server = await serve(recordProgram('pure_computation'));
  const { page, faults } = await open(browser, `${server.url}#nonsense?phase=10%25..20%25&find=x`);
  await settled(page, 'overview');
  assert.match(await page.innerText('main [role=alert]'), /no view “nonsense”: this is the overview/);
  assert.equal(new URL(page.url()).hash, '#overview?phase=10%25..20%25');
  await goTo(page, 'waits');
  await goTo(page, 'overview');
  assert.equal(await page.$('[data-part="no-such-view"]'), null);
  assert.deepEqual(faults, []);
  await page.close();
  await server.stop();
});

test('an open page keeps the session, which ends when it is closed', async () => {
  const server = await serve(recordProgram('pure_computation'), ['--idle-exit=6']);
  const { page, faults } = await open(browser, server.url);
  await settled(page, 'overview');
  // Each of them is a third of the time later than the one before.
  for (let sign = 0; sign < 4; sign++) await page.waitForResponse((response) => response.url().endsWith('/api/recording') && response.ok());
  assert.deepEqual(faults, []);
  await page.close();
  assert.equal(await server.ended, 0);
});

test('a recording that is deleted meanwhile, and a server that is gone, are told plainly', async () => {
  const recording = recordProgram('pure_computation');
  const moved = path.join(folder, 'moved.longpole');
  renameSync(recording, moved);
  const server = await serve(moved);
  const { page } = await open(browser, server.url);
  await settled(page, 'overview');
  rmSync(moved, { recursive: true });
  await page.evaluate(() => {
    location.hash = '#waits?phase=10%25..20%25';
  });
  await page.waitForSelector('main [role=alert], main [data-part], main .empty');
  const alert = await page.$('main [role=alert]');
  if (alert) assert.match(await alert.innerText(), /No answer: .*(recording|read|open)/);
  await server.stop();
  await page.evaluate(() => {
    location.hash = '#waits?phase=30%25..40%25';
  });
  await page.waitForSelector('main [role=alert]:has-text("longpole does not answer any more")');
  assert.match(await page.innerText('main [role=alert]'), /Start it again/);
  await page.close();
});
