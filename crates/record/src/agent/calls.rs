//! Calls of instrumented procedures, as threads tell of them, and the regions and tasks between them.
//!
//! Every event of a call carries its depth, so that one that was lost costs no other its meaning:
//!
//! ```text
//!   told      Calls f (1)   Calls g (2)      lost      Returns f (1)
//!   means     enter f       enter g          –         leave g, leave f
//! ```
//! What a jump or an exception left without a word is left where the next event shows it.
//!
//! Between two events of a thread lies what telling of one costs it; how much that is, the process tells by calls
//! that it makes for nothing when it begins: one after the other, and amid work that the processor goes on with
//! meanwhile. The truth is between the two; the middle is handed on as the collector's own time.
//!
//! A procedure that makes many short calls would fill the log with them. Calls that make none themselves and follow
//! each other within [`WINDOW`] are put together, each procedure's into one, with the time that they took in all:
//!
//! ```text
//!   told      f  g g  h  g  h  h  ·······      (each letter a call by f)
//!   means     f  ggg hhh ················      as long in g, in h and in f, from the same moment to the same moment
//! ```

use longpole_ring::DEEPEST_CALL;

use super::ticks::Ticks;
use crate::raw::{RawMark, RawScope, RawStack};

/// Calls are put together within this time, nanoseconds.
const WINDOW: u64 = 20_000;
/// Procedures whose calls are put together at a time.
const MOST_LEAVES: usize = 16;
/// Most time of one thread that is known as the agent's, but not yet found in its intervals, nanoseconds.
const MOST_OWED: f64 = 1_000.0;
/// Least trial calls that say what one costs.
const FEWEST_TRIALS: usize = 64;
/// The address of trial calls that follow each other.
const TRIAL: u64 = 0;
/// No procedure has an address below this one.
const FIRST_PROCEDURE: u64 = 4096;

/// An event of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallEvent {
    /// The procedure; below [`FIRST_PROCEDURE`] for a trial.
    pub(super) procedure: u64,
    pub(super) ticks: u64,
    /// Entries of the profile stack up to this procedure's.
    pub(super) depth: u32,
}

/// What telling of a call or return costs its thread, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CallCost {
    /// Amid other work.
    least: f64,
    /// One after the other: the mean of the middle half of the trials.
    most: f64,
}

/// Where marks go, with their times in ticks.
pub(super) type MarkOutput<'a> = &'a mut dyn FnMut(u64, RawMark);

/// Follows the calls of all threads.
#[derive(Debug)]
pub(super) struct Calls {
    /// By area.
    nestings: Vec<ScopeNesting>,
    /// Ticks of [`WINDOW`].
    window: u64,
    cost: CallCost,
    tally: CallTally,
}

/// What came to pass.
#[derive(Debug, Default)]
struct CallTally {
    /// Calls that were told of.
    calls: u64,
    /// Procedures that were left without a word.
    unsaid: u64,
    /// Overhead that was handed on, nanoseconds.
    overhead: u64,
}

/// Which procedures, regions and tasks a thread is in.
#[derive(Debug, Default)]
struct ScopeNesting {
    entries: Vec<EntryKind>,
    /// The call that was told of last, while nothing else was; it has no entry yet.
    open: Option<OpenCall>,
    /// Calls of the innermost entry that are over.
    leaves: Vec<LeafCalls>,
    /// When the last of them was.
    leaves_end: u64,
    /// The last event.
    last: Option<u64>,
    /// Events after it that were lost.
    unseen: u64,
    /// The agent's time that was not handed on yet, nanoseconds.
    owed: f64,
    trials: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Region,
    Procedure,
    /// It must have been entered: something deeper was.
    Lost,
}

/// A call, and how much of the time before it was the agent's, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct OpenCall {
    call: CallEvent,
    overhead: u64,
}

