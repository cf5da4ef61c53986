import assert from 'node:assert/strict';

export const checks = {
  lock_hog: {
    'of one recording it says which command compares two': async (page) => {
      assert.match(await page.innerText('[data-part="alone"]'), /longpole view .*--against BEFORE/);
    },
  },
};
