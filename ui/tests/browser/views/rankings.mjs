import assert from 'node:assert/strict';

import { shareText } from '../../../model/rankings.js';
import { time } from '../../../model/quantity.js';
import { goTo, report } from '../support.mjs';

const cells = (page, key) => page.$$eval(`[data-part="rankings"] tbody [data-row]`, (rows, key) => rows.map((row) => [row.getAttribute('data-row'), row.querySelector(`[data-cell="${key}"]`)?.textContent]), key);

export const checks = {
  lock_hog: {
    'every metric has the numbers of the command line, and the same rows are marked': async (page, recording) => {
      const { rows } = report(recording, '--view', 'rankings');
      for (const metric of ['gprof', 'ips2', 'critical_path', 'npt', 'slack', 'zeroing', 'replay']) {
        if (!rows.some((row) => row[`${metric}_percent`])) continue;
        assert.deepEqual(await cells(page, `${metric}_percent`), rows.map((row) => [row.procedure, row[`${metric}_percent`] === undefined ? '–' : shareText(row[`${metric}_percent`])]), metric);
      }
      const marked = await page.$$eval('[data-disagrees]', (all) => all.map((one) => one.textContent));
      assert.deepEqual(marked, rows.filter((row) => row.disagreement).map((row) => `≠ ${row.disagreement}`));
      assert.ok(marked.length > 0);
    },
    'by object, in seconds: the numbers of the command line, in the URL': async (page, recording) => {
      await goTo(page, 'rankings?by=object&unit=seconds');
      const { rows } = report(recording, '--view', 'rankings', '--by', 'object');
      assert.deepEqual(await cells(page, 'wait_seconds'), rows.map((row) => [row.object, time(row.wait_seconds)]));
      assert.equal(await page.getAttribute('[data-choice="object"]', 'aria-current'), 'true');
    },
    'what was not measured says which command measures it; the key r opens the view': async (page) => {
      assert.match(await page.innerText('[data-part="unmeasured"]'), /longpole zero/);
      await goTo(page, 'help');
      await page.keyboard.press('r');
      await page.waitForSelector('[data-drawn="rankings"]');
    },
  },
};
