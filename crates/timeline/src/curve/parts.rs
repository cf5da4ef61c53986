//! The sums by bins of each measure, of threads, paths and objects.

use std::num::NonZero;

use longpole_event::ThreadId;
use longpole_report::Names;
use longpole_trace::{PathId, Paths};

use super::is_running;
use super::sums::Sums;
use crate::bins::Bins;
use crate::code::States;
use crate::index::Index;
use crate::lane::Lane;
use crate::levels::ShareWalk;

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
        shared(bins, threads, |thread, sums| {
            let mut shares = self.levels.walk();
            self.lanes[thread.index()].stretches(sums.span(), |(from, to), code, _| {
                if busy.has(code) {
                    sums.add_parts(from, to, |from, to| share_between(&mut shares, from, to));
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
        shared(bins, &self.threads(), |thread, sums| {
            let (lane, prefix) = self.lane_of(names, thread);
            let mut shares = self.levels.walk();
            lane.pieces(prefix, sums.span(), |piece| {
                if busy.has(piece.code) && is_marked(paths, piece.path) {
                    sums.add_parts(piece.from, piece.to, |from, to| share_between(&mut shares, from, to));
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

    fn threads(&self) -> Vec<ThreadId> {
        (0..self.lanes.len()).map(ThreadId::from_index).collect()
    }

    /// A thread's lane, and the path at which it was created.
    fn lane_of(&self, names: &Names<'_>, thread: ThreadId) -> (&Lane, PathId) {
        let known = names.program.threads.get(thread.index());
        (&self.lanes[thread.index()], known.map_or(Paths::ROOT, |known| known.prefix))
    }
}

/// The integral of 1/U between two times.
fn share_between(shares: &mut ShareWalk<'_>, from: u64, to: u64) -> f64 {
    let before = shares.share(from);
    shares.share(to) - before
}

fn is_marked(paths: &[bool], path: PathId) -> bool {
    paths.get(path.0 as usize) == Some(&true)
}

/// The sums over the threads, computed on all processors.
fn shared<'a>(
    bins: &'a Bins,
    threads: &[ThreadId],
    add: impl Fn(ThreadId, &mut Sums<'a>) + Sync,
) -> Sums<'a> {
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get).min(threads.len());
    let part = |worker: usize| {
        let mut sums = Sums::new(bins);
        threads.iter().skip(worker).step_by(workers.max(1)).for_each(|&thread| add(thread, &mut sums));
        sums
    };
    std::thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..workers).map(|worker| scope.spawn(move || part(worker))).collect();
        let mut sums = part(0);
        for other in others {
            sums.merge(&other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        sums
    })
}
