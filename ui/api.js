/**
 * Asks for answers: from the server that the page came from, or, in an exported file, from the answers that lie in it. What
 * docs/page.md says of requests and their keys is the whole interface.
 */

import { keyOf } from './model/query.js';

/** What an answer that failed says. */
export class Failure extends Error {
  /**
   * @param {string} message what failed
   * @param {string[]} hints what to do about it
   * @param {any} [details] what else the answer said
   */
  constructor(message, hints = [], details) {
    super(message);
    this.hints = hints;
    this.details = details;
  }
}

/** @type {Map<string, Promise<any>>} answers by key; those that failed are asked for again */
const answers = new Map();

/** @type {Promise<Map<string, any>|null>|undefined} */
let embedded;

/**
 * The answers that an exported file holds; null where the page has a server.
 * @returns {Promise<Map<string, any>|null>}
 */
export function exported() {
  embedded ??= readEmbedded();
  return embedded;
}

async function readEmbedded() {
  const block = document.getElementById('answers');
  if (!block) return null;
  const bytes = Uint8Array.from(atob(block.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Map(Object.entries(await new Response(stream).json()));
}

/**
 * Whether an answer can be had: a server has every one, an exported file those that lie in it.
 * @param {string} path
 * @param {Record<string, string|number|string[]|undefined>} [parameters]
 */
export async function holds(path, parameters = {}) {
  const inFile = await exported();
  return !inFile || inFile.has(keyOf(path, parameters));
}

/**
 * Asks for an answer. Equal questions are asked once.
 * @param {string} path as `report`
 * @param {Record<string, string|number|string[]|undefined>} [parameters] those that are undefined or empty are left out
 * @param {{isKept?: boolean}} [options] `isKept`: whether the answer is kept to be given again; not what is large and decoded at once
 * @returns {Promise<any>}
 */
export function ask(path, parameters = {}, { isKept = true } = {}) {
  const key = keyOf(path, parameters);
  const known = answers.get(key);
  if (known) return known;
  const answer = fetchAnswer(key);
  answers.set(key, answer);
  answer.then(() => isKept || answers.delete(key), () => answers.delete(key));
  if (answers.size > 300) answers.delete([...answers.keys()][0]);
  return answer;
}

/**
 * Asks for something every so often, so that the server knows that a page is open. A server that is gone is told of when something is asked.
 * @param {number} seconds
 */
export function keepAlive(seconds) {
  setInterval(() => fetch('api/recording').catch(() => {}), seconds * 1000);
}

/** @param {string} key */
async function fetchAnswer(key) {
  const inFile = await exported();
  if (inFile) {
    if (inFile.has(key)) return inFile.get(key);
    throw new Failure('this file does not hold that answer', [
      'an exported file has the answers of the whole run; `longpole view` on the recording answers everything',
    ]);
  }
  let response;
  try {
    response = await fetch(`api/${key}`);
  } catch {
    throw new Failure('longpole does not answer any more', [
      'was `longpole view` stopped? Start it again and open the address that it prints',
    ]);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Failure(body?.error ?? `the server answered ${response.status}`, body?.hints ?? [], body);
  }
  return body;
}
