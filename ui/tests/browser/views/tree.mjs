import assert from 'node:assert/strict';

import { report } from '../support.mjs';

const grid = '[role=treegrid]';
const rows = (page) => page.$$eval(`${grid} tbody [role=row]`, (all) => all.map((row) => ({
  name: row.getAttribute('data-row'), kind: row.getAttribute('data-kind'), level: Number(row.getAttribute('aria-level')),
})));

export const checks = {
  lock_hog: {
    'the hog is below its process, and hog_table below the hog': async (page) => {
      await page.fill('main [data-search]', 'hog_table');
      await page.waitForFunction(() => ![...document.querySelectorAll('[role=treegrid] tbody [role=row]')].some((row) => row.getAttribute('data-row') === 'prepare'));
      const shown = await rows(page);
      const at = shown.findIndex((row) => row.name === 'hog_table');
      const above = (kind) => shown.slice(0, at).reverse().find((row) => row.kind === kind);
      assert.match(above('thread').name, /^hog/);
      assert.match(above('process').name, /lock_hog/);
      assert.ok(shown[at].level > above('thread').level && above('thread').level > above('process').level);
      assert.match(page.url(), /find=hog_table/);
    },
    'keys walk: right opens, left closes, down goes on': async (page) => {
      await page.focus(`${grid} tbody [role=row][tabindex="0"]`);
      const before = (await rows(page)).length;
      await page.keyboard.press('ArrowLeft');
      const closed = (await rows(page)).length;
      assert.ok(closed < before, `${closed} rows of ${before}`);
      await page.keyboard.press('ArrowRight');
      assert.equal((await rows(page)).length, before);
      await page.keyboard.press('ArrowDown');
      const name = await page.evaluate(() => document.activeElement?.getAttribute('data-row'));
      assert.equal(name, (await rows(page))[1].name);
    },
  },
  pigz: {
    'threads and their CPU time are those of the command line': async (page, recording) => {
      const told = report(recording, '--view', 'tree').rows.filter((row) => row.kind === 'thread');
      const shown = (await rows(page)).filter((row) => row.kind === 'thread');
      assert.deepEqual(new Set(shown.map((row) => row.name)).size > 0, true);
      assert.equal(shown.length, told.length);
    },
  },
};
