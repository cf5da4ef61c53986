//! Many longest paths in one sweep (metrics.md §5): what would the critical path be if some work weighed less?
//!
//! A *lane* is the program activity graph with weights of its own. Each thread carries L, the length of the
//! longest path to where it is, and for each lane how much its length in that lane differs from that:
//!
//! ```text
//!                               base    lane of A   lane of B   lane of C    (each leaves out one procedure)
//!   T1  AAAABB        at 6:     6       −4          −2           0
//!   T2  CCC...DD      at 3:     3        0           0          −3
//!       T1@6 -> T2    at 6:     6       max(2, 3)   max(4, 3)   max(6, 0)   =   6−3, 6−2, 6−0
//! ```
//! Work touches only the lanes of what it is charged to. A dependence takes the larger length in every lane: one
//! loop over two slices, which the compiler vectorises. Numbers are `f64`: every x86-64 has the maximum of two of
//! them in one instruction, which for integers of 64 bits it has not; whole nanoseconds are exact up to 2^53, a
//! hundred days.
//!
//! **CPU weight**: useful CPU time alone has weight; each dependence holds in each lane.
//!
//! **Elapsed weight**: the critical path's rules decide, on the base, which dependence explains a wait. That
//! dependence holds in each lane, and the wait has no weight of its own; ready time, busy-waiting, the way of a message and
//! waits that nothing explains keep their time. Useful CPU time is what a lane leaves out.
//!
//! **Objects**: a lane about an object ends waits for it earlier. If the thread came there at `own` and the
//! dependence would let it go on at `offered`, it goes on at own + f · (offered − own); with f = 0 at once.
//!
//! Time: per item constant, per observation one addition for each lane of its path, per dependence one maximum for each lane. Memory:
//! lanes × live threads, and a copy of the lanes for each message under way.
//!
//! What no lane can see: the order of events is the recorded one. In a shorter run locks may be taken in another
//! order, another thread may be last, and the work left out may have warmed a cache.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Level, Sweep};
use longpole_trace::{ObjectId, PathId, Program, State};
use rustc_hash::FxHashMap;

use crate::analysis::{PathSegment, Weight};
use crate::foresight::{Departure, Foresight};
use crate::hops::HopId;
use crate::marks::{Marks, Rules};
use crate::on_path::OnPath;
use crate::told::ToldWaits;
use crate::trail::Trail;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    NotBegun,
    Alive,
    Ended,
}

/// Where the longest paths of all lanes have come to at one place of the graph. No lanes: all are as the base.
#[derive(Clone, Debug)]
struct Reach {
    length: u64,
    lanes: Option<Box<[f64]>>,
    hop: HopId,
}

impl Reach {
    const NOTHING: Reach = Reach { length: 0, lanes: None, hop: HopId::NONE };

    fn of(&self, lane: usize) -> f64 {
        self.length as f64 + self.lanes.as_ref().map_or(0.0, |lanes| lanes[lane])
    }
}

#[derive(Clone, Debug)]
struct Seat {
    life: Life,
    begin: Time,
    state: State,
    /// Up to here L is accounted for.
    cut: Time,
    path: PathId,
    /// Work since the last observation or cut, and how much of it is on the critical path.
    work: u64,
    work_on_path: u64,
    /// How often it will be needed after its end.
    uses: u32,
    reach: Reach,
}

/// The sweep of all lanes.
#[derive(Debug)]
pub(crate) struct Lanes<'a, R> {
    weight: Weight,
    foresight: &'a Foresight,
    marks: Marks<R>,
    on_path: OnPath<'a>,
    seats: Vec<Seat>,
    told: ToldWaits,
    buffers: Buffers,
    departed: FxHashMap<(ThreadId, Time), (Reach, u32)>,
    next_departure: usize,
    ended: Vec<ThreadId>,
    best: Best,
    trail: Option<Trail>,
}

/// The longest paths to any end.
#[derive(Debug)]
struct Best {
    length: u64,
    /// The longest one to an end where all lanes are as the base.
    plain: u64,
    lanes: Vec<f64>,
}

/// Lanes that no thread uses.
#[derive(Debug)]
struct Buffers {
    lanes: usize,
    free: Vec<Box<[f64]>>,
}

