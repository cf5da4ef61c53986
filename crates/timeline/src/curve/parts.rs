//! The sums by bins of each measure, of threads, paths and objects.

use longpole_event::ThreadId;
use longpole_report::RecordingNames;
use longpole_trace::{PathId, Paths};

use super::interval_edges::IntervalEdges;
use super::is_running;
use super::sums::BinSums;
use crate::bins::TimeBins;
use crate::code::StateSet;
use crate::index::Index;
use crate::lane::ThreadLane;
use crate::workers::share;

impl Index {
    /// Time in which any thread is busy: what the normalised processor time of all threads adds up to.
    pub(super) fn busy_time<'a>(&self, bins: &'a TimeBins) -> BinSums<'a> {
        let mut sums = BinSums::new(bins);
        self.levels.busy(bins.from(), bins.to(), |from, to| sums.add(from, to));
        sums
    }

    /// Time of the threads in these states.
    pub(super) fn time_of_threads<'a>(
        &self,
        threads: &[ThreadId],
        states: StateSet,
        bins: &'a TimeBins,
    ) -> BinSums<'a> {
        shared(bins, threads, |thread, sums| {
            let mut walk = self.lanes[thread.index()].walk(bins.from());
            for bin in 0..bins.count() {
                let (from, to) = bins.span(bin);
                let mut time = 0;
                walk.go(from, to, |code, stay| time += if states.has(code) { stay } else { 0 });
                sums.add_to(bin, time as f64);
            }
        })
    }

    /// Normalised processor time of the threads.
    pub(super) fn npt_of_threads<'a>(
        &self,
        threads: &[ThreadId],
        busy: StateSet,
        bins: &'a TimeBins,
    ) -> BinSums<'a> {
        self.charged(bins, threads, |thread, turns| {
            self.lanes[thread.index()].stretches((bins.from(), bins.to()), |(from, to), code, _| {
                if busy.has(code) {
                    turns.add(from, to);
                }
            });
        })
    }

    /// Useful work of the threads on the critical path.
    pub(super) fn path_of_threads<'a>(&self, threads: &[ThreadId], bins: &'a TimeBins) -> BinSums<'a> {
        shared(bins, threads, |thread, sums| {
            let mut walk = self.lanes[thread.index()].walk(bins.from());
            self.cpu_route.walk(thread, bins.from()).go(bins.from(), bins.to(), |from, to| {
                walk.seek(from);
                sums.add_parts(from, to, |from, to| {
                    let mut time = 0;
                    walk.go(from, to, |code, stay| time += if is_running(code) { stay } else { 0 });
                    time as f64
                });
            });
        })
    }

    /// Time in these states that is charged to the marked paths.
    pub(super) fn time_of_paths<'a>(
        &self,
        names: &RecordingNames<'_>,
        (paths, states): (&[bool], StateSet),
        bins: &'a TimeBins,
    ) -> BinSums<'a> {
        shared(bins, &self.threads(), |thread, sums| {
            let (lane, prefix) = self.lane_of(names, thread);
            lane.pieces(prefix, sums.span(), |piece| {
                if states.has(piece.code) && is_marked(paths, piece.path) {
                    sums.add(piece.from, piece.to);
                }
            });
        })
    }

    /// Normalised processor time that is charged to the marked paths.
    pub(super) fn npt_of_paths<'a>(
        &self,
        names: &RecordingNames<'_>,
        (paths, busy): (&[bool], StateSet),
        bins: &'a TimeBins,
    ) -> BinSums<'a> {
        self.charged(bins, &self.threads(), |thread, turns| {
            let (lane, prefix) = self.lane_of(names, thread);
            lane.pieces(prefix, (bins.from(), bins.to()), |piece| {
                if busy.has(piece.code) && is_marked(paths, piece.path) {
                    turns.add(piece.from, piece.to);
                }
            });
        })
    }

    /// Useful work on the critical path that is charged to the marked paths.
    pub(super) fn path_of_paths<'a>(
        &self,
        names: &RecordingNames<'_>,
        paths: &[bool],
        bins: &'a TimeBins,
    ) -> BinSums<'a> {
        shared(bins, &self.threads(), |thread, sums| {
            let (lane, prefix) = self.lane_of(names, thread);
            let mut route = self.cpu_route.walk(thread, bins.from());
            lane.pieces(prefix, sums.span(), |piece| {
                if is_running(piece.code) && is_marked(paths, piece.path) {
                    route.go(piece.from, piece.to, |from, to| sums.add(from, to));
                }
            });
        })
    }

    /// Time in these states in which threads wait for the marked objects.
    pub(super) fn time_of_objects<'a>(
        &self,
        (objects, states): (&[bool], StateSet),
        bins: &'a TimeBins,
    ) -> BinSums<'a> {
        shared(bins, &self.threads(), |thread, sums| {
            self.lanes[thread.index()].stretches(sums.span(), |(from, to), code, object| {
                let is_marked = object.is_some_and(|object| objects.get(object.index()) == Some(&true));
                if is_marked && states.has(code) {
                    sums.add(from, to);
                }
            });
        })
    }

    /// Normalised processor time of the stretches that `add` adds for each thread.
    fn charged<'a>(
        &self,
        bins: &'a TimeBins,
        threads: &[ThreadId],
        add: impl Fn(ThreadId, &mut IntervalEdges) + Sync,
    ) -> BinSums<'a> {
        let parts = share(threads, IntervalEdges::default, |_, &thread, turns| add(thread, turns));
        let (mut turns, mut sums) = (IntervalEdges::default(), BinSums::new(bins));
        parts.into_iter().for_each(|part| turns.append(part));
        turns.charge(&self.levels, &mut sums);
        sums
    }

    fn threads(&self) -> Vec<ThreadId> {
        (0..self.lanes.len()).map(ThreadId::from_index).collect()
    }

    /// A thread's lane, and the path at which it was created.
    fn lane_of(&self, names: &RecordingNames<'_>, thread: ThreadId) -> (&ThreadLane, PathId) {
        let known = names.program.threads.get(thread.index());
        (&self.lanes[thread.index()], known.map_or(Paths::ROOT, |known| known.prefix))
    }
}

fn is_marked(paths: &[bool], path: PathId) -> bool {
    paths.get(path.0 as usize) == Some(&true)
}

/// The sums over the threads.
fn shared<'a>(
    bins: &'a TimeBins,
    threads: &[ThreadId],
    add: impl Fn(ThreadId, &mut BinSums<'a>) + Sync,
) -> BinSums<'a> {
    let parts = share(threads, || BinSums::new(bins), |_, &thread, sums| add(thread, sums));
    let mut sums = BinSums::new(bins);
    parts.iter().for_each(|part| sums.merge(part));
    sums
}
