/** What the browser tests have in common: recordings of real programs, the server, a page that fails the test by any error of its own. */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

export const LONGPOLE = process.env.LONGPOLE ?? 'longpole';
const PROGRAMS = fileURLToPath(new URL('../../../programs/', import.meta.url));

/** A folder that goes when the process ends. */
export const folder = mkdtempSync(path.join(tmpdir(), 'longpole-page-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/**
 * Records a program of `programs/`, once a process.
 * @param {string} name without `.c`
 * @param {string[]} [options] of `longpole record`
 * @returns {string} the recording
 */
export function recordProgram(name, options = []) {
  const recording = path.join(folder, `${name}.longpole`);
  if (existsSync(recording)) return recording;
  const program = path.join(folder, name);
  execFileSync('gcc', ['-O1', '-g', '-pthread', path.join(PROGRAMS, `${name}.c`), '-o', program]);
  return record(recording, options, [program]);
}

/**
 * Records a program of `programs/` with its accesses to memory, once a process and arguments.
 * @param {string} name without `.c`
 * @param {string[]} arguments_
 * @returns {string} the recording
 */
export function recordAccesses(name, arguments_ = [], source = path.join(PROGRAMS, `${name}.c`)) {
  const recording = path.join(folder, `${[name, ...arguments_].join('-')}.longpole`);
  if (existsSync(recording)) return recording;
  const program = path.join(folder, `${name}-accesses`);
  execFileSync(LONGPOLE, ['cc', '-O1', '-pthread', '-fopenmp', source, '-o', program], { stdio: 'pipe' });
  return record(recording, ['--access'], [program, ...arguments_]);
}

/**
 * Records a command.
 * @param {string} recording
 * @param {string[]} options
 * @param {string[]} command
 */
export function record(recording, options, command) {
  const run = spawnSync(LONGPOLE, ['record', '-q', '--force', '-o', recording, ...options, '--', ...command],
    { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`longpole record ${command}: ${run.status} ${run.stderr}`);
  return recording;
}

/**
 * What the command line says.
 * @param {string} recording
 * @param {...string} options of `longpole report`
 */
export function report(recording, ...options) {
  const text = execFileSync(LONGPOLE, ['report', recording, '--format', 'json', ...options], { encoding: 'utf8', maxBuffer: 1 << 28 });
  return JSON.parse(text);
}

/**
 * Starts `longpole view`.
 * @param {string} recording
 * @param {string[]} [options]
 * @returns {Promise<{url: string, ended: Promise<number|null>, stop: () => Promise<void>}>} `ended`: the status, when it ends
 */
export async function serve(recording, options = []) {
  const server = spawn(LONGPOLE, ['view', recording, '--no-open', '--source-dir', PROGRAMS, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    server.on('exit', (status) => reject(new Error(`longpole view ended with ${status}`)));
  });
  const ended = new Promise((resolve) => server.on('exit', resolve));
  const stop = () => new Promise((resolve) => {
    server.on('exit', () => resolve(undefined));
    server.kill('SIGINT');
  });
  return { url, ended, stop };
}

/** @returns {Promise<import('playwright-core').Browser>} */
export const browse = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'],
});

/**
 * A page that collects every error of its own and every request that leaves its server.
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {import('playwright-core').BrowserContextOptions} [options]
 * @returns {Promise<{page: import('playwright-core').Page, faults: string[]}>}
 */
export async function open(browser, url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const faults = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(new URL('.', url).href) && !/^(data|blob):/.test(target)) faults.push(`asked ${target}`);
  });
  await page.goto(url);
  return { page, faults };
}

/**
 * Goes to a place of the page and waits until all of its parts have their answers.
 * @param {import('playwright-core').Page} page
 * @param {string} place as `waits?explain=1`
 */
export async function goTo(page, place) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#${place}`);
  await settled(page, place.split('?')[0]);
}

/**
 * Waits until the view is drawn and nothing in it waits for an answer.
 * @param {import('playwright-core').Page} page
 * @param {string} view
 */
export async function settled(page, view) {
  await page.waitForSelector(`[data-drawn="${view}"]`);
  await page.waitForFunction(() => !document.querySelector('main [aria-busy=true]'), undefined, { timeout: 60_000 });
}