/// Calls of one procedure that made none themselves.
#[derive(Clone, Copy, Debug)]
struct LeafCalls {
    procedure: u64,
    count: u64,
    /// When the first was.
    begin: u64,
    /// How long they were in all, in ticks.
    ticks: u64,
    /// How much of that was the agent's, nanoseconds.
    inner: u64,
    /// How much of the time before them was.
    outer: u64,
}

impl Calls {
    /// Nobody's calls yet. `window`: the ticks of [`WINDOW`].
    pub(super) fn new(ticks: &Ticks) -> Calls {
        let window = ticks.of_nanoseconds(WINDOW);
        Calls { nestings: Vec::new(), window, cost: CallCost::default(), tally: CallTally::default() }
    }

    /// The thread of this area entered a procedure.
    pub(super) fn call(&mut self, area: usize, call: CallEvent, ticks: &Ticks, out: MarkOutput<'_>) {
        let Some(overhead) = self.begin(area, call, ticks) else { return };
        self.tally.calls += 1;
        let nesting = &mut self.nestings[area];
        if nesting.open.is_some() {
            nesting.settle(out);
        }
        let depth = call.depth.saturating_sub(1) as usize;
        if call.depth < DEEPEST_CALL && nesting.entries.len() != depth {
            nesting.settle(out);
            self.tally.unsaid += nesting.leave_to(depth, call.ticks, out);
            nesting.entries.resize(depth, EntryKind::Lost);
        }
        nesting.open = Some(OpenCall { call, overhead });
    }

    /// The thread left a procedure.
    pub(super) fn returns(&mut self, area: usize, call: CallEvent, ticks: &Ticks, out: MarkOutput<'_>) {
        let Some(overhead) = self.begin(area, call, ticks) else { return };
        let nesting = &mut self.nestings[area];
        let is_its =
            |open: &mut OpenCall| open.call.procedure == call.procedure && open.call.depth == call.depth;
        if let Some(open) = nesting.open.take_if(is_its) {
            nesting.over(open, call.ticks, overhead);
            let begin = nesting.leaves.first().map_or(call.ticks, |leaf| leaf.begin);
            if call.ticks.saturating_sub(begin) > self.window || nesting.leaves.len() >= MOST_LEAVES {
                nesting.settle(out);
            }
            return;
        }
        nesting.settle(out);
        if overhead > 0 {
            out(call.ticks, RawMark::Overhead(overhead));
        }
        let depth = if call.depth < DEEPEST_CALL { call.depth as usize } else { nesting.entries.len() };
        self.tally.unsaid += nesting.leave_to(depth, call.ticks, out);
        if depth > 0 && nesting.entries.len() == depth {
            nesting.leave_to(depth - 1, call.ticks, out);
        }
    }

    /// The thread entered a region or began a task, which is said elsewhere.
    pub(super) fn enters_region(&mut self, area: usize, out: MarkOutput<'_>) {
        let nesting = self.nesting(area);
        nesting.settle(out);
        nesting.entries.push(EntryKind::Region);
    }

    /// The thread left a region or task.
    pub(super) fn leaves_region(&mut self, area: usize, now: u64, out: MarkOutput<'_>) {
        let nesting = self.nesting(area);
        nesting.settle(out);
        if let Some(depth) = nesting.entries.iter().rposition(|&entry| entry == EntryKind::Region) {
            let unsaid = nesting.leave_to(depth + 1, now, out);
            nesting.leave_to(depth, now, out);
            self.tally.unsaid += unsaid;
        }
    }

    /// The trials are over; amid other work so many calls took so many ticks.
    pub(super) fn tried(&mut self, area: usize, calls: u64, ticks: u64) {
        let nesting = self.nesting(area);
        nesting.last = None;
        if let Some(most) = middle_of(std::mem::take(&mut nesting.trials)) {
            // A call is two events.
            let least = ticks as f64 / (2 * calls.max(1)) as f64;
            self.cost = CallCost { least: least.min(most), most };
        }
    }

