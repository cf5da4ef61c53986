/** The view Rankings of a recording of which gains were measured: what stands beside the metrics, against the command line. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { browse, goTo, open, recordProgram, report, serve } from './support.mjs';

/** @type {any} */
let browser;
/** @type {any} */
let server;
let recording = '';

before(async () => {
  recording = recordProgram('lock_hog', ['--locks']);
  // As `longpole zero` keeps it, without the minutes that it takes.
  const gain = (/** @type {string} */ name, /** @type {number} */ percent) => ({ change: `self:${name}=0`, command: './variant', gain_percent: percent, interval_percent: [percent - 1, percent + 1], pairs: 9 });
  writeFileSync(path.join(recording, 'measured.json'), JSON.stringify([gain('hog_table', 80), gain('prepare', 7), gain('independent_work', 1), gain('short_update', 0)]));
  server = await serve(recording);
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('how well each metric guides stands below the rows, with the numbers of the command line', async () => {
  const { page, faults } = await open(browser, server.url);
  await goTo(page, 'rankings');
  const expected = report(recording, '--view', 'rankings').rows.filter((row) => row.section === 'correlation');
  assert.ok(expected.length > 3, 'four rows are enough');
  const shown = await page.$$eval('[data-part="correlations"] tbody tr', (all) => all.map((one) => [one.getAttribute('data-row'), one.querySelector('[data-cell="pearson"]').textContent]));
  assert.deepEqual(shown, expected.map((row) => [row.metric, row.pearson === undefined ? '–' : row.pearson.toFixed(2)]));
  assert.match(await page.innerText('[data-part="correlations"]'), /without hog_table/);
  const measured = await page.$$eval('[data-part="rankings"] [data-cell="measured"]', (all) => all.map((one) => one.textContent).filter(Boolean));
  assert.equal(measured.length, 4);
  assert.deepEqual(faults, []);
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  await page.close();
});
