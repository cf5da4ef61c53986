import assert from 'node:assert/strict';

export const checks = {
  lock_hog: {
    'a recording without accesses says why there is nothing, and which commands get them': async (page) => {
      const text = await page.innerText('[data-part="absent"]');
      assert.match(text, /No accesses to memory were recorded/);
      const commands = await page.$$eval('[data-part="absent"] .copied code', (all) => all.map((one) => one.textContent));
      assert.deepEqual(commands, ['longpole cc -O2 -pthread program.c -o program', 'longpole record --access -- ./program', 'longpole record --access=emulate -- ./program']);
      await page.keyboard.press('9');
      await page.waitForSelector('[data-drawn="source"] [data-choice="path"]');
      assert.equal(await page.$('[data-choice="requests"]'), null, 'no line has requests');
      await page.keyboard.press('c');
      await page.waitForSelector('[data-drawn="communication"]');
    },
  },
};
