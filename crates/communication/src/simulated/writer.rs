//! Writes what a run in virtual time tells as the events of a log.
//!
//! ```text
//!   told       compute     Request           compute   Block(lock)    Resume   Exchange(lock)    compute
//!   events     Sample …    Written Out … Wake In       Sample … Out … Wake In  Out ……… Wake In
//!   waker                           none               who had the lock             none
//! ```
//! A request is ended by no thread: it takes its time, as a device does. Who wrote what is requested, and where, stands
//! beside it.

use longpole_coherence::{
    DataRequest, ProcessorId, RequestCause, SiteId, SyncToken, VirtualEvent, VirtualExchange,
    VirtualRunObserver, VirtualWaitSubject,
};
use longpole_event::{
    Blocking, CallDefinition, CallId, EXCHANGE, Event, EventKind, FileKind, LINE_REQUEST, PAGE_REQUEST,
    Primitive, PrimitiveId, PrimitiveKind, ProcessDefinition, ProcessId, StackId, ThreadDefinition, ThreadId,
    Time, Waker,
};
use longpole_recording::{LogBuilder, Result};
use rustc_hash::FxHashMap;

use super::code::SimulatedCode;
use super::order::EventOrder;
use super::threads::{SimulatedHold, SimulatedThread};
use super::units::UnitNames;
use crate::log::LoggedProcess;
use crate::names::ProcessNames;
use crate::settings::UnitProtocol;
use crate::streams::ProcessStreams;

/// Events are written when so many are on their way.
const MOST_PENDING: usize = 1 << 14;
/// How far apart primitives are told of: no two of them are one.
const PRIMITIVE_BYTES: u64 = 0x1000;
/// Switches of the simulation between two looks at what can be written.
const TURNS: u32 = 1024;

/// The primitives of the simulated process.
#[derive(Debug, Default)]
struct SimulatedPrimitives {
    by_name: FxHashMap<(PrimitiveKind, u64, String), PrimitiveId>,
    by_token: FxHashMap<(PrimitiveKind, SyncToken), PrimitiveId>,
    addresses: Vec<u64>,
}

/// Writes a run.
pub(super) struct SimulatedRunWriter<'a> {
    process: &'a LoggedProcess,
    streams: &'a ProcessStreams,
    units: &'a UnitNames,
    /// The call by which units are requested.
    unit_call: i32,
    /// The node of each processor; empty: each is one.
    nodes: &'a [ProcessorId],
    /// The first thread of each node.
    first_threads: FxHashMap<ProcessorId, ThreadId>,
    title: &'a str,
    log: LogBuilder,
    process_id: ProcessId,
    code: SimulatedCode<'a>,
    order: EventOrder,
    threads: Vec<SimulatedThread>,
    next_thread: u32,
    primitives: SimulatedPrimitives,
    /// The barrier of each token's round that is not full yet.
    rounds: FxHashMap<SyncToken, PrimitiveId>,
    turns: u32,
    failure: Option<longpole_recording::Error>,
}

/// When, and which thread.
#[derive(Clone, Copy)]
struct Moment {
    processor: ProcessorId,
    site: SiteId,
    time: u64,
}