    /// So many events were lost before this moment. What the thread was in meanwhile is known as far as procedures that
    /// it had entered and made calls from.
    pub(super) fn lost(&mut self, area: usize, count: u64, now: u64, out: MarkOutput<'_>) {
        self.cut(area, out);
        let nesting = self.nesting(area);
        nesting.unseen += count;
        nesting.last = nesting.last.or(Some(now));
    }

    /// Hands on what was held back, where the next events were lost: how long the last call was is not known.
    pub(super) fn cut(&mut self, area: usize, out: MarkOutput<'_>) {
        let nesting = self.nesting(area);
        if let Some(open) = nesting.open.take() {
            nesting.over(open, open.call.ticks, 0);
        }
        nesting.settle(out);
    }

    /// Hands on what was held back: nothing else was told for now.
    pub(super) fn settle(&mut self, area: usize, out: MarkOutput<'_>) {
        if let Some(nesting) = self.nestings.get_mut(area) {
            nesting.settle(out);
        }
    }

    /// The area's thread is gone.
    pub(super) fn end(&mut self, area: usize) {
        if let Some(nesting) = self.nestings.get_mut(area) {
            *nesting = ScopeNesting::default();
        }
    }

    fn nesting(&mut self, area: usize) -> &mut ScopeNesting {
        if self.nestings.len() <= area {
            self.nestings.resize_with(area + 1, ScopeNesting::default);
        }
        &mut self.nestings[area]
    }

    /// How much of the time before the event was the agent's, nanoseconds; `None` where it is no event of the program.
    fn begin(&mut self, area: usize, call: CallEvent, ticks: &Ticks) -> Option<u64> {
        let cost = self.cost;
        let nesting = self.nesting(area);
        let events = 1 + std::mem::take(&mut nesting.unseen);
        let last = nesting.last.replace(call.ticks);
        let interval = last.map(|last| call.ticks.saturating_sub(last));
        if call.procedure == TRIAL {
            nesting.trials.extend(interval);
        }
        if call.procedure < FIRST_PROCEDURE {
            return None;
        }
        let Some(interval) = interval else { return Some(0) };
        let overhead = nesting.overhead(ticks.nanoseconds(cost.middle()), events, ticks.duration(interval));
        self.tally.overhead += overhead;
        Some(overhead)
    }

    /// What a reader has to know of this run, where calls were asked for.
    pub(super) fn findings(&self, ticks: &Ticks) -> Vec<String> {
        let CallTally { calls, unsaid, overhead } = self.tally;
        if calls == 0 {
            return vec![
                "no call of an instrumented procedure was seen: --calls is for programs that are compiled with \
                 -finstrument-functions"
                    .to_owned(),
            ];
        }
        let mut finding = format!("{calls} calls of instrumented procedures");
        if self.cost.most > 0.0 {
            let CallCost { least, most } = self.cost;
            let [least, middle, most] =
                [least, self.cost.middle(), most].map(|cost| 2.0 * ticks.nanoseconds(cost));
            let seconds = overhead as f64 / 1e9;
            let error = seconds * (most - middle) / middle;
            finding.push_str(&format!(
                ", each of which the agent made {middle:.0} ns longer (between {least:.0}, amid other work, and {most:.0}, \
                 one after the other): {seconds:.3} s ± {error:.3} of processor time are the agent's"
            ));
        }
        let mut findings = vec![finding];
        if unsaid > 0 {
            findings.push(format!(
                "{unsaid} instrumented procedures were left without a word, by jumps, exceptions or lost events"
            ));
        }
        findings
    }
}

