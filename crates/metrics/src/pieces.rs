//! A thread's work between two sites, and which of it samples claim (metrics.md §1, §5).
//!
//! ```text
//!   thread     s ====== p ========= q ==|.. blocked ..|== t          s, t: sites of waits and wakes; p, q: samples, whose
//!   claims     |-- p ---|     |-- q --·-|                            timer's interval is ·······
//!              |ppppppppp.....qqqqqqqqqq|                            the rest: unclaimed
//! ```
//! A *piece* is all work between two sites. What a sample says of all time of its kind is for tables
//! ([`crate::division`]); where a sweep follows a thread through time it has to be told as well *where* the sampled path
//! was. So each sample *claims* the time next to it: up to its timer's interval, first backwards, then forwards, as far as its piece
//! goes and no other sample or node of the graph is between. What nobody claims is divided by [`crate::charging`].
//!
//! Constant time per call. Memory: the present piece of each thread.

use longpole_event::ThreadId;
use longpole_trace::{ObservationKind, PathId, Paths, Program, Stored, StoredBytes, stored};

use crate::on_path::{ByMembership, Membership};

/// No site: a thread's begin or end, or a site that is not told apart.
pub(crate) const NOWHERE: PathId = PathId(u32::MAX);

/// Between which places a piece of time ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StratumCell {
    /// What all paths in it begin with.
    pub prefix: PathId,
    pub begin: PathId,
    pub end: PathId,
    pub ground: Ground,
}

/// What is known of the time of a cell without any sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ground {
    /// The thread's prefix.
    Thread,
    /// The program said that it is beneath the prefix.
    Marked,
    /// The program said that it is at `end`, or in what that calls.
    Exact,
}

stored!(enum Ground: [Ground::Thread, Ground::Marked, Ground::Exact]);

impl Stored for StratumCell {
    fn store(&self, bytes: &mut Vec<u8>) {
        let place = |path: PathId| Some(path).filter(|&path| path != NOWHERE);
        let StratumCell { prefix, begin, end, ground } = *self;
        (prefix, place(begin), place(end)).store(bytes);
        ground.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let (prefix, begin, end) = <(PathId, Option<PathId>, Option<PathId>)>::restore(bytes)?;
        let ground = Ground::restore(bytes)?;
        let place = |path: Option<PathId>| path.unwrap_or(NOWHERE);
        Some(StratumCell { prefix, begin: place(begin), end: place(end), ground })
    }
}

/// What ends a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceEnd {
    /// The thread acts at this place.
    Site(PathId),
    /// The thread says that it was there.
    Boundary(PathId),
    /// Nothing more is seen of it; whether a timer saw the piece.
    Nothing { is_sampled: bool },
}

impl PieceEnd {
    /// What this observation ends, if it ends anything.
    pub fn of(path: PathId, kind: ObservationKind) -> Option<PieceEnd> {
        match kind {
            ObservationKind::Site => Some(PieceEnd::Site(path)),
            ObservationKind::Boundary => Some(PieceEnd::Boundary(path)),
            ObservationKind::Sample { .. } | ObservationKind::Preemption | ObservationKind::Estimate => None,
        }
    }
}

/// Time that a sample claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub path: PathId,
    pub on: Membership,
    /// Nanoseconds.
    pub time: u64,
    /// What it may still claim.
    left: u64,
}

/// Work of a thread since its last site, or since it was taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkPieceOfThread {
    pub work: ByMembership,
    pub claims: Vec<Claim>,
    /// A timer saw it.
    pub is_sampled: bool,
    /// Work since the last sample, site or node.
    open: ByMembership,
}

impl WorkPieceOfThread {
    /// Ends what later samples may claim backwards.
    fn close(&mut self) {
        if let Some(claim) = self.claims.last_mut() {
            let open = &mut self.open[claim.on.index()];
            let taken = claim.left.min(*open);
            claim.time += taken;
            claim.left -= taken;
            *open -= taken;
            self.work[claim.on.index()] += taken;
        }
        for (work, open) in self.work.iter_mut().zip(&mut self.open) {
            *work += std::mem::take(open);
        }
    }

    fn claim(&mut self, path: PathId, on: Membership, interval: u64) {
        if let Some(last) = self.claims.last_mut() {
            let open = &mut self.open[last.on.index()];
            let taken = last.left.min(*open);
            last.time += taken;
            *open -= taken;
            self.work[last.on.index()] += taken;
            last.left = 0;
        }
        let time = interval.min(self.open[on.index()]);
        for (work, open) in self.work.iter_mut().zip(&mut self.open) {
            *work += std::mem::take(open);
        }
        self.claims.push(Claim { path, on, time, left: interval - time });
        self.is_sampled = true;
    }

