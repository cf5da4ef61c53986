//! The sums by bins of each measure, of threads, paths and objects.

use longpole_event::ThreadId;
use longpole_report::Names;
use longpole_trace::{PathId, Paths};

use super::is_running;
use super::sums::Sums;
use super::turns::Turns;
use crate::bins::Bins;
use crate::code::States;
use crate::index::Index;
use crate::lane::Lane;
use crate::workers::share;

impl Index {
    /// Time in which any thread is busy: what the normalised processor time of all threads adds up to.
    pub(super) fn busy_time<'a>(&self, bins: &'a Bins) -> Sums<'a> {
        let mut sums = Sums::new(bins);
        self.levels.busy(bins.from(), bins.to(), |from, to| sums.add(from, to));
        sums
    }

    /// Time of the threads in these states.
    pub(super) fn time_of_threads<'a>(
        &self,
        threads: &[ThreadId],
        states: States,
        bins: &'a Bins,
    ) -> Sums<'a> {
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
    pub(super) fn npt_of_threads<'a>(&self, threads: &[ThreadId], busy: States, bins: &'a Bins) -> Sums<'a> {
        self.charged(bins, threads, |thread, turns| {
            self.lanes[thread.index()].stretches((bins.from(), bins.to()), |(from, to), code, _| {
                if busy.has(code) {
                    turns.add(from, to);
                }
            });
        })
    }

    /// Useful work of the threads on the critical path.
    pub(super) fn path_of_threads<'a>(&self, threads: &[ThreadId], bins: &'a Bins) -> Sums<'a> {
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
        names: &Names<'_>,
        (paths, states): (&[bool], States),
        bins: &'a Bins,
    ) -> Sums<'a> {
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
        names: &Names<'_>,
        (paths, busy): (&[bool], States),
        bins: &'a Bins,
    ) -> Sums<'a> {
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
    pub(super) fn path_of_paths<'a>(&self, names: &Names<'_>, paths: &[bool], bins: &'a Bins) -> Sums<'a> {
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
        (objects, states): (&[bool], States),
        bins: &'a Bins,
    ) -> Sums<'a> {
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
        bins: &'a Bins,
        threads: &[ThreadId],
        add: impl Fn(ThreadId, &mut Turns) + Sync,
    ) -> Sums<'a> {
        let parts = share(threads, Turns::default, |_, &thread, turns| add(thread, turns));
        let (mut turns, mut sums) = (Turns::default(), Sums::new(bins));
        parts.into_iter().for_each(|part| turns.append(part));
        turns.charge(&self.levels, &mut sums);
        sums
    }

    fn threads(&self) -> Vec<ThreadId> {
        (0..self.lanes.len()).map(ThreadId::from_index).collect()
    }

    /// A thread's lane, and the path at which it was created.
    fn lane_of(&self, names: &Names<'_>, thread: ThreadId) -> (&Lane, PathId) {
        let known = names.program.threads.get(thread.index());
        (&self.lanes[thread.index()], known.map_or(Paths::ROOT, |known| known.prefix))
    }
}

fn is_marked(paths: &[bool], path: PathId) -> bool {
    paths.get(path.0 as usize) == Some(&true)
}

/// The sums over the threads.
fn shared<'a>(
    bins: &'a Bins,
    threads: &[ThreadId],
    add: impl Fn(ThreadId, &mut Sums<'a>) + Sync,
) -> Sums<'a> {
    let parts = share(threads, || Sums::new(bins), |_, &thread, sums| add(thread, sums));
    let mut sums = Sums::new(bins);
    parts.iter().for_each(|part| sums.merge(part));
    sums
}
