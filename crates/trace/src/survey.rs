//! The second reading: makes every call path, and finds what only the future of a thread tells.

use longpole_event::{BusyWaiting, ProcessId, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::bursts::{Burst, LastSamples};
use crate::census::{BegunWait, Census};
use crate::exclusion::ExclusionTimes;
use crate::message_traffic::FlowSums;
use crate::objects::{ObjectId, Signals};
use crate::observer::{Observer, ReplayAnomaly};
use crate::overheads::Overheads;
use crate::path_cache::{PathCache, Prefix, PrefixId};
use crate::paths::{PathId, Paths, PlaceId, ProcedureId};
use crate::spin_tails::{FlagWait, SpinTail, SpinTails};
use crate::stacks::{PathCut, StackTable};
use crate::state::State;
use crate::timeline::{Item, ItemKind, ObservationKind};

/// What the survey of one machine found.
#[derive(Debug, Default)]
pub(crate) struct SurveyFindings {
    pub(crate) cache: PathCache,
    /// What threads wait for.
    pub(crate) objects: Census,
    /// For how long each of these excluded threads.
    pub(crate) exclusions: ExclusionTimes,
    /// Spinning intervals by thread of the log.
    pub(crate) spins: Vec<Vec<(Time, Time)>>,
    /// Where bursts were seen last.
    pub(crate) last_samples: LastSamples,
    /// How long threads spin before they block.
    pub(crate) spin_tails: SpinTails,
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
    /// What threads read of what others wrote into sockets and pipes, and waited for it.
    pub(crate) flows: FxHashMap<(ThreadId, ThreadId), FlowSums>,
    /// CPU time that may be waiting, by procedure, nanoseconds.
    pub(crate) may_wait: FxHashMap<ProcedureId, u64>,
    /// Whether each thread's last look found it in a loop that waits.
    last_look_spins: Vec<bool>,
    /// Since when each thread has been on a processor.
    on_cpu: Vec<Option<Time>>,
    /// Between which times each thread began to spin: the first is that of the look before.
    begun: Vec<(Time, Time)>,
    /// Time off the processor since each thread was last observed.
    away: Vec<TimeAway>,
    /// When each thread's last busy-wait ended, where that is known.
    freed_at: Vec<Time>,
    /// Busy-waits of which it is known when they ended.
    pub(crate) freed: Vec<SpinTail>,
    /// When each thread was last observed. A spin's interval from then on may reach over time off the
    /// processor; that has its own state.
    since: Vec<Time>,
}

impl SurveyFindings {
    /// Nothing found yet about so many threads, the first of which has the id `base` in the recording; whether any of their
    /// stacks spins is known.
    pub(crate) fn new(threads: usize, base: u32, has_spins: bool) -> Self {
        SurveyFindings {
            base,
            spin_tails: SpinTails::new(threads, has_spins),
            overheads: Overheads::new(threads),
            spins: vec![Vec::new(); threads],
            last_samples: LastSamples::new(threads),
            prefixes: vec![Paths::ROOT; threads],
            since: vec![Time::ZERO; threads],
            begun: vec![(Time::ZERO, Time::ZERO); threads],
            freed_at: vec![Time::ZERO; threads],
            away: vec![TimeAway::default(); threads],
            on_cpu: vec![None; threads],
            last_look_spins: vec![false; threads],
            ..SurveyFindings::default()
        }
    }
}

/// How long a thread has been off its processor.
#[derive(Clone, Copy, Debug, Default)]
struct TimeAway {
    /// Until it came back last, nanoseconds.
    before: u64,
    /// It is off it now.
    since: Option<Time>,
}

/// Surveys one machine.
pub(crate) struct Surveyor<'a> {
    pub(crate) stacks: &'a StackTable,
    pub(crate) paths: &'a mut Paths,
    pub(crate) findings: &'a mut SurveyFindings,
}

impl Surveyor<'_> {
    fn looked(&mut self, thread: ThreadId, time: Time, kind: ObservationKind) {
        let is_sample = matches!(kind, ObservationKind::Sample { .. });
        if is_sample || kind == ObservationKind::Preemption {
            let spins = self.findings.last_look_spins[thread.index()];
            self.findings.spin_tails.looked(thread, time, (spins, is_sample));
        }
    }
}

