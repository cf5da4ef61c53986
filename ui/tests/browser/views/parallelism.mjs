import assert from 'node:assert/strict';

import { report, settled } from '../support.mjs';

export const checks = {
  lock_hog: {
    'most of the time runs hog_table, and a click goes down to it': async (page) => {
      assert.match(await page.innerText('[data-part="levels"] [data-level="1"]'), /hog_table/);
      await page.click('[data-part="serial"] [data-part="table"] tbody [data-row="hog_table"] th.name a');
      await page.waitForSelector('[data-part="one"][data-row="procedure:hog_table"]');
      await settled(page, 'parallelism');
      assert.match(await page.innerText('[data-part="one"]'), /hog_table/);
    },
    'from the thread function down to its child and back by the way that is shown': async (page) => {
      await page.goto(`${page.url().split('#')[0]}#parallelism?of=procedure%3Ahog`);
      await settled(page, 'parallelism');
      await page.click('[data-part="legend"] [data-row="hog_table"] a');
      await page.waitForSelector('[data-part="one"][data-row="procedure:hog_table"]');
      await page.click('[data-part="crumbs"] a:has-text("hog")');
      await page.waitForSelector('[data-part="one"][data-row="procedure:hog"]');
    },
  },
  pigz: {
    'levels are those of the command line': async (page, recording) => {
      const { rows } = report(recording, '--view', 'parallelism');
      const shown = await page.$$eval('[data-part="levels"] [data-level]', (all) => all.map((row) => [row.getAttribute('data-level'), row.innerText]));
      assert.deepEqual(shown.map(([level]) => Number(level)), rows.map((row) => row.level));
      rows.forEach((row, at) => assert.ok(shown[at][1].includes(`${row.effective_percent.toFixed(1)} %`), shown[at][1]));
    },
  },
};