impl<'a> SimulatedRunWriter<'a> {
    pub(super) fn new(
        (process, streams, units): (&'a LoggedProcess, &'a ProcessStreams, &'a UnitNames),
        (mut log, title, pid): (LogBuilder, &'a str, u32),
        (protocol, nodes): (UnitProtocol, &'a [ProcessorId]),
    ) -> Result<Self> {
        let process_id = log.process(ProcessDefinition { pid, parent: None })?;
        let mut threads = Vec::new();
        threads.resize_with(streams.threads(), SimulatedThread::default);
        Ok(SimulatedRunWriter {
            process,
            streams,
            units,
            unit_call: if protocol == UnitProtocol::Lines { LINE_REQUEST } else { PAGE_REQUEST },
            nodes,
            first_threads: FxHashMap::default(),
            title,
            log,
            process_id,
            code: SimulatedCode::new(process),
            order: EventOrder::default(),
            threads,
            next_thread: 0,
            primitives: SimulatedPrimitives::default(),
            rounds: FxHashMap::default(),
            turns: 0,
            failure: None,
        })
    }

    /// Ends the run: threads that have not ended are ended with their process.
    pub(super) fn finish(mut self, elapsed: u64, symbols: &mut LogBuilder) -> Result<()> {
        for index in 0..self.threads.len() {
            self.write_computed(ProcessorId(index as u16))?;
            if let Some(id) = self.threads[index].id.filter(|_| !self.threads[index].has_ended) {
                self.event(index, id, elapsed, EventKind::Exit);
            }
        }
        self.order.write_before(u64::MAX, &mut self.log)?;
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.log.flush()?;
        self.code.write_symbols(symbols)
    }

    fn event(&mut self, processor: usize, thread: ThreadId, time: u64, kind: EventKind) {
        let time = Time::from_nanoseconds(time);
        self.order.push(Event { time, cpu: processor as u16, thread, kind });
    }

    /// An event of the moment's thread, at this time; nothing before it has begun.
    fn push(&mut self, moment: Moment, kind: EventKind) {
        let index = moment.processor.index();
        if let Some(id) = self.threads.get(index).and_then(|thread| thread.id) {
            self.event(index, id, moment.time, kind);
        }
    }

    fn stack(&mut self, site: SiteId) -> Result<Option<StackId>> {
        let shared = self.streams.shared.borrow();
        self.code.stack(site, &shared.sites, &mut self.log)
    }

    /// Writes what a thread has computed: since the sample before it was where each sample finds it.
    fn write_computed(&mut self, processor: ProcessorId) -> Result<()> {
        let thread = &mut self.threads[processor.index()];
        let (pieces, mut time) = (std::mem::take(&mut thread.pieces), thread.from);
        for &(site, nanoseconds) in pieces.iter().filter(|(_, nanoseconds)| *nanoseconds > 0) {
            time += nanoseconds;
            let stack = self.stack(site)?;
            let sample = EventKind::Sample { stack, kernel: false, gap: 0 };
            self.push(Moment { processor, site, time }, sample);
        }
        // Its memory is used again.
        let mut pieces = pieces;
        pieces.clear();
        self.threads[processor.index()].pieces = pieces;
        Ok(())
    }

    fn primitive(&mut self, kind: PrimitiveKind, token: u64, name: &str) -> Result<PrimitiveId> {
        let key = (kind, token, name.to_owned());
        if let Some(&known) = self.primitives.by_name.get(&key) {
            return Ok(known);
        }
        let address = (self.primitives.addresses.len() as u64 + 1) * PRIMITIVE_BYTES;
        let text = self.log.text(name)?;
        let defined = Primitive { process: self.process_id, kind, address, name: Some(text) };
        let id = self.log.primitive(defined)?;
        self.primitives.addresses.push(address);
        self.primitives.by_name.insert(key, id);
        Ok(id)
    }

    /// A call that waits for what has this name.
    fn call(&mut self, number: i32, name: &str) -> Result<CallId> {
        let id = self.primitive(PrimitiveKind::Futex, number.unsigned_abs().into(), name)?;
        let address = self.primitives.addresses[id.index()];
        self.log.call(CallDefinition { number, arguments: [address, 0, 0], file: FileKind::None })
    }

    /// What a token is called: `what` and its place, where nothing better is known.
    fn token_name(&self, token: SyncToken, site: SiteId, what: &str) -> String {
        let shared = self.streams.shared.borrow();
        let names = ProcessNames::new(self.process, &shared);
        names.token(token.0, site).unwrap_or_else(|| {
            let place = names.place(site);
            match (place.file.rsplit('/').next().unwrap_or_default(), place.line) {
                ("", _) | (_, 0) => format!("{what} in {}", place.procedure),
                (file, line) => format!("{what} in {} ({file}:{line})", place.procedure),
            }
        })
    }

    /// The thread waits for so long, and nobody ends that.
    fn wait_alone(&mut self, moment: Moment, call: CallId, cost: u64) -> Result<()> {
        let (stack, end) = (self.stack(moment.site)?, Moment { time: moment.time + cost, ..moment });
        let blocking = Blocking::Uninterruptible;
        self.push(moment, EventKind::Out { blocking, call: Some(call), stack });
        self.push(end, EventKind::Wake { waker: Waker::Interrupt, call: None, stack: None });
        self.push(end, EventKind::In);
        Ok(())
    }

    fn request(&mut self, moment: Moment, request: &DataRequest, cost: u64) -> Result<()> {
        if cost == 0 {
            return Ok(());
        }
        if let RequestCause::Invalidated { writes, .. } = &request.cause {
            for write in writes {
                let Some(&writer) = self.first_threads.get(&write.processor) else { continue };
                let stack = self.stack(write.site)?;
                self.push(moment, EventKind::Written { writer, stack });
            }
        }
        let name = self.units.get((request.unit, request.object)).to_owned();
        let call = self.call(self.unit_call, &name)?;
        self.wait_alone(moment, call, cost)
    }

    fn exchange(&mut self, moment: Moment, exchange: VirtualExchange, cost: u64) -> Result<()> {
        if cost == 0 {
            return Ok(());
        }
        let name = match exchange {
            VirtualExchange::Upgrade(unit) => {
                format!("messages of the upgrade of {}", self.units.of_unit(unit))
            }
            VirtualExchange::Acquisition(token) => {
                self.threads[moment.processor.index()].handed.get_or_insert(moment.time);
                format!("messages of {}", self.token_name(token, moment.site, "lock"))
            }
            VirtualExchange::Passing(token) => {
                format!("messages of {}", self.token_name(token, moment.site, "barrier"))
            }
        };
        let call = self.call(EXCHANGE, &name)?;
        self.wait_alone(moment, call, cost)
    }

    fn begin(&mut self, moment: Moment, creator: Option<ProcessorId>) -> Result<()> {
        let index = moment.processor.index();
        let number = index as u32;
        let tid = self.process.threads.get(&number).map_or(number, |thread| thread.tid);
        let id = self.log.thread(ThreadDefinition { process: self.process_id, tid })?;
        self.threads[index].id = Some(id);
        self.next_thread += 1;
        let node = self.nodes.get(index).copied().unwrap_or(moment.processor);
        self.first_threads.entry(node).or_insert(id);
        let creator = creator.and_then(|creator| self.threads[creator.index()].id);
        let stack = if creator.is_some() { self.stack(moment.site)? } else { None };
        self.push(moment, EventKind::Start { creator, stack });
        let name = match self.nodes.is_empty() {
            true => format!("node {}", node.0),
            false => format!("node {} thread {number}", node.0),
        };
        let name = self.log.text(&name)?;
        self.push(moment, EventKind::Name { name });
        if self.next_thread == 1 {
            let program = self.log.text(self.title)?;
            self.push(moment, EventKind::Exec { program });
        }
        self.push(moment, EventKind::In);
        Ok(())
    }

    fn block(&mut self, moment: Moment, subject: VirtualWaitSubject) -> Result<()> {
        let (kind, token, what) = match subject {
            VirtualWaitSubject::Lock(token) => (PrimitiveKind::Mutex, token, "mutex"),
            VirtualWaitSubject::Semaphore(token) => (PrimitiveKind::Semaphore, token, "semaphore"),
            VirtualWaitSubject::Version(token) => (PrimitiveKind::Condition, token, "condition"),
            VirtualWaitSubject::Barrier(token) => (PrimitiveKind::Barrier, token, "barrier"),
            VirtualWaitSubject::Join(child) => return self.block_for_end(moment, child),
        };
        let barrier = self.threads[moment.processor.index()].barrier;
        let primitive = match barrier.filter(|_| kind == PrimitiveKind::Barrier) {
            Some(barrier) => barrier,
            None => self.named(kind, token, moment.site, what)?,
        };
        let stack = self.stack(moment.site)?;
        self.threads[moment.processor.index()].is_waiting = true;
        self.push(moment, EventKind::Await { primitive: Some(primitive), stack });
        let blocking = Blocking::Interruptible;
        self.push(moment, EventKind::Out { blocking, call: None, stack: None });
        Ok(())
    }

    /// glibc's way to wait for the end of a thread.
    fn block_for_end(&mut self, moment: Moment, child: ProcessorId) -> Result<()> {
        const FUTEX: i32 = 202;
        const SHARED_WAIT: u64 = 9 | 256;
        let tid = self.process.threads.get(&u32::from(child.0)).map_or(u32::from(child.0), |one| one.tid);
        let arguments = [u64::from(tid) << 3, SHARED_WAIT, tid.into()];
        let call = self.log.call(CallDefinition { number: FUTEX, arguments, file: FileKind::None })?;
        let stack = self.stack(moment.site)?;
        let blocking = Blocking::Interruptible;
        self.push(moment, EventKind::Out { blocking, call: Some(call), stack });
        Ok(())
    }

    /// The primitive of a token: one for each, by the place where it was used first.
    fn named(
        &mut self,
        kind: PrimitiveKind,
        token: SyncToken,
        site: SiteId,
        what: &str,
    ) -> Result<PrimitiveId> {
        if kind != PrimitiveKind::Barrier
            && let Some(&known) = self.primitives.by_token.get(&(kind, token))
        {
            return Ok(known);
        }
        let name = self.token_name(token, site, what);
        let id = self.primitive(kind, token.0, &name)?;
        self.primitives.by_token.insert((kind, token), id);
        Ok(id)
    }

    fn resume(&mut self, moment: Moment, by: Option<(ProcessorId, SiteId)>) -> Result<()> {
        let waker = match by.and_then(|(by, _)| self.threads[by.index()].id) {
            Some(id) => Waker::Thread(id),
            None => Waker::Unknown,
        };
        let mut stack = None;
        if let Some((by, site)) = by {
            self.write_computed(by)?;
            stack = self.stack(site)?;
        }
        self.push(moment, EventKind::Wake { waker, call: None, stack });
        self.push(moment, EventKind::In);
        if std::mem::take(&mut self.threads[moment.processor.index()].is_waiting) {
            self.push(moment, EventKind::Proceed);
        }
        Ok(())
    }

    fn acquire(&mut self, moment: Moment, lock: SyncToken, is_contended: bool) -> Result<()> {
        let stack = self.stack(moment.site)?;
        let thread = &mut self.threads[moment.processor.index()];
        let since = thread.handed.take().unwrap_or(moment.time);
        thread.holds.push(SimulatedHold { lock, since, is_contended, stack });
        Ok(())
    }

    fn release(&mut self, moment: Moment, lock: SyncToken) -> Result<()> {
        let thread = &mut self.threads[moment.processor.index()];
        let Some(at) = thread.holds.iter().rposition(|hold| hold.lock == lock) else { return Ok(()) };
        let hold = thread.holds.remove(at);
        let outer = at.checked_sub(1).map(|at| thread.holds[at].lock);
        let outer = match outer {
            Some(outer) => Some(self.named(PrimitiveKind::Mutex, outer, moment.site, "mutex")?),
            None => None,
        };
        let primitive = self.named(PrimitiveKind::Mutex, lock, moment.site, "mutex")?;
        let nanoseconds = moment.time - hold.since;
        let (stack, contended) = (hold.stack, hold.is_contended.into());
        let held = EventKind::Held {
            primitive,
            stack,
            outer,
            acquisitions: 1,
            contended,
            nanoseconds,
            longest: nanoseconds,
        };
        self.push(moment, held);
        Ok(())
    }

    fn arrive(&mut self, moment: Moment, token: SyncToken) -> Result<()> {
        let primitive = match self.rounds.get(&token) {
            Some(&round) => round,
            None => self.named(PrimitiveKind::Barrier, token, moment.site, "barrier")?,
        };
        self.rounds.insert(token, primitive);
        self.threads[moment.processor.index()].barrier = Some(primitive);
        self.push(moment, EventKind::Arrive { primitive });
        Ok(())
    }

    fn depart(&mut self, moment: Moment, token: SyncToken) {
        self.rounds.remove(&token);
        if let Some(primitive) = self.threads[moment.processor.index()].barrier.take() {
            self.push(moment, EventKind::Depart { primitive });
        }
    }

    fn count(&mut self, moment: Moment, token: SyncToken, adds: bool) -> Result<()> {
        let primitive = self.named(PrimitiveKind::Semaphore, token, moment.site, "semaphore")?;
        let post = EventKind::Post { primitive, count: 1 };
        self.push(moment, if adds { post } else { EventKind::Take { primitive } });
        Ok(())
    }

    fn end(&mut self, moment: Moment) {
        let blocking = Blocking::Dead;
        self.push(moment, EventKind::Out { blocking, call: None, stack: None });
        self.push(moment, EventKind::Exit);
        self.threads[moment.processor.index()].has_ended = true;
    }

    fn write(&mut self, moment: Moment, event: VirtualEvent<'_>) -> Result<()> {
        self.write_computed(moment.processor)?;
        match event {
            VirtualEvent::Begin { creator } => self.begin(moment, creator)?,
            VirtualEvent::Request { request, cost } => self.request(moment, request, cost)?,
            VirtualEvent::Exchange { exchange, cost } => self.exchange(moment, exchange, cost)?,
            VirtualEvent::Block(subject) => self.block(moment, subject)?,
            VirtualEvent::Resume { by } => self.resume(moment, by)?,
            VirtualEvent::Acquire { lock, is_contended } => self.acquire(moment, lock, is_contended)?,
            VirtualEvent::Release(lock) => self.release(moment, lock)?,
            VirtualEvent::Post(token) => self.count(moment, token, true)?,
            VirtualEvent::Take(token) => self.count(moment, token, false)?,
            VirtualEvent::Arrive(token) => self.arrive(moment, token)?,
            VirtualEvent::Depart(token) => self.depart(moment, token),
            VirtualEvent::Joined(child) => {
                if let Some(ended) = self.threads[child.index()].id {
                    self.push(moment, EventKind::Joined { ended });
                }
            }
            VirtualEvent::End => self.end(moment),
        }
        Ok(())
    }

    /// Writes events that nothing can come before.
    fn write_settled(&mut self, time: u64) -> Result<()> {
        let open = self.threads.iter().filter(|thread| !thread.pieces.is_empty()).map(|thread| thread.from);
        let settled = open.min().unwrap_or(u64::MAX).min(time);
        self.order.write_before(settled, &mut self.log)
    }
}

impl VirtualRunObserver for &mut SimulatedRunWriter<'_> {
    #[inline]
    fn compute(&mut self, processor: ProcessorId, site: SiteId, from: u64, nanoseconds: u64) {
        if self.threads[processor.index()].compute(site, from, nanoseconds)
            && let Err(error) = self.write_computed(processor)
        {
            self.failure.get_or_insert(error);
        }
    }

    fn happen(&mut self, processor: ProcessorId, site: SiteId, time: u64, event: VirtualEvent<'_>) {
        if let Err(error) = self.write(Moment { processor, site, time }, event) {
            self.failure.get_or_insert(error);
        }
    }

    fn pass(&mut self, time: u64) {
        self.turns += 1;
        if self.turns < TURNS || self.order.len() < MOST_PENDING {
            return;
        }
        self.turns = 0;
        if let Err(error) = self.write_settled(time) {
            self.failure.get_or_insert(error);
        }
    }
}
