import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

import { time } from '../../../model/quantity.js';
import { goTo, LONGPOLE, report, settled } from '../support.mjs';

const first = (page) => page.getAttribute('[data-part="path"] tbody [data-row]', 'data-row');

export const checks = {
  lock_hog: {
    'hog_table leads the path by procedure, its thread by thread': async (page) => {
      assert.equal(await first(page), 'hog_table');
      await page.click('[data-choice="thread"]');
      await page.waitForFunction(() => location.hash.includes('by=thread'));
      await settled(page, 'path');
      assert.match(await first(page), /^hog/);
    },
    'moving the slider of hog_table predicts what the command line predicts': async (page, recording) => {
      const slider = '[data-part="path"] [data-row="hog_table"] input[type=range]';
      await page.$eval(slider, (input) => {
        input.value = '0.5';
        input.dispatchEvent(new Event('input', { bubbles: true }));
        input.dispatchEvent(new Event('change', { bubbles: true }));
      });
      await page.waitForSelector('[data-part^="predicted-"]');
      await settled(page, 'path');
      assert.match(decodeURIComponent(page.url()), /set=procedure:hog_table( \(lock_hog\))?=0\.5/);
      const told = JSON.parse(execFileSync(LONGPOLE, ['what-if', recording, '--set', 'procedure:hog_table=0.5', '--format', 'json'], { encoding: 'utf8' }));
      const shown = await page.innerText('[data-part="what-if"]');
      const after = new Map(await page.$$eval('[data-part="after"] [data-row]', (all) => all.map((row) => [row.getAttribute('data-row'), row.innerText])));
      const hog = told.rows.find((row) => row.section === 'path' && row.procedure === 'hog_table');
      assert.ok(after.get('hog_table')?.includes(time(hog.seconds)), `${after.get('hog_table')}, not ${time(hog.seconds)}`);
      const url = page.url();
      await page.goto('about:blank');
      await page.goto(url);
      await settled(page, 'path');
      await page.waitForSelector('[data-part^="predicted-"]');
      assert.equal(await page.innerText('[data-part="what-if"]'), shown);
    },
    'a lock is added, its slider moved by keys and taken back, other columns do not lose it': async (page) => {
      await page.selectOption('[data-part="add-object"]', 'object:table_lock');
      await page.waitForSelector('[data-part="predicted-elapsed"]');
      const slider = '[data-part="what-if"] [data-row="object:table_lock"] input';
      await page.focus(slider);
      await page.keyboard.press('ArrowRight');
      await page.waitForFunction(() => location.hash.includes('set=object%3Atable_lock%3D0.05'));
      await page.click('text=zeroing');
      await page.waitForFunction(() => location.hash.includes('metric=zeroing'));
      await settled(page, 'path');
      await page.waitForSelector('[data-column="zeroing_seconds"]');
      assert.match(decodeURIComponent(page.url()), /set=object:table_lock=0\.05/);
      await page.waitForSelector(slider);
      await page.focus(slider);
      await page.keyboard.press('Delete');
      await page.waitForFunction(() => !location.hash.includes('set='));
      await page.waitForSelector('[data-part="predicted-elapsed"]', { state: 'detached' });
    },
    'a change that names nothing is told plainly': async (page, _recording, _server, expected) => {
      expected.push(/status of 400/);
      await goTo(page, `path?set=${encodeURIComponent('procedure:no_such_one=0')}`);
      await page.waitForSelector('main [role=alert]');
      assert.match(await page.innerText('main [role=alert]'), /no_such_one/);
    },
  },
  pigz: {
    'rows and order are those of the command line': async (page, recording) => {
      const { rows } = report(recording, '--view', 'critical-path');
      const shown = await page.$$eval('[data-part="path"] tbody [data-row]', (all) => all.map((row) => row.getAttribute('data-row')));
      assert.ok(shown.length > 0);
      assert.deepEqual(shown, rows.slice(0, shown.length).map((row) => row.procedure));
    },
  },
};
