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
//! that it makes for nothing when it begins. It is handed on as the collector's own time.

use longpole_ring::DEEPEST_CALL;
use rustc_hash::FxHashMap;

use super::ticks::Ticks;
use crate::raw::{RawMark, RawPlace, RawStack};

/// Most time of one thread that is known as the agent's, but not yet found in its intervals, nanoseconds.
const MOST_OWED: f64 = 1_000.0;
/// Least trial calls that say what one costs.
const FEWEST_TRIALS: usize = 64;

/// An event of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The procedure; 0 for a trial.
    pub(super) procedure: u64,
    pub(super) ticks: u64,
    /// Entries of the profile stack up to this procedure's.
    pub(super) depth: u32,
}

/// What telling of a call or return costs its thread, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// Mean of the middle half of the trials.
    middle: f64,
    /// The ends of the middle half.
    quartiles: (u64, u64),
}

/// Follows the calls of all threads.
#[derive(Debug, Default)]
pub(super) struct Calls {
    nestings: FxHashMap<usize, Nesting>,
    cost: Option<Cost>,
    /// Calls that were told of.
    count: u64,
    /// Procedures that were left without a word.
    unsaid: u64,
    /// Overhead that was handed on, nanoseconds.
    overhead: u64,
}

/// Which procedures, regions and tasks a thread is in.
#[derive(Debug, Default)]
struct Nesting {
    entries: Vec<Entry>,
    last: Option<u64>,
    /// The agent's time that was not handed on yet, nanoseconds.
    owed: f64,
    trials: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Region,
    Procedure,
    /// It must have been entered: something deeper was.
    Lost,
}

impl Calls {
    /// The thread of this area entered a procedure.
    pub(super) fn call(&mut self, area: usize, call: Call, ticks: &Ticks, out: &mut impl FnMut(RawMark)) {
        if !self.begin(area, call, ticks, out) {
            return;
        }
        self.count += 1;
        let nesting = self.nestings.entry(area).or_default();
        if call.depth < DEEPEST_CALL {
            let depth = call.depth.saturating_sub(1) as usize;
            self.unsaid += nesting.leave_to(depth, out);
            nesting.entries.resize(depth, Entry::Lost);
        }
        nesting.entries.push(Entry::Procedure);
        out(RawMark::Enter { place: RawPlace::Procedure(call.procedure), stack: RawStack::None, task: None });
    }

    /// The thread left a procedure.
    pub(super) fn returns(&mut self, area: usize, call: Call, ticks: &Ticks, out: &mut impl FnMut(RawMark)) {
        if !self.begin(area, call, ticks, out) {
            return;
        }
        let nesting = self.nestings.entry(area).or_default();
        let depth = if call.depth < DEEPEST_CALL { call.depth as usize } else { nesting.entries.len() };
        self.unsaid += nesting.leave_to(depth, out);
        if depth > 0 && nesting.entries.len() == depth {
            nesting.leave_to(depth - 1, out);
        }
    }

    /// The thread entered a region or began a task, which is said elsewhere.
    pub(super) fn enters_region(&mut self, area: usize) {
        self.nestings.entry(area).or_default().entries.push(Entry::Region);
    }

    /// The thread left a region or task.
    pub(super) fn leaves_region(&mut self, area: usize, out: &mut impl FnMut(RawMark)) {
        let nesting = self.nestings.entry(area).or_default();
        if let Some(depth) = nesting.entries.iter().rposition(|&entry| entry == Entry::Region) {
            self.unsaid += nesting.leave_to(depth + 1, out);
            nesting.leave_to(depth, out);
        }
    }

    /// The area's thread is gone.
    pub(super) fn end(&mut self, area: usize) {
        self.nestings.remove(&area);
    }

    /// Whether the event is one of the program's; if so, the collector's own time before it is handed on.
    fn begin(&mut self, area: usize, call: Call, ticks: &Ticks, out: &mut impl FnMut(RawMark)) -> bool {
        let nesting = self.nestings.entry(area).or_default();
        let last = nesting.last.replace(call.ticks);
        let interval = last.map(|last| call.ticks.saturating_sub(last));
        if call.procedure == 0 {
            nesting.trials.extend(interval);
            return false;
        }
        if let Some(cost) = Cost::of(std::mem::take(&mut nesting.trials)) {
            self.cost = Some(cost);
        } else if let (Some(cost), Some(interval)) = (self.cost, interval) {
            let overhead = nesting.overhead(ticks.nanoseconds(cost.middle), ticks.duration(interval));
            self.overhead += overhead;
            if overhead > 0 {
                out(RawMark::Overhead(overhead));
            }
        }
        true
    }

    /// What a reader has to know of this run, where calls were asked for.
    pub(super) fn findings(&self, ticks: &Ticks) -> Vec<String> {
        if self.count == 0 {
            return vec![
                "no call of an instrumented procedure was seen: --calls is for programs that are compiled with \
                 -finstrument-functions"
                    .to_owned(),
            ];
        }
        let mut finding = format!("{} calls of instrumented procedures", self.count);
        if let Some(Cost { middle, quartiles: (low, high) }) = self.cost {
            let [middle, low, high] =
                [middle, low as f64, high as f64].map(|cost| 2.0 * ticks.nanoseconds(cost));
            let seconds = self.overhead as f64 / 1e9;
            finding.push_str(&format!(
                ", each of which the agent made {middle:.0} ns longer ({low:.0} to {high:.0} ns in the middle half of \
                 trials): {seconds:.3} s of processor time are the agent's"
            ));
        }
        let mut findings = vec![finding];
        if self.unsaid > 0 {
            findings.push(format!(
                "{} instrumented procedures were left without a word, by jumps, exceptions or lost events",
                self.unsaid
            ));
        }
        findings
    }
}

