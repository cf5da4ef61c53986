//! The second reading: makes every call path, and finds what only the future of a thread tells.

use longpole_event::{ProcessId, StackId, ThreadId, Time};

use crate::bursts::LastSamples;
use crate::census::{Census, Wait};
use crate::objects::ObjectId;
use crate::observer::{Observer, Oddity};
use crate::overheads::Overheads;
use crate::path_cache::{PathCache, Prefix, PrefixId};
use crate::paths::{PathId, Paths, PlaceId};
use crate::stacks::{Cut, StackTable};
use crate::timeline::{Item, What};

/// What the survey of one machine found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) cache: PathCache,
    /// What threads wait for.
    pub(crate) objects: Census,
    /// Spinning intervals by thread of the log.
    pub(crate) spins: Vec<Vec<(Time, Time)>>,
    /// Where bursts were seen last.
    pub(crate) last_samples: LastSamples,
    /// The collector's own time.
    pub(crate) overheads: Overheads,
    /// Added to the log's thread ids to make the recording's.
    base: u32,
    /// Prefix of each thread's program.
    pub(crate) prefixes: Vec<PathId>,
    pub(crate) contradictions: u64,
    pub(crate) unmatched_wakes: u64,
    pub(crate) interrupt_wakes: u64,
    pub(crate) outside_wakes: u64,
    pub(crate) observations: u64,
    pub(crate) without_stack: u64,
    /// Observations by the threads' own word.
    pub(crate) told: u64,
    /// When each thread was last observed. A spin's interval from then on may reach over time off the
    /// processor; that has its own state.
    since: Vec<Time>,
}

impl Findings {
    /// Nothing found yet about so many threads, the first of which has the id `base` in the recording.
    pub(crate) fn new(threads: usize, base: u32) -> Self {
        Findings {
            base,
            overheads: Overheads::new(threads),
            spins: vec![Vec::new(); threads],
            last_samples: LastSamples::new(threads),
            prefixes: vec![Paths::ROOT; threads],
            since: vec![Time::ZERO; threads],
            ..Findings::default()
        }
    }
}

/// Surveys one machine.
pub(crate) struct Surveyor<'a> {
    pub(crate) stacks: &'a StackTable,
    pub(crate) paths: &'a mut Paths,
    pub(crate) findings: &'a mut Findings,
}

impl Observer for Surveyor<'_> {
    fn prefix(&mut self, prefix: Prefix) -> PrefixId {
        self.findings.cache.prefix(prefix)
    }

    fn prefix_path(&self, prefix: PrefixId) -> PathId {
        self.findings.cache.get(prefix).path
    }

    fn call(&mut self, caller: PathId, place: PlaceId) -> PathId {
        self.paths.path(caller, place)
    }

    fn paths(&self) -> &Paths {
        self.paths
    }

    fn path(&mut self, prefix: PrefixId, stack: (Option<StackId>, Cut)) -> PathId {
        self.findings.cache.intern(self.stacks, self.paths, prefix, stack)
    }

    fn item(&mut self, item: Item) {
        if let What::State(state) = item.what {
            let thread = ThreadId(item.thread.0 - self.findings.base);
            self.findings.overheads.enter(thread, item.time, state);
        }
    }

    fn overhead(&mut self, thread: ThreadId, time: Time, nanoseconds: u64) {
        self.findings.overheads.tell(thread, time, nanoseconds);
    }

    fn located(&mut self, object: ObjectId, path: PathId) {
        self.findings.objects.located(object, path, self.paths);
    }

    fn awaited(&mut self, wait: Option<Wait>, path: Option<PathId>) -> Option<ObjectId> {
        let census = &mut self.findings.objects;
        if wait.is_none() {
            census.untold();
        }
        wait.map(|wait| census.come_across(wait, path, self.paths))
    }

    fn held(&mut self, held: Wait, path: PathId, acquisitions: u64) -> Option<ObjectId> {
        Some(self.findings.objects.held(held, (path, acquisitions), self.paths))
    }

    fn provided(&mut self, object: ObjectId, writes: bool, process: ProcessId) {
        self.findings.objects.ended(object, writes, process);
    }

    /// ```text
    ///    observation      sample in a spinning loop        sample in a spinning loop      elsewhere
    /// ──────┼──────────────────────┼───────────────────────────────┼─────────────────────────┼────
    ///       └───── spinning ───────┴────────── spinning ───────────┘         running
    /// ```
    fn observed(&mut self, thread: ThreadId, time: Time, stack: Option<StackId>, spins: bool) {
        let findings = &mut *self.findings;
        findings.observations += 1;
        findings.without_stack += u64::from(self.stacks.checked(stack).is_none());
        let since = std::mem::replace(&mut findings.since[thread.index()], time);
        if spins && since < time {
            let list = &mut findings.spins[thread.index()];
            match list.last_mut() {
                Some(last) if last.1 == since => last.1 = time,
                _ => list.push((since, time)),
            }
        }
    }

    fn accounted(&mut self, thread: ThreadId, time: Time) {
        self.findings.since[thread.index()] = time;
    }

    fn told(&mut self) {
        self.findings.told += 1;
    }

    fn sampled(&mut self, thread: ThreadId, path: PathId) {
        self.findings.last_samples.sampled(thread, path);
    }

    fn worked(&mut self, thread: ThreadId, end: PathId) -> PathId {
        self.findings.last_samples.ended(thread, end);
        end
    }

    fn begins_at(&mut self, thread: ThreadId, prefix: PathId) {
        self.findings.prefixes[thread.index()] = prefix;
    }

    fn count(&mut self, what: Oddity) {
        match what {
            Oddity::Contradiction => self.findings.contradictions += 1,
            Oddity::UnmatchedWake => self.findings.unmatched_wakes += 1,
            Oddity::InterruptWake => self.findings.interrupt_wakes += 1,
            Oddity::OutsideWake => self.findings.outside_wakes += 1,
        }
    }
}