impl Buffers {
    fn zeros(&mut self) -> Box<[f64]> {
        match self.free.pop() {
            Some(mut buffer) => {
                buffer.fill(0.0);
                buffer
            }
            None => vec![0.0; self.lanes].into_boxed_slice(),
        }
    }

    fn copy(&mut self, of: Option<&[f64]>) -> Option<Box<[f64]>> {
        let lanes = of?;
        Some(match self.free.pop() {
            Some(mut buffer) => {
                buffer.copy_from_slice(lanes);
                buffer
            }
            None => lanes.into(),
        })
    }

    fn take_back(&mut self, lanes: Option<Box<[f64]>>) {
        self.free.extend(lanes);
    }
}

/// What the lanes came to.
#[derive(Debug)]
pub(crate) struct Lengths {
    /// Length of the base's longest path; with elapsed weight up to the last thread's end.
    pub base: u64,
    /// By how much each lane's longest path is shorter.
    pub gains: Vec<f64>,
    /// The longest path of the lane that was followed.
    pub segments: Vec<PathSegment>,
}

impl<'a, R: Rules> Lanes<'a, R> {
    /// Lanes of these rules; `segments` are the critical path, for marks that ask for it.
    pub fn new(
        program: &Program,
        weight: Weight,
        foresight: &'a Foresight,
        rules: R,
        segments: &'a [PathSegment],
    ) -> Self {
        let seat = |(thread, &uses): (&longpole_trace::Thread, &u32)| Seat {
            life: Life::NotBegun,
            begin: Time::ZERO,
            state: State::Absent,
            cut: Time::ZERO,
            path: thread.prefix,
            work: 0,
            work_on_path: 0,
            uses,
            reach: Reach::NOTHING,
        };
        let lanes = rules.lanes();
        Lanes {
            weight,
            foresight,
            marks: Marks::new(rules),
            on_path: OnPath::new(segments),
            seats: program.threads.iter().zip(&foresight.uses).map(seat).collect(),
            told: ToldWaits::default(),
            buffers: Buffers { lanes, free: Vec::new() },
            departed: FxHashMap::default(),
            next_departure: 0,
            ended: Vec::new(),
            best: Best { length: 0, plain: 0, lanes: vec![0.0; lanes] },
            trail: None,
        }
    }

    /// Also finds the longest path of this lane.
    pub fn following(mut self, lane: usize) -> Self {
        self.trail = Some(Trail::new(lane));
        self
    }

    /// The lengths, once the sweep is finished.
    pub fn into_lengths(self) -> Lengths {
        let Best { length, plain, lanes } = self.best;
        let gains = lanes.iter().map(|&lane| length as f64 - lane.max(plain as f64)).collect();
        let begin = |thread: ThreadId| self.seats[thread.index()].begin;
        let segments = self.trail.map_or_else(Vec::new, |trail| trail.segments(begin));
        Lengths { base: length, gains, segments }
    }

    fn grows(&self, state: State) -> bool {
        match (self.weight, state) {
            (_, State::Running) | (Weight::Elapsed, State::Spinning | State::Overhead | State::Ready) => true,
            (_, State::Absent | State::Blocked(_))
            | (Weight::Cpu, State::Spinning | State::Overhead | State::Ready) => false,
        }
    }

    fn advance(&mut self, thread: ThreadId, to: Time) {
        let grows = self.grows(self.seats[thread.index()].state);
        let seat = &mut self.seats[thread.index()];
        if seat.cut >= to {
            return;
        }
        let passed = to.since(seat.cut);
        if seat.state == State::Running {
            seat.work += passed;
            seat.work_on_path += self.on_path.part(thread, seat.cut, to);
        }
        if grows {
            seat.reach.length += passed;
        }
        seat.cut = to;
    }

    /// Charges the thread's work to this path.
    fn charge(&mut self, thread: ThreadId, path: PathId) {
        let seat = &mut self.seats[thread.index()];
        let work = std::mem::take(&mut seat.work) as f64;
        let work_on_path = std::mem::take(&mut seat.work_on_path) as f64;
        if work == 0.0 {
            return;
        }
        let marks = self.marks.of(thread, path);
        if marks.is_empty() {
            return;
        }
        let lanes = seat.reach.lanes.get_or_insert_with(|| self.buffers.zeros());
        for mark in marks {
            lanes[mark.lane as usize] -= mark.left_out * if mark.on_path { work_on_path } else { work };
        }
    }

