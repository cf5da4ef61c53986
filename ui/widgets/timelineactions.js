/** What pointers, keys and buttons do to the timeline. */

import { neighbour } from '../model/timelinerows.js';
import { clamped, panned, zoomed } from '../model/timelinewindow.js';

/**
 * What pointers do.
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {import('./gestures.js').Gestures}
 */
export function gesturesOf(timeline) {
  const { lanes, shown } = timeline;
  const { elapsed } = timeline.store;
  return {
    hover: (x, y) => {
      timeline.point(lanes.secondsAt(x));
      lanes.showTip(x, y);
    },
    leave: () => {
      timeline.point(null);
      lanes.hideTip();
    },
    click: (x, y) => {
      const row = lanes.rowAt(y);
      if (row?.kind !== 'thread') return;
      shown.told = lanes.secondsAt(x);
      lanes.scroller.focus({ preventScroll: true });
      timeline.choose(row.key);
    },
    brush: (from, to, isDone) => {
      lanes.hideTip();
      const [begin, end] = [lanes.secondsAt(Math.min(from, to)), lanes.secondsAt(Math.max(from, to))];
      shown.brush = isDone ? null : { from: begin, to: end };
      shown.cursor = lanes.secondsAt(to);
      lanes.redraw();
      if (isDone) timeline.go({ from: begin, to: end });
    },
    cancel: () => {
      shown.brush = null;
      lanes.redraw();
    },
    pan: (pixels) => timeline.setWindow(panned(shown.window, pixels / lanes.width * (shown.window.to - shown.window.from), elapsed)),
    zoom: (factor, x) => timeline.setWindow(zoomed(shown.window, factor, lanes.secondsAt(x), elapsed)),
    scroll: (pixels) => lanes.scroller.scrollBy(0, pixels),
  };
}

/**
 * What keys and buttons do.
 * @param {import('./timeline.js').Timeline} timeline
 * @returns {import('./timelinekeys.js').Asked}
 */
export function askedOf(timeline) {
  const { shown } = timeline;
  const { elapsed } = timeline.store;
  const span = () => shown.window.to - shown.window.from;
  const cursor = () => {
    const seconds = shown.cursor ?? shown.told ?? (shown.window.from + shown.window.to) / 2;
    return Math.min(Math.max(seconds, shown.window.from), shown.window.to);
  };
  return {
    pan: (share) => timeline.setWindow(panned(shown.window, share * span(), elapsed)),
    zoom: (factor) => timeline.setWindow(zoomed(shown.window, factor, cursor(), elapsed)),
    all: () => timeline.setWindow({ from: 0, to: elapsed }),
    step: (step) => {
      const row = neighbour(timeline.lanes.rows.rows, shown.chosen, step);
      if (row) timeline.choose(row.key);
    },
    move: (side) => {
      timeline.point(Math.min(Math.max(cursor() + side * span() / 100, 0), elapsed));
      if (shown.cursor !== null && (shown.cursor < shown.window.from || shown.cursor > shown.window.to)) timeline.setWindow(panned(shown.window, side * span() / 10, elapsed));
      if (shown.told !== null) shown.told = shown.cursor;
      if (shown.chosen !== undefined) timeline.choose(shown.chosen);
    },
    open: () => timeline.tell(cursor()),
    begin: () => timeline.go({ from: cursor(), to: Math.max(shown.phase?.to ?? elapsed, cursor() + span() / 1000) }),
    end: () => timeline.go({ from: Math.min(shown.phase?.from ?? 0, cursor() - span() / 1000), to: cursor() }),
    here: () => timeline.go(shown.window),
    toPhase: () => shown.phase && timeline.setWindow(clamped(shown.phase, elapsed)),
    arrows: () => !timeline.isExport && timeline.switchArrows(!shown.wakes),
    rows: () => timeline.switchRows(),
    clear: () => timeline.clear(),
  };
}
