import assert from 'node:assert/strict';

import { goTo, report, settled } from '../support.mjs';

const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

/** Shares of the kinds of states in the window, as the legend has them. */
const legend = async (page) => {
  await page.waitForSelector('[data-part="legend"] [data-row="busy"]');
  return Object.fromEntries(await page.$$eval('[data-part="legend"] [data-row]', (all) =>
    all.map((row) => [row.getAttribute('data-row'), Number(/([\d.]+) %/.exec(row.textContent)?.[1])])));
};

/** The drawing's box. */
const lanes = async (page) => (await page.waitForSelector('[data-part="lanes"] canvas')).boundingBox();

/** The row of a thread: its box. */
const rowOf = async (page, name) => (await page.waitForSelector(`[data-row^="thread:"]:has-text("${name}")`)).boundingBox();

export const checks = {
  lock_hog: {
    'every thread has its row, and the states have the shares that the command line tells': async (page, recording) => {
      const { rows } = report(recording, '--view', 'threads');
      const shown = await page.$$eval('[data-part="lanes"] [data-row^="thread:"]', (all) => all.map((row) => row.getAttribute('data-row')));
      assert.deepEqual([...shown].sort(), rows.map((row) => `thread:${row.tid}`).sort());
      const sum = (key) => rows.reduce((all, row) => all + (row[key] ?? 0), 0);
      const alive = sum('running_seconds') + sum('spin_seconds') + sum('ready_seconds') + sum('wait_seconds') + sum('overhead_seconds');
      const shares = await legend(page);
      assert.ok(Math.abs(shares.busy - 100 * sum('running_seconds') / alive) < 3, `busy ${shares.busy} %, not ${100 * sum('running_seconds') / alive}`);
      assert.ok(shares.synchronisation > 20, `the polite threads and main wait: ${shares.synchronisation} %`);
    },
    'the picture has the colours of states in the rows of their threads': async (page) => {
      const row = await rowOf(page, 'polite');
      const box = await lanes(page);
      const found = await page.evaluate(({ y }) => {
        const canvas = document.querySelector('[data-part="lanes"] canvas');
        const scale = canvas.height / canvas.getBoundingClientRect().height;
        const pixels = canvas.getContext('2d').getImageData(0, Math.round(y * scale), canvas.width, 1).data;
        const probe = document.createElement('canvas').getContext('2d');
        const colour = (name) => {
          probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
          probe.fillRect(0, 0, 1, 1);
          return [...probe.getImageData(0, 0, 1, 1).data];
        };
        const [busy, waits] = [colour('busy'), colour('synchronisation')];
        const near = (at, one) => [0, 1, 2].every((k) => Math.abs(pixels[at + k] - one[k]) < 12);
        let [running, waiting] = [0, 0];
        for (let at = 0; at < pixels.length; at += 4) {
          running += near(at, busy);
          waiting += near(at, waits);
        }
        return { running, waiting, width: canvas.width };
      }, { y: row.y + row.height / 2 - box.y });
      assert.ok(found.waiting > 0.2 * found.width, `it waits for the lock most of the time: ${JSON.stringify(found)}`);
      assert.ok(found.waiting > found.running, JSON.stringify(found));
    },
    'a brushed interval becomes the phase, and every view follows it': async (page, recording) => {
      const box = await lanes(page);
      await page.mouse.move(box.x + box.width * 0.25, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 5 });
      await page.mouse.up();
      await page.waitForFunction(() => location.hash.includes('phase='));
      const [, from, to] = /phase=([\d.]+)s\.\.([\d.]+)s/.exec(await hash(page));
      const { elapsed_seconds: elapsed } = report(recording, '--view', 'evidence').recording;
      assert.ok(Math.abs(from / elapsed - 0.25) < 0.03 && Math.abs(to / elapsed - 0.5) < 0.03, `${from}..${to} of ${elapsed}`);
      await page.click('nav.views a:has-text("Waiting")');
      await settled(page, 'waits');
      assert.match(await hash(page), /phase=/);
      const { rows } = report(recording, '--view', 'waits', '--phase', `${from}s..${to}s`);
      assert.match(await page.innerText('[data-part="map"] [data-row]:first-child'), new RegExp(`${rows[0].count} wait`));
      await page.click('header.top button[aria-label="back to the whole run"]');
      await settled(page, 'waits');
      assert.doesNotMatch(await hash(page), /phase=/);
    },
    'a click on a waiting thread tells the lock, its place and who ended the wait': async (page, recording) => {
      const { rows } = report(recording, '--view', 'objects', '--of', 'table_lock');
      assert.ok(rows.length > 0);
      const row = await rowOf(page, 'polite');
      const box = await lanes(page);
      for (const share of [0.5, 0.55, 0.6, 0.65, 0.7, 0.45, 0.4]) {
        await page.mouse.click(box.x + box.width * share, row.y + row.height / 2);
        await page.waitForSelector('[data-part="moment"] [data-part="state"]');
        await settled(page, 'timeline');
        if (/lock/.test(await page.innerText('[data-part="moment"] [data-part="state"]'))) break;
      }
      const told = await page.innerText('[data-part="moment"]');
      assert.match(told, /table_lock/);
      assert.match(told, /take_and_update/);
      assert.match(await page.innerText('[data-part="moment"] [data-part="ended-by"]'), /hog|polite/);
    },
    'zooming writes the window into the URL, which restores it': async (page) => {
      await page.focus('[data-part="lanes"]');
      for (let step = 0; step < 3; step++) await page.keyboard.press('+');
      await page.waitForFunction(() => /from=/.test(location.hash));
      const url = page.url();
      const window = await page.innerText('[data-part="window"]');
      await page.goto('about:blank');
      await page.goto(url);
      await settled(page, 'timeline');
      await page.waitForFunction((text) => document.querySelector('[data-part="window"]')?.textContent === text, window, { timeout: 5000 });
      await page.focus('[data-part="lanes"]');
      await page.keyboard.press('0');
      await page.waitForFunction(() => !/from=/.test(location.hash));
    },
    'curves of several metrics stand on one axis': async (page) => {
      const name = encodeURIComponent('wait_seconds@thread:hog');
      await goTo(page, `timeline?curves=${encodeURIComponent('effective_parallelism@program')}&curves=${name}`);
      await page.waitForSelector('[data-part="curve-legend"] [data-row]:nth-child(2)');
      assert.equal(await page.$$eval('[data-part="curve-legend"] [data-row]', (all) => all.length), 2);
      assert.equal(await page.$$eval('[data-part="curves"] canvas', (all) => all.length), 1);
    },
    'keys choose a thread, tell what it does at the cursor, and fold its process': async (page) => {
      await page.focus('[data-part="lanes"]');
      for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
      await page.waitForSelector('[data-part="moment"] [data-part="state"]');
      const [, time] = await page.waitForFunction(() => /time=([\d.]+)/.exec(location.hash)).then((found) => found.jsonValue());
      const second = (await page.$$eval('[data-part="lanes"] [data-row^="thread:"]', (all) => all.map((row) => row.getAttribute('data-row'))))[1];
      assert.equal(await page.getAttribute('[data-part="moment"] .moment', 'data-row'), second);
      await page.focus('[data-part="lanes"]');
      await page.keyboard.press('Shift+ArrowRight');
      await page.waitForFunction((before) => Number(/time=([\d.]+)/.exec(location.hash)?.[1]) > before, Number(time));
      await page.click('[data-part="lanes"] [data-row^="process:"]');
      await page.waitForFunction(() => document.querySelectorAll('[data-part="lanes"] [data-row^="thread:"]').length === 0);
      await page.waitForFunction(() => location.hash.includes('folded='));
      await page.click('[data-part="lanes"] [data-row^="process:"]');
    },
    'wakes are drawn and counted on demand': async (page) => {
      await page.keyboard.press('a');
      await page.waitForFunction(() => /of [1-9][\d ]* wakes are drawn/.test(document.querySelector('[data-part="note"]')?.textContent ?? ''));
      assert.match(await hash(page), /arrows=1/);
      await page.keyboard.press('a');
      await page.waitForFunction(() => !location.hash.includes('arrows='));
    },
    'the strip in the head sets the phase of any view, by pointer and by keys': async (page, recording) => {
      const { elapsed_seconds: elapsed } = report(recording, '--view', 'evidence').recording;
      await goTo(page, 'objects');
      const box = await (await page.waitForSelector('[data-part="strip"]')).boundingBox();
      await page.mouse.move(box.x + box.width * 0.5, box.y + 10);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.75, box.y + 10, { steps: 4 });
      await page.mouse.up();
      await page.waitForFunction(() => /^#objects\?phase=/.test(location.hash));
      const phase = async () => /phase=([\d.]+)s\.\.([\d.]+)s/.exec(await hash(page)).slice(1).map((seconds) => seconds / elapsed);
      const [from, to] = await phase();
      assert.ok(Math.abs(from - 0.5) < 0.02 && Math.abs(to - 0.75) < 0.02, `${from}..${to}`);
      const before = await hash(page);
      await page.focus('[data-part="strip"]');
      await page.keyboard.press('ArrowLeft');
      await page.waitForFunction((text) => decodeURIComponent(location.hash) !== text, before);
      const [earlier, end] = await phase();
      assert.ok(Math.abs(from - earlier - 0.02) < 0.003 && Math.abs(end - earlier - (to - from)) < 0.003, `${earlier}..${end}`);
      await page.waitForFunction(() => document.activeElement?.getAttribute('data-part') === 'strip');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => location.hash === '#objects');
    },
  },
  pigz: {
    'its threads are those of the command line': async (page, recording) => {
      const { rows } = report(recording, '--view', 'threads');
      const shown = await page.$$eval('[data-part="lanes"] [data-row^="thread:"]', (all) => all.map((row) => row.getAttribute('data-row')));
      assert.deepEqual([...shown].sort(), rows.map((row) => `thread:${row.tid}`).sort());
    },
  },
};
