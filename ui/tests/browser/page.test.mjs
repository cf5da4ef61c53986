/**
 * Clicks through every view, on a program with a planted bottleneck and on one that nobody here wrote, and holds what is shown
 * against the planted truth and against what the command line says of the same recording.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import * as communication from './views/communication.mjs';
import * as compare from './views/compare.mjs';
import * as flame from './views/flame.mjs';
import * as help from './views/help.mjs';
import * as objects from './views/objects.mjs';
import * as overview from './views/overview.mjs';
import * as parallelism from './views/parallelism.mjs';
import * as pathView from './views/path.mjs';
import * as rankings from './views/rankings.mjs';
import * as source from './views/source.mjs';
import * as timeline from './views/timeline.mjs';
import * as tree from './views/tree.mjs';
import * as waits from './views/waits.mjs';
import { browse, folder, goTo, open, record, recordProgram, serve } from './support.mjs';

const VIEWS = { overview, timeline, path: pathView, waits, objects, communication, parallelism, tree, flame, source, rankings, compare, help };

/** @type {any} */
let browser;
/** @type {{name: string, recording: string, server: any}[]} */
const recorded = [];

before(async () => {
  const hog = recordProgram('lock_hog', ['--locks']);
  const data = path.join(folder, 'data');
  writeFileSync(data, Buffer.concat(Array.from({ length: 60 }, () => randomBytes(200_000).toString('hex')).map((text) => Buffer.from(text))));
  const pigz = record(path.join(folder, 'pigz.longpole'), [], ['pigz', '-k', '-f', '-p', '3', data]);
  for (const [name, recording] of [['lock_hog', hog], ['pigz', pigz]]) {
    recorded.push({ name, recording, server: await serve(recording) });
  }
  browser = await browse();
});

after(async () => {
  await browser?.close();
  await Promise.all(recorded.map(({ server }) => server.stop()));
});

for (const [name, view] of Object.entries(VIEWS)) {
  for (const [program, check] of Object.entries(view.checks)) {
    for (const [what, run] of Object.entries(check)) {
      test(`${name}, ${program}: ${what}`, async () => {
        const { recording, server } = recorded.find((one) => one.name === program) ?? {};
        const { page, faults } = await open(browser, server.url);
        try {
          await goTo(page, name);
          /** @type {RegExp[]} what the test provokes */
          const expected = [];
          await run(page, recording, server, expected);
          assert.deepEqual(faults.filter((fault) => !expected.some((one) => one.test(fault))), []);
        } finally {
          await page.close();
        }
      });
    }
  }
}

// Colours move nothing.
for (const [width, scheme] of [[1280, 'dark'], [390, 'light']]) {
  test(`every view fits a ${width} px wide ${scheme} screen, and its URL restores it`, async () => {
    const { server } = recorded[0];
    const { page, faults } = await open(browser, server.url, { viewport: { width, height: 800 }, colorScheme: scheme });
    for (const name of Object.keys(VIEWS)) {
      await goTo(page, name);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} is ${wide} px wide`);
      const text = await page.innerText('main h1');
      const again = await open(browser, page.url(), { viewport: { width, height: 800 }, colorScheme: scheme });
      await again.page.waitForSelector(`[data-drawn="${name}"]`);
      assert.equal(await again.page.innerText('main h1'), text);
      faults.push(...again.faults);
      await again.page.close();
    }
    assert.deepEqual(faults, []);
    await page.close();
  });
}
