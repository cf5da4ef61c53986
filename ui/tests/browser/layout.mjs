/** What of a drawn view a reader cannot see: elements that are cut off, text that covers other text, boxes that scroll without need. */

/** What a view is for; each of them must be seen whole. */
const MATTERS = 'main :is(table, th, td, a, button, input, select, summary, canvas, svg, h1, h2, h3, p, li, pre, [role=img]), header :is(a, button, span, strong, canvas)';

/** Boxes that scroll sideways by design, at every width: source lines, a matrix of threads, and stacks of a flame graph's calls. */
const ALWAYS = ['.listing', '[data-part="matrix"] .scroll'];
/** Boxes that scroll sideways on a phone alone. */
const ON_PHONES = ['nav.views', '.scroll'];
/** Boxes that scroll up and down by design. */
const DOWN = ['.lanes', '.listing', '.flame-frame', '.what-if', '[data-part="moment"]'];
/** Text that is shortened by design: its whole is in a title, or beside it. */
const SHORTENED = ['.box', '.part', '.step', '.lane-name', '.lane-group', '.path-details p', 'select', 'input', '.aside-text'];
/** What lies over the view by design, at the edge of the window. */
const ABOVE = '.what-if, [data-part="moment"], .path-details, thead, .lane-tip, .curve-unit, .curve-levels, .skip, .aside-text, [popover], dialog';

/**
 * The defects of what is drawn now, in words; none on a good page.
 * @param {import('playwright-core').Page} page
 * @param {number} width of the window, pixels
 * @returns {Promise<string[]>}
 */
export function defects(page, width) {
  const isPhone = width < 640;
  return page.evaluate(find, { MATTERS, DOWN, SHORTENED, ABOVE, ASIDE: isPhone ? [...ALWAYS, ...ON_PHONES] : ALWAYS });
}

/** Runs in the page. @param {{MATTERS: string, DOWN: string[], SHORTENED: string[], ABOVE: string, ASIDE: string[]}} rules */
function find({ MATTERS, DOWN, SHORTENED, ABOVE, ASIDE }) {
  const ROUNDING = 1.5;
  const found = new Set();
  const isOneOf = (element, selectors) => selectors.some((selector) => element.matches(selector));
  const name = (element) => {
    const own = [element.tagName.toLowerCase(), ...element.classList].join('.');
    const part = element.closest('[data-part]')?.getAttribute('data-part');
    return `${own}${part ? ` in ${part}` : ''} “${(element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 30)}”`;
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: false }) && !element.closest('.skip, .aside-text');
  const clips = (style) => style.overflowX !== 'visible';

  /** What is seen of a rectangle, and what cuts it off at a side by no design. */
  const seen = (from, box) => {
    const rest = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
    let cutBy = null;
    for (let above = from; above && above !== document.documentElement; above = above.parentElement) {
      const style = getComputedStyle(above);
      if (!clips(style)) continue;
      const edge = above.getBoundingClientRect();
      const [left, right] = [edge.left + above.clientLeft, edge.left + above.clientLeft + above.clientWidth];
      if ((rest.right > right + ROUNDING || rest.left < left - ROUNDING) && !isOneOf(above, ASIDE) && !isOneOf(above, SHORTENED)) cutBy ??= above;
      rest.left = Math.max(rest.left, left);
      rest.right = Math.min(rest.right, right);
      rest.top = Math.max(rest.top, edge.top);
      rest.bottom = Math.min(rest.bottom, edge.bottom);
    }
    return { rest, cutBy };
  };
  const elements = [...document.querySelectorAll(MATTERS)].filter(isShown);
  for (const element of elements) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const { rest, cutBy } = seen(element.parentElement, box);
    if (cutBy) found.add(`cut: ${name(element)} ends at ${Math.round(box.right)}, ${name(cutBy)} at ${Math.round(cutBy.getBoundingClientRect().right)}`);
    else if (rest.right > innerWidth + ROUNDING || rest.left < -ROUNDING) found.add(`beyond the window: ${name(element)} from ${Math.round(rest.left)} to ${Math.round(rest.right)}`);
    const style = getComputedStyle(element);
    if (clips(style) && element.scrollWidth > element.clientWidth + ROUNDING && !isOneOf(element, SHORTENED) && !isOneOf(element, ASIDE)) found.add(`shortened: ${name(element)}`);
  }
  for (const box of document.querySelectorAll('body *')) {
    const style = getComputedStyle(box);
    const [aside, down] = [style.overflowX, style.overflowY].map((flow) => flow === 'auto' || flow === 'scroll');
    if (!isShown(box)) continue;
    if (aside && box.scrollWidth > box.clientWidth + ROUNDING && !isOneOf(box, ASIDE)) found.add(`scrolls sideways: ${name(box)} shows ${box.clientWidth} of ${box.scrollWidth}`);
    if (down && box.scrollHeight > box.clientHeight + ROUNDING && !isOneOf(box, DOWN)) found.add(`scrolls down: ${name(box)} shows ${box.clientHeight} of ${box.scrollHeight}`);
  }

  // Text over text: what is seen of each line, in order from above.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || !parent || !isShown(parent) || parent.closest(ABOVE) || parent.closest('option, noscript, script, style')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const { rest } = seen(parent, box);
      if (rest.right - rest.left > 2 && rest.bottom - rest.top > 2) lines.push({ ...rest, parent });
    }
  }
  for (const control of document.querySelectorAll('main :is(button, input, select, canvas)')) {
    if (!isShown(control) || control.closest(ABOVE)) continue;
    const { rest } = seen(control.parentElement, control.getBoundingClientRect());
    if (rest.right - rest.left > 2 && rest.bottom - rest.top > 2) lines.push({ ...rest, parent: control, isControl: true });
  }
  lines.sort((one, other) => one.top - other.top);
  lines.forEach((one, at) => {
    for (let next = at + 1; next < lines.length && lines[next].top < one.bottom; next++) {
      const other = lines[next];
      if (one.parent.contains(other.parent) || other.parent.contains(one.parent)) continue;
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - other.top;
      // Boxes of lines are higher than their letters.
      if (wide > 2 && high > 5) found.add(`covered: ${name(one.parent)} and ${name(other.parent)}`);
    }
  });
  return [...found];
}
