import assert from 'node:assert/strict';

import { report, settled } from '../support.mjs';

export const checks = {
  lock_hog: {
    'the polite threads wait for table_lock because of hog_table': async (page) => {
      const first = await page.innerText('[data-part="map"] [data-row]:first-child');
      assert.match(first, /take_and_update/);
      assert.match(first, /table_lock/);
      assert.match(first, /hog_table/);
      assert.match(await page.innerText('[data-part="classes"]'), /communication and contention/);
    },
    'explaining it shows both sides, and the way to the source': async (page) => {
      await page.click('[data-part="map"] [data-row]:first-child [data-explain]');
      await page.waitForSelector('[data-part="sides"]');
      assert.match(page.url(), /explain=1/);
      const side = '[data-part="sides"] [data-side]:has-text("hog_table")';
      assert.match(await page.innerText(side), /hog_table[\s\S]*lock_hog\.c:\d+/);
      await page.click(`${side} a[href*="source"]`);
      await settled(page, 'source');
      assert.match(page.url(), /lock_hog\.c/);
    },
  },
  pigz: {
    'the largest wait is that of the command line': async (page, recording) => {
      const { rows } = report(recording, '--view', 'waits');
      const wanted = rows.filter((row) => row.wanted);
      if (wanted.length === 0) {
        assert.match(await page.innerText('main'), /No wait needs an explanation/);
        return;
      }
      const first = await page.innerText('[data-part="map"] [data-row]:first-child');
      assert.match(first, new RegExp(`${wanted[0].count} wait`.replace(/\B(?=(\d{3})+ )/g, '.')));
    },
  },
};
