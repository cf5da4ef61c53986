import assert from 'node:assert/strict';

import { report, settled } from '../support.mjs';

/** What to change, in order; on a busy machine the processors that others took can be among them. */
const changes = (page) => page.$$eval('ol.changes [data-row]', (rows) => rows.map((row) => row.getAttribute('data-row')));

export const checks = {
  lock_hog: {
    'the thread that keeps the lock is the long pole, and its lock is what to change first': async (page) => {
      assert.match(await page.innerText('[data-part="long-pole"]'), /hog_table/);
      assert.equal((await changes(page)).filter((name) => name !== 'waiting for a CPU')[0], 'hog_table');
      assert.match(await page.innerText('ol.changes [data-row="hog_table"]'), /hold the lock shorter[\s\S]*table_lock/);
    },
    'a click on a row leads on, and back leads back': async (page) => {
      await page.click('ol.changes [data-row="hog_table"] a.thing');
      await page.waitForFunction(() => !location.hash.startsWith('#overview'));
      await page.goBack();
      await settled(page, 'overview');
      assert.ok((await changes(page)).includes('hog_table'));
    },
  },
  pigz: {
    'it shows what the command line says': async (page, recording) => {
      const { rows } = report(recording, '--view', 'summary');
      const of = (section) => rows.filter((row) => row.section === section);
      const pole = (await page.innerText('[data-part="long-pole"]')).replace(/\s+/g, ' ');
      assert.equal(pole, of('answer')[0].text.replaceAll('`', '').replace(/\s+/g, ' '));
      assert.deepEqual(await changes(page), of('change').map((row) => row.text));
    },
  },
};