impl Nesting {
    /// Leaves what is deeper; returns how many procedures that were.
    fn leave_to(&mut self, depth: usize, out: &mut impl FnMut(RawMark)) -> u64 {
        let mut procedures = 0;
        while self.entries.len() > depth {
            match self.entries.pop() {
                Some(Entry::Lost) | None => {}
                Some(Entry::Region) => out(RawMark::Leave),
                Some(Entry::Procedure) => {
                    procedures += 1;
                    out(RawMark::Leave);
                }
            }
        }
        procedures
    }

    /// How much of an interval before an event was the agent's, nanoseconds. An interval that is shorter than the
    /// agent usually takes leaves the rest to the next.
    fn overhead(&mut self, cost: f64, interval: u64) -> u64 {
        self.owed = (self.owed + cost).min(MOST_OWED);
        let overhead = (self.owed as u64).min(interval);
        self.owed -= overhead as f64;
        overhead
    }
}

impl Cost {
    fn of(mut trials: Vec<u64>) -> Option<Cost> {
        if trials.len() < FEWEST_TRIALS {
            return None;
        }
        trials.sort_unstable();
        let middle = &trials[trials.len() / 4..trials.len() * 3 / 4];
        let quartiles = (*middle.first()?, *middle.last()?);
        Some(Cost { middle: middle.iter().sum::<u64>() as f64 / middle.len() as f64, quartiles })
    }
}

#[cfg(test)]
mod tests {
    use longpole_ring::Clock;

    use super::*;

    /// Runs events written as `+f1` (f is entered, depth 1), `-f1`, `[` and `]` (a region) and says what they mean.
    fn meaning(events: &str) -> String {
        let (mut calls, ticks) = (Calls::default(), Ticks::new(Clock::Monotonic));
        let mut said = Vec::new();
        let mut out = |mark| match mark {
            RawMark::Enter { place: RawPlace::Procedure(address), .. } => {
                said.push(format!("+{}", char::from(address as u8)));
            }
            RawMark::Leave => said.push("-".to_owned()),
            RawMark::Overhead(nanoseconds) => said.push(format!("{nanoseconds}ns")),
            other => panic!("{other:?}"),
        };
        for (time, event) in events.split_whitespace().enumerate() {
            let procedure = event.as_bytes().get(1).copied().map_or(0, u64::from);
            let depth = event.get(2..).and_then(|depth| depth.parse().ok()).unwrap_or(0);
            let call = Call { procedure, ticks: 100 * time as u64, depth };
            match event.as_bytes()[0] {
                b'+' => calls.call(7, call, &ticks, &mut out),
                b'-' => calls.returns(7, call, &ticks, &mut out),
                b'[' => calls.enters_region(7),
                _ => calls.leaves_region(7, &mut out),
            }
        }
        said.join(" ")
    }

    #[test]
    fn calls_and_returns_are_entries_and_leaves() {
        assert_eq!(meaning("+f1 +g2 -g2 +g2 +g3 -g3 -g2 -f1"), "+f +g - +g +g - - -");
    }

    #[test]
    fn a_lost_event_does_not_shift_what_follows() {
        // The return of g, then the call of g, then both events of the second g were lost.
        assert_eq!(meaning("+f1 +g2 -f1 +f1 -f1"), "+f +g - - +f -");
        assert_eq!(meaning("+f1 -g2 +h2 -h2 -f1"), "+f +h - -");
        assert_eq!(meaning("+f1 +h3 -h3 -g2 +k2 -k2 -f1"), "+f +h - +k - -");
    }

    #[test]
    fn a_jump_leaves_what_it_passed() {
        assert_eq!(meaning("+m1 +f2 +g3 +h4 +f2 -f2 -m1"), "+m +f +g +h - - - +f - -");
    }

    #[test]
    fn regions_stand_between_calls() {
        assert_eq!(meaning("+m1 [ +f3 -f3 ] -m1"), "+m +f - - -");
        // A return within the region was lost; a region was left twice.
        assert_eq!(meaning("+m1 [ +f3 ] ] -m1"), "+m +f - - -");
    }

    #[test]
    fn calls_too_deep_to_say_are_relative() {
        let deep = DEEPEST_CALL;
        assert_eq!(meaning(&format!("+a{deep} +b{deep} -b{deep} -a{deep}")), "+a +b - -");
    }

    #[test]
    fn what_trials_cost_is_taken_from_the_intervals_between_calls() {
        let (mut calls, ticks) = (Calls::default(), Ticks::new(Clock::Monotonic));
        let mut overheads = Vec::new();
        let mut out = |mark| {
            if let RawMark::Overhead(nanoseconds) = mark {
                overheads.push(nanoseconds);
            }
        };
        let mut now = 1_000;
        for trial in 0..200 {
            // One in ten is slow.
            now += if trial % 10 == 0 { 500 } else { 20 + trial % 2 };
            calls.call(1, Call { procedure: 0, ticks: now, depth: 1 }, &ticks, &mut out);
        }
        for interval in [300, 100, 5, 100, 100] {
            now += interval;
            calls.call(1, Call { procedure: 9, ticks: now, depth: 1 }, &ticks, &mut out);
        }
        // 20.7 each; the short interval's rest is found in the next.
        assert_eq!(overheads, [20, 5, 37, 20]);
        let findings = calls.findings(&ticks);
        assert!(
            findings[0].starts_with(
                "5 calls of instrumented procedures, each of which the agent made 41 ns longer (40 to 42 ns"
            ),
            "{findings:?}"
        );
    }
}
