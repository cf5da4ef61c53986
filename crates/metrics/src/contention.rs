//! Contention for synchronisation objects (metrics.md §3; Q table 1): how often and how long threads waited for each,
//! how many at a time, and what was done meanwhile by those whom they waited for.
//!
//! ```text
//!   1 = mutex m         T2 asks for m at 2, T3 at 4; T1 hands m over at 5, T2 at 7.
//!   T1  AAAAA__         2 waits, 3 + 3 = 6 in all; none waits for 2, one for 4, two for 1: queue [2, 4, 1]
//!   T2  AA111AA         held while wanted: 2..5 by T1, 5..7 by T2
//!   T3  AAAA111         NPT of the holders: what T1 did in 2..5 and T2 in 5..7, divided by U (Q eq. 1)
//! ```
//! *Hand-over*: a dependence that ends a wait for the object. The time since the one before (or since somebody
//! began to wait for it, if nobody did) is the time for which the object was held while it was wanted, and is charged to
//! the place that hands over, with the CPU time and the normalised processor time of that thread in it. A thread
//! that holds two wanted objects is charged to both.
//!
//! Time: constant per item, logarithmic in 256 per hand-over. Memory: per object, its queue lengths and the lengths
//! of its waits; per (object, place that handed over); per live thread, 256 points of its past. Pairs of threads and
//! places are kept of one chosen set of objects only.
//!
//! It cannot see accesses that did not wait, nor holding that nobody waited for: the kernel does not. Of several
//! readers of a lock only the last to leave hands over. Which of two held locks is the inner one is not known.

mod contended_object;
mod lockstep;
mod wake_bursts;

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Dependence, ParallelismLevel, Sweep};
use longpole_trace::{ObjectId, Objects, ObservationKind, PathId, Paths, PlaceId, Program, State};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cpu_history::{CpuHistory, SharePoint};
use crate::levels::{LevelTimes, SeenLevels};
use crate::pair_counts::PairCounts;
use crate::states::Spread;
use crate::wait_ends::{WaitEnds, WaitWaker, goes_on};
pub use contended_object::{ContendedObject, Handover, WaiterPair};
use lockstep::LetGoBy;
use wake_bursts::{RecentWake, WakeBurst};

/// What happened at each object.
#[derive(Clone, Debug, Default)]
pub struct Contention {
    /// By object id.
    pub objects: Vec<ContendedObject>,
    /// What each place did with an object before it handed that over to one who waited. `None`: no path was known.
    pub handovers: BTreeMap<(ObjectId, Option<PlaceId>), Handover>,
    /// How often threads waited for each object at each path.
    pub sites: BTreeMap<(ObjectId, PathId), u64>,
    /// Of the chosen objects: time for which one of them was wanted, by U, and by the place that then handed it over.
    pub wanted: BTreeMap<Option<PlaceId>, Spread>,
    /// Of the chosen objects: the place that waited, and the place that ended the wait.
    pub places: BTreeMap<(Option<PlaceId>, Option<PlaceId>), WaiterPair>,
    /// Of the chosen objects: the thread that waited, and the one that ended the wait, if one did.
    pub threads: BTreeMap<(ThreadId, Option<ThreadId>), WaiterPair>,
}

/// A queue as it is now.
#[derive(Clone, Debug, Default)]
struct ObjectQueue {
    length: usize,
    since: Time,
    /// The last hand-over, or when the first of those who wait came.
    mark: SharePoint,
    /// Levels of the run up to then.
    seen: SeenLevels,
    /// Threads that have waited.
    waiters: FxHashSet<ThreadId>,
    /// The last wakes in one go.
    burst: WakeBurst,
}

/// A wait that is going on.
#[derive(Clone, Copy, Debug)]
struct OngoingContention {
    object: ObjectId,
    since: Time,
}

/// A wait that another thread ended.
#[derive(Clone, Copy, Debug)]
struct EndedContention {
    object: ObjectId,
    at: SharePoint,
    /// How long it was, nanoseconds.
    length: u64,
    /// Whether who ended it had waited for the object too.
    by_waiter: bool,
}

/// Who lost what it waited for to another thread waits again at once: after less work than this, nanoseconds, and than this part of the
/// wait.
const LOST_AGAIN: u64 = 10_000;
const LOST_AGAIN_PART: f64 = 0.01;

