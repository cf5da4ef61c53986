import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

import { goTo, LONGPOLE, settled } from '../support.mjs';

export const checks = {
  lock_hog: {
    'every metric of the registry is explained in its own words': async (page) => {
      const { metrics } = JSON.parse(execFileSync(LONGPOLE, ['metrics', '--format', 'json'], { encoding: 'utf8', maxBuffer: 1 << 26 }));
      const text = (await page.innerText('main')).replace(/\s+/g, ' ');
      assert.ok(metrics.length > 50);
      for (const { name } of metrics) assert.ok(await page.$(`[data-entry="${name}"]`), name);
      for (const { explanation } of metrics.slice(0, 20)) assert.ok(text.includes(explanation.replaceAll('`', '').replace(/\s+/g, ' ')), explanation);
    },
    'a column leads to its explanation': async (page) => {
      await goTo(page, 'help?of=critical_path_percent');
      const seen = await page.$eval('[data-entry="critical_path_percent"]', (entry) => {
        const box = entry.getBoundingClientRect();
        return box.top >= 0 && box.bottom <= innerHeight;
      });
      assert.ok(seen, 'it is scrolled to');
    },
  },
  pigz: {
    'a key opens a view, and ? comes back': async (page) => {
      await page.keyboard.press('4');
      await settled(page, 'waits');
      await page.keyboard.press('?');
      await settled(page, 'help');
      assert.match(page.url(), /#help/);
    },
  },
};
