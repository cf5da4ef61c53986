import assert from 'node:assert/strict';

import { goTo, report } from '../support.mjs';

export const checks = {
  lock_hog: {
    'the row of table_lock leads to its page, which says who waits for whom': async (page, recording) => {
      await page.click('tbody [data-row="table_lock"] th.name a');
      await page.waitForSelector('[data-part="object"]');
      const text = await page.innerText('[data-part="object"]');
      assert.match(text, /hog/);
      assert.match(text, /polite/);
      assert.match(text, /take_and_update/);
      const { rows } = report(recording, '--view', 'objects');
      // On a busy machine the ends of threads may be waited for longer.
      const { blocks } = rows.find((row) => row.object === 'table_lock');
      assert.ok(text.includes(`${blocks}`), `${blocks} waits`);
    },
    'an object that is not there is told plainly, with names that are': async (page, _recording, _server, expected) => {
      expected.push(/status of 400/);
      await goTo(page, 'objects?of=object:no_such_lock');
      assert.match(await page.innerText('main [role=alert]'), /no_such_lock/);
    },
  },
  pigz: {
    'the rows are those of the command line, in its order': async (page, recording) => {
      const { rows } = report(recording, '--view', 'objects');
      const shown = await page.$$eval('tbody [data-row]', (all) => all.map((row) => row.getAttribute('data-row')));
      assert.deepEqual(shown, rows.slice(0, shown.length).map((row) => row.object));
    },
  },
};