#[derive(Clone, Debug, Default)]
struct ContentionThread {
    /// What it is about to wait for.
    next: Option<ObjectId>,
    waiting: Option<OngoingContention>,
    last: Option<EndedContention>,
    woken: Option<RecentWake>,
    let_go_by: LetGoBy,
    /// What its last wait took from that of the thread that ended it.
    taken: Option<(ThreadId, Option<ObjectId>)>,
    is_blocked: bool,
    past: CpuHistory,
}

/// The sweep of contention.
#[derive(Debug)]
pub(crate) struct Waiters<'a> {
    paths: &'a Paths,
    io_idle: bool,
    chosen: Vec<bool>,
    /// Whether an object excludes others while one has it, by object.
    excludes: Vec<bool>,
    levels: LevelTimes,
    now: SharePoint,
    ends: WaitEnds,
    per_thread: Vec<ContentionThread>,
    queues: Vec<ObjectQueue>,
    handovers: FxHashMap<(ObjectId, Option<PlaceId>), Handover>,
    /// Objects with the paths at which threads waited for them.
    sites: PairCounts,
    places: FxHashMap<(Option<PlaceId>, Option<PlaceId>), WaiterPair>,
    found: Contention,
}

impl<'a> Waiters<'a> {
    pub fn new(
        program: &Program,
        paths: &'a Paths,
        objects: &Objects,
        chosen: &[ObjectId],
        io_idle: bool,
    ) -> Self {
        let count = objects.all().len();
        let mut is_chosen = vec![false; count];
        chosen.iter().for_each(|object| is_chosen[object.index()] = true);
        Waiters {
            paths,
            io_idle,
            chosen: is_chosen,
            excludes: objects.all().iter().map(|object| object.kind.excludes()).collect(),
            levels: LevelTimes::default(),
            now: SharePoint::default(),
            ends: WaitEnds::new(program),
            per_thread: vec![ContentionThread::default(); program.threads.len()],
            queues: vec![ObjectQueue::default(); count],
            handovers: FxHashMap::default(),
            sites: PairCounts::default(),
            places: FxHashMap::default(),
            found: Contention { objects: vec![ContendedObject::default(); count], ..Contention::default() },
        }
    }