impl ScopeNesting {
    /// The call is over, and made none itself.
    fn over(&mut self, open: OpenCall, end: u64, inner: u64) {
        let OpenCall { call: CallEvent { procedure, ticks: begin, .. }, overhead: outer } = open;
        let ticks = end.saturating_sub(begin);
        self.leaves_end = end;
        match self.leaves.iter_mut().find(|leaf| leaf.procedure == procedure) {
            Some(leaf) => {
                leaf.count += 1;
                leaf.ticks += ticks;
                leaf.inner += inner;
                leaf.outer += outer;
            }
            None => self.leaves.push(LeafCalls { procedure, count: 1, begin, ticks, inner, outer }),
        }
    }

    /// Hands on what was held back. The call that is open gets an entry.
    fn settle(&mut self, out: MarkOutput<'_>) {
        let is_exact = self.leaves.iter().all(|leaf| leaf.count == 1);
        let mut now = self.leaves.first().map_or(0, |leaf| leaf.begin);
        // What the agent took between calls that are put together is found after them.
        let mut later = 0;
        for (index, leaf) in self.leaves.drain(..).enumerate() {
            if is_exact {
                now = leaf.begin;
            }
            if is_exact || index == 0 {
                enter(leaf.procedure, now, leaf.outer / leaf.count, out);
                later += leaf.outer - leaf.outer / leaf.count;
            } else {
                enter(leaf.procedure, now, 0, out);
                later += leaf.outer;
            }
            now += leaf.ticks;
            overhead(leaf.inner, now, out);
            out(now, RawMark::Leave);
        }
        overhead(later, self.leaves_end, out);
        if let Some(open) = self.open.take() {
            enter(open.call.procedure, open.call.ticks, open.overhead, out);
            self.entries.push(EntryKind::Procedure);
        }
    }

    /// Leaves what is deeper; returns how many procedures that were.
    fn leave_to(&mut self, depth: usize, now: u64, out: MarkOutput<'_>) -> u64 {
        let mut procedures = 0;
        while self.entries.len() > depth {
            match self.entries.pop() {
                Some(EntryKind::Lost) | None => {}
                Some(EntryKind::Region) => out(now, RawMark::Leave),
                Some(EntryKind::Procedure) => {
                    procedures += 1;
                    out(now, RawMark::Leave);
                }
            }
        }
        procedures
    }

    /// How much of an interval up to so many events was the agent's, nanoseconds. An interval that is shorter than the
    /// agent usually takes leaves the rest to the next.
    fn overhead(&mut self, cost: f64, events: u64, interval: u64) -> u64 {
        let owed = self.owed + cost * events as f64;
        let overhead = (owed as u64).min(interval);
        self.owed = (owed - overhead as f64).min(MOST_OWED);
        overhead
    }
}

fn enter(procedure: u64, now: u64, before: u64, out: MarkOutput<'_>) {
    overhead(before, now, out);
    out(now, RawMark::Enter { place: RawScope::Procedure(procedure), stack: RawStack::None, task: None });
}

fn overhead(nanoseconds: u64, now: u64, out: MarkOutput<'_>) {
    if nanoseconds > 0 {
        out(now, RawMark::Overhead(nanoseconds));
    }
}

impl CallCost {
    fn middle(self) -> f64 {
        self.least.midpoint(self.most)
    }
}

/// The mean of the middle half; `None` where there are too few.
fn middle_of(mut trials: Vec<u64>) -> Option<f64> {
    if trials.len() < FEWEST_TRIALS {
        return None;
    }
    trials.sort_unstable();
    let middle = &trials[trials.len() / 4..trials.len() * 3 / 4];
    Some(middle.iter().sum::<u64>() as f64 / middle.len() as f64)
}

#[cfg(test)]
mod tests {
    use longpole_ring::EventClock;

    use super::*;