    /// Charges the thread's work to what will be seen next.
    fn cut(&mut self, thread: ThreadId, time: Time) {
        let seat = &self.seats[thread.index()];
        if seat.work > 0 {
            let path = self.foresight.path(thread, time).unwrap_or(seat.path);
            self.charge(thread, path);
        }
    }

    fn depart(&mut self, departure: Departure) {
        let Departure { time, thread, users } = departure;
        self.advance(thread, time);
        self.cut(thread, time);
        let seat = &mut self.seats[thread.index()];
        seat.uses -= 1;
        if seat.life != Life::NotBegun {
            let Reach { length, ref lanes, hop } = seat.reach;
            let lanes = self.buffers.copy(lanes.as_deref());
            self.departed.insert((thread, time), (Reach { length, lanes, hop }, users));
        }
        self.forget(thread);
    }

    /// Gives up the lanes of a thread that nobody needs any more.
    fn forget(&mut self, thread: ThreadId) {
        let seat = &mut self.seats[thread.index()];
        if seat.life == Life::Ended && seat.uses == 0 {
            self.buffers.take_back(seat.reach.lanes.take());
        }
    }

    /// A path may end where this thread is.
    fn offer(&mut self, thread: ThreadId, time: Time) {
        let reach = &self.seats[thread.index()].reach;
        let best = &mut self.best;
        best.length = best.length.max(reach.length);
        match &reach.lanes {
            None => best.plain = best.plain.max(reach.length),
            Some(lanes) => raise(&mut best.lanes, 0.0, lanes, reach.length as f64),
        }
        if let Some(trail) = &mut self.trail {
            trail.offer(thread, time, reach.of(trail.lane), reach.hop);
        }
    }

    /// The place that a dependence leaves, taken out of its seat; given back by `put_back`.
    fn leave(&mut self, dependence: &Dependence) -> Option<Reach> {
        let Dependence { source, source_time, time, .. } = *dependence;
        if source_time == time {
            let seat = &mut self.seats[source.index()];
            return (seat.life != Life::NotBegun).then(|| std::mem::replace(&mut seat.reach, Reach::NOTHING));
        }
        let (reach, users) = self.departed.get_mut(&(source, source_time))?;
        *users -= 1;
        if *users == 0 {
            return self.departed.remove(&(source, source_time)).map(|(reach, _)| reach);
        }
        let Reach { length, ref lanes, hop } = *reach;
        Some(Reach { length, lanes: self.buffers.copy(lanes.as_deref()), hop })
    }

    fn put_back(&mut self, dependence: &Dependence, reach: Reach) {
        if dependence.source_time == dependence.time {
            self.seats[dependence.source.index()].reach = reach;
        } else {
            self.buffers.take_back(reach.lanes);
        }
    }

    /// The thread goes on no earlier than what is offered, in each lane.
    fn arrive(&mut self, dependence: &Dependence, from: &Reach, way: u64) {
        let Dependence { thread, time, object, .. } = *dependence;
        let seat = &mut self.seats[thread.index()];
        if seat.life == Life::Ended {
            return;
        }
        let waits = matches!(seat.state, State::Absent | State::Blocked(_) | State::Spinning);
        let offered = from.length + way;
        // Less than the time passed means that the source itself waited: no explanation.
        if self.weight == Weight::Elapsed && !(waits && offered >= time.nanoseconds()) {
            return;
        }
        let own = seat.reach.length;
        let longest = own.max(offered);
        let marks = object.map_or(&[][..], |object| self.marks.rules.object_marks(object));
        let leaves = |lane: usize| from.of(lane) + way as f64;
        let kept: Vec<(usize, f64)> = marks
            .iter()
            .map(|mark| {
                let lane = mark.lane as usize;
                let own = seat.reach.of(lane);
                (lane, own + mark.factor * (leaves(lane) - own).max(0.0))
            })
            .collect();
        if let Some(trail) = &mut self.trail {
            let (lane, own) = (trail.lane, seat.reach.of(trail.lane));
            let is_open = kept.iter().all(|&(kept, length)| kept != lane || length > own);
            let wins = leaves(lane) > own || (leaves(lane) == own && waits);
            if wins && is_open {
                seat.reach.hop = trail.hop(dependence, from.hop);
            }
        }
        seat.reach.length = longest;
        if seat.reach.lanes.is_none() && from.lanes.is_none() && kept.is_empty() {
            return;
        }
        let (own, offered, longest) = (own as f64, offered as f64, longest as f64);
        let lanes = seat.reach.lanes.get_or_insert_with(|| self.buffers.zeros());
        match &from.lanes {
            Some(from) => raise(lanes, own - longest, from, offered - longest),
            None => raise_to(lanes, own - longest, offered - longest),
        }
        for (lane, length) in kept {
            lanes[lane] = length - longest;
        }
    }