impl Observer for Surveyor<'_> {
    fn waited_for(&mut self, ends: (ThreadId, ThreadId), nanoseconds: u64) {
        let sums = self.findings.flows.entry(ends).or_default();
        sums.waits += 1;
        sums.waited_nanoseconds += nanoseconds;
    }

    fn received(&mut self, ends: (ThreadId, ThreadId), messages: u64, bytes: u64) {
        let sums = self.findings.flows.entry(ends).or_default();
        sums.messages += messages;
        sums.bytes += bytes;
    }

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

    fn path(&mut self, prefix: PrefixId, stack: (Option<StackId>, PathCut)) -> PathId {
        self.findings.cache.intern(self.stacks, self.paths, prefix, stack)
    }

    fn item(&mut self, item: Item) {
        self.findings.exclusions.take(&item);
        if let ItemKind::Observe { kind, .. } = item.what {
            self.looked(ThreadId(item.thread.0 - self.findings.base), item.time, kind);
        }
        if let ItemKind::State(state) = item.what {
            let thread = ThreadId(item.thread.0 - self.findings.base);
            self.findings.overheads.enter(thread, item.time, state);
            let on_cpu = &mut self.findings.on_cpu[thread.index()];
            let before = std::mem::replace(on_cpu, state.is_on_cpu().then(|| on_cpu.unwrap_or(item.time)));
            match (before, state.is_on_cpu()) {
                (None, true) => {
                    let away = &mut self.findings.away[thread.index()];
                    away.before += away.since.take().map_or(0, |since| item.time.since(since));
                    self.findings.spin_tails.begin(thread, item.time);
                }
                (Some(_), false) => {
                    self.findings.away[thread.index()].since = Some(item.time);
                    let blocks = matches!(state, State::Blocked(_));
                    self.findings.spin_tails.leave(thread, item.time, blocks);
                }
                _ => {}
            }
        }
    }

    fn signals_seen(&mut self, condition: BegunWait, signals: Signals) {
        self.findings.objects.signals_seen(condition, signals, self.paths);
    }

    fn overhead(&mut self, thread: ThreadId, time: Time, nanoseconds: u64) {
        self.findings.overheads.tell(thread, time, nanoseconds);
    }

    fn located(&mut self, object: ObjectId, path: PathId) {
        self.findings.objects.located(object, path, self.paths);
    }

    fn shared(&mut self, place: (ProcessId, u64), number: u64) {
        self.findings.objects.shared(place, number);
    }

    fn awaited(&mut self, wait: Option<BegunWait>, path: Option<PathId>) -> Option<ObjectId> {
        let census = &mut self.findings.objects;
        if wait.is_none() {
            census.untold();
        }
        wait.map(|wait| census.come_across(wait, path, self.paths))
    }

    fn held(&mut self, held: BegunWait, path: PathId, acquisitions: u64) -> Option<ObjectId> {
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
    fn observed(&mut self, thread: ThreadId, time: Time, stack: Option<StackId>, waiting: BusyWaiting) {
        let findings = &mut *self.findings;
        findings.observations += 1;
        findings.without_stack += u64::from(self.stacks.checked(stack).is_none());
        let since = std::mem::replace(&mut findings.since[thread.index()], time);
        findings.away[thread.index()].before = 0;
        findings.last_look_spins[thread.index()] = waiting == BusyWaiting::Spins;
        // One that yields again and again is seen by that, not by its stack.
        if stack.is_none() && waiting == BusyWaiting::Spins {
            findings.spin_tails.looked(thread, time, (true, false));
        }
        if waiting == BusyWaiting::MayWait
            && let Some(place) = stack.and_then(|stack| self.stacks.place_that_may_wait(stack))
            && let Some(on_cpu) = findings.on_cpu[thread.index()]
        {
            let procedure = self.paths.all_places()[place.0 as usize].procedure;
            let length = time.since(since.max(on_cpu));
            *findings.may_wait.entry(procedure).or_default() += length;
        }
        if waiting == BusyWaiting::Spins && since < time {
            let list = &mut findings.spins[thread.index()];
            match list.last_mut() {
                // One that was freed then is over.
                Some(last) if last.1 == since && findings.freed_at[thread.index()] != since => last.1 = time,
                _ => {
                    list.push((since, time));
                    let on_cpu = findings.on_cpu[thread.index()].unwrap_or(since);
                    findings.begun[thread.index()] = (since.max(on_cpu), time);
                }
            }
        }
    }

    /// ```text
    ///    observation      sample in a spinning loop     freed              elsewhere
    /// ──────┼──────────────────────┼──────────────────────┼────────────────────┼────
    ///       running   └─ spinning ─┴────── spinning ──────┘       running
    /// ```
    /// It is known when the busy-wait ended; it lasted as long as its samples stand for. With its own length those that no sample found would be
    /// missing in the sum.
    fn freed(&mut self, thread: ThreadId, time: Time, flag: FlagWait) {
        let findings = &mut *self.findings;
        let since = std::mem::replace(&mut findings.since[thread.index()], time);
        let away = std::mem::take(&mut findings.away[thread.index()]);
        findings.away[thread.index()].since = away.since.map(|_| time);
        let Some((begin, end)) = findings.spins[thread.index()].last_mut() else { return };
        if *end != since || since >= time {
            return;
        }
        *end = time;
        let (known_from, first) = findings.begun[thread.index()];
        // It begins before the sample that found it.
        let after = away.since.unwrap_or(time).since(since).saturating_sub(away.before);
        let after = after.min(first.since(known_from).saturating_sub(1));
        let tail = SpinTail::freed(thread, ((known_from + after).max(*begin), time), *begin, flag);
        findings.freed_at[thread.index()] = time;
        findings.freed.push(tail);
        findings.spin_tails.accounted(thread, time);
    }

    fn accounted(&mut self, thread: ThreadId, time: Time) {
        self.findings.spin_tails.accounted(thread, time);
        self.findings.since[thread.index()] = time;
    }

    fn told(&mut self) {
        self.findings.told += 1;
    }

    fn sampled(&mut self, thread: ThreadId, path: PathId) {
        let spins = self.findings.last_look_spins[thread.index()];
        self.findings.last_samples.sampled(thread, path, spins);
    }

    fn worked(&mut self, thread: ThreadId, burst: Burst) -> PathId {
        self.findings.last_samples.ended(thread, burst);
        let time = self.findings.since[thread.index()];
        self.findings.spin_tails.acted(thread, time, burst);
        burst.end.unwrap_or(burst.prefix)
    }

    fn begins_at(&mut self, thread: ThreadId, prefix: PathId) {
        self.findings.prefixes[thread.index()] = prefix;
    }

    fn count(&mut self, what: ReplayAnomaly) {
        match what {
            ReplayAnomaly::Contradiction => self.findings.contradictions += 1,
            ReplayAnomaly::UnmatchedWake => self.findings.unmatched_wakes += 1,
            ReplayAnomaly::InterruptWake => self.findings.interrupt_wakes += 1,
            ReplayAnomaly::OutsideWake => self.findings.outside_wakes += 1,
        }
    }
}
