//! Writes what the threads of a trace did as the events of a recording.
//!
//! ```text
//!   trace      Enter(f)      Enter(MPI_Recv)  Receive  Leave      Leave            each moment at which the path changes
//!   events     Sample …      Sample Communicate …      Communicated Sample         is a sample of what was until then
//! ```
//! So all charges are exact. Events come in the order of time, those of all threads together.

use longpole_event::{
    Blocking, Event, EventKind, Primitive, PrimitiveId, PrimitiveKind, ProcessDefinition, ProcessId, StackId,
    ThreadDefinition, ThreadId, Time, Waker,
};
use longpole_otf2::{TraceDefinitions, TraceEvent, TraceResult};
use longpole_recording::LogBuilder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::error::ImportResult;
use super::calls::{TracedCall, TracedRequest};
use super::code::TracedCode;
use super::communicators::TracedCommunicators;
use super::layout::TraceLayout;
use super::locks::TracedLocks;
use super::regions::{RegionUse, RegionUses};
use super::teams::{TeamWait, TracedTeams};
use super::thread_ends::TracedEnds;

/// Regions that a thread can be in at a time; further ones do not change its path.
const DEEPEST: usize = 4096;
/// What is waited for where all ranks come to an operation that names no communicator.
const ALL_RANKS: &str = "all ranks";
/// How far apart primitives are: no two of them are one.
const PRIMITIVE_BYTES: u64 = 0x1000;

/// Looks at the event that is so many behind the next one of the thread.
pub(super) type LookAhead<'a> = dyn FnMut(usize) -> TraceResult<Option<(u64, TraceEvent)>> + 'a;

/// A region that a thread is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnteredRegion {
    pub(super) region: u32,
    pub(super) path: Option<StackId>,
}

/// How far a thread has got.
#[derive(Debug, Default)]
pub(super) struct ThreadProgress {
    /// Once it has begun, up to its end.
    pub(super) id: Option<ThreadId>,
    pub(super) entered: Vec<EnteredRegion>,
    /// What its paths begin with: where its team was made.
    pub(super) base: Option<StackId>,
    /// Until when it was said where it was.
    observed: u64,
    pub(super) last: u64,
    pub(super) call: Option<TracedCall>,
    pub(super) team: Vec<u32>,
    pub(super) waits: Option<TeamWait>,
    /// Time of the measuring itself that is not written yet, nanoseconds.
    pub(super) overhead: u64,
}

impl ThreadProgress {
    /// Where it is.
    pub(super) fn path(&self) -> Option<StackId> {
        self.entered.last().map_or(self.base, |entered| entered.path)
    }
}

/// What could not be taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TraceCounts {
    pub(super) events: u64,
    pub(super) metrics: u64,
    pub(super) one_sided: u64,
    pub(super) tasks: u64,
    pub(super) others: u64,
    pub(super) mismatched: u64,
    pub(super) too_deep: u64,
    pub(super) unknown_ends: u64,
    pub(super) unknown_collectives: u64,
    pub(super) unmeasured: u64,
}

/// The log of one machine.
struct MachineLog {
    log: LogBuilder,
    code: TracedCode,
    primitives: FxHashMap<(usize, PrimitiveKind, u64), (PrimitiveId, u64)>,
}

/// Writes a recording.
pub(super) struct TraceWriter<'a> {
    pub(super) definitions: &'a TraceDefinitions,
    pub(super) layout: &'a TraceLayout,
    pub(super) communicators: TracedCommunicators,
    pub(super) uses: RegionUses,
    pub(super) program: String,
    machines: Vec<MachineLog>,
    processes: Vec<Option<ProcessId>>,
    pub(super) threads: Vec<ThreadProgress>,
    /// What each process began and did not complete.
    pub(super) requests: Vec<FxHashMap<u64, TracedRequest>>,
    /// Collective operations of each process on each communicator.
    pub(super) rounds: FxHashMap<(usize, u64), u64>,
    /// Communicators that have their names.
    named: FxHashSet<u64>,
    pub(super) teams: TracedTeams,
    pub(super) locks: TracedLocks,
    pub(super) ends: TracedEnds,
    pub(super) counts: TraceCounts,
    pub(super) span: Option<(u64, u64)>,
}