    /// What was found, once the sweep is finished.
    pub fn into_contention(self) -> Contention {
        let sites = self.sites.into_counts().into_iter();
        Contention {
            handovers: self.handovers.into_iter().collect(),
            sites: sites.map(|((object, path), count)| ((ObjectId(object), PathId(path)), count)).collect(),
            places: self.places.into_iter().collect(),
            ..self.found
        }
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut ContentionThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, ContentionThread::default());
        }
        &mut self.per_thread[thread.index()]
    }

    /// Notes how long the queue has been as long as it is, up to `time`.
    fn measure(&mut self, object: ObjectId, time: Time) {
        let queue = &mut self.queues[object.index()];
        let times = &mut self.found.objects[object.index()].queue;
        if times.len() <= queue.length {
            times.resize(queue.length + 1, 0);
        }
        times[queue.length] += time.since(queue.since);
        queue.since = time;
    }

    fn begin(&mut self, thread: ThreadId, time: Time, object: ObjectId) {
        self.measure(object, time);
        let now = SharePoint { time, ..self.now };
        let queue = &mut self.queues[object.index()];
        if queue.length == 0 {
            queue.mark = now;
            if self.chosen[object.index()] {
                queue.seen.catch_up(&self.levels, time, |_, _| {});
            }
        }
        queue.length += 1;
        let of_thread = self.of_thread(thread);
        of_thread.waiting = Some(OngoingContention { object, since: time });
        let last = of_thread.last.take().filter(|last| last.object == object);
        let work = |last: EndedContention| of_thread.past.at(now).cpu - of_thread.past.at(last.at).cpu;
        let at_once = last.map(|last| (last, work(last))).filter(|&(_, work)| work < LOST_AGAIN);
        let is_lost = at_once.is_some_and(|(last, work)| {
            !last.by_waiter && (work as f64) < LOST_AGAIN_PART * last.length as f64
        });
        if at_once.is_some() {
            self.step_back(thread);
        }
        // Whoever ended that wait has taken it again itself, without a wait.
        self.found.objects[object.index()].handed_by_waiters += u64::from(is_lost);
        self.come_back(thread, now, object);
    }

    fn end(&mut self, thread: ThreadId, time: Time, by: Option<WaitWaker>) {
        let Some(OngoingContention { object, since }) = self.of_thread(thread).waiting.take() else {
            by.into_iter().for_each(|by| self.step_unknown(thread, by.thread));
            return;
        };
        // Who spins first may be seen where it waits only when it blocks.
        let path = self.ends.path(thread);
        let waited = time.since(since);
        self.measure(object, time);
        self.queues[object.index()].length -= 1;
        self.queues[object.index()].waiters.insert(thread);
        self.found.objects[object.index()].lengths.add(waited);
        self.sites.add((object.0, path.0));
        if self.chosen[object.index()] {
            let place = |path| self.paths.innermost_id(path);
            let places = (place(path), by.and_then(|by| place(by.path)));
            // A wait that nobody in the program ended has no place that ended it.
            if by.is_some() {
                self.places.entry(places).or_default().add(waited);
            }
            self.found.threads.entry((thread, by.map(|by| by.thread))).or_default().add(waited);
        }
        if let Some(by) = by {
            let by_waiter = self.hand_over(object, time, by);
            let at = SharePoint { time, ..self.now };
            if !self.excludes[object.index()] {
                self.wake(thread, at, (object, by.thread));
                self.step(thread, (object, waited), by.thread);
            }
            self.of_thread(thread).last = Some(EndedContention { object, at, length: waited, by_waiter });
        } else if self.queues[object.index()].length == 0 {
            self.spread(object, time, None);
        }
    }

    /// Charges what a chosen object was wanted since the last hand-over.
    fn spread(&mut self, object: ObjectId, time: Time, place: Option<PlaceId>) {
        if self.chosen[object.index()] {
            let spread = self.found.wanted.entry(place).or_default();
            let seen = &mut self.queues[object.index()].seen;
            seen.catch_up(&self.levels, time, |level, time| spread.add(level, time));
        }
    }

    /// Counts a hand-over; whether who hands over has waited for the object too.
    fn hand_over(&mut self, object: ObjectId, time: Time, by: WaitWaker) -> bool {
        let now = SharePoint { time, ..self.now };
        let mark = std::mem::replace(&mut self.queues[object.index()].mark, now);
        let past = &self.of_thread(by.thread).past;
        let (before, after) = (past.at(mark), past.at(now));
        let handover = Handover {
            count: 1,
            held: time.since(mark.time),
            cpu: after.cpu - before.cpu,
            npt: after.npt - before.npt,
        };
        let has_waited = self.queues[object.index()].waiters.contains(&by.thread);
        let of_object = &mut self.found.objects[object.index()];
        of_object.handed.add(&handover);
        of_object.handed_by_waiters += u64::from(has_waited);
        let place = self.paths.innermost_id(by.path);
        self.handovers.entry((object, place)).or_default().add(&handover);
        self.spread(object, time, place);
        has_waited
    }
}

