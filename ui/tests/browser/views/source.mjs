import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { report, settled } from '../support.mjs';

const TEXT = readFileSync(fileURLToPath(new URL('../../../../programs/lock_hog.c', import.meta.url)), 'utf8').split('\n');

export const checks = {
  lock_hog: {
    'the hottest place is that of the command line, and a click shows the text around it': async (page, recording) => {
      const { rows } = report(recording, '--view', 'source');
      const [hottest] = rows.filter((row) => row.file && row.line).sort((a, b) => b.npt_seconds - a.npt_seconds);
      const name = hottest.file.split('/').at(-1);
      assert.ok((await page.innerText('[data-part="hottest"] p.answer')).includes(`${name}:${hottest.line}`));
      await page.click('[data-part="files"]');
      const file = rows.find((row) => row.file?.endsWith('lock_hog.c')).file;
      await page.selectOption('[data-part="files"]', file);
      await page.waitForSelector('[data-part="listing"]');
      await settled(page, 'source');
      const text = await page.innerText('[data-part="listing"]');
      const line = TEXT.findIndex((one) => one.includes('hog_table')) + 1;
      assert.ok(line > 0 && text.includes(TEXT[line - 1].trim()), TEXT[line - 1]);
      assert.match(page.url(), /file=/);
    },
  },
  pigz: {
    'what has no line is told, with its time': async (page, recording) => {
      const { rows } = report(recording, '--view', 'source');
      const nowhere = rows.filter((row) => !row.file || !row.line).reduce((sum, row) => sum + (row.npt_seconds ?? 0), 0);
      const text = await page.innerText('main');
      if (nowhere > 0) assert.match(text, /lines are not known|no line information/);
      else assert.doesNotMatch(text, /lines are not known/);
    },
  },
};
