//! The critical path (metrics.md §4; I §2.1, M §2.2): the longest path through the program activity graph.
//!
//! Each thread carries L, the length of the longest path that ends where it is now. L grows with the weight of
//! the thread's arcs; a dependence lets the thread take over the L of the one that enabled it, if that is
//! larger, or if it is equal and the thread was waiting (the later arrival wins). The thread with the largest L
//! at its end ends the path (of several, the one that came to its L last; then the one that started first). The hops that were taken over lead back from there.
//!
//! ```text
//!   T1  AAAABBBB        T1 signals at 8; T2 waited since 3, its own L is 3, T1's is 8.
//!   T2  CCC.....DD      L at the end: T1 8, T2 8 + 2 = 10.
//!                       The path: A 4, B 4 on T1, then D 2 on T2; C is not on it.
//! ```
//! A token carries the longest path of its releases from one thread to another, however long ago they were, and
//! whether or not the other one waited: ends of threads and their joins, arrivals at a barrier, posts of a semaphore.
//!
//! **CPU weight**: useful CPU time; spinning, ready and blocked arcs, the collector's own time and dependences weigh 0.
//!
//! **Elapsed weight**: running, spinning and ready time, the collector's own, and the time a dependence is under way, at their elapsed
//! time. A wait that is ended by a dependence weighs 0: what the other thread did meanwhile explains it. A wait
//! that nothing recorded ends (a device, a timer, something outside the program; or a dependence from a thread that
//! was itself waiting then) weighs its elapsed time, and so does the time before the path's first thread began and
//! after its last one ended. So the length is the elapsed time of the run. A spin is a wait like others: where nobody is
//! known to have ended it, it weighs its time.
//!
//! ```text
//!   T1  AAAA....AAAA....mmmm        T1 sleeps, and has m from 16 on; T2 asks for m at 17 and gets it at 20. Both paths to 20
//!   T2  BBBBBBBBBBBBBBBBB...BB      are as long. That of T2 to 17 and what T1 did since is taken: exclusion is no order, and the
//! ```                               sleeps of T1 hold nobody up.
//!
//! Time: constant per item, apart from collecting hops, which is amortised. Memory: a few numbers per thread, the
//! newest 256 changes of L per live thread (a message that was sent before them is not followed, nor one that
//! arrives long after its sender ended), and the hops that lead to live threads.
//!
//! It ends where the run does: a thread that was killed at its work ends no path, unless next to nothing is left without.
//!
//! It cannot see the second longest path: a procedure may hold all of the path, and its removal may still gain
//! little. Nor does it know that work on a lock's queue could have been done in another order.

use std::collections::VecDeque;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Dependence, Sweep};
use longpole_trace::{Acquisition, ObjectId, Program, State, TokenId};
use rustc_hash::FxHashMap;

use crate::analysis::{CriticalPath, PathSegment, Weight};
use crate::hand_offs::HandOffs;
use crate::path_hand_offs::{PathHandOff, PathHandOffId, PathHandOffs};
use crate::spin_waits::SpinWaits;

/// Changes of L that are kept per live thread, and per ended one.
const PAST: usize = 256;
const PAST_OF_ENDED: usize = 16;
/// A path of less than one part of the run in so many is one of next to nothing.
const NEXT_TO_NOTHING: u64 = 20;

/// L of a thread from `since` on: a straight line until the next change.
#[derive(Clone, Copy, Debug)]
struct LengthLine {
    since: Time,
    length: u64,
    grows: bool,
    /// When L came to `length`.
    reached: Time,
    /// How the path came to this thread.
    hand_off: PathHandOffId,
}

impl LengthLine {
    const NONE: LengthLine = LengthLine {
        since: Time::ZERO,
        length: 0,
        grows: false,
        reached: Time::ZERO,
        hand_off: PathHandOffId::NONE,
    };

