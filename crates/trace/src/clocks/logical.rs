//! The controlled logical clock (Rabenseifner 1997; with the step back in time of Becker, Rabenseifner and Wolf 2009): what is
//! received before it was sent by the clocks is moved to behind it, and what is around it moves along.
//!
//! ```text
//!   A   ─────────s──────────►          s: sent, r: received, before it
//!   B   ────r─x─────y────────►
//!   B'  ──────────r─x────y──►         forwards: r to behind s; what follows keeps its distance but for 1 %, until the shift is gone
//!   B"  ─────────·r·x····y──►         backwards: what is before r is moved too, ever less, as far as its own receivers permit
//! ```
//! A machine is one process here: all that happened on it keeps its order, whichever thread did it. The shift is a function of time
//! per clock, so it becomes pieces of that clock.
//!
//! No event is moved by more than the largest error of the clocks before the truth plus the largest behind it: the true times, all
//! made later by the first, fulfil every condition too, and the shifts are the least that do.

use longpole_recording::broken_line;

use super::curve::{ClockCurve, ClockKnot};

/// By how much an interval may shrink, of its length: as much as shifts go back.
const RECOVERY: f64 = 0.01;

/// Something on one clock came before something on another, both on the axis, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlacedPrecedence {
    pub(crate) before: (usize, u64),
    pub(crate) after: (usize, u64),
}

/// Clocks without reversed messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct MendedClocks {
    /// What each clock is to be shown by, in addition; `None` where nothing is moved.
    pub(crate) curves: Vec<Option<ClockCurve>>,
    /// The most by which something of the clock is moved, nanoseconds.
    pub(crate) most_moved: Vec<u64>,
    /// How many were received before they were sent and the smallest latency was over.
    pub(crate) reversed: u64,
    /// By how much the worst of them was, nanoseconds.
    pub(crate) most_reversed: u64,
    /// How many still are, as they contradict each other by any clock.
    pub(crate) contradicting: u64,
}

/// A time of a clock at which something was sent or received.
#[derive(Clone, Debug, Default)]
struct ClockEvent {
    clock: usize,
    time: u64,
    /// Those before and after it on the same clock.
    previous: Option<usize>,
    next: Option<usize>,
    sources: Vec<usize>,
    receivers: Vec<usize>,
    shift: u64,
}

impl ClockEvent {
    fn moved(&self) -> u64 {
        self.time + self.shift
    }
}

/// The events of all clocks: those of one clock in a row, in the order of time.
struct EventGraph {
    events: Vec<ClockEvent>,
    latency: u64,
}

/// Moves what was received earlier than the smallest latency after it was sent.
pub(crate) fn mend(precedences: &[PlacedPrecedence], clocks: usize, latency: u64) -> MendedClocks {
    let mut mended =
        MendedClocks { curves: vec![None; clocks], most_moved: vec![0; clocks], ..MendedClocks::default() };
    for PlacedPrecedence { before, after } in precedences {
        let early = (before.1 + latency).saturating_sub(after.1);
        mended.reversed += u64::from(early > 0);
        mended.most_reversed = mended.most_reversed.max((before.1).saturating_sub(after.1));
    }
    if mended.reversed == 0 {
        return mended;
    }
    let mut graph = EventGraph::of(precedences, latency);
    let order = graph.forwards();
    graph.backwards(&order);
    mended.contradicting = graph.contradicting();
    for events in graph.rows() {
        let clock = graph.events[events.start].clock;
        mended.most_moved[clock] =
            graph.events[events.clone()].iter().map(|event| event.shift).max().unwrap_or(0);
        if mended.most_moved[clock] > 0 {
            let kept = graph.without_collinear(events);
            mended.curves[clock] = Some(graph.curve(&kept));
        }
    }
    mended
}

