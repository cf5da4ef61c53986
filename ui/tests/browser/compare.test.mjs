/** Two recordings compared, from the server and from a file: what is shown is what `longpole diff` says of them. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { defects } from './layout.mjs';
import { browse, folder, goTo, LONGPOLE, open, recordProgram, serve } from './support.mjs';

const WIDTHS = [1280, 1440, 1920, 390];

/** @type {any} */
let browser;
/** @type {any} */
let server;
/** @type {any[]} */
let rows;
const file = path.join(folder, 'compared.html');

before(async () => {
  const [former, later] = [recordProgram('lock_hog', ['--locks']), recordProgram('serial_then_parallel')];
  execFileSync(LONGPOLE, ['what-if', former, '--set', 'procedure:prepare=0']);
  rows = JSON.parse(execFileSync(LONGPOLE, ['diff', former, later, '--format', 'json'], { encoding: 'utf8' })).rows;
  execFileSync(LONGPOLE, ['export', later, '--to', 'html', '--against', former, '-o', file]);
  server = await serve(later, ['--against', former]);
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const from of ['the server', 'a file']) {
  test(`from ${from}: each change of the command line, ties counted, and the parts add up`, async () => {
    const { page, faults } = await open(browser, from === 'a file' ? pathToFileURL(file).href : server.url);
    await goTo(page, 'compare');
    for (const section of ['procedure', 'object', 'wait']) {
      const own = rows.filter((row) => row.section === section);
      const changed = own.filter((row) => row.verdict !== 'none').map((row) => row.change_seconds);
      const shown = await page.$$eval(`[data-part="${section}"] [data-change]`, (all) => all.map((one) => Number(one.getAttribute('data-change'))));
      assert.deepEqual(shown, changed.slice(0, 20), section);
      const ties = await page.$$eval(`[data-part="${section}"] [data-ties]`, (all) => all.map((one) => Number(one.getAttribute('data-ties'))));
      assert.deepEqual(ties, own.length > changed.length ? [own.length - changed.length] : [], section);
    }
    const parts = await page.$$eval('[data-part="because"] [data-change]', (all) => all.map((one) => Number(one.getAttribute('data-change'))));
    const elapsed = rows.find((row) => row.section === 'run' && row.name === 'elapsed').change_seconds;
    assert.equal(parts.at(-1), elapsed);
    assert.ok(Math.abs(parts.slice(0, -1).reduce((sum, part) => sum + part, 0) - elapsed) < 1e-6);
    const prediction = rows.find((row) => row.section === 'prediction');
    const predicted = await page.innerText('[data-part="prediction"]');
    assert.ok(predicted.includes('procedure:prepare=0') && predicted.includes(prediction.inside), predicted);
    assert.match(await page.innerText('[data-part="sum"]'), /add up/);
    assert.match(await page.innerText('[data-part="different"]'), /different programs/);
    assert.deepEqual(faults, []);
    await page.close();
  });
}

for (const width of WIDTHS) {
  test(`the comparison is whole in a window of ${width} pixels`, async () => {
    const { page, faults } = await open(browser, server.url, { viewport: { width, height: 844 } });
    await goTo(page, 'compare');
    assert.deepEqual(await defects(page, width), []);
    assert.deepEqual(faults, []);
    await page.close();
  });
}