    /// Forgets what was taken; the last sample goes on claiming.
    pub fn clear(&mut self) {
        self.work = [0; Membership::ALL];
        let last = self.claims.pop().filter(|claim| claim.left > 0);
        self.claims.clear();
        self.claims.extend(last.map(|claim| Claim { time: 0, ..claim }));
    }

    /// What it is so far, which is forgotten.
    pub fn take(&mut self) -> WorkPieceOfThread {
        self.close();
        let taken = self.clone();
        self.clear();
        taken
    }

    /// The same at the end of a piece: the last sample claims nothing behind it.
    fn end(&mut self) {
        self.work = [0; Membership::ALL];
        self.claims.clear();
        self.is_sampled = false;
    }
}

/// Where a thread is.
#[derive(Clone, Debug)]
struct WorkPieceThread {
    prefix: PathId,
    begin: PathId,
    /// Where the thread said last that it is.
    mark: Option<PathId>,
    /// The last site was a boundary, or there was none.
    is_known: bool,
    piece: WorkPieceOfThread,
}

impl WorkPieceThread {
    fn at(prefix: PathId) -> WorkPieceThread {
        WorkPieceThread {
            prefix,
            begin: NOWHERE,
            mark: None,
            is_known: true,
            piece: WorkPieceOfThread::default(),
        }
    }
}

/// The present pieces of all threads.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    paths: &'a Paths,
    per_thread: Vec<WorkPieceThread>,
}

impl<'a> Pieces<'a> {
    pub fn new(program: &Program, paths: &'a Paths) -> Self {
        Pieces {
            paths,
            per_thread: program.threads.iter().map(|thread| WorkPieceThread::at(thread.prefix)).collect(),
        }
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut WorkPieceThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, WorkPieceThread::at(Paths::ROOT));
        }
        &mut self.per_thread[thread.index()]
    }

    /// The thread worked so long.
    pub fn work(&mut self, thread: ThreadId, times: &ByMembership) {
        let open = &mut self.of_thread(thread).piece.open;
        open.iter_mut().zip(times).for_each(|(open, time)| *open += time);
    }

    /// A timer of this interval found the thread, which works, at this path.
    pub fn sample(&mut self, thread: ThreadId, (path, on): (PathId, Membership), interval: u64) {
        self.of_thread(thread).piece.claim(path, on, interval);
    }

    /// A node of the graph: no later sample claims time before it.
    pub fn cut(&mut self, thread: ThreadId) {
        self.of_thread(thread).piece.close();
    }

    /// What the thread did since its last site.
    pub fn piece(&mut self, thread: ThreadId) -> &mut WorkPieceOfThread {
        &mut self.of_thread(thread).piece
    }

    /// The cell of a piece that ends so.
    pub fn cell(&mut self, thread: ThreadId, end: PieceEnd) -> StratumCell {
        self.of_thread(thread);
        let WorkPieceThread { prefix, begin, mark, is_known, .. } = self.per_thread[thread.index()];
        match (end, mark) {
            (PieceEnd::Boundary(end), _) => StratumCell { prefix, begin, end, ground: Ground::Exact },
            (PieceEnd::Site(end), Some(mark)) if self.is_beneath(end, mark) => {
                StratumCell { prefix: mark, begin, end, ground: Ground::Marked }
            }
            (PieceEnd::Site(end), _) => StratumCell { prefix, begin, end, ground: Ground::Thread },
            // What follows a boundary, with nothing seen after it, is where that was.
            (PieceEnd::Nothing { .. }, _) if is_known && begin != NOWHERE => {
                StratumCell { prefix, begin, end: begin, ground: Ground::Exact }
            }
            // Nothing but the timer saw it: collectors without stacks at switches have no sites.
            (PieceEnd::Nothing { is_sampled: false }, _) if is_known => {
                StratumCell { prefix, begin, end: prefix, ground: Ground::Exact }
            }
            (PieceEnd::Nothing { .. }, _) => {
                StratumCell { prefix, begin, end: NOWHERE, ground: Ground::Thread }
            }
        }
    }

    fn is_beneath(&self, path: PathId, outer: PathId) -> bool {
        // A path has a larger number than its caller.
        let mut outwards = std::iter::successors(Some(path), |&path| self.paths.caller(path));
        outwards.find(|&path| path <= outer) == Some(outer)
    }

    /// The piece is over, and the next one begins where it ended.
    pub fn end(&mut self, thread: ThreadId, end: PieceEnd) {
        let of_thread = self.of_thread(thread);
        of_thread.piece.end();
        let (PieceEnd::Site(path) | PieceEnd::Boundary(path)) = end else { return };
        of_thread.begin = path;
        of_thread.is_known = matches!(end, PieceEnd::Boundary(_));
        if of_thread.is_known {
            of_thread.mark = Some(path);
        }
    }
}
