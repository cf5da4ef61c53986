/**
 * Takes pictures of every view, light and dark, and the one of the README: `node screenshots.mjs FOLDER [RECORDING]`. Without a recording
 * `programs/lock_hog.c` is recorded; one that was made before shows it on a machine that was not busy. The view communication is of
 * `programs/regression.c`.
 */

import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { browse, goTo, open, recordAccesses, recordProgram, serve } from './support.mjs';

const [folder, recording] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

/** Name of the picture, and the place of the page. */
const PLACES = {
  overview: 'overview', timeline: 'timeline', path: 'path?set=procedure%3Ahog_table%20(lock_hog)%3D0.5', waits: 'waits', explanation: 'waits?explain=1',
  objects: 'objects', object: 'objects?of=object%3Atable_lock', parallelism: 'parallelism?of=procedure%3Ahog', tree: 'tree', flame: 'flame', source: 'source', help: 'help',
};

const server = await serve(recording ?? recordProgram('lock_hog', ['--locks']));
const browser = await browse();
for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  const { page, faults } = await open(browser, server.url, { viewport: { width: 1280, height: 800 }, colorScheme });
  for (const [name, place] of Object.entries(PLACES)) {
    await goTo(page, place);
    // What is drawn when a frame is idle (canvases) has no mark of its own.
    await page.waitForTimeout(400);
    await page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`) });
  }
  await page.setViewportSize({ width: 390, height: 844 });
  for (const name of ['overview', 'timeline']) {
    await goTo(page, PLACES[name]);
    await page.waitForTimeout(400);
    await page.screenshot({ path: path.join(folder, `${name}-phone-${colorScheme}.png`) });
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  await page.close();
}
const accesses = await serve(recordAccesses('regression', ['4', '500']));
for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  const { page, faults } = await open(browser, accesses.url, { viewport: { width: 1280, height: 1250 }, colorScheme });
  await goTo(page, 'communication');
  await page.waitForTimeout(400);
  await page.screenshot({ path: path.join(folder, `communication-${colorScheme}.png`) });
  if (faults.length > 0) throw new Error(faults.join('\n'));
  await page.close();
}
await accesses.stop();
const { page } = await open(browser, server.url, { viewport: { width: 1000, height: 560 }, colorScheme: 'light' });
await goTo(page, PLACES.timeline);
await page.waitForTimeout(400);
await page.screenshot({ path: path.join(folder, 'readme.png') });
await browser.close();
await server.stop();