impl<'a> TraceWriter<'a> {
    pub(super) fn new(
        (definitions, layout): (&'a TraceDefinitions, &'a TraceLayout),
        program: String,
        logs: Vec<LogBuilder>,
    ) -> TraceWriter<'a> {
        let machine = |log| MachineLog { log, code: TracedCode::default(), primitives: FxHashMap::default() };
        let mut threads = Vec::new();
        threads.resize_with(layout.threads.len(), ThreadProgress::default);
        TraceWriter {
            definitions,
            layout,
            communicators: TracedCommunicators::of(definitions),
            uses: RegionUses::of(definitions),
            program,
            machines: logs.into_iter().map(machine).collect(),
            processes: vec![None; layout.processes.len()],
            threads,
            requests: vec![FxHashMap::default(); layout.processes.len()],
            rounds: FxHashMap::default(),
            named: FxHashSet::default(),
            teams: TracedTeams::default(),
            locks: TracedLocks::default(),
            ends: TracedEnds::default(),
            counts: TraceCounts::default(),
            span: None,
        }
    }

    /// The process of a thread.
    pub(super) fn process(&self, thread: usize) -> usize {
        self.layout.threads[thread].process
    }

    /// The rank of a thread's process.
    pub(super) fn rank(&self, thread: usize) -> Option<u32> {
        self.layout.processes[self.process(thread)].rank
    }

    fn machine(&mut self, thread: usize) -> &mut MachineLog {
        let process = self.layout.threads[thread].process;
        &mut self.machines[self.layout.processes[process].machine]
    }

    /// Writes an event of a thread.
    pub(super) fn event(&mut self, thread: usize, time: u64, kind: EventKind) -> ImportResult<()> {
        let Some(id) = self.threads[thread].id else { return Ok(()) };
        let event = Event { time: Time::from_nanoseconds(time), cpu: thread as u16, thread: id, kind };
        Ok(self.machine(thread).log.event(event)?)
    }

    /// A primitive that a thread's process uses, told apart by a number, with its name and address.
    pub(super) fn primitive(
        &mut self,
        thread: usize,
        (kind, number): (PrimitiveKind, u64),
        name: &str,
    ) -> ImportResult<PrimitiveId> {
        let process = self.process(thread);
        let defined = self.processes[process];
        let machine = self.machine(thread);
        if let Some(&(known, _)) = machine.primitives.get(&(process, kind, number)) {
            return Ok(known);
        }
        let address = (machine.primitives.len() as u64 + 1) * PRIMITIVE_BYTES;
        let name = Some(machine.log.text(name)?);
        let process_id = defined.unwrap_or(ProcessId(0));
        let id = machine.log.primitive(Primitive { process: process_id, kind, address, name })?;
        machine.primitives.insert((process, kind, number), (id, address));
        Ok(id)
    }

    /// Interns a system call that a thread is in.
    pub(super) fn system_call(
        &mut self,
        thread: usize,
        call: longpole_event::CallDefinition,
    ) -> ImportResult<longpole_event::CallId> {
        Ok(self.machine(thread).log.call(call)?)
    }

    /// Gives a communicator, or what is not understood, a name, when it is seen for the first time.
    pub(super) fn name_communicator(
        &mut self,
        (thread, time): (usize, u64),
        communicator: u64,
        name: Option<u32>,
    ) -> ImportResult<()> {
        let name = match name {
            Some(name) => self.definitions.text(name),
            None => ALL_RANKS,
        };
        if name.is_empty() || !self.named.insert(communicator) {
            return Ok(());
        }
        let name = self.machine(thread).log.text(name)?;
        self.event(thread, time, EventKind::CommunicatorName { communicator, name })
    }

    /// Takes the next event of a thread.
    pub(super) fn take(
        &mut self,
        (thread, time): (usize, u64),
        event: TraceEvent,
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        self.counts.events += 1;
        self.span = Some((self.span.map_or(time, |(begin, _)| begin.min(time)), time));
        if self.threads[thread].id.is_none() {
            self.begin_with((thread, time), event)?;
        }
        self.threads[thread].last = time;
        self.go_on((thread, time), event)?;
        self.write_overhead(thread, time)?;
        match event {
            TraceEvent::Enter(region) => self.enter((thread, time), region, ahead),
            TraceEvent::Leave(region) => self.leave((thread, time), region),
            TraceEvent::EnterContext(context) => self.enter_context((thread, time), context, ahead),
            TraceEvent::LeaveContext(context) => self.leave_context((thread, time), context),
            TraceEvent::SampleContext(context) => self.sample_context((thread, time), context),
            TraceEvent::Fork => self.fork(thread),
            TraceEvent::Join => self.join_team(thread),
            TraceEvent::BeginTeam(team) => self.begin_team((thread, time), team),
            TraceEvent::EndTeam(team) => self.end_team((thread, time), team),
            TraceEvent::AcquireLock(lock, order) => self.acquire_lock((thread, time), (lock, order)),
            TraceEvent::ReleaseLock(lock, order) => self.release_lock((thread, time), (lock, order)),
            TraceEvent::CreateThread(kind, number) => self.create_thread((thread, time), (kind, number)),
            TraceEvent::WaitThread(kind, number) => self.wait_thread((thread, time), (kind, number)),
            TraceEvent::EndThread(kind, number) => self.end_thread((thread, time), (kind, number)),
            TraceEvent::BeginThread(..) | TraceEvent::BeginProgram(_) => Ok(()),
            TraceEvent::Flush(end) => {
                self.threads[thread].overhead += end.saturating_sub(time);
                Ok(())
            }
            TraceEvent::Measured(is_on) => {
                self.counts.unmeasured += u64::from(!is_on);
                Ok(())
            }
            TraceEvent::Other(kind) => {
                self.count_other(kind);
                Ok(())
            }
            message => self.message((thread, time), message),
        }
    }

    fn count_other(&mut self, kind: u8) {
        let counter = match kind {
            20 => return,
            28..=30 | 59..=61 => &mut self.counts.tasks,
            31 => &mut self.counts.metrics,
            35..=52 => &mut self.counts.one_sided,
            _ => &mut self.counts.others,
        };
        *counter += 1;
    }

    /// The first event of a thread: it exists from now on, or from when it says that it was created.
    fn begin_with(&mut self, at: (usize, u64), event: TraceEvent) -> ImportResult<()> {
        let (creator, stack) = match event {
            TraceEvent::BeginThread(kind, number) => self.creator(at.0, (kind, number)),
            _ => (None, None),
        };
        self.begin(at, (creator, stack))
    }

    /// The thread begins to exist.
    fn begin(
        &mut self,
        (thread, time): (usize, u64),
        (creator, stack): (Option<ThreadId>, Option<StackId>),
    ) -> ImportResult<()> {
        let traced = &self.layout.threads[thread];
        let process = &self.layout.processes[traced.process];
        let log = &mut self.machines[process.machine].log;
        let process_id = match self.processes[traced.process] {
            Some(known) => known,
            None => log.process(ProcessDefinition { pid: process.pid, parent: None })?,
        };
        let is_first = self.processes[traced.process].replace(process_id).is_none();
        let id = log.thread(ThreadDefinition { process: process_id, tid: traced.tid })?;
        let (name, program) = (log.text(&traced.name)?, log.text(&self.program)?);
        let progress = &mut self.threads[thread];
        (progress.id, progress.observed) = (Some(id), time);
        self.event(thread, time, EventKind::Start { creator, stack })?;
        self.event(thread, time, EventKind::Name { name })?;
        if is_first {
            self.event(thread, time, EventKind::Exec { program })?;
        }
        self.event(thread, time, EventKind::In)?;
        match process.rank.filter(|_| is_first) {
            Some(rank) => self.event(thread, time, EventKind::Rank { rank }),
            None => Ok(()),
        }
    }

    /// Says where the thread was until now.
    pub(super) fn observe(&mut self, thread: usize, time: u64) -> ImportResult<()> {
        let progress = &mut self.threads[thread];
        if time <= progress.observed {
            return Ok(());
        }
        progress.observed = time;
        let stack = progress.path();
        self.event(thread, time, EventKind::Sample { stack, kernel: false, gap: 0 })
    }

    fn write_overhead(&mut self, thread: usize, time: u64) -> ImportResult<()> {
        match std::mem::take(&mut self.threads[thread].overhead) {
            0 => Ok(()),
            nanoseconds => self.event(thread, time, EventKind::Overhead { nanoseconds }),
        }
    }

    fn enter(
        &mut self,
        (thread, time): (usize, u64),
        region: u32,
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        self.observe(thread, time)?;
        self.push(thread, region)?;
        self.begin_use((thread, time), region, ahead)
    }

    /// What is to be done at the begin of a region that is more than a part of the path.
    fn begin_use(&mut self, at: (usize, u64), region: u32, ahead: &mut LookAhead<'_>) -> ImportResult<()> {
        match self.uses.of_region(region) {
            RegionUse::Plain => Ok(()),
            RegionUse::Message(call) => self.begin_call(at, call, ahead),
            RegionUse::Barrier => self.arrive(at, region),
            RegionUse::Lock => self.want_lock(at, ahead),
            RegionUse::ThreadWait => self.want_end(at, ahead),
        }
    }

    fn push(&mut self, thread: usize, region: u32) -> ImportResult<()> {
        let progress = &self.threads[thread];
        let caller = progress.path();
        let is_recursion = progress.entered.last().is_some_and(|last| last.region == region);
        let path = if progress.entered.len() >= DEEPEST {
            self.counts.too_deep += 1;
            caller
        } else if is_recursion {
            caller
        } else {
            let known = (self.definitions, self.program.as_str());
            let machine = self.layout.processes[self.process(thread)].machine;
            let MachineLog { log, code, .. } = &mut self.machines[machine];
            code.call((caller, region), known, log)?
        };
        self.threads[thread].entered.push(EnteredRegion { region, path });
        Ok(())
    }

    fn leave(&mut self, (thread, time): (usize, u64), region: u32) -> ImportResult<()> {
        let entered = &self.threads[thread].entered;
        let Some(place) = entered.iter().rposition(|entered| entered.region == region) else {
            self.counts.mismatched += 1;
            return Ok(());
        };
        let above = entered.len() - place - 1;
        self.counts.mismatched += above as u64;
        for _ in 0..=above {
            self.pop((thread, time))?;
        }
        Ok(())
    }

    /// Leaves the innermost region.
    fn pop(&mut self, (thread, time): (usize, u64)) -> ImportResult<()> {
        self.end_call_at((thread, time))?;
        self.depart((thread, time))?;
        self.observe(thread, time)?;
        self.threads[thread].entered.pop();
        Ok(())
    }

    /// The regions of a call path, outermost first.
    fn regions_of(&self, context: u32) -> Vec<u32> {
        let contexts = &self.definitions.calling_contexts;
        let above = |context: &u32| contexts.get(context)?.caller;
        let found = std::iter::successors(Some(context), above).take(DEEPEST);
        let mut regions: Vec<u32> = found.filter_map(|one| Some(contexts.get(&one)?.region)).collect();
        regions.reverse();
        regions
    }

    /// Goes to a call path; returns whether its innermost region is entered by that.
    fn go_to(&mut self, (thread, time): (usize, u64), regions: &[u32]) -> ImportResult<()> {
        let entered = &self.threads[thread].entered;
        let same =
            entered.iter().zip(regions).take_while(|(entered, region)| entered.region == **region).count();
        if same == entered.len() && same == regions.len() {
            return Ok(());
        }
        while self.threads[thread].entered.len() > same {
            self.pop((thread, time))?;
        }
        self.observe(thread, time)?;
        regions[same..].iter().try_for_each(|&region| self.push(thread, region))
    }

    fn enter_context(
        &mut self,
        (thread, time): (usize, u64),
        context: u32,
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        let regions = self.regions_of(context);
        let Some((&region, callers)) = regions.split_last() else {
            self.counts.mismatched += 1;
            return Ok(());
        };
        self.go_to((thread, time), callers)?;
        self.enter((thread, time), region, ahead)
    }

    fn leave_context(&mut self, at: (usize, u64), context: u32) -> ImportResult<()> {
        match self.definitions.calling_contexts.get(&context) {
            Some(found) => self.leave(at, found.region),
            None => {
                self.counts.mismatched += 1;
                Ok(())
            }
        }
    }

    fn sample_context(&mut self, (thread, time): (usize, u64), context: u32) -> ImportResult<()> {
        if self.threads[thread].call.is_some() {
            return Ok(());
        }
        let regions = self.regions_of(context);
        self.go_to((thread, time), &regions)
    }

    /// The thread is off its processor from now on.
    pub(super) fn block(
        &mut self,
        thread: usize,
        time: u64,
        call: Option<longpole_event::CallId>,
    ) -> ImportResult<()> {
        let stack = if call.is_some() { self.threads[thread].path() } else { None };
        self.event(thread, time, EventKind::Out { blocking: Blocking::Interruptible, call, stack })
    }

    /// The thread goes on, let go by another one.
    pub(super) fn wake(
        &mut self,
        thread: usize,
        time: u64,
        by: Option<(usize, Option<StackId>)>,
    ) -> ImportResult<()> {
        let waker = by.and_then(|(by, _)| self.threads[by].id).map_or(Waker::Unknown, Waker::Thread);
        let stack = by.and_then(|(_, stack)| stack);
        if let Some((by, _)) = by {
            self.observe(by, time)?;
        }
        self.event(thread, time, EventKind::Wake { waker, call: None, stack })?;
        self.threads[thread].observed = self.threads[thread].observed.max(time);
        self.event(thread, time, EventKind::In)
    }

    /// The thread has ended.
    pub(super) fn end(&mut self, thread: usize, time: u64) -> ImportResult<()> {
        while !self.threads[thread].entered.is_empty() {
            self.pop((thread, time))?;
        }
        self.observe(thread, time)?;
        self.event(thread, time, EventKind::Out { blocking: Blocking::Dead, call: None, stack: None })?;
        self.event(thread, time, EventKind::Exit)?;
        self.threads[thread].id = None;
        Ok(())
    }

    /// The thread has no more events: it ends with its last one.
    pub(super) fn end_of_events(&mut self, thread: usize) -> ImportResult<()> {
        let time = self.threads[thread].last;
        if self.threads[thread].waits == Some(TeamWait::Team) {
            // It rests to the end.
            self.threads[thread].waits = None;
            return self.event(thread, time, EventKind::Exit);
        }
        if self.threads[thread].id.is_some() { self.end(thread, time) } else { Ok(()) }
    }

    /// Writes what is left of all logs, and what their frames mean.
    pub(super) fn finish(self, symbols: Vec<LogBuilder>) -> ImportResult<TraceCounts> {
        let TraceWriter { machines, definitions, mut counts, .. } = self;
        for (mut machine, mut symbols) in machines.into_iter().zip(symbols) {
            machine.log.flush()?;
            counts.too_deep += machine.code.cut;
            machine.code.write_symbols(definitions, &mut symbols)?;
        }
        Ok(counts)
    }
}