    fn length_at(&self, time: Time) -> u64 {
        self.length + if self.grows { time.since(self.since) } else { 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathThreadLife {
    NotBegun,
    Alive,
    Ended,
    /// Ended, and its hops are given up.
    Forgotten,
}

#[derive(Clone, Debug)]
struct PathThread {
    life: PathThreadLife,
    begin: Time,
    state: State,
    /// Since the path came to it, it waited and nothing recorded ended that.
    has_slept: bool,
    line: LengthLine,
    /// Its line when it began to wait.
    asked: LengthLine,
    past: VecDeque<LengthLine>,
}

impl PathThread {
    const NEW: PathThread = PathThread {
        life: PathThreadLife::NotBegun,
        begin: Time::ZERO,
        state: State::Absent,
        has_slept: false,
        line: LengthLine::NONE,
        asked: LengthLine::NONE,
        past: VecDeque::new(),
    };

    fn change(&mut self, line: LengthLine) {
        let before = std::mem::replace(&mut self.line, line);
        // Of several changes at one time only the last is ever asked for.
        if before.since < line.since {
            if self.past.len() == PAST {
                self.past.pop_front();
            }
            self.past.push_back(before);
        }
    }

    fn line_at(&self, time: Time) -> Option<&LengthLine> {
        if self.line.since <= time {
            return Some(&self.line);
        }
        let after = self.past.partition_point(|line| line.since <= time);
        after.checked_sub(1).map(|index| &self.past[index])
    }

    /// When L came to the value `length`, which it has at `time`.
    fn reached(&self, time: Time, length: u64) -> Time {
        if length > self.line.length { time } else { self.line.reached }
    }

    fn waits(&self) -> bool {
        matches!(self.state, State::Absent | State::Blocked(_) | State::Spinning)
    }
}

/// Where a path may end.
#[derive(Clone, Copy, Debug)]
struct PathEnd {
    length: u64,
    time: Time,
    thread: ThreadId,
    hand_off: PathHandOffId,
}

impl PathEnd {
    fn is_after(&self, other: &PathEnd) -> bool {
        (self.length, self.time, other.thread) > (other.length, other.time, self.thread)
    }
}

/// The longest path to a release of a token.
#[derive(Clone, Copy, Debug)]
struct TokenRelease {
    length: u64,
    thread: ThreadId,
    time: Time,
    hand_off: PathHandOffId,
}

/// The sweep that finds the path.
#[derive(Debug)]
pub(crate) struct PathSearch {
    weight: Weight,
    hand_offs: HandOffs,
    lanes: Vec<PathThread>,
    path_hand_offs: PathHandOffs,
    spins: SpinWaits,
    /// The longest path that ends at each token.
    tokens: FxHashMap<TokenId, TokenRelease>,
    /// Threads that were killed at their work.
    killed: Vec<ThreadId>,
    /// The best end among the threads that have ended by themselves, and among those that were killed.
    best: Option<PathEnd>,
    best_killed: Option<PathEnd>,
    path: CriticalPath,
}

impl PathSearch {
    pub fn new(program: &Program, weight: Weight, hand_offs: HandOffs) -> Self {
        PathSearch {
            weight,
            hand_offs,
            lanes: vec![PathThread::NEW; program.threads.len()],
            path_hand_offs: PathHandOffs::default(),
            spins: SpinWaits::default(),
            tokens: FxHashMap::default(),
            killed: program.killed_at_work.clone(),
            best: None,
            best_killed: None,
            path: CriticalPath::default(),
        }
    }

    /// The path, once the sweep is finished.
    pub fn into_path(self) -> CriticalPath {
        self.path
    }

    fn lane(&mut self, thread: ThreadId) -> &mut PathThread {
        if thread.index() >= self.lanes.len() {
            self.lanes.resize(thread.index() + 1, PathThread::NEW);
        }
        &mut self.lanes[thread.index()]
    }

    /// How the path comes to a thread that begins now, or that (in a damaged recording) had ended before.
    fn hop_into_life(
        &mut self,
        thread: ThreadId,
        time: Time,
        life: PathThreadLife,
        line: LengthLine,
    ) -> PathHandOffId {
        let hand_off = match (life, self.path_hand_offs.get(line.hand_off)) {
            (PathThreadLife::Ended, _) => {
                PathHandOff { parent: line.hand_off, source: thread, left: line.since, arrived: time }
            }
            // It was created before it is first seen.
            (_, Some(&creation)) if creation.arrived < time => PathHandOff { arrived: time, ..creation },
            _ => return line.hand_off,
        };
        self.path_hand_offs.push(hand_off)
    }

    fn offer(&mut self, end: PathEnd) {
        let is_killed = self.killed.binary_search(&end.thread).is_ok();
        let best = if is_killed { &mut self.best_killed } else { &mut self.best };
        if best.is_none_or(|best| end.is_after(&best)) {
            *best = Some(end);
        }
    }

    /// The end of a run of this length. It does not wait for threads that are killed, unless those that it waits for do next to nothing.
    fn end(&self, run: Time) -> Option<PathEnd> {
        let does_something = |end: &PathEnd| end.length.saturating_mul(NEXT_TO_NOTHING) >= run.nanoseconds();
        let longest = || match (self.best, self.best_killed) {
            (Some(best), Some(killed)) if killed.is_after(&best) => Some(killed),
            (best, killed) => best.or(killed),
        };
        self.best.filter(does_something).or_else(longest)
    }

    fn collect(&mut self, now: Time) {
        for lane in &mut self.lanes {
            if lane.life == PathThreadLife::Ended && lane.line.since < now {
                *lane = PathThread { life: PathThreadLife::Forgotten, begin: lane.begin, ..PathThread::NEW };
            }
        }
        let (lanes, tokens) = (&mut self.lanes, &mut self.tokens);
        let mut ends = [&mut self.best, &mut self.best_killed];
        self.path_hand_offs.collect(|each| {
            tokens.values_mut().for_each(|release| each(&mut release.hand_off));
            for lane in lanes.iter_mut().filter(|lane| lane.life != PathThreadLife::Forgotten) {
                each(&mut lane.line.hand_off);
                each(&mut lane.asked.hand_off);
                lane.past.iter_mut().for_each(|line| each(&mut line.hand_off));
            }
            ends.iter_mut().filter_map(|end| end.as_mut()).for_each(|end| each(&mut end.hand_off));
        });
    }

    /// Follows the hops back from the end.
    fn segments(&self, end: PathEnd) -> Vec<PathSegment> {
        let mut segments: Vec<PathSegment> = Vec::new();
        let PathEnd { mut thread, hand_off: mut at, time: mut to, .. } = end;
        loop {
            let hand_off = self.path_hand_offs.get(at);
            let from = hand_off.map_or(self.lanes[thread.index()].begin, |hand_off| hand_off.arrived);
            match segments.last_mut() {
                Some(later) if later.thread == thread && later.from == to => later.from = from,
                _ => segments.push(PathSegment { thread, from, to }),
            }
            let Some(hand_off) = hand_off else { break };
            (thread, to, at) = (hand_off.source, hand_off.left, hand_off.parent);
        }
        segments.reverse();
        segments
    }
}

impl Sweep for PathSearch {
    fn begin_wait(&mut self, thread: ThreadId, _time: Time, _object: ObjectId) {
        self.spins.begin_wait(thread);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let Some((before, state)) = self.spins.enter(thread, before, state) else { return };
        let grows = self.weight.grows(state);
        let weighs_waits = self.weight == Weight::Elapsed;
        let lane = self.lane(thread);
        let mut length = lane.line.length_at(time);
        // A wait that only the thread's end cut off is not over.
        let wait_ends =
            before == State::Absent || matches!(before, State::Blocked(_)) && state != State::Absent;
        if weighs_waits && wait_ends {
            // No dependence has explained the wait up to now, else this is already so.
            lane.has_slept |= length < time.nanoseconds();
            length = time.nanoseconds();
        }
        let (life, line) = (lane.life, lane.line);
        let hand_off = if before == State::Absent {
            self.hop_into_life(thread, time, life, line)
        } else {
            line.hand_off
        };
        let lane = self.lane(thread);
        if before == State::Absent && life != PathThreadLife::Ended {
            lane.begin = time;
        }
        lane.life = PathThreadLife::Alive;
        lane.state = state;
        let reached = lane.reached(time, length);
        lane.change(LengthLine { since: time, length, grows, reached, hand_off });
        lane.asked = lane.line;
        if state == State::Absent {
            lane.life = PathThreadLife::Ended;
            let older = lane.past.len().saturating_sub(PAST_OF_ENDED);
            lane.past.drain(..older);
            lane.past.shrink_to_fit();
            self.offer(PathEnd { length, time: reached, thread, hand_off });
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, .. } = dependence;
        if self.weight == Weight::Cpu && !self.hand_offs.are_order(&dependence) {
            return;
        }
        self.lane(source.max(thread));
        let lane = &self.lanes[source.index()];
        if source == thread || matches!(lane.life, PathThreadLife::NotBegun | PathThreadLife::Forgotten) {
            return;
        }
        let Some(&from) = lane.line_at(source_time).filter(|_| source_time >= lane.begin) else { return };
        let latency = if self.weight == Weight::Elapsed { time.since(source_time) } else { 0 };
        let offered = from.length_at(source_time) + latency;
        let lane = &mut self.lanes[thread.index()];
        if matches!(lane.life, PathThreadLife::Ended | PathThreadLife::Forgotten) {
            return;
        }
        let own = lane.line.length_at(time);
        let wins = match self.weight {
            Weight::Cpu => offered > own || (offered == own && lane.waits()),
            // Less than the time passed means that the source itself waited: no explanation.
            Weight::Elapsed => lane.waits() && offered >= time.nanoseconds(),
        };
        if wins {
            let (grows, asked) = (lane.line.grows, lane.asked);
            let hand_off = PathHandOff { parent: from.hand_off, source, left: source_time, arrived: time };
            let hand_off = if self.weight == Weight::Elapsed
                && self.lanes[source.index()].has_slept
                && self.hand_offs.is_exclusion(&dependence)
            {
                self.path_hand_offs.push_since(hand_off, (thread, asked.since, asked.hand_off))
            } else {
                self.path_hand_offs.push(hand_off)
            };
            let lane = &mut self.lanes[thread.index()];
            lane.has_slept = false;
            lane.change(LengthLine { since: time, length: offered, grows, reached: time, hand_off });
            if self.path_hand_offs.is_full() {
                self.collect(time);
            }
        }
    }

    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        if self.weight == Weight::Elapsed {
            return;
        }
        let lane = self.lane(thread);
        if matches!(lane.life, PathThreadLife::NotBegun | PathThreadLife::Forgotten) {
            return;
        }
        let (length, hand_off) = (lane.line.length_at(time), lane.line.hand_off);
        let release = TokenRelease { length, thread, time, hand_off };
        let kept = self.tokens.entry(token).or_insert(release);
        if kept.length < length {
            *kept = release;
        }
    }

    /// By elapsed weight a thread that did not wait came later than all that it depends on.
    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        let Some(&TokenRelease { length, thread: source, time: left, hand_off }) =
            self.tokens.get(&acquisition.token)
        else {
            return;
        };
        if acquisition.last {
            self.tokens.remove(&acquisition.token);
        }
        let lane = self.lane(thread);
        if source == thread || lane.life != PathThreadLife::Alive || length <= lane.line.length_at(time) {
            return;
        }
        let grows = lane.line.grows;
        let hand_off =
            self.path_hand_offs.push(PathHandOff { parent: hand_off, source, left, arrived: time });
        self.lane(thread).change(LengthLine { since: time, length, grows, reached: time, hand_off });
        if self.path_hand_offs.is_full() {
            self.collect(time);
        }
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.lanes.len() {
            let lane = &self.lanes[index];
            if lane.life == PathThreadLife::Alive {
                let (length, hand_off) = (lane.line.length_at(end), lane.line.hand_off);
                let time = lane.reached(end, length);
                self.offer(PathEnd { length, time, thread: ThreadId::from_index(index), hand_off });
            }
        }
        if let Some(best) = self.end(end) {
            let length = match self.weight {
                Weight::Cpu => best.length,
                Weight::Elapsed => end.nanoseconds(),
            };
            self.path = CriticalPath { length, segments: self.segments(best) };
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, random_timelines};
    use longpole_trace::ItemKind;
    use proptest::prelude::*;

    use super::*;
    use crate::drawn::Drawn;

    fn found(made: &MemoryTimelines, weight: Weight, smallest_limit: usize) -> CriticalPath {
        let mut search = PathSearch {
            path_hand_offs: PathHandOffs::new(smallest_limit),
            ..PathSearch::new(&made.program, weight, HandOffs::default())
        };
        let Ok(()) = longpole_graph::sweep(made, false, &mut search);
        search.into_path()
    }

    proptest! {
        #[test]
        fn collecting_hops_changes_no_path(mut made in random_timelines(5, 120)) {
            // A message from a thread that is gone is followed only until the next collection.
            let threads = made.program.threads.clone();
            made.items.retain(|item| match item.what {
                ItemKind::Depend { source, .. } => threads[source.index()].end.is_none_or(|end| end >= item.time),
                _ => true,
            });
            for weight in [Weight::Cpu, Weight::Elapsed] {
                let (often, never) = (found(&made, weight, 1), found(&made, weight, usize::MAX));
                prop_assert_eq!(often.length, never.length);
                prop_assert_eq!(often.segments, never.segments);
            }
        }
    }

    fn piece(thread: &str, from: u64, to: u64) -> (String, u64, u64) {
        (thread.to_owned(), from, to)
    }

    #[test]
    fn a_wait_is_explained_by_the_thread_that_ended_it() {
        let drawn = Drawn::new("T1 AAAABBBB\nT2 CCCcccccDD\nT1@8 -> T2 signal");
        assert_eq!(drawn.analysis.critical_cpu.length, 10);
        assert_eq!(drawn.path(), [piece("T1", 0, 8), piece("T2", 8, 10)]);
        let on_path = |name| drawn.own(name).critical_cpu;
        assert_eq!((on_path("A"), on_path("B"), on_path("C"), on_path("D")), (4, 4, 0, 2));
        assert_eq!(drawn.elapsed_path(), drawn.path());
    }

    #[test]
    fn equal_lengths_go_to_the_later_arrival() {
        // Both have 4 when T2 arrives last and lets T1 go on.
        let drawn = Drawn::new("T1 AAAAcEE\nT2 B.BBBcc\nT2@5 -> T1 signal");
        assert_eq!(drawn.path(), [piece("T2", 0, 5), piece("T1", 5, 7)]);
    }

    #[test]
    fn work_done_before_a_thread_was_created_counts_for_it() {
        let drawn = Drawn::new("T1 AAjjjA\nT2 __BBB_\nT1@2 -> T2 create\nT2@5 -> T1 join");
        assert_eq!(drawn.analysis.critical_cpu.length, 6);
        assert_eq!(drawn.path(), [piece("T1", 0, 2), piece("T2", 2, 5), piece("T1", 5, 6)]);
    }

    #[test]
    fn what_a_sleeper_did_before_a_lock_was_asked_for_explains_no_wait_for_it() {
        let sleeps = "1 = mutex m\nT1 AAAA....AAAA....AAAA\nT2 BBBBBBBBBBBBBBBBB111BB\nT1@20 -> T2 unlock";
        let drawn = Drawn::new(sleeps);
        assert_eq!(drawn.elapsed_path(), [piece("T2", 0, 17), piece("T1", 17, 20), piece("T2", 20, 22)]);
        // A signal has an order: without the sleeps it would have come earlier.
        let drawn = Drawn::new(&sleeps.replace("mutex", "condition").replace("unlock", "signal"));
        assert_eq!(drawn.elapsed_path(), [piece("T1", 0, 20), piece("T2", 20, 22)]);
    }

    #[test]
    fn a_told_spin_is_explained_like_a_blocked_wait() {
        let blocked = Drawn::new("1 = mutex m\nT1 AAAABB\nT2 C111DDDD\nT1@4 -> T2 unlock");
        for row in ["C¹¹¹DDDD", "C¹-1DDDD"] {
            let told = Drawn::new(&format!("1 = mutex m\nT1 AAAABB\nT2 {row}\nT1@4 -> T2 unlock"));
            assert_eq!(told.elapsed_path(), blocked.elapsed_path());
            assert_eq!(told.own("A").critical_elapsed, 4);
        }
        // Nobody ended it: it weighs its time, where it was suffered.
        let alone = Drawn::new("1 = mutex m\nT1 CC¹¹¹DD");
        assert_eq!(alone.own("C").critical_elapsed, 5);
    }

    #[test]
    fn elapsed_weight_counts_what_no_thread_explains() {
        //                       sleeps, then waits for T2, which was ready first
        let drawn = Drawn::new("T1 AAzzzAccccA\nT2 BB--------_\nT3 B");
        // Nothing recorded ends T1's second wait: it weighs its time.
        assert_eq!(drawn.analysis.critical_elapsed.length, 11);
        assert_eq!(drawn.elapsed_path(), [piece("T1", 0, 11)]);
        assert_eq!(drawn.own("A").critical_elapsed, 11);
        assert_eq!(drawn.analysis.critical_cpu.length, 4);
    }

    #[test]
    fn elapsed_weight_goes_through_ready_time_of_the_source() {
        let drawn = Drawn::new("T1 AAccccccA\nT2 BB----BB_\nT2@8 -> T1 signal");
        assert_eq!(drawn.elapsed_path(), [piece("T2", 0, 8), piece("T1", 8, 9)]);
        assert_eq!(drawn.own("B").critical_elapsed, 8);
        // By CPU weight: T2 has 4 at the signal, T1 had 2.
        assert_eq!(drawn.analysis.critical_cpu.length, 5);
    }

    #[test]
    fn no_path_ends_with_a_thread_that_the_exit_of_its_process_killed() {
        let killed = |text: &str| {
            let mut timelines = longpole_testkit::draw(text);
            timelines.program.killed_at_work = vec![timelines.thread("T2")];
            let Ok(analysis) = crate::analyse(&timelines, &crate::MetricOptions::default());
            Drawn { timelines, analysis }
        };
        let drawn = killed("T1 AAAA-AAABB\nT2 CCCCCCCCCCC");
        assert_eq!(
            (drawn.path(), drawn.elapsed_path()),
            (vec![piece("T1", 0, 10)], vec![piece("T1", 0, 10)])
        );
        assert_eq!((drawn.own("A").critical_cpu, drawn.own("C").critical_cpu), (7, 0));
        // A first thread that only waits for a signal to end the program is no answer.
        let drawn = killed(&format!("T1 A{}A\nT2 {}", "z".repeat(48), "C".repeat(50)));
        assert_eq!(drawn.path(), [piece("T2", 0, 50)]);
    }

    #[test]
    fn a_message_under_way_weighs_its_time_by_elapsed_weight_only() {
        let drawn = Drawn::new("T1 AAAAmmmm\nT2 BmmmmmBB\nT1@2 -> T2@6 message");
        // T2 receives at 6 what T1 sent at 2: 2 + 4 under way + 2.
        assert_eq!(drawn.elapsed_path(), [piece("T1", 0, 2), piece("T2", 6, 8)]);
        assert_eq!(drawn.own("A").critical_elapsed, 2);
        assert_eq!(drawn.own("B").critical_elapsed, 6, "the way is suffered by the receiver");
        // By CPU weight both threads end with 4; T2 ends last.
        assert_eq!(drawn.analysis.critical_cpu.length, 4);
        assert_eq!(drawn.path(), [piece("T1", 0, 2), piece("T2", 6, 8)]);
        assert_eq!((drawn.own("A").critical_cpu, drawn.own("B").critical_cpu), (2, 2));
    }

    #[test]
    fn the_time_before_and_after_all_threads_belongs_to_the_elapsed_path() {
        let drawn = Drawn::new("T1 __AA__\nT2 ______");
        assert_eq!(drawn.analysis.critical_elapsed.length, 6);
        let charged: u64 = drawn.analysis.charges.iter().map(|charge| charge.measures.critical_elapsed).sum();
        assert_eq!(charged, 6);
    }

    #[test]
    fn a_source_that_waited_itself_explains_nothing() {
        // A wake by a thread that is recorded as blocked: T1's wait weighs its own time.
        let drawn = Drawn::new("T1 AAccccA\nT2 Blllll_\nT2@5 -> T1 wake");
        assert_eq!(drawn.elapsed_path(), [piece("T1", 0, 7)]);
    }

    #[test]
    fn a_run_without_threads_has_no_path() {
        let drawn = Drawn::new("# nobody");
        assert_eq!(drawn.analysis.critical_cpu.length, 0);
        assert!(drawn.analysis.critical_elapsed.segments.is_empty());
    }
}
