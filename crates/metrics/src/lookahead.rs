//! What a sweep that carries lanes has to know before it comes to it.
//!
//! Work is divided by the sites between which it ran. So where a dependence leaves a thread between two sites, or arrives
//! there, the lanes need to know at which site the work will end:
//!
//! ```text
//!   T1   s ==w1====|====w2==== t       w1 is of the kind (s, t), though t is seen after the dependence has left
//!   T2   ..........|==
//! ```
//! And what left a thread before it arrives needs the lanes as they were then. Both are rare in recordings, where a
//! stack is taken at each wake, and hand-offs within a machine take no time. Of tokens the lanes need to know how often
//! they are acquired, so that none is kept in vain.
//!
//! Time: constant per item. Memory: about 6 bytes per dependence that cuts work, a number per thread and per message under way.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Sweep, sweep};
use longpole_trace::{
    Acquisition, LockHold, ObservationKind, PathId, Program, State, Timelines, TokenId, Unfolded,
};
use rustc_hash::FxHashMap;

use crate::analysis::Order;
use crate::cut_ends::CutEnds;
use crate::hand_offs::HandOffs;
use crate::lock_loads::LockLoads;
use crate::lock_uses::LockUses;
use crate::pieces::PieceEnd;

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
pub(crate) struct LaneLookahead {
    /// By thread: when a piece is cut first, and what ends it.
    ends: Vec<CutEnds>,
    /// In the order of time.
    pub departures: Vec<Departure>,
    /// How often the lanes of a thread are needed after it was absent.
    pub uses: Vec<u32>,
    /// How often each token that is acquired at all is acquired.
    pub acquisitions: FxHashMap<TokenId, u32>,
    /// Arcs and dependences: what a plan of the run has steps for.
    pub steps: usize,
    /// Most threads that were there at one time.
    pub peak: usize,
    /// Which hand-offs are arcs.
    pub hand_offs: HandOffs,
    /// What was done while locks were held.
    pub locks: LockLoads,
}

impl LaneLookahead {
    /// Reads the timelines once; once more if anything was under way.
    pub fn of<T: Timelines>(timelines: &T, order: Order) -> Result<LaneLookahead, T::Error> {
        LaneLookahead::with(timelines, order, &LockUses::default())
    }

    /// The same where work is cut at the begins and ends of these holds too.
    pub fn with<T: Timelines>(
        timelines: &T,
        order: Order,
        uses: &LockUses,
    ) -> Result<LaneLookahead, T::Error> {
        let scout = |departures| LookaheadSweep::new(timelines.program(), uses, departures);
        let mut first = (scout(Vec::new()), LockLoads::collector(timelines.program()));
        sweep(&Unfolded(timelines), false, &mut first)?;
        let (mut first, loads) = first;
        let objects = timelines.objects();
        let hand_offs = HandOffs::new(objects, order);
        let locks = match order {
            Order::Busy => loads.into_loads(objects),
            Order::Recorded => LockLoads::default(),
        };
        if first.under_way.is_empty() {
            return Ok(LaneLookahead { hand_offs, locks, ..first.found });
        }
        let mut departures: Vec<Departure> = first
            .under_way
            .drain()
            .map(|((thread, time), users)| Departure { time, thread, users })
            .collect();
        departures.sort_unstable();
        let mut second = scout(departures);
        sweep(&Unfolded(timelines), false, &mut second)?;
        Ok(LaneLookahead { hand_offs, locks, ..second.found })
    }

    /// What will end the thread's piece of work that is cut at this time.
    pub fn piece_end(&self, thread: ThreadId, time: Time) -> PieceEnd {
        self.ends[thread.index()].at(time).unwrap_or(PieceEnd::Nothing { is_sampled: false })
    }
}

#[derive(Clone, Debug)]
struct ForesightThread {
    state: State,
    /// Up to here work is accounted for.
    cut: Time,
    has_work: bool,
    ended: Option<Time>,
    /// The first cut since the last site.
    open: Option<Time>,
    /// A timer saw it since then.
    is_sampled: bool,
}

/// The sweep that looks ahead.
struct LookaheadSweep<'a> {
    uses: &'a LockUses,
    /// By thread: the next lock that it asks for.
    next_requests: Vec<usize>,
    found: LaneLookahead,
    per_thread: Vec<ForesightThread>,
    under_way: FxHashMap<(ThreadId, Time), u32>,
    next: usize,
    present: usize,
}

