//! What the useful work along any path consists of, divided as the tables have it.
//!
//! ```text
//!   recorded path    T1 |========|              the path that is asked for may be another one: its work is divided by
//!   asked for        T2 |====|   T1 |===|       the groups of the recorded run ([`crate::charging`])
//! ```
//! Time: constant per item and segment. Memory: a number per (thread, sampled path) and (thread, group).

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Sweep};
use longpole_trace::{Acquisition, ObservationKind, PathId, Paths, Program, State, TokenId};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, PathSegment, Weight};
use crate::charging::{ChargeGroupId, ChargePart, Charging};
use crate::on_path::{Membership, OnPaths};
use crate::pieces::{PieceEnd, Pieces};

/// The sweep along a path.
pub(crate) struct WorkOnPath<'a> {
    charging: &'a Charging,
    recorded: OnPaths<'a>,
    asked: OnPaths<'a>,
    pieces: Pieces<'a>,
    per_thread: Vec<WorkOnPathThread>,
    times: FxHashMap<(ThreadId, ChargePart), f64>,
}

#[derive(Clone, Copy, Default)]
struct WorkOnPathThread {
    works: bool,
    on: Membership,
    /// Work of the present piece on the path that is asked for, by membership on the recorded ones.
    asked: [f64; Membership::ALL],
}

impl<'a> WorkOnPath<'a> {
    /// Along these segments, in a run whose analysis this is.
    pub fn new(
        (program, paths): (&Program, &'a Paths),
        analysis: &'a Analysis,
        segments: &'a [PathSegment],
    ) -> Self {
        WorkOnPath {
            charging: &analysis.charging,
            recorded: OnPaths::of(analysis),
            asked: OnPaths::new(segments, &[]),
            pieces: Pieces::new(program, paths),
            per_thread: vec![WorkOnPathThread::default(); program.threads.len()],
            times: FxHashMap::default(),
        }
    }

    /// Time of each thread at each path, nanoseconds.
    pub fn into_times(self) -> BTreeMap<(ThreadId, PathId), f64> {
        let mut times = BTreeMap::new();
        let mut divided: BTreeMap<ThreadId, Vec<(ChargeGroupId, f64)>> = BTreeMap::new();
        for ((thread, part), time) in self.times {
            match part {
                ChargePart::At(path) => *times.entry((thread, path)).or_default() += time,
                ChargePart::Of(group) => divided.entry(thread).or_default().push((group, time)),
            }
        }
        for (thread, groups) in divided {
            let mut add = |path, time| *times.entry((thread, path)).or_default() += time;
            self.charging.divide_unclaimed(groups, &mut add);
        }
        times
    }

    fn settle(&mut self, thread: ThreadId, end: PieceEnd) {
        self.pieces.cut(thread);
        let asked = std::mem::take(&mut self.per_thread[thread.index()].asked);
        if asked != [0.0; Membership::ALL] {
            let cell = self.pieces.cell(thread, end);
            let piece = self.pieces.piece(thread);
            self.charging.divide(cell, piece, |part, on, time| {
                let share = asked[on.index()] / piece.work[on.index()] as f64;
                *self.times.entry((thread, part)).or_default() += time * share;
            });
        }
        self.pieces.end(thread, end);
    }
}

impl Sweep for WorkOnPath<'_> {
    fn arc(&mut self, arc: Arc) {
        if arc.state != State::Running || arc.thread.index() >= self.per_thread.len() {
            return;
        }
        let (times, on) = self.recorded.split(arc.thread, arc.from, arc.to);
        let (asked, _) = self.asked.split(arc.thread, arc.from, arc.to);
        let is_asked = |&(index, _): &(usize, &u64)| Membership::of_index(index).has(Weight::Cpu);
        let asked: u64 = asked.iter().enumerate().filter(is_asked).map(|(_, time)| time).sum();
        let of_thread = &mut self.per_thread[arc.thread.index()];
        of_thread.on = on;
        for (sum, time) in of_thread.asked.iter_mut().zip(times) {
            *sum += time as f64 * asked as f64 / arc.length() as f64;
        }
        self.pieces.work(arc.thread, &times);
    }

    fn enter(&mut self, thread: ThreadId, _time: Time, before: State, state: State) {
        if before == State::Running && state != State::Ready {
            self.pieces.cut(thread);
        }
        if let Some(of_thread) = self.per_thread.get_mut(thread.index()) {
            of_thread.works = state == State::Running;
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        let Some(&WorkOnPathThread { works, on, .. }) = self.per_thread.get(thread.index()) else { return };
        if let Some(end) = PieceEnd::of(path, kind) {
            self.settle(thread, end);
        } else if let ObservationKind::Sample { gap } = kind
            && works
        {
            self.pieces.sample(thread, (path, on), self.charging.gap(gap));
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        if dependence.source_time == dependence.time {
            self.pieces.cut(dependence.source);
        }
        self.pieces.cut(dependence.thread);
    }

    fn release(&mut self, thread: ThreadId, _time: Time, _token: TokenId) {
        self.pieces.cut(thread);
    }

    fn acquire(&mut self, thread: ThreadId, _time: Time, _acquisition: Acquisition) {
        self.pieces.cut(thread);
    }

    fn finish(&mut self, _end: Time) {
        for index in 0..self.per_thread.len() {
            let thread = ThreadId::from_index(index);
            let is_sampled = self.pieces.piece(thread).is_sampled;
            self.settle(thread, PieceEnd::Nothing { is_sampled });
        }
    }
}