    fn collect_trail(&mut self) {
        let Some(trail) = self.trail.as_mut().filter(|trail| trail.is_full()) else { return };
        let (seats, departed) = (&mut self.seats, &mut self.departed);
        trail.collect(|each| {
            seats.iter_mut().for_each(|seat| each(&mut seat.reach.hop));
            departed.values_mut().for_each(|(reach, _)| each(&mut reach.hop));
        });
    }
}

/// `own + own_shift` or `other + other_shift`, whichever is larger, lane by lane.
fn raise(own: &mut [f64], own_shift: f64, other: &[f64], other_shift: f64) {
    for (own, other) in own.iter_mut().zip(other) {
        let (mine, theirs) = (*own + own_shift, *other + other_shift);
        *own = if mine > theirs { mine } else { theirs };
    }
}

/// The same against lanes that are all as their base.
fn raise_to(own: &mut [f64], own_shift: f64, least: f64) {
    for own in own {
        let mine = *own + own_shift;
        *own = if mine > least { mine } else { least };
    }
}

impl<R: Rules> Sweep for Lanes<'_, R> {
    fn pass(&mut self, _from: Time, to: Time, _level: Level) {
        while let Some(&departure) = self.foresight.departures.get(self.next_departure)
            && departure.time < to
        {
            self.depart(departure);
            self.next_departure += 1;
        }
        while let Some(thread) = self.ended.pop() {
            self.forget(thread);
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.advance(arc.thread, arc.to);
    }

    fn begin_wait(&mut self, thread: ThreadId, _time: Time, _object: ObjectId) {
        self.told.begin_wait(thread);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let Some((before, state)) = self.told.enter(thread, before, state) else { return };
        let seat = &mut self.seats[thread.index()];
        seat.cut = time;
        // A wait that only the thread's end cut off is not over.
        let wait_ends =
            before == State::Absent || matches!(before, State::Blocked(_)) && state != State::Absent;
        if self.weight == Weight::Elapsed && wait_ends {
            // What no dependence explained up to now weighs its time, in each lane.
            seat.reach.length = time.nanoseconds();
        }
        if before == State::Absent {
            seat.uses -= 1;
            if seat.life == Life::NotBegun {
                seat.begin = time;
            }
        }
        (seat.life, seat.state) = (Life::Alive, state);
        if state == State::Absent {
            self.cut(thread, time);
            self.seats[thread.index()].life = Life::Ended;
            self.offer(thread, time);
            self.ended.push(thread);
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId) {
        self.charge(thread, path);
        self.seats[thread.index()].path = path;
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, .. } = dependence;
        if source_time == time {
            self.cut(source, time);
        }
        self.cut(thread, time);
        let way = if self.weight == Weight::Elapsed { time.since(source_time) } else { 0 };
        if source == thread && source_time == time {
            return;
        }
        let Some(from) = self.leave(&dependence) else { return };
        if source != thread {
            self.arrive(&dependence, &from, way);
        }
        self.put_back(&dependence, from);
        self.collect_trail();
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.seats.len() {
            let thread = ThreadId::from_index(index);
            if self.seats[index].life == Life::Alive {
                let path = self.seats[index].path;
                self.charge(thread, path);
                self.offer(thread, end);
            }
        }
    }
}
