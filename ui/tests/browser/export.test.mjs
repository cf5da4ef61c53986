/** The page as one file: every view from a file alone, with nothing asked of anybody. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';

import { browse, folder, goTo, LONGPOLE, open, recordProgram, report } from './support.mjs';

const file = path.join(folder, 'page.html');
const url = pathToFileURL(file).href;
/** @type {any} */
let browser;
/** @type {string} */
let recording;

before(async () => {
  recording = recordProgram('lock_hog', ['--locks']);
  execFileSync(LONGPOLE, ['export', recording, '--to', 'html', '-o', file]);
  browser = await browse();
});
after(() => browser?.close());

test('the file has every view, and asks nobody', async () => {
  assert.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  const { page, faults } = await open(browser, url);
  for (const view of ['overview', 'timeline', 'path', 'path?by=thread', 'waits', 'waits?explain=1', 'objects', 'objects?of=object%3Atable_lock', 'communication', 'parallelism',
    'tree', 'flame', 'flame?metric=critical-path', 'source', 'rankings', 'rankings?by=object', 'rankings?by=thread&unit=seconds', 'help']) {
    await goTo(page, view);
    assert.equal(await page.$('main [role=alert]'), null, `${view}: ${await page.innerText('main')}`);
  }
  assert.deepEqual(faults, []);
  await page.close();
});

test('it says what the command line says', async () => {
  const { page, faults } = await open(browser, `${url}#overview`);
  const { rows } = report(recording, '--view', 'summary');
  await page.waitForSelector('ol.changes [data-row]');
  assert.deepEqual(await page.$$eval('ol.changes [data-row]', (all) => all.map((row) => row.getAttribute('data-row'))),
    rows.filter((row) => row.section === 'change').map((row) => row.text));
  await goTo(page, 'timeline');
  await page.waitForSelector('[data-part="legend"] [data-row="busy"]');
  const threads = report(recording, '--view', 'threads').rows;
  const shown = await page.$$eval('[data-part="lanes"] [data-row^="thread:"]', (all) => all.map((row) => row.getAttribute('data-row')));
  assert.deepEqual([...shown].sort(), threads.map((row) => `thread:${row.tid}`).sort());
  assert.deepEqual(faults, []);
  await page.close();
});

test('what it does not hold is told plainly', async () => {
  const { page } = await open(browser, `${url}#waits?phase=1s..2s`);
  await page.waitForSelector('main [role=alert]');
  assert.match(await page.innerText('main [role=alert]'), /does not hold[\s\S]*longpole view/);
  await page.close();
});