impl Sweep for Waiters<'_> {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        if level.effective > 0 {
            self.now.share += to.since(from) as f64 / f64::from(level.effective);
        }
        self.now.time = to;
        self.levels.pass(from, to, level.effective);
    }

    fn begin_wait(&mut self, thread: ThreadId, time: Time, object: ObjectId) {
        // Of a thread that is blocked already: something else than before.
        if self.of_thread(thread).is_blocked {
            self.end(thread, time, None);
            self.begin(thread, time, object);
        } else {
            self.ends.begin_wait(thread);
            self.of_thread(thread).next = Some(object);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let now = SharePoint { time, ..self.now };
        let is_busy = state.is_busy(self.io_idle);
        let of_thread = self.of_thread(thread);
        of_thread.past.change(now, state == State::Running, is_busy);
        let is_blocked = matches!(state, State::Blocked(_));
        let was_blocked = std::mem::replace(&mut of_thread.is_blocked, is_blocked);
        let next = of_thread.next.take();
        let ended = self.ends.enter(thread, time, state);
        let waits_on = if was_blocked { is_blocked } else { goes_on(before, state) };
        if !waits_on || next.is_some() {
            self.end(thread, time, ended.and_then(|ended| ended.by));
        }
        if let (true, Some(object)) = (is_blocked || state == State::Spinning, next) {
            self.begin(thread, time, object);
        } else if is_blocked && !was_blocked {
            self.of_thread(thread).woken = None;
        }
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, _: ObservationKind) {
        self.ends.observe(thread, time, path);
    }

    fn depend(&mut self, dependence: Dependence) {
        self.ends.depend(dependence);
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.per_thread.len() {
            let thread = ThreadId::from_index(index);
            let ended = self.ends.end(thread, end);
            self.end(thread, end, ended.and_then(|ended| ended.by));
        }
        for index in 0..self.queues.len() {
            self.measure(ObjectId(index as u32), end);
            self.found.objects[index].waiters = self.queues[index].waiters.len() as u64;
            self.end_burst(ObjectId(index as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, draw};
    use longpole_trace::Timelines;

    use super::*;

    struct Seen {
        drawn: MemoryTimelines,
        contention: Contention,
    }

    fn seen(text: &str) -> Seen {
        let drawn = draw(text);
        let chosen: Vec<ObjectId> = (0..drawn.objects.all().len() as u32).map(ObjectId).collect();
        let mut waiters = Waiters::new(&drawn.program, &drawn.paths, drawn.objects(), &chosen, false);
        let Ok(()) = longpole_graph::sweep(&drawn, false, &mut waiters);
        let contention = waiters.into_contention();
        Seen { drawn, contention }
    }

    impl Seen {
        fn of(&self, name: &str) -> &ContendedObject {
            &self.contention.objects[self.drawn.object(name).index()]
        }

        /// What the procedure did with the object: hand-overs, time held, CPU time, NPT.
        fn held(&self, object: &str, procedure: &str) -> (u64, u64, u64, f64) {
            let procedure = self.drawn.procedure(procedure);
            let is_it =
                |place: PlaceId| self.drawn.paths.all_places()[place.0 as usize].procedure == procedure;
            let mut sum = Handover::default();
            for ((id, place), handover) in &self.contention.handovers {
                if *id == self.drawn.object(object) && place.is_some_and(is_it) {
                    sum.add(handover);
                }
            }
            (sum.count, sum.held, sum.cpu, (sum.npt * 1e6).round() / 1e6)
        }

        fn pair(&self, waiter: &str, waker: &str) -> (u64, u64) {
            let key = (self.drawn.thread(waiter), Some(self.drawn.thread(waker)));
            self.contention.threads.get(&key).map_or((0, 0), |pair| (pair.count, pair.waited))
        }
    }

    #[test]
    fn waits_are_counted_and_summed_by_object() {
        let seen = seen("1 = mutex m\n2 = condition c\nT1 AA111A2A\nT2 AA11A");
        let m = seen.of("m");
        assert_eq!((m.waits(), m.waited(), m.lengths.largest()), (2, 5, 3));
        assert_eq!((seen.of("c").waits(), seen.of("c").waited()), (1, 1));
        // Both wait for m at 2..4, one at 4..5; the run is 8 long.
        assert_eq!(m.queue, [5, 1, 2]);
        assert_eq!(m.handed, Handover::default(), "nobody is known to have handed it over");
    }

    /// A holds m from the start; B, C and D ask for it at 1, 2 and 3. A hands it over at 4, B at 8, C at 12.
    /// Waits 3, 6, 9; queue 1 for 1..2, 8..12; 2 for 2..3, 4..8; 3 for 3..4. All are idle but the holder.
    #[test]
    fn a_convoy_is_held_by_each_in_turn() {
        let seen = seen(
            "1 = mutex m
             A AAAA____________
             B B111BBBB________
             C CC111111CCCC____
             D DDD111111111DDDD
             A@4 -> B unlock
             B@8 -> C unlock
             C@12 -> D unlock",
        );
        let m = seen.of("m");
        assert_eq!((m.waits(), m.waited(), m.contended()), (3, 18, 11));
        assert_eq!(m.queue, [5, 5, 5, 1]);
        assert_eq!((m.handed.count, m.handed.held, m.handed.cpu), (3, 11, 11));
        // A in 1..4: beside C and D for 1 (a third), beside D for 1 (a half), then alone.
        let (count, held, cpu, npt) = seen.held("m", "A");
        assert_eq!((count, held, cpu), (1, 3, 3));
        assert!((npt - (1.0 / 3.0 + 0.5 + 1.0)).abs() < 1e-6, "{npt}");
        assert_eq!(seen.held("m", "B"), (1, 4, 4, 4.0));
        assert_eq!(seen.held("m", "C"), (1, 4, 4, 4.0));
        assert_eq!((seen.pair("B", "A"), seen.pair("D", "C"), seen.pair("D", "A")), ((1, 3), (1, 9), (0, 0)));
    }

    #[test]
    fn what_threads_take_turns_with_is_handed_over_by_those_that_waited_for_it() {
        let turns = "1 = semaphore s
             A AA11AA11AA
             B 11BB11BB11
             A@2 -> B post
             B@4 -> A post
             A@6 -> B post
             B@8 -> A post";
        // B tells A each time.
        let told = "1 = semaphore s
             A 11AA11AA
             B BBBBBBBB
             B@2 -> A post
             B@6 -> A post";
        let of = |text: &str| {
            let seen = seen(text);
            let object = seen.of("s");
            (object.handed.count, object.handed_by_waiters, object.is_held())
        };
        assert_eq!(of(turns), (4, 3, true));
        assert_eq!(of(told), (2, 0, false));
        // B has taken it again by the time that A looks, and never waits for it.
        let wait = "1".repeat(250);
        let work = "B".repeat(502);
        let lost = format!("1 = semaphore s\nA {wait}A{wait}A\nB {work}\nB@250 -> A post\nB@501 -> A post");
        assert_eq!(of(&lost), (2, 1, true));
    }

    /// A fills a buffer and B empties it; then A tells B thrice without waiting for it.
    #[test]
    fn threads_that_wait_for_each_other_in_turn_are_in_lockstep() {
        let seen = seen(
            "1 = condition filled
             2 = condition emptied
             A AAA2222AAA2222AAAAAAAAAAAA
             B 111BBBB111BBBB11BB11BB11BB
             A@3 -> B signal
             B@7 -> A signal
             A@10 -> B signal
             B@14 -> A signal
             A@16 -> B signal
             A@20 -> B signal
             A@24 -> B signal",
        );
        let (filled, emptied) = (seen.of("filled"), seen.of("emptied"));
        // That B waits first is not for what A waited for; all of A's waits are for what B had waited for.
        assert_eq!((filled.in_lockstep, filled.waited()), (9, 12));
        assert_eq!((emptied.in_lockstep, emptied.waited()), (8, 8));
        assert_eq!(filled.lockstep_with, Some(seen.drawn.object("emptied")));
        assert_eq!(emptied.lockstep_with, Some(seen.drawn.object("filled")));
        assert_eq!((filled.waiters, emptied.waiters), (1, 1));
    }

    /// B asks C before it answers A; C, once it has read what B asks for, lets B look in vain.
    #[test]
    fn who_passes_requests_on_is_in_lockstep_with_both_sides() {
        let seen = seen(
            "1 = socket a
             2 = socket b
             3 = socket c
             4 = socket d
             A AA111111111111AA111111111111
             B 22BB33-333333B22BB33-333333B
             C 4444CCCCCCCCC44444CCCCCCCCC4
             A@2 -> B message
             B@4 -> C message
             C@6 -> B message
             C@13 -> B message
             B@14 -> A message
             A@16 -> B message
             B@18 -> C message
             C@20 -> B message
             C@27 -> B message
             B@28 -> A message",
        );
        let [a, b, c, d] =
            ["a", "b", "c", "d"].map(|name| (seen.of(name).in_lockstep, seen.of(name).waited()));
        assert_eq!(a, (24, 24), "A waits for the one that it had asked");
        assert!(2 * b.0 >= b.1 && 2 * c.0 >= c.1 && 2 * d.0 >= d.1, "{b:?} {c:?} {d:?}");
    }

    #[test]
    fn who_was_woken_with_all_others_and_waits_again_was_woken_in_vain() {
        // `A` wakes all three; `C` does what it was for, `B` and `D` wait again, `D` after a wait for the lock.
        let all = "1 = condition c
             2 = mutex m
             A AAAAAAAAAAAA
             B B111B1111111
             C C111CCCCCCCC
             D D111D22D1111
             A@4 -> B signal
             A@4 -> C signal
             A@4 -> D signal";
        // None of two, one of whom could have it; nor of two of three.
        let both = all.replace("C C111", "C CCCC").replace("A@4 -> C signal", "");
        let some = all.replace("C C111CCCC", "C C1111111").replace("A@4 -> C signal", "");
        for (text, in_vain) in [(all, 2), (&both, 0), (&some, 0)] {
            assert_eq!(seen(text).of("c").woken_in_vain, in_vain, "{text}");
        }
    }

    /// A writer waits from 1 for two readers, who leave at 3 and 5; the last of them hands over. A reader waits
    /// from 4 for the writer, until 7.
    #[test]
    fn the_last_reader_hands_over_to_the_writer() {
        let seen = seen(
            "1 = rwlock table
             R RRR_____
             S SSSSS___
             W W1111WW_
             V VVVV111V
             S@5 -> W unlock
             W@7 -> V unlock",
        );
        let table = seen.of("table");
        assert_eq!((table.waits(), table.waited()), (2, 7));
        assert_eq!(table.queue, [2, 5, 1]);
        assert_eq!(
            (seen.held("table", "S").1, seen.held("table", "R").1, seen.held("table", "W").1),
            (4, 0, 2)
        );
    }

    /// Two wait at a barrier from 2 and 4, until the last comes at 6: it is waited for once, not twice.
    #[test]
    fn the_last_at_a_barrier_is_awaited_since_the_first_arrived() {
        let seen = seen(
            "1 = barrier b
             T1 AA1111A
             T2 AAAA11A
             T3 CCCCCCA
             T3@6 -> T1, T2 barrier",
        );
        let b = seen.of("b");
        assert_eq!((b.waits(), b.waited(), b.handed.count, b.handed.held), (2, 6, 2, 4));
        assert_eq!(b.queue, [3, 2, 2]);
        assert_eq!((seen.pair("T1", "T3"), seen.pair("T2", "T3")), ((1, 4), (1, 2)));
    }

    /// A semaphore posted by an interrupt (no source), then by T2.
    #[test]
    fn a_wait_that_nobody_in_the_program_ended_is_no_hand_over() {
        let seen = seen("1 = semaphore s\nT1 A11A111A\nT2 BBBBBBBB\nT2@7 -> T1 post");
        let s = seen.of("s");
        assert_eq!((s.waits(), s.waited(), s.handed.count, s.handed.held), (2, 5, 1, 3));
        assert_eq!(
            seen.contention.threads[&(seen.drawn.thread("T1"), None)],
            WaiterPair { count: 1, waited: 2 }
        );
    }

    /// T1 waits for c until T2 signals; T2 sleeps for 2 of the 5, and T3 runs beside it all the time.
    #[test]
    fn a_holder_that_sleeps_is_charged_no_processor_time() {
        let seen = seen("1 = condition c\nT1 A11111A\nT2 BBzzBBB\nT3 CCCCCCC\nT2@6 -> T1 signal");
        let (count, held, cpu, npt) = seen.held("c", "B");
        assert_eq!((count, held, cpu), (1, 5, 3));
        assert!((npt - 1.5).abs() < 1e-9, "{npt}");
    }

    #[test]
    fn a_wait_that_is_not_over_counts_to_the_end() {
        let seen = seen("1 = mutex m\nT1 A1111\nT2 BBBBB");
        assert_eq!((seen.of("m").waits(), seen.of("m").waited()), (1, 4));
    }

    #[test]
    fn objects_of_one_name_add_up() {
        let seen = seen("1 = mutex m\n2 = mutex n\nT1 A11A\nT2 BB22");
        let mut sum = seen.of("m").clone();
        sum.add(seen.of("n"), 4);
        assert_eq!((sum.waits(), sum.waited(), sum.contended()), (2, 4, 4));
        assert_eq!(sum.queue, [0, 4]);
    }
}
