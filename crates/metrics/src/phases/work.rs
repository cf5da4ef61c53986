//! Normalised processor time by phase and procedure.
//!
//! ```text
//!   phases     |---- 0 ----|---- 1 ----
//!   piece         |=== p ==·==== q ==|       cut at the border: what p claims is of phase 0, what q claims of phase 1
//! ```
//! Time: constant per item and phase. Memory: the pieces of threads that are cut by borders; phases × procedures.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, ParallelismLevel, Sweep};
use longpole_trace::{ObservationKind, PathId, State, Timelines};
use rustc_hash::FxHashMap;

use super::ProposedPhase;
use crate::analysis::Analysis;
use crate::charging::{ChargeGroupId, ChargePart, Charging};
use crate::on_path::{Membership, OnPaths};
use crate::pieces::{PieceEnd, Pieces, WorkPieceOfThread};

/// The sweep that charges normalised processor time to (phase, procedure).
pub(super) struct PhaseWork<'a, T> {
    timelines: &'a T,
    io_idle: bool,
    charging: &'a Charging,
    on_paths: OnPaths<'a>,
    pieces: Pieces<'a>,
    /// Ends of the phases, and ∫ dt/U up to each as far as time has come.
    ends: Vec<u64>,
    until: Vec<f64>,
    normalised: f64,
    per_thread: Vec<PhaseThread>,
    /// By phase and procedure.
    charged: Vec<Vec<f64>>,
    divided: FxHashMap<(usize, ChargeGroupId), f64>,
}

/// Where a thread is.
struct PhaseThread {
    path: PathId,
    /// When its last arc ended, and ∫ dt/U then.
    since: (Time, f64),
    works: bool,
    on: Membership,
    /// The phase of the present piece, and its normalised time so far.
    phase: usize,
    time: f64,
    /// What came of the piece in earlier phases.
    before: Vec<(usize, f64, WorkPieceOfThread)>,
}

impl<'a, T: Timelines> PhaseWork<'a, T> {
    pub fn new(timelines: &'a T, io_idle: bool, analysis: &'a Analysis, phases: &[ProposedPhase]) -> Self {
        let of_thread = |thread: &longpole_trace::Thread| PhaseThread {
            path: thread.prefix,
            since: (Time::ZERO, 0.0),
            works: false,
            on: Membership::NONE,
            phase: 0,
            time: 0.0,
            before: Vec::new(),
        };
        let (program, paths) = (timelines.program(), timelines.paths());
        PhaseWork {
            timelines,
            io_idle,
            charging: &analysis.charging,
            on_paths: OnPaths::of(analysis),
            pieces: Pieces::new(program, paths),
            ends: phases.iter().map(|phase| phase.to).collect(),
            until: Vec::new(),
            normalised: 0.0,
            per_thread: program.threads.iter().map(of_thread).collect(),
            charged: vec![vec![0.0; paths.procedures().len()]; phases.len()],
            divided: FxHashMap::default(),
        }
    }

    /// Normalised time by phase and procedure.
    pub fn into_charged(mut self) -> Vec<Vec<f64>> {
        let mut divided: Vec<_> = std::mem::take(&mut self.divided).into_iter().collect();
        divided.sort_unstable_by_key(|&((phase, group), _)| (phase, group.0));
        let charging = self.charging;
        for groups in divided.chunk_by(|one, other| one.0.0 == other.0.0) {
            let phase = groups[0].0.0;
            let times = groups.iter().map(|&((_, group), time)| (group, time));
            charging.divide_unclaimed(times, |path, time| self.charge(phase, path, time));
        }
        self.charged
    }

    fn charge(&mut self, phase: usize, path: PathId, time: f64) {
        if let Some(place) = self.timelines.paths().innermost(self.timelines.owner(path)) {
            self.charged[phase][place.procedure.0 as usize] += time;
        }
    }

