import assert from 'node:assert/strict';

import { goTo, report } from '../support.mjs';

const boxes = (page) => page.$$eval('[data-box]', (all) => all.map((box) => ({ name: box.getAttribute('data-box'), width: box.getBoundingClientRect().width })));

export const checks = {
  lock_hog: {
    'hog_table is as wide as its share of the CPU time': async (page, recording) => {
      const whole = (await boxes(page)).reduce((most, box) => Math.max(most, box.width), 0);
      const hog = (await boxes(page)).filter((box) => box.name === 'hog_table').reduce((sum, box) => sum + box.width, 0);
      const { rows } = report(recording, '--view', 'profile');
      const row = rows.find((one) => one.procedure === 'hog_table');
      assert.ok(Math.abs(100 * hog / whole - row.inclusive_percent) < 2, `${100 * hog / whole} %, not ${row.inclusive_percent}`);
    },
    'by waiting, take_and_update is widest below its thread': async (page) => {
      await goTo(page, 'flame?metric=waiting');
      if ((await boxes(page)).length === 0) throw new Error('no boxes');
      assert.ok((await boxes(page)).some((box) => box.name === 'take_and_update'));
    },
    'searching tells the share that matches, a click zooms, and the URL restores both': async (page) => {
      await page.fill('main [data-search]', 'hog_table');
      await page.waitForFunction(() => /\d %/.test(document.querySelector('[data-part="matched"]')?.textContent ?? ''));
      await page.click('[data-box="hog_table"]');
      await page.waitForFunction(() => location.hash.includes('open='));
      const [url, text] = [page.url(), await page.innerText('[data-part="whole"]')];
      await page.goto('about:blank');
      await page.goto(url);
      await page.waitForFunction((wanted) => document.querySelector('[data-part="whole"]')?.innerText === wanted, text, { timeout: 5000 });
      assert.equal(await page.inputValue('main [data-search]'), 'hog_table');
    },
    'arrow keys walk from callers to what they call, enter zooms, escape goes out': async (page) => {
      const name = () => page.evaluate(() => document.activeElement?.getAttribute('data-box'));
      // The thread's first samples may lack the frames below it: then there are two.
      await page.$$eval('[data-box="hog"]', (all) => all.sort((a, b) => b.offsetWidth - a.offsetWidth)[0].focus());
      await page.keyboard.press('ArrowDown');
      assert.equal(await name(), 'hog_table');
      assert.match(await page.innerText('[data-part="details"]'), /hog_table[\s\S]*with calls[\s\S]*itself/);
      await page.keyboard.press('ArrowUp');
      assert.equal(await name(), 'hog');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => location.hash.endsWith('open=hog'));
      assert.equal(await name(), 'hog');
      await page.keyboard.press('Home');
      await page.waitForFunction(() => !location.hash.includes('open='));
    },
  },
  pigz: {
    'the whole is the CPU time of the command line': async (page, recording) => {
      const seconds = report(recording, '--view', 'evidence').recording.cpu_seconds;
      const shown = await page.innerText('[data-part="whole"]');
      const [, number, unit] = /([\d.]+) (s|ms)/.exec(shown);
      assert.ok(Math.abs(number * (unit === 'ms' ? 1e-3 : 1) / seconds - 1) < 0.01, `${shown}, not ${seconds} s`);
    },
  },
};
