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
    'kinds of explanation and direct causes are chosen by a click, and add up': async (page, recording) => {
      const [row] = report(recording, '--view', 'waits', '--explain', '1').rows;
      await page.click('[data-part="map"] [data-row]:first-child [data-explain]');
      await page.waitForSelector('[data-part="sides"]');
      const shares = () => page.$$eval('[data-side="ending"] tbody tr', (all) => all.map((line) => Number(line.children[2].textContent.replace(' %', ''))));
      const sum = (list) => list.reduce((total, one) => total + one, 0);
      const negative = (causes) => sum(causes.filter(({ side }) => side === 'negative').map(({ percent }) => percent));
      assert.ok(Math.abs(sum(await shares()) - negative(row.root_causes) - 100) < 1.5, `${await shares()}`);
      await page.click('[data-choice="direct"]');
      await page.waitForSelector('[data-choice="direct"][aria-current]');
      await page.waitForSelector('[data-part="sides"]');
      assert.ok(Math.abs(sum(await shares()) - negative(row.causes) - 100) < 1.5, `${await shares()}`);
      if (row.explanations.length < 2) return;
      await page.click('[data-kind="1"]');
      await page.waitForSelector('[data-kind="1"][aria-current]');
      assert.match(page.url(), /kind=1/);
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