    /// Adds an arc of work to the thread's piece.
    fn work(&mut self, arc: Arc) {
        let since = self.per_thread[arc.thread.index()].since;
        let parts: Vec<_> = parts(&self.ends, &self.until, self.normalised, since).collect();
        let mut from = arc.from;
        for (phase, time) in parts {
            let of_thread = &mut self.per_thread[arc.thread.index()];
            if of_thread.phase != phase {
                let piece = self.pieces.piece(arc.thread).take();
                of_thread.before.push((of_thread.phase, std::mem::take(&mut of_thread.time), piece));
                of_thread.phase = phase;
            }
            let end = self.ends.get(phase).copied().map_or(arc.to, Time::from_nanoseconds);
            let end = if phase + 1 < self.ends.len() { end.min(arc.to) } else { arc.to };
            if from < end {
                let (times, on) = self.on_paths.split(arc.thread, from, end);
                of_thread.on = on;
                self.pieces.work(arc.thread, &times);
                from = end;
            }
            of_thread.time += time;
        }
    }

    /// Divides the thread's piece, which ends so.
    fn settle(&mut self, thread: ThreadId, end: PieceEnd) {
        let cell = self.pieces.cell(thread, end);
        let last = self.pieces.piece(thread).take();
        let of_thread = &mut self.per_thread[thread.index()];
        let mut parts = std::mem::take(&mut of_thread.before);
        parts.push((of_thread.phase, std::mem::take(&mut of_thread.time), last));
        for (phase, normalised, piece) in parts.drain(..) {
            let work: u64 = piece.work.iter().sum();
            let charging = self.charging;
            charging.divide(cell, &piece, |part, _, time| {
                let time = time / work as f64 * normalised;
                match part {
                    ChargePart::At(path) => self.charge(phase, path, time),
                    ChargePart::Of(group) => *self.divided.entry((phase, group)).or_default() += time,
                }
            });
        }
        self.per_thread[thread.index()].before = parts;
        self.pieces.end(thread, end);
    }
}

/// ∫ dt/U from a time, at which it was `from`, to now, by phase.
fn parts(
    ends: &[u64],
    until: &[f64],
    normalised: f64,
    (since, from): (Time, f64),
) -> impl Iterator<Item = (usize, f64)> {
    let first = ends.partition_point(|&end| end <= since.nanoseconds());
    let last = ends.len().saturating_sub(1);
    let mut from = from;
    let parts = (first..=until.len().min(last)).map(move |phase| {
        let to = until.get(phase).copied().unwrap_or(normalised);
        (phase, to - std::mem::replace(&mut from, to))
    });
    parts.filter(|&(_, time)| time > 0.0)
}

impl<T: Timelines> Sweep for PhaseWork<'_, T> {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        let rate = if level.effective > 0 { 1.0 / f64::from(level.effective) } else { 0.0 };
        while let Some(&end) = self.ends.get(self.until.len()).filter(|&&end| end <= to.nanoseconds()) {
            let before = end.saturating_sub(from.nanoseconds()) as f64;
            self.until.push(self.normalised + before * rate);
        }
        self.normalised += to.since(from) as f64 * rate;
    }

    fn arc(&mut self, arc: Arc) {
        if arc.thread.index() >= self.per_thread.len() {
            return;
        }
        if arc.state == State::Running {
            self.work(arc);
        } else if arc.state.is_busy(self.io_idle) {
            let PhaseThread { path, since, .. } = self.per_thread[arc.thread.index()];
            let parts: Vec<_> = parts(&self.ends, &self.until, self.normalised, since).collect();
            parts.into_iter().for_each(|(phase, time)| self.charge(phase, path, time));
        }
        self.per_thread[arc.thread.index()].since = (arc.to, self.normalised);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let normalised = self.normalised;
        let Some(of_thread) = self.per_thread.get_mut(thread.index()) else { return };
        of_thread.works = state == State::Running;
        if before == State::Absent {
            of_thread.since = (time, normalised);
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        let Some(of_thread) = self.per_thread.get_mut(thread.index()) else { return };
        of_thread.path = path;
        let (works, on) = (of_thread.works, of_thread.on);
        if let Some(end) = PieceEnd::of(path, kind) {
            self.settle(thread, end);
        } else if let ObservationKind::Sample { gap } = kind
            && works
        {
            self.pieces.sample(thread, (path, on), self.charging.gap(gap));
        }
    }

    fn finish(&mut self, _end: Time) {
        for index in 0..self.per_thread.len() {
            let thread = ThreadId::from_index(index);
            let is_sampled = self.pieces.piece(thread).is_sampled;
            self.settle(thread, PieceEnd::Nothing { is_sampled });
        }
    }
}
