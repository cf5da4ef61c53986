use longpole_testkit::{draw, random_timelines};
use proptest::prelude::*;

use super::*;

/// Writes down what it is shown.
#[derive(Default)]
struct Notes(Vec<String>);

impl Sweep for Notes {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        let (from, to) = (from.nanoseconds(), to.nanoseconds());
        self.0.push(format!("{from}..{to} U={} N={}", level.effective, level.nominal));
    }
    fn arc(&mut self, arc: Arc) {
        let (from, to) = (arc.from.nanoseconds(), arc.to.nanoseconds());
        self.0.push(format!("T{} {:?} {from}..{to}", arc.thread.0, arc.state));
    }
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        self.0.push(format!("T{} {before:?} to {state:?} at {}", thread.0, time.nanoseconds()));
    }
    fn observe(&mut self, thread: ThreadId, time: Time, _: PathId, _: ObservationKind) {
        self.0.push(format!("T{} seen at {}", thread.0, time.nanoseconds()));
    }
    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, thread, time, .. } = dependence;
        self.0.push(format!("T{} enables T{} at {}", source.0, thread.0, time.nanoseconds()));
    }
    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        self.0.push(format!("T{} releases {} at {}", thread.0, token.0, time.nanoseconds()));
    }
    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        self.0.push(format!("T{} acquires {} at {}", thread.0, acquisition.token.0, time.nanoseconds()));
    }
    fn finish(&mut self, end: Time) {
        self.0.push(format!("end {}", end.nanoseconds()));
    }
}

#[test]
fn an_item_ends_the_time_before_it_then_the_arc_then_says_its_own() {
    let mut notes = Notes::default();
    let Ok(()) = sweep(&draw("T0 AAll"), false, &mut notes);
    assert_eq!(
        notes.0,
        [
            "T0 Absent to Running at 0",
            "0..2 U=1 N=1",
            "T0 Running 0..2",
            "T0 seen at 2",
            "T0 Running to Blocked(Lock) at 2",
            "2..4 U=0 N=0",
            "T0 Blocked(Lock) 2..4",
            "end 4",
        ]
    );
}

/// Objects of the arcs of a drawing of one thread.
fn objects(text: &str) -> Vec<(State, bool)> {
    #[derive(Default)]
    struct Objects(Vec<(State, bool)>);
    impl Sweep for Objects {
        fn arc(&mut self, arc: Arc) {
            self.0.push((arc.state, arc.object.is_some()));
        }
    }
    let mut found = Objects::default();
    let Ok(()) = sweep(&draw(text), false, &mut found);
    found.0
}

#[test]
fn a_told_spin_has_its_object_until_the_thread_is_woken_or_runs() {
    let lock = State::Blocked(longpole_trace::Cause::Lock);
    let (running, spinning, ready) = (State::Running, State::Spinning, State::Ready);
    assert_eq!(
        objects("1 = mutex m\nT1 A¹¹-¹11-~A~A"),
        [
            (running, false),
            (spinning, true),
            (ready, true),
            (spinning, true),
            (lock, true),
            (ready, false),
            (spinning, false),
            (running, false),
            (spinning, false),
            (running, false),
        ]
    );
}

#[test]
fn a_dependence_cuts_the_arcs_of_both_threads() {
    let mut notes = Notes::default();
    let mut made = draw("T0 AAAA\nT1 B.BB\nT0@2 -> T1 signal");
    // Even if nobody looked at the source when it did that.
    made.items.retain(|item| {
        item.what == ItemKind::State(State::Running) || matches!(item.what, ItemKind::Depend { .. })
    });
    let Ok(()) = sweep(&made, false, &mut notes);
    let at = |note: &str| notes.0.iter().position(|other| other == note).expect(note);
    assert!(at("T0 Running 0..2") < at("T0 enables T1 at 2"));
    assert!(at("T1 Running 0..2") < at("T0 enables T1 at 2"));
}

/// Adds up what it is shown.
#[derive(Default)]
struct Sums {
    passed: u64,
    by_level: u64,
    by_arcs: u64,
    runnable: u64,
    runnable_arcs: u64,
}

impl Sweep for Sums {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.passed += to.since(from);
        self.by_level += to.since(from) * u64::from(level.effective);
        self.runnable += to.since(from) * u64::from(level.nominal);
    }
    fn arc(&mut self, arc: Arc) {
        assert!(arc.length() > 0 && arc.state != State::Absent);
        self.by_arcs += if arc.state.is_busy(false) { arc.length() } else { 0 };
        self.runnable_arcs += if arc.state.is_runnable() { arc.length() } else { 0 };
    }
}

proptest! {
    #[test]
    fn arcs_and_levels_tell_the_same_times(made in random_timelines(5, 60)) {
        let mut sums = (Sums::default(), Notes::default());
        let Ok(()) = sweep(&made, false, &mut sums);
        let sums = sums.0;
        prop_assert_eq!(sums.passed, made.program.elapsed_nanoseconds);
        prop_assert_eq!(sums.by_level, sums.by_arcs);
        prop_assert_eq!(sums.runnable, sums.runnable_arcs);
    }
}
