//! What a sweep that carries lanes has to know before it comes to it.
//!
//! Work is charged to the observation after it. A lane grows by what its thread's work is charged to; so where a
//! dependence leaves a thread between two observations, or arrives there, the lanes need to know what will be seen next:
//!
//! ```text
//!   T1   ====w1====|====w2====p        w1 belongs to p, which is seen after the dependence has left
//!   T2   ..........|==
//! ```
//! And what left a thread before it arrives needs the lanes as they were then. Both are rare in recordings, where a
//! stack is taken at each wake, and hand-offs within a machine take no time.
//!
//! Time: constant per item. Memory: a number per thread, per dependence that cuts work, and per message under way.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Sweep, sweep};
use longpole_trace::{PathId, Program, State, Timelines};
use rustc_hash::FxHashMap;

/// A place in a thread's time from which something leaves that arrives later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Departure {
    pub time: Time,
    pub thread: ThreadId,
    /// Dependences that leave there.
    pub users: u32,
}

/// What is known beforehand.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    /// What work that is cut at this time is charged to.
    paths: FxHashMap<(ThreadId, Time), PathId>,
    /// In the order of time.
    pub departures: Vec<Departure>,
    /// How often the lanes of a thread are needed after it was absent.
    pub uses: Vec<u32>,
    /// Most threads that were there at one time.
    pub peak: usize,
}

impl Foresight {
    /// Reads the timelines once; once more if anything was under way.
    pub fn of<T: Timelines>(timelines: &T) -> Result<Foresight, T::Error> {
        let mut scout = Scout::new(timelines.program(), Vec::new());
        sweep(timelines, false, &mut scout)?;
        if scout.under_way.is_empty() {
            return Ok(scout.found);
        }
        let mut departures: Vec<Departure> = scout
            .under_way
            .drain()
            .map(|((thread, time), users)| Departure { time, thread, users })
            .collect();
        departures.sort_unstable();
        let mut scout = Scout::new(timelines.program(), departures);
        sweep(timelines, false, &mut scout)?;
        Ok(scout.found)
    }

    /// What the thread's work up to this time, not yet charged, is charged to.
    pub fn path(&self, thread: ThreadId, time: Time) -> Option<PathId> {
        self.paths.get(&(thread, time)).copied()
    }
}

#[derive(Clone, Debug)]
struct Seat {
    state: State,
    /// Up to here work is accounted for.
    cut: Time,
    has_work: bool,
    ended: Option<Time>,
    /// Cuts since the last observation.
    open: Vec<Time>,
    path: PathId,
}

/// The sweep that looks ahead.
struct Scout {
    found: Foresight,
    seats: Vec<Seat>,
    under_way: FxHashMap<(ThreadId, Time), u32>,
    next: usize,
    present: usize,
}

impl Scout {
    fn new(program: &Program, departures: Vec<Departure>) -> Scout {
        let seat = |path| Seat {
            state: State::Absent,
            cut: Time::ZERO,
            has_work: false,
            ended: None,
            open: Vec::new(),
            path,
        };
        let mut found = Foresight { uses: vec![0; program.threads.len()], ..Foresight::default() };
        for departure in &departures {
            found.uses[departure.thread.index()] += 1;
        }
        found.departures = departures;
        Scout {
            found,
            seats: program.threads.iter().map(|thread| seat(thread.prefix)).collect(),
            under_way: FxHashMap::default(),
            next: 0,
            present: 0,
        }
    }

    fn advance(&mut self, thread: ThreadId, to: Time) {
        let seat = &mut self.seats[thread.index()];
        if seat.cut < to {
            seat.has_work |= seat.state == State::Running;
            seat.cut = to;
        }
    }

    /// The thread's work up to now has to be charged now.
    fn cut(&mut self, thread: ThreadId, time: Time) {
        let seat = &mut self.seats[thread.index()];
        if std::mem::take(&mut seat.has_work) {
            seat.open.push(time);
        }
    }

    fn close(&mut self, thread: ThreadId) {
        let seat = &mut self.seats[thread.index()];
        seat.has_work = false;
        for time in seat.open.drain(..) {
            self.found.paths.insert((thread, time), seat.path);
        }
    }
}

impl Sweep for Scout {
    fn pass(&mut self, _from: Time, to: Time, _level: longpole_graph::Level) {
        while let Some(&Departure { time, thread, .. }) = self.found.departures.get(self.next)
            && time < to
        {
            self.advance(thread, time);
            self.cut(thread, time);
            self.next += 1;
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.advance(arc.thread, arc.to);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let seat = &mut self.seats[thread.index()];
        (seat.state, seat.cut) = (state, time);
        if before == State::Absent {
            self.present += 1;
            self.found.peak = self.found.peak.max(self.present);
            self.found.uses[thread.index()] += 1;
        }
        if state == State::Absent {
            seat.ended = Some(time);
            self.present -= 1;
            self.cut(thread, time);
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId) {
        self.seats[thread.index()].path = path;
        self.close(thread);
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, .. } = dependence;
        if source_time < time {
            *self.under_way.entry((source, source_time)).or_default() += 1;
        } else {
            let seat = &self.seats[source.index()];
            if seat.state == State::Absent && seat.ended.is_some_and(|ended| ended < time) {
                // Gone, and yet it does something: what it was is kept for good.
                self.found.uses[source.index()] += 1;
            }
            self.cut(source, time);
        }
        self.cut(thread, time);
    }

    fn finish(&mut self, _end: Time) {
        for index in 0..self.seats.len() {
            let thread = ThreadId::from_index(index);
            self.close(thread);
        }
    }
}
