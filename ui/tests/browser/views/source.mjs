import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { goTo, report, settled } from '../support.mjs';

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
    'n and p go from hot line to hot line, and the URL says at which': async (page, recording) => {
      const { rows } = report(recording, '--view', 'source');
      const lines = rows.filter((row) => row.file?.endsWith('lock_hog.c') && row.line);
      const most = Math.max(...lines.map((row) => row.npt_seconds ?? 0));
      const hot = [...new Set(lines.filter((row) => row.npt_seconds > 0.1 * most).map((row) => row.line))].sort((a, b) => a - b);
      await goTo(page, 'source?file=lock_hog.c&line=1');
      await page.waitForSelector('[data-line="1"][aria-current]');
      const seen = [];
      for (let turn = 0; turn < 30 && !(seen.length > 1 && seen.at(-1) === seen[0]); turn++) {
        await page.keyboard.press('n');
        seen.push(Number(await page.getAttribute('[data-line][aria-current]', 'data-line')));
      }
      for (const line of hot) assert.ok(seen.includes(line), `line ${line} among ${seen}`);
      assert.match(page.url(), new RegExp(`line=${seen.at(-1)}$`));
      await page.keyboard.press('p');
      assert.equal(Number(await page.getAttribute('[data-line][aria-current]', 'data-line')), seen.at(-2));
    },
    'a file that the recording does not name is told plainly': async (page, _recording, _server, expected) => {
      expected.push(/status of 40\d/);
      await goTo(page, 'source?file=/etc/passwd');
      const text = await page.innerText('main');
      assert.match(text, /The text is not there/);
      assert.doesNotMatch(text, /root:x:0/);
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
