import assert from 'node:assert/strict';

import { report, settled } from '../support.mjs';

/** What to change, in order; on a busy machine the processors that others took can be among them. */
const changes = (page) => page.$$eval('ol.changes [data-row]', (rows) => rows.map((row) => row.getAttribute('data-row')));

export const checks = {
  lock_hog: {
    'the thread that keeps the lock is the long pole, and its work is what to change first': async (page, recording) => {
      assert.match(await page.innerText('[data-part="long-pole"]'), /hog_table/);
      assert.equal((await changes(page)).filter((name) => name !== 'waiting for a CPU')[0], 'hog_table');
      // What is advised, and what the run gains, depends on how busy the machine is.
      const { rows } = report(recording, '--view', 'summary');
      const { remedy, about } = rows.find((row) => row.section === 'change' && row.text === 'hog_table');
      const shown = await page.innerText('ol.changes [data-row="hog_table"]');
      assert.ok(shown.includes(remedy), `${shown}, not ${remedy}`);
      assert.ok(shown.includes(about.replaceAll('`', '')), `${shown}, not ${about}`);
      assert.match(about, /of the critical path/);
    },
    'the cautions of the command line are in sight, other notes on demand in one line': async (page, recording) => {
      const { rows, evidence } = report(recording, '--view', 'summary');
      const cautions = rows.filter((row) => row.section === 'warning').map((row) => row.text);
      const shown = await page.$$eval('[data-part="caution"]', (all) => all.map((each) => each.lastChild?.textContent));
      assert.deepEqual(shown.map((text) => text?.trim()), cautions);
      const notes = [...new Set(evidence.notes)].filter((note) => !cautions.includes(note));
      assert.ok(notes.length > 0, 'the program is compiled without frame pointers, which is noted');
      assert.equal(await page.innerText('[data-part="notes"]'), `${notes.length} note${notes.length === 1 ? '' : 's'} on this recording's accuracy`);
      await page.click('[data-part="notes"] > summary');
      await page.waitForSelector('[data-part="notes"] li');
      assert.deepEqual(await page.$$eval('[data-part="notes"] li', (all) => all.map((each) => each.textContent)), notes.map((note) => note.replaceAll('`', '')));
      assert.match(page.url(), /open=notes/);
    },
    'a click on a row leads on, and back leads back': async (page) => {
      await page.click('ol.changes [data-row="hog_table"] a.thing');
      await page.waitForFunction(() => !location.hash.startsWith('#overview'));
      await page.goBack();
      await settled(page, 'overview');
      assert.ok((await changes(page)).includes('hog_table'));
    },
    'the search finds the lock by a part of its name, and enter leads to it': async (page) => {
      await page.keyboard.press('/');
      await page.waitForSelector('[data-part="search"] [role=option]');
      await page.keyboard.type('LE_LO');
      assert.equal(await page.getAttribute('[data-part="search"] [aria-selected=true]', 'data-row'), 'table_lock');
      assert.equal(await page.getAttribute('[data-part="search"] [aria-selected=true]', 'data-kind'), 'object');
      await page.keyboard.press('Enter');
      await settled(page, 'objects');
      assert.match(decodeURIComponent(page.url()), /#objects\?of=object:table_lock$/);
      assert.equal(await page.$('[data-part="search"]'), null);
    },
    'the menu of a row leads to the other views of it': async (page) => {
      await page.click('[data-part="procedures"] [data-row="hog_table"] [data-part="leads"]');
      const titles = await page.$$eval('[data-part="menu"] a', (links) => links.map((each) => each.textContent));
      assert.deepEqual(titles, ['Source', 'Parallelism', 'Flame graph', 'Over time', 'What if it took half the time']);
      await page.click('[data-part="menu"] a:last-child');
      await page.waitForSelector('[data-part="predicted-elapsed"]');
      assert.match(decodeURIComponent(page.url()), /#path\?set=procedure:hog_table \(lock_hog\)=0.5$/);
    },
    'a procedure unfolds to its callers and callees, as the command line has them': async (page, recording) => {
      await page.click('[data-part="procedures"] [data-callers-of="hog_table"]');
      await page.waitForSelector('[data-part="callers"] tbody [data-row]');
      assert.match(page.url(), /callers=hog_table/);
      const told = report(recording, '--view', 'callers', '--of', 'hog_table').rows.filter((row) => row.relation !== 'self' && row.procedure);
      const shown = await page.$$eval('[data-part="callers"] tbody [data-row]', (all) => all.map((row) => row.getAttribute('data-row')));
      assert.ok(shown.length > 0);
      told.slice(0, 1).forEach((row) => assert.ok(shown.includes(row.procedure), `${shown}, not ${row.procedure}`));
    },
    'kernel and libraries can be charged to themselves': async (page, recording) => {
      await page.click('[data-part="procedures"] [data-choice="none"]');
      await page.waitForFunction(() => location.hash.includes('fold=none'));
      const first = report(recording, '--view', 'summary', '--fold', 'none').rows.find((row) => row.section === 'procedure').procedure;
      await page.waitForSelector(`[data-part="procedures"] [data-row="${first}"]`);
    },
    'which ranking to trust is told in full on demand, and the URL keeps that': async (page, recording) => {
      await page.click('[data-part="guidance"] > summary');
      await page.waitForSelector('[data-part="guidance"] tbody [data-row]');
      assert.match(page.url(), /open=guidance/);
      const told = report(recording, '--view', 'guidance').rows.filter((row) => row.section === 'ranking' || row.section === 'measure');
      const shown = await page.$$eval('[data-part="guidance"] tbody [data-row]', (all) => all.map((row) => row.innerText));
      assert.equal(shown.length, told.length);
      told.forEach((row, index) => assert.ok(shown[index].includes(row.value), `${shown[index]}, not ${row.value}`));
    },
  },
  pigz: {
    'it shows what the command line says': async (page, recording) => {
      const { rows } = report(recording, '--view', 'summary');
      const of = (section) => rows.filter((row) => row.section === section);
      const pole = (await page.innerText('[data-part="long-pole"]')).replace(/\s+/g, ' ');
      assert.equal(pole, of('answer')[0].text.replaceAll('`', '').replace(/\s+/g, ' '));
      assert.deepEqual(await changes(page), of('change').map((row) => row.text));
    },
  },
};