impl EventGraph {
    fn of(precedences: &[PlacedPrecedence], latency: u64) -> EventGraph {
        let ends = precedences.iter().flat_map(|precedence| [precedence.before, precedence.after]);
        let mut places: Vec<(usize, u64)> = ends.collect();
        places.sort_unstable();
        places.dedup();
        let mut events: Vec<ClockEvent> = Vec::with_capacity(places.len());
        for (at, &(clock, time)) in places.iter().enumerate() {
            let follows = at > 0 && places[at - 1].0 == clock;
            let leads = places.get(at + 1).is_some_and(|next| next.0 == clock);
            let (previous, next) = (follows.then(|| at - 1), leads.then_some(at + 1));
            events.push(ClockEvent { clock, time, previous, next, ..ClockEvent::default() });
        }
        let index = |place: (usize, u64)| places.partition_point(|&other| other < place);
        for precedence in precedences {
            let (source, receiver) = (index(precedence.before), index(precedence.after));
            events[source].receivers.push(receiver);
            events[receiver].sources.push(source);
        }
        EventGraph { events, latency }
    }

    /// The events of each clock.
    fn rows(&self) -> Vec<std::ops::Range<usize>> {
        let mut begin = 0;
        let rows = self.events.chunk_by(|one, other| one.clock == other.clock);
        rows.map(|row| {
            begin += row.len();
            begin - row.len()..begin
        })
        .collect()
    }

    /// Shifts every event by the least that puts it behind its sources and keeps its distance to the one before it, but for
    /// the recovery. Gives the order in which that was done: sources and earlier ones first.
    fn forwards(&mut self) -> Vec<usize> {
        let mut heads: Vec<std::ops::Range<usize>> = self.rows();
        let mut is_done = vec![false; self.events.len()];
        let mut order = Vec::with_capacity(self.events.len());
        while order.len() < self.events.len() {
            let before = order.len();
            for head in &mut heads {
                while let Some(at) = head.clone().next()
                    && self.events[at].sources.iter().all(|&source| is_done[source])
                {
                    self.shift_forwards(at, &is_done);
                    is_done[at] = true;
                    order.push(at);
                    head.start += 1;
                }
            }
            // Each waits for another one: what is said to have come before what cannot all be so.
            if order.len() == before {
                let open = heads.iter_mut().filter(|head| head.start < head.end);
                let Some(head) = open.min_by_key(|head| self.events[head.start].time) else { break };
                self.shift_forwards(head.start, &is_done);
                is_done[head.start] = true;
                order.push(head.start);
                head.start += 1;
            }
        }
        order
    }

    fn shift_forwards(&mut self, at: usize, is_done: &[bool]) {
        let event = &self.events[at];
        let kept = event.previous.map_or(0, |previous| self.recovered(previous, event.time));
        let sources = event.sources.iter().filter(|&&source| is_done[source]);
        let needed = sources.map(|&source| self.events[source].moved() + self.latency);
        let needed = needed.max().unwrap_or(0).saturating_sub(event.time);
        self.events[at].shift = kept.max(needed);
    }

    /// What is left of an event's shift at another time.
    fn recovered(&self, at: usize, time: u64) -> u64 {
        let event = &self.events[at];
        event.shift.saturating_sub((RECOVERY * event.time.abs_diff(time) as f64) as u64)
    }

    /// Moves what comes before a moved event along, as far as what was sent is still received after it.
    fn backwards(&mut self, order: &[usize]) {
        for &at in order.iter().rev() {
            let event = &self.events[at];
            let Some(next) = event.next else { continue };
            let wanted = self.recovered(next, event.time);
            let least = event.receivers.iter().map(|&receiver| self.events[receiver].moved()).min();
            let permitted = least.map_or(u64::MAX, |least| least.saturating_sub(self.latency + event.time));
            self.events[at].shift = event.shift.max(wanted.min(permitted));
        }
    }

    fn contradicting(&self) -> u64 {
        let is_early = |source: &ClockEvent, receiver: usize| {
            source.moved() + self.latency > self.events[receiver].moved()
        };
        let early = |source: &ClockEvent| {
            source.receivers.iter().filter(|&&receiver| is_early(source, receiver)).count() as u64
        };
        self.events.iter().map(early).sum()
    }

    /// Of a clock's events those that its pieces go through: the others get what is between, where no message minds.
    fn without_collinear(&mut self, row: std::ops::Range<usize>) -> Vec<usize> {
        broken_line((row.start, row.end - 1), |first, last| {
            let on_line: Vec<u64> = (first..=last).map(|at| self.between(first, last, at)).collect();
            let minds = |at: &usize| {
                let shift = on_line[at - first];
                shift != self.events[*at].shift && !self.permits(*at, shift)
            };
            let off = |at: &usize| on_line[at - first].abs_diff(self.events[*at].shift);
            let worst = (first + 1..last).filter(minds).max_by_key(off);
            if worst.is_none() {
                (first..=last).for_each(|at| self.events[at].shift = on_line[at - first]);
            }
            worst
        })
    }