impl<'a> LookaheadSweep<'a> {
    fn new(program: &Program, uses: &'a LockUses, departures: Vec<Departure>) -> Self {
        let of_thread = || ForesightThread {
            state: State::Absent,
            cut: Time::ZERO,
            has_work: false,
            ended: None,
            open: None,
            is_sampled: false,
        };
        let threads = program.threads.len();
        let ends = vec![CutEnds::default(); threads];
        let mut found = LaneLookahead { uses: vec![0; threads], ends, ..LaneLookahead::default() };
        for departure in &departures {
            found.uses[departure.thread.index()] += 1;
        }
        found.departures = departures;
        LookaheadSweep {
            uses,
            next_requests: vec![0; threads],
            found,
            per_thread: program.threads.iter().map(|_| of_thread()).collect(),
            under_way: FxHashMap::default(),
            next: 0,
            present: 0,
        }
    }

    fn advance(&mut self, thread: ThreadId, to: Time) {
        let of_thread = &mut self.per_thread[thread.index()];
        if of_thread.cut < to {
            of_thread.has_work |= of_thread.state == State::Running;
            of_thread.cut = to;
        }
    }

    /// The thread's work up to now may have to be charged now.
    fn cut(&mut self, thread: ThreadId, time: Time) {
        let of_thread = &mut self.per_thread[thread.index()];
        if of_thread.has_work {
            of_thread.open.get_or_insert(time);
        }
    }

    fn close(&mut self, thread: ThreadId, end: PieceEnd) {
        let of_thread = &mut self.per_thread[thread.index()];
        (of_thread.has_work, of_thread.is_sampled) = (false, false);
        if let Some(cut) = of_thread.open.take() {
            self.found.ends[thread.index()].push(cut, end);
        }
    }
}

impl Sweep for LookaheadSweep<'_> {
    fn pass(&mut self, _from: Time, to: Time, _level: longpole_graph::ParallelismLevel) {
        while let Some(&Departure { time, thread, .. }) = self.found.departures.get(self.next)
            && time < to
        {
            self.advance(thread, time);
            self.cut(thread, time);
            self.next += 1;
        }
    }

    fn arc(&mut self, arc: Arc) {
        let next = &mut self.next_requests[arc.thread.index()];
        let requests = self.uses.requests(arc.thread)[*next..].iter().take_while(|own| own.time < arc.to);
        let times: Vec<Time> = requests.map(|request| request.time).collect();
        *next += times.len();
        for time in times {
            self.advance(arc.thread, time);
            self.cut(arc.thread, time);
        }
        self.advance(arc.thread, arc.to);
    }

    fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        if self.uses.has(&hold) {
            self.cut(thread, time);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        self.found.steps += 1;
        if state == State::Absent || (before == State::Running && state != State::Ready) {
            self.cut(thread, time);
        }
        let of_thread = &mut self.per_thread[thread.index()];
        (of_thread.state, of_thread.cut) = (state, time);
        if before == State::Absent {
            self.present += 1;
            self.found.peak = self.found.peak.max(self.present);
            self.found.uses[thread.index()] += 1;
        }
        if state == State::Absent {
            of_thread.ended = Some(time);
            self.present -= 1;
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        if let Some(end) = PieceEnd::of(path, kind) {
            self.close(thread, end);
        }
        let of_thread = &mut self.per_thread[thread.index()];
        let is_sample = matches!(kind, ObservationKind::Sample { .. });
        of_thread.is_sampled |= is_sample && of_thread.state == State::Running;
    }

    fn depend(&mut self, dependence: Dependence) {
        self.found.steps += 2;
        let Dependence { source, source_time, thread, time, .. } = dependence;
        if source_time < time {
            *self.under_way.entry((source, source_time)).or_default() += 1;
        } else {
            let of_thread = &self.per_thread[source.index()];
            if of_thread.state == State::Absent && of_thread.ended.is_some_and(|ended| ended < time) {
                // Gone, and yet it does something: what it was is kept for good.
                self.found.uses[source.index()] += 1;
            }
            self.cut(source, time);
        }
        self.cut(thread, time);
    }

    fn release(&mut self, thread: ThreadId, time: Time, _token: TokenId) {
        self.cut(thread, time);
    }

    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        *self.found.acquisitions.entry(acquisition.token).or_default() += 1;
        self.cut(thread, time);
    }

    fn finish(&mut self, _end: Time) {
        for index in 0..self.per_thread.len() {
            let thread = ThreadId::from_index(index);
            let is_sampled = self.per_thread[index].is_sampled;
            self.close(thread, PieceEnd::Nothing { is_sampled });
        }
    }
}