    /// Runs events, one every 100 ns, written as `+f1` (f is entered, depth 1), `-f1`, `[` and `]` (a region), `.` (time
    /// passes), `|` (the end of a round), and says what they mean, with times in hundreds of nanoseconds.
    fn meaning(events: &str) -> String {
        let ticks = Ticks::new(EventClock::Monotonic);
        let mut calls = Calls::new(&ticks);
        let mut said = Vec::new();
        let mut out = |time: u64, mark| match mark {
            RawMark::Enter { place: RawScope::Procedure(address), .. } => {
                said.push(format!("{}+{}", time / 100, char::from((address - 0x1000) as u8)));
            }
            RawMark::Leave => said.push(format!("{}-", time / 100)),
            other => panic!("{other:?}"),
        };
        for (time, event) in events.split_whitespace().enumerate() {
            let procedure = 0x1000 + event.as_bytes().get(1).copied().map_or(0, u64::from);
            let depth = event.get(2..).and_then(|depth| depth.parse().ok()).unwrap_or(0);
            let call = CallEvent { procedure, ticks: 100 * time as u64, depth };
            match event.as_bytes()[0] {
                b'+' => calls.call(7, call, &ticks, &mut out),
                b'-' => calls.returns(7, call, &ticks, &mut out),
                b'[' => calls.enters_region(7, &mut out),
                b']' => calls.leaves_region(7, call.ticks, &mut out),
                b'|' => calls.settle(7, &mut out),
                b'/' => calls.cut(7, &mut out),
                b'!' => calls.lost(7, 3, call.ticks, &mut out),
                _ => {}
            }
        }
        calls.settle(7, &mut out);
        said.join(" ")
    }

    #[test]
    fn calls_and_returns_are_entries_and_leaves() {
        assert_eq!(meaning("+f1 +g2 -g2 +h2 +g3 -g3 -h2 -f1"), "0+f 1+g 2- 3+h 4+g 5- 6- 7-");
    }

    #[test]
    fn short_calls_that_follow_each_other_are_one() {
        // g from 1 to 2, 3 to 4, 8 to 9 and h from 5 to 7.
        let together = meaning("+f1 +g2 -g2 +g2 -g2 +h2 . -h2 +g2 -g2 . -f1");
        assert_eq!(together, "0+f 1+g 4- 4+h 6- 11-");
        // A round's end and a call that makes calls separate.
        assert_eq!(meaning("+f1 +g2 -g2 | +g2 -g2 -f1"), "0+f 1+g 2- 4+g 5- 6-");
        assert_eq!(meaning("+f1 +g2 -g2 +g2 +h3 -h3 -g2 -f1"), "0+f 1+g 2- 3+g 4+h 5- 6- 7-");
    }

    #[test]
    fn calls_that_are_far_from_each_other_stay_apart() {
        let pause = ". ".repeat(150);
        let events = format!("+f1 +g2 -g2 {pause} +g2 {pause} -g2 +g2 -g2 -f1");
        // The third comes when the window of the first two is over.
        assert_eq!(meaning(&events), "0+f 1+g 153- 305+g 306- 307-");
    }

    #[test]
    fn a_lost_event_does_not_shift_what_follows() {
        // The return of g, then the call of g, then both events of the second g were lost.
        assert_eq!(meaning("+f1 +g2 -f1 +f1 -f1"), "0+f 1+g 2- 2- 3+f 4-");
        assert_eq!(meaning("+f1 -g2 +h2 -h2 -f1"), "0+f 2+h 3- 4-");
        assert_eq!(meaning("+f1 +h3 -h3 -g2 +k2 -k2 -f1"), "0+f 1+h 2- 4+k 5- 6-");
    }

    #[test]
    fn the_time_of_lost_events_is_the_callers() {
        assert_eq!(meaning("+f1 +g2 . . ! -g2 +g2 -g2 -f1"), "0+f 1+g 1- 6+g 7- 8-");
        assert_eq!(meaning("+f1 +g2 / . ! -g2 +g2 -g2 -f1"), "0+f 1+g 1- 6+g 7- 8-");
        assert_eq!(meaning("+f1 +g2 +h3 -h3 . . ! -g2 -f1"), "0+f 1+g 2+h 3- 7- 8-");
    }

