/** The changes of the what-if as the page's sliders make them; they stand in the URL as `set`. */

import { changesOf, factorText, textsOf } from '../../model/what-if.js';
import { element } from '../../widgets/element.js';

/** Time without another move of a slider before the prediction is asked for: milliseconds. */
const REST = 150;

export class Changes {
  /**
   * @param {import('../../main.js').Context} context
   * @param {() => void} settled called when the changes have not changed for a moment
   */
  constructor({ place, note, signal }, settled) {
    this.factors = changesOf(place.set);
    this.note = note;
    this.settled = settled;
    /** @type {Set<{of: string, slider: any, text: any}>} */
    this.sliders = new Set();
    /** @type {Map<string, number>|null} seconds on the path after the changes, by what a row is about; null before they are known */
    this.after = null;
    signal.addEventListener('abort', () => clearTimeout(this.rest), { once: true });
  }

  /** @returns {string[]} as requests and the URL have them */
  get texts() {
    return textsOf(this.factors);
  }

  /**
   * @param {string} of what is changed
   * @param {number|undefined} factor undefined takes the change away
   */
  set(of, factor) {
    if (factor === undefined) this.factors.delete(of);
    else this.factors.set(of, factor);
    this.note({ set: this.texts });
    for (const one of this.sliders) if (one.of === of) show(one, factor ?? 1);
    clearTimeout(this.rest);
    this.rest = setTimeout(this.settled, REST);
  }

  /** Takes all changes away. */
  clear() {
    for (const of of [...this.factors.keys()]) this.set(of, undefined);
  }

  /**
   * A slider for the time of something, kept the same as all others for it.
   * @param {string} of
   * @param {string} name for people
   */
  slider(of, name) {
    const slider = element('input.factor', {
      type: 'range', min: 0, max: 2, step: 0.05, 'aria-label': `time of ${name}`, 'data-change': of,
      title: 'What its time is multiplied by; a double click or Delete takes the change away',
      oninput: () => this.set(of, Number(slider.value) === 1 ? undefined : Number(slider.value)),
      ondblclick: () => this.set(of, undefined),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'Delete' || event.key === 'Backspace') this.set(of, undefined);
      },
    });
    const text = element('span.factor-text');
    const one = { of, slider, text };
    show(one, this.factors.get(of) ?? 1);
    this.sliders.add(one);
    return element('span.change-slider', null, slider, text);
  }
}

/** @param {{slider: any, text: any}} one @param {number} factor */
function show({ slider, text }, factor) {
  if (Number(slider.value) !== factor) slider.value = String(factor);
  slider.setAttribute('aria-valuetext', factorText(factor));
  text.textContent = factorText(factor);
  text.classList.toggle('is-changed', factor !== 1);
}