    /// The shift at an event on the line between two others.
    fn between(&self, first: usize, last: usize, at: usize) -> u64 {
        let [begin, end, event] = [first, last, at].map(|at| &self.events[at]);
        let length = (end.time - begin.time).max(1) as f64;
        let part = (event.time - begin.time) as f64 / length;
        let shift = begin.shift as f64 + part * (end.shift as f64 - begin.shift as f64);
        shift.round() as u64
    }

    /// Whether messages still arrive after they were sent where the event is moved by so much.
    fn permits(&self, at: usize, shift: u64) -> bool {
        let event = &self.events[at];
        let moved = event.time + shift;
        event.sources.iter().all(|&source| self.events[source].moved() + self.latency <= moved)
            && event.receivers.iter().all(|&receiver| moved + self.latency <= self.events[receiver].moved())
    }

    /// A clock through these of its events.
    fn curve(&self, kept: &[usize]) -> ClockCurve {
        let knot = |(at, &index): (usize, &usize)| {
            let (event, next) = (&self.events[index], &self.events[*kept.get(at + 1).unwrap_or(&index)]);
            let (time, other) = (event.time, event.moved().cast_signed());
            ClockKnot { time, other, error: Some(event.shift.max(next.shift)) }
        };
        let mut knots: Vec<ClockKnot> = kept.iter().enumerate().map(knot).collect();
        // Before the first and after the last the shift goes back, and beyond that nothing is moved.
        let shift = |knot: ClockKnot| knot.other.saturating_sub(knot.time.cast_signed()).unsigned_abs();
        let far = |knot: ClockKnot| ((shift(knot) as f64 / RECOVERY) as u64).max(1);
        let still = |time: u64| ClockKnot { time, other: time.cast_signed(), error: Some(0) };
        if let (Some(first), Some(last)) = (knots.first().copied(), knots.last_mut()) {
            last.error = Some(shift(*last));
            let end = last.time + far(*last);
            knots.extend([still(end), still(end + 1)]);
            let begin = first.time.saturating_sub(far(first)).max(1);
            let before = ClockKnot { error: Some(shift(first)), ..still(begin) };
            knots.splice(0..0, [still(begin - 1), before]);
        }
        ClockCurve::through(&knots)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LATENCY: u64 = 100;

    fn sent(before: (usize, u64), after: (usize, u64)) -> PlacedPrecedence {
        PlacedPrecedence { before, after }
    }

    fn shown(mended: &MendedClocks, (clock, time): (usize, u64)) -> u64 {
        mended.curves[clock].as_ref().map_or(time, |curve| curve.shown(time))
    }

    #[test]
    fn what_is_in_order_stays() {
        let mended = mend(&[sent((0, 1000), (1, 1100)), sent((1, 1200), (0, 1400))], 2, LATENCY);
        assert_eq!((mended.curves, mended.reversed), (vec![None, None], 0));
    }

    #[test]
    fn a_reversed_message_is_moved_and_its_neighbours_with_it() {
        // 5 µs early, on the second clock.
        let early = sent((0, 1_010_000), (1, 1_005_000));
        let later = sent((1, 1_105_000), (0, 2_000_000));
        let mended = mend(&[early, later], 2, LATENCY);
        assert_eq!((mended.reversed, mended.most_reversed, mended.contradicting), (1, 5000, 0));
        assert_eq!(mended.curves[0], None);
        let curve = mended.curves[1].as_ref().unwrap();
        assert_eq!(curve.at(1_005_000), 1_010_100);
        assert_eq!(curve.at(1_105_000), 1_109_100, "1 % less after 100 µs");
        assert_eq!(curve.at(3_000_000), 3_000_000, "gone");
        assert_eq!(curve.at(905_000), 909_100, "also before it");
        assert_eq!(curve.at(405_000), 405_000);
        assert_eq!(mended.most_moved, [0, 5100]);
    }

    #[test]
    fn what_was_sent_before_is_not_moved_behind_its_receipt() {
        let before = sent((1, 1_000_000), (0, 1_001_000));
        let mended = mend(&[before, sent((0, 1_010_000), (1, 1_005_000))], 2, LATENCY);
        assert_eq!(shown(&mended, (1, 1_000_000)), 1_000_900, "as late as it may be");
        assert_eq!(shown(&mended, (1, 1_005_000)), 1_010_100);
    }

    #[test]
    fn what_cannot_be_is_counted() {
        // Both were received before they were sent, by the order on each clock.
        let mended = mend(&[sent((0, 2000), (1, 1000)), sent((1, 1001), (0, 1000))], 2, LATENCY);
        assert_eq!((mended.reversed, mended.contradicting), (2, 1));
    }

    /// What a run looks like by clocks of which each is off, by its own rate and at most by the error.
    #[derive(Clone, Debug)]
    struct RandomRun {
        /// True times: sender, when, receiver, latency.
        messages: Vec<(usize, u64, usize, u64)>,
        /// By how much each clock is off at the begin, and how fast that changes.
        clocks: Vec<(f64, f64)>,
    }

    impl RandomRun {
        fn time(&self, clock: usize, truth: u64) -> u64 {
            let (offset, drift) = self.clocks[clock];
            (truth as f64 + offset + drift * truth as f64).round() as u64
        }

        fn precedences(&self) -> Vec<PlacedPrecedence> {
            let placed = |&(from, time, to, latency): &(usize, u64, usize, u64)| {
                sent((from, self.time(from, time)), (to, self.time(to, time + latency)))
            };
            self.messages.iter().filter(|message| message.0 != message.2).map(placed).collect()
        }

        /// The most by which clocks are behind the truth, and before it.
        fn worst(&self) -> (f64, f64) {
            let all = self
                .messages
                .iter()
                .flat_map(|&(from, time, to, latency)| [(from, time), (to, time + latency)]);
            let off = all.map(|(clock, truth)| self.time(clock, truth) as f64 - truth as f64);
            off.fold((0.0, 0.0), |(behind, before), off| (f64::max(behind, -off), f64::max(before, off)))
        }
    }

    const MACHINES: usize = 4;
    const SECOND: u64 = 1_000_000_000;

    prop_compose! {
        fn random_run()(
            messages in proptest::collection::vec(
                (0..MACHINES, SECOND..SECOND + 20_000_000, 0..MACHINES, LATENCY + 2..20_000_u64), 1..300),
            clocks in proptest::collection::vec((-100_000.0..100_000.0_f64, -400e-6..400e-6_f64), MACHINES),
        ) -> RandomRun {
            RandomRun { messages, clocks }
        }
    }

    proptest! {
        #[test]
        fn no_message_is_reversed_and_nothing_moves_farther_than_the_clocks_are_off(run in random_run()) {
            let precedences = run.precedences();
            let mended = mend(&precedences, MACHINES, LATENCY);
            prop_assert_eq!(mended.contradicting, 0);
            for PlacedPrecedence { before, after } in &precedences {
                let (sent, received) = (shown(&mended, *before), shown(&mended, *after));
                // Times between knots are rounded.
                prop_assert!(received + 4 >= sent + LATENCY, "{sent} {received}");
            }
            let (behind, before) = run.worst();
            for curve in mended.curves.iter().flatten() {
                for pair in curve.pieces().windows(2) {
                    let [one, next] = [0, 1].map(|at| pair[at].line.reference_nanoseconds);
                    let length = (next - one) as f64;
                    let mended = (curve.at(next) - curve.at(one)) as f64;
                    prop_assert!(mended >= (1.0 - RECOVERY) * length - 3.0, "{mended} of {length}");
                }
                let moved = curve.pieces().iter().map(|piece| piece.line.offset_nanoseconds).max();
                prop_assert!(moved.unwrap_or(0) as f64 <= behind + before + 3.0, "{moved:?} {behind} {before}");
                let least = curve.pieces().iter().map(|piece| piece.line.offset_nanoseconds).min();
                prop_assert!(least.unwrap_or(0) >= 0);
            }
        }
    }
}