    #[test]
    fn a_jump_leaves_what_it_passed() {
        assert_eq!(meaning("+m1 +f2 +g3 +h4 +f2 -f2 -m1"), "0+m 1+f 2+g 3+h 4- 4- 4- 4+f 5- 6-");
    }

    #[test]
    fn regions_stand_between_calls() {
        assert_eq!(meaning("+m1 [ +f3 -f3 ] -m1"), "0+m 2+f 3- 4- 5-");
        // A return within the region was lost; a region was left twice.
        assert_eq!(meaning("+m1 [ +f3 ] ] -m1"), "0+m 2+f 3- 3- 5-");
    }

    #[test]
    fn calls_too_deep_to_say_are_relative() {
        let deep = DEEPEST_CALL;
        assert_eq!(
            meaning(&format!("+a{deep} +b{deep} +c{deep} -c{deep} -b{deep} -a{deep}")),
            "0+a 1+b 2+c 3- 4- 5-"
        );
    }

    #[test]
    fn what_trials_cost_is_taken_from_the_intervals_between_calls() {
        let ticks = Ticks::new(EventClock::Monotonic);
        let mut calls = Calls::new(&ticks);
        let mut overheads = Vec::new();
        let mut out = |time: u64, mark| {
            if let RawMark::Overhead(nanoseconds) = mark {
                overheads.push((time, nanoseconds));
            }
        };
        let mut now = 1_000;
        for trial in 0..200 {
            // One in ten is slow.
            now += if trial % 10 == 0 { 500 } else { 20 + trial % 2 };
            calls.call(1, CallEvent { procedure: 0, ticks: now, depth: 1 }, &ticks, &mut out);
        }
        // 9 for each event amid other work, and 20.7 one after the other: 14.8 are the middle.
        calls.tried(1, 100, 1_800);
        now = 10_000;
        for (depth, interval) in [300, 100, 5, 100, 100].into_iter().enumerate() {
            now += interval;
            calls.call(
                1,
                CallEvent { procedure: 0x9000, ticks: now, depth: 1 + depth as u32 },
                &ticks,
                &mut out,
            );
        }
        calls.settle(1, &mut out);
        // The short interval's rest is found in the next.
        assert_eq!(overheads, [(10_400, 14), (10_405, 5), (10_505, 25), (10_605, 15)]);
        let finding = calls.findings(&ticks).remove(0);
        let expected = "5 calls of instrumented procedures, each of which the agent made 30 ns longer (between 18, amid other work, \
             and 41, one after the other)";
        assert!(finding.starts_with(expected), "{finding}");
    }

    #[test]
    fn the_agents_time_is_found_where_calls_are_put_together() {
        let ticks = Ticks::new(EventClock::Monotonic);
        let mut calls = Calls::new(&ticks);
        calls.cost = CallCost { least: 8.0, most: 12.0 };
        let mut said = Vec::new();
        let mut out =
            |time: u64, mark| said.push((time, if let RawMark::Overhead(time) = mark { time } else { 0 }));
        let call = |procedure: u64, ticks, depth| CallEvent { procedure: 0x1000 + procedure, ticks, depth };
        calls.call(1, call(1, 1_000, 1), &ticks, &mut out);
        for begin in [1_100, 1_200, 1_300] {
            calls.call(1, call(2, begin, 2), &ticks, &mut out);
            calls.returns(1, call(2, begin + 15, 2), &ticks, &mut out);
        }
        calls.returns(1, call(1, 1_500, 1), &ticks, &mut out);
        // Enter; 10 before the first call, enter, 30 of its 45, leave; 20 between the others; 10, leave.
        let expected = [
            (1_000, 0),
            (1_100, 10),
            (1_100, 0),
            (1_145, 30),
            (1_145, 0),
            (1_315, 20),
            (1_500, 10),
            (1_500, 0),
        ];
        assert_eq!(said, expected);
    }
}
