//! Virtual time: one stream of steps for each processor, run in the order in which a machine of so many processors with
//! given costs would run them.
//!
//! Each processor has a clock of its own. The one whose clock is least takes its next step; among equals, the lowest id. An
//! access costs its time and that of the requests that it makes; a lock goes to the processor that asked first *in virtual time*.
//! The order, and with it every count, is the same however the streams were recorded: threads that a busy machine ran
//! one after the other, in long slices, are interleaved here as they would be side by side.
//!
//! ```text
//! p0   lock ====== unlock
//! p1       lock ..........=====      p1 waits until p0's unlock, then pays the lock's cost
//! ```
//!
//! What the model cannot see: a program whose steps depend on the order would make other steps in this one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::access::{
    AccessKind, DataAccess, DataObjectId, ProcessorId, SiteId, SyncKind, SyncOperation, SyncToken,
};
use crate::address_map::{AddressMap, DataLayout, MappedPiece};
use crate::data_words::DataWords;
use crate::error::{Error, Result};
use crate::footprint::room;
use crate::observer::{Unobserved, VirtualEvent, VirtualExchange, VirtualRunObserver, VirtualWaitSubject};
use crate::result::CommunicationResult;
use crate::settings::CoherenceSettings;
use crate::simulation::{AccessOutcome, CoherenceSimulation};

/// Costs of steps in nanoseconds; those of requests and upgrades are in [`CoherenceSettings::costs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepCosts {
    /// An access with a valid copy.
    pub access: u64,
    /// Taking a lock, semaphore or flag, after any wait.
    pub lock: u64,
    /// Passing a barrier, after any wait.
    pub barrier: u64,
}

/// What a processor does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamStep {
    /// Accesses data.
    Access {
        /// First byte.
        address: u64,
        /// Bytes.
        size: u32,
        /// Read, write or update.
        kind: AccessKind,
    },
    /// The same, as a part of an access that takes no time but that of its requests.
    Part {
        /// First byte.
        address: u64,
        /// Bytes.
        size: u32,
        /// Read, write or update.
        kind: AccessKind,
    },
    /// Makes so many accesses that are not simulated: each takes the time of an access, and what the processor's simulated
    /// accesses so far took besides for requests and upgrades, on average.
    Unsimulated(u64),
    /// Computes for so many nanoseconds.
    Compute(u64),
    /// Takes a lock, which one processor holds at a time.
    Lock(SyncToken),
    /// Gives it back.
    Unlock(SyncToken),
    /// Adds 1 to a semaphore.
    Post(SyncToken),
    /// Takes 1 from a semaphore; waits while it is 0.
    Await(SyncToken),
    /// Waits for so many processors at a barrier.
    Barrier(SyncToken, u32),
    /// Lets another processor begin, which has a stream of its own.
    Fork(ProcessorId),
    /// Waits for the end of another processor.
    Join(ProcessorId),
    /// Makes a version of what carries an order without counting: a condition, an atomic variable.
    Publish {
        /// What.
        token: SyncToken,
        /// From 1, each made once.
        version: u64,
        /// What it hands on; `None`: nothing.
        release: Option<SyncKind>,
    },
    /// Goes on when this version has been made, as the recorded run saw it; 0 was there before all.
    Observe {
        /// What.
        token: SyncToken,
        /// The version.
        version: u64,
        /// Whether it takes over what was handed on.
        acquires: bool,
    },
    /// An object is placed; it replaces those that were there.
    Place {
        /// First byte.
        address: u64,
        /// Bytes.
        size: u64,
        /// The object.
        object: DataObjectId,
    },
}

/// The steps of one processor, each at its place in the program.
pub type ProcessorStream = Vec<(SiteId, StreamStep)>;

/// Why a processor did not compute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VirtualWaitCause {
    /// So many requests and upgrades of one access.
    Protocol,
    /// A lock or semaphore: what was waited for, and what taking it costs.
    Token(SyncToken),
    /// A barrier.
    Barrier(SyncToken),
    /// Another's end.
    Join(ProcessorId),
}

/// An interval in which a processor waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualWait {
    /// Who.
    pub processor: ProcessorId,
    /// Where.
    pub site: SiteId,
    /// Virtual nanoseconds from the begin of the run.
    pub start: u64,
    /// The same.
    pub end: u64,
    /// Why.
    pub cause: VirtualWaitCause,
    /// Who ended it: the last holder, poster, arriver, or the one that was joined.
    pub enabled_by: Option<ProcessorId>,
}

/// A run in virtual time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtualRun {
    /// Requests and their causes, at virtual times.
    pub communication: CommunicationResult,
    /// Waits, in the order in which they ended (of equal ends, in the order of the simulation); none unless
    /// [`VirtualRunSetup::keeps_waits`].
    pub waits: Vec<VirtualWait>,
    /// Virtual nanoseconds at which each processor ended.
    pub ends: Vec<u64>,
    /// Steps that waited for something that could not come in this order, as it did in the recorded one, and went on
    /// without. 0 in [`VirtualRun::of`], which refuses such streams.
    pub unfollowed: u64,
    /// The words of [`VirtualRunSetup::words_of`] as units of their own; `None` where there are none.
    pub words: Option<CommunicationResult>,
    /// Blocks whose new layout is too large, which kept their addresses; 0 without a layout.
    pub unplaced: u64,
}

/// What a run of recorded streams begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtualRunSetup {
    /// What is simulated.
    pub settings: CoherenceSettings,
    /// What steps cost.
    pub costs: StepCosts,
    /// Objects that are there before the run: first byte, bytes, object.
    pub objects: Vec<(u64, u64, DataObjectId)>,
    /// The node of each processor; those of one node share their copies. Empty: each is a node of its own.
    pub nodes: Vec<ProcessorId>,
    /// First addresses of units whose words of 8 bytes are simulated too, as units of their own beside the run.
    pub words_of: Vec<u64>,
    /// First addresses of units whose requests alone are recorded, and numbered; empty: all. Everything is counted.
    pub records_of: Vec<u64>,
    /// Whether [`VirtualRun::waits`] are kept, one for each request and more: memory in proportion to the run's length. An observer is
    /// told of them either way.
    pub keeps_waits: bool,
    /// Another layout of some objects, which the accesses are simulated in; units that are named above are those of that layout.
    pub layout: Option<DataLayout>,
}

impl VirtualRun {
    /// Runs the streams, one for each processor. Processors that no other creates begin at 0.
    ///
    /// # Errors
    /// [`Error::Unit`], [`Error::Memory`], [`Error::Deadlock`], [`Error::NotHeld`], [`Error::NoStream`].
    pub fn of(streams: &[ProcessorStream], settings: CoherenceSettings, costs: StepCosts) -> Result<Self> {
        let setup = VirtualRunSetup {
            settings,
            costs,
            objects: Vec::new(),
            nodes: Vec::new(),
            words_of: Vec::new(),
            records_of: Vec::new(),
            keeps_waits: true,
            layout: None,
        };
        let sources = streams.iter().map(|stream| stream.iter().copied()).collect();
        let mut runner = Runner::new(sources, &setup, Unobserved)?;
        find_unborn(streams, &mut runner.processors)?;
        runner.run()?;
        runner.check_ended()?;
        Ok(runner.finish())
    }

    /// Runs recorded streams, which are read step by step. Every processor but the first one begins where another one
    /// creates it. A recorded run may have an order that this one has not (a lock that another one got first): a step that
    /// would wait for ever goes on, and is counted in `unfollowed`; processors that wait at a barrier that is never full
    /// end there.
    ///
    /// # Errors
    /// [`Error::Unit`], [`Error::Memory`], [`Error::NotHeld`].
    pub fn of_recorded<S>(sources: Vec<S>, setup: &VirtualRunSetup) -> Result<Self>
    where
        S: Iterator<Item = (SiteId, StreamStep)>,
    {
        Self::observed(sources, setup, Unobserved)
    }

    /// The same, told to an observer while it goes on.
    ///
    /// # Errors
    /// [`Error::Unit`], [`Error::Memory`], [`Error::NotHeld`].
    pub fn observed<S, O>(sources: Vec<S>, setup: &VirtualRunSetup, observer: O) -> Result<Self>
    where
        S: Iterator<Item = (SiteId, StreamStep)>,
        O: VirtualRunObserver,
    {
        let mut runner = Runner::new(sources, setup, observer)?;
        runner.begin_first();
        runner.processors.iter_mut().skip(1).for_each(|one| one.progress = VirtualProgress::Unborn);
        loop {
            runner.run()?;
            if !runner.go_on_without() {
                return Ok(runner.finish());
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VirtualProgress {
    Unborn,
    Ready,
    Blocked,
    Ended,
}

struct VirtualProcessor {
    time: u64,
    /// Accesses that were simulated, and the cost of their requests and upgrades.
    simulated: (u64, u64),
    /// What is left of the division of this cost.
    left: u128,
    /// Steps taken.
    next: usize,
    /// The place of the last one.
    site: SiteId,
    progress: VirtualProgress,
}

/// What of a token has been published, and who waits for a version.
#[derive(Default)]
struct VirtualVersions {
    /// All versions up to this one.
    through: u64,
    /// Versions after that.
    beyond: BTreeSet<u64>,
    waiting: Vec<(u64, ProcessorId, bool)>,
}

impl VirtualVersions {
    fn has(&self, version: u64) -> bool {
        version <= self.through || self.beyond.contains(&version)
    }

    fn add(&mut self, version: u64) {
        self.beyond.insert(version);
        while self.beyond.remove(&(self.through + 1)) {
            self.through += 1;
        }
    }
}

#[derive(Default)]
struct VirtualToken {
    /// Holder of a lock.
    holder: Option<ProcessorId>,
    /// Who gave it back or posted last.
    last: Option<ProcessorId>,
    /// Posts that no processor has taken yet.
    posts: u64,
    waiting: VecDeque<ProcessorId>,
}

struct Runner<S, O> {
    sources: Vec<S>,
    observer: O,
    nodes: Vec<ProcessorId>,
    settings: CoherenceSettings,
    costs: StepCosts,
    simulation: CoherenceSimulation,
    words: Option<DataWords>,
    map: Option<AddressMap>,
    /// Of the access that is simulated, in the other layout.
    pieces: Vec<MappedPiece>,
    processors: Vec<VirtualProcessor>,
    tokens: BTreeMap<SyncToken, VirtualToken>,
    barriers: BTreeMap<SyncToken, Vec<ProcessorId>>,
    joiners: BTreeMap<ProcessorId, Vec<ProcessorId>>,
    versions: BTreeMap<SyncToken, VirtualVersions>,
    keeps_waits: bool,
    waits: Vec<VirtualWait>,
    unfollowed: u64,
    /// Requests since the memory was looked at.
    unlooked: u32,
}

impl<S: Iterator<Item = (SiteId, StreamStep)>, O: VirtualRunObserver> Runner<S, O> {
    fn new(sources: Vec<S>, setup: &VirtualRunSetup, observer: O) -> Result<Self> {
        let ready = || VirtualProcessor {
            time: 0,
            simulated: (0, 0),
            left: 0,
            next: 0,
            site: SiteId(0),
            progress: VirtualProgress::Ready,
        };
        let mut simulation = CoherenceSimulation::new(setup.settings)?;
        if O::IS_TOLD {
            simulation.keep_recent();
        }
        if !setup.records_of.is_empty() {
            simulation.record_units(&setup.records_of);
        }
        let mut words = match setup.words_of.as_slice() {
            [] => None,
            units => Some(DataWords::new(setup.settings.unit, units)?),
        };
        let mut map = setup.layout.clone().map(|layout| AddressMap::new(layout, setup.settings.unit));
        for &(start, size, object) in &setup.objects {
            map.iter_mut().for_each(|map| map.place(None, start, size, object));
            simulation.place_object(start, size, object);
            words.iter_mut().for_each(|words| words.place_object(start, size, object));
        }
        Ok(Self {
            processors: sources.iter().map(|_| ready()).collect(),
            sources,
            observer,
            nodes: setup.nodes.clone(),
            settings: setup.settings,
            costs: setup.costs,
            simulation,
            words,
            map,
            pieces: Vec::new(),
            tokens: BTreeMap::new(),
            barriers: BTreeMap::new(),
            joiners: BTreeMap::new(),
            versions: BTreeMap::new(),
            keeps_waits: setup.keeps_waits,
            waits: Vec::new(),
            unfollowed: 0,
            unlooked: 0,
        })
    }

    /// Processor 0 begins by itself.
    fn begin_first(&mut self) {
        if !self.processors.is_empty() {
            self.tell(ProcessorId(0), VirtualEvent::Begin { creator: None });
        }
    }

    /// Tells what happens to a processor, now and where it is.
    fn tell(&mut self, processor: ProcessorId, event: VirtualEvent<'_>) {
        let VirtualProcessor { time, site, .. } = self.processors[processor.index()];
        self.observer.happen(processor, site, time, event);
    }

    /// The node that the processor is in.
    #[inline]
    fn node(&self, processor: ProcessorId) -> ProcessorId {
        self.nodes.get(processor.index()).copied().unwrap_or(processor)
    }

    /// Takes steps until no processor is ready.
    fn run(&mut self) -> Result<()> {
        while let Some((processor, limit)) = self.next() {
            if O::IS_TOLD {
                self.observer.pass(self.processors[processor.index()].time);
            }
            // As long as its clock stays the least one it goes on, unless it may have let another one go on.
            while self.step(processor)? {
                if (self.processors[processor.index()].time, processor) >= limit {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The ready processor whose clock is least, and the clock of the one after it.
    fn next(&self) -> Option<(ProcessorId, (u64, ProcessorId))> {
        let mut least = None;
        let mut second = (u64::MAX, ProcessorId(u16::MAX));
        for (index, state) in self.processors.iter().enumerate() {
            if state.progress != VirtualProgress::Ready {
                continue;
            }
            let clock = (state.time, ProcessorId(index as u16));
            match least {
                Some(before) if before < clock => second = second.min(clock),
                Some(before) => {
                    second = before;
                    least = Some(clock);
                }
                None => least = Some(clock),
            }
        }
        least.map(|(_, processor)| (processor, second))
    }

    /// Lets one processor go on without what it waits for; false where none is left that could.
    fn go_on_without(&mut self) -> bool {
        let observers = self.versions.iter().flat_map(|(&token, versions)| {
            versions.waiting.iter().map(move |&(_, processor, _)| (processor, token))
        });
        if let Some((processor, token)) =
            observers.min_by_key(|&(one, _)| (self.processors[one.index()].time, one))
        {
            let waiting = &mut self.versions.entry(token).or_default().waiting;
            let at = waiting.iter().position(|&(_, one, _)| one == processor);
            let (_, _, acquires) = waiting.remove(at.expect("it was found there"));
            self.observed(processor, token, (0, None), acquires);
        } else if let Some(unborn) =
            self.processors.iter().position(|one| one.progress == VirtualProgress::Unborn)
        {
            self.processors[unborn].progress = VirtualProgress::Ready;
            self.tell(ProcessorId(unborn as u16), VirtualEvent::Begin { creator: None });
        } else if let Some((&token, _)) = self.tokens.iter().find(|(_, state)| !state.waiting.is_empty()) {
            let state = self.tokens.entry(token).or_default();
            let waiter = state.waiting.pop_front().expect("somebody waits");
            let is_lock = state.holder.is_some();
            state.posts += u64::from(!is_lock);
            self.take(waiter, token, is_lock);
        } else {
            return false;
        }
        self.unfollowed += 1;
        true
    }

    fn finish(self) -> VirtualRun {
        let mut waits = self.waits;
        waits.sort_by_key(|wait| wait.end);
        let ends = self.processors.iter().map(|processor| processor.time).collect();
        let communication = self.simulation.finish();
        let words = self.words.map(DataWords::finish);
        let unplaced = self.map.map_or(0, |map| map.unplaced());
        VirtualRun { communication, waits, ends, unfollowed: self.unfollowed, words, unplaced }
    }

    fn state(&mut self, processor: ProcessorId) -> &mut VirtualProcessor {
        &mut self.processors[processor.index()]
    }

    /// Takes the processor's next step; whether no other one can have been let go on by it.
    #[inline]
    fn step(&mut self, processor: ProcessorId) -> Result<bool> {
        let Some((site, step)) = self.sources[processor.index()].next() else {
            self.end(processor);
            return Ok(false);
        };
        let state = &mut self.processors[processor.index()];
        state.next += 1;
        state.site = site;
        match step {
            StreamStep::Compute(duration) => {
                self.observer.compute(processor, site, state.time, duration);
                state.time += duration;
            }
            StreamStep::Access { address, size, kind } => {
                let time = state.time;
                self.access(DataAccess { processor, address, size, kind, site, time }, true)?;
            }
            StreamStep::Part { address, size, kind } => {
                let time = state.time;
                self.access(DataAccess { processor, address, size, kind, site, time }, false)?;
            }
            StreamStep::Unsimulated(accesses) => {
                let (simulated, cost) = (u128::from(state.simulated.0.max(1)), u128::from(state.simulated.1));
                let cost = cost * u128::from(accesses) + state.left;
                let protocol = cost / simulated;
                state.left = cost % simulated;
                let duration = accesses.saturating_mul(self.costs.access).saturating_add(protocol as u64);
                self.observer.compute(processor, site, state.time, duration);
                state.time = state.time.saturating_add(duration);
            }
            StreamStep::Place { address, size, object } => {
                self.map.iter_mut().for_each(|map| map.place(Some(processor), address, size, object));
                self.simulation.place_object(address, size, object);
                self.words.iter_mut().for_each(|words| words.place_object(address, size, object));
            }
            other => return self.synchronising_step(processor, site, other).map(|()| false),
        }
        Ok(true)
    }

    fn synchronising_step(&mut self, processor: ProcessorId, site: SiteId, step: StreamStep) -> Result<()> {
        match step {
            StreamStep::Lock(token) => self.ask(processor, token, true),
            StreamStep::Await(token) => self.ask(processor, token, false),
            StreamStep::Unlock(token) => self.unlock(processor, token, site)?,
            StreamStep::Post(token) => self.post(processor, token, site),
            StreamStep::Barrier(token, expected) => self.arrive(processor, token, expected, site),
            StreamStep::Fork(child) => self.fork(processor, child, site),
            StreamStep::Join(child) => self.join(processor, child),
            StreamStep::Publish { token, version, release } => {
                self.publish(processor, (token, version), release, site);
            }
            StreamStep::Observe { token, version, acquires } => {
                self.observe(processor, (token, version), acquires);
            }
            StreamStep::Compute(_)
            | StreamStep::Access { .. }
            | StreamStep::Part { .. }
            | StreamStep::Unsimulated(_)
            | StreamStep::Place { .. } => {}
        }
        Ok(())
    }

    fn publish(
        &mut self,
        processor: ProcessorId,
        (token, version): (SyncToken, u64),
        release: Option<SyncKind>,
        site: SiteId,
    ) {
        if let Some(kind) = release {
            self.synchronise(processor, kind, token, site);
        }
        let time = self.state(processor).time;
        let versions = self.versions.entry(token).or_default();
        versions.add(version);
        let has_come = |&(wanted, _, _): &(u64, ProcessorId, bool)| wanted <= version;
        let (woken, left) = std::mem::take(&mut versions.waiting).into_iter().partition(has_come);
        versions.waiting = left;
        let (woken, early): (Vec<_>, Vec<_>) =
            Vec::into_iter(woken).partition(|&(wanted, _, _)| versions.has(wanted));
        versions.waiting.extend(early);
        for (_, observer, acquires) in woken {
            self.observed(observer, token, (time, Some(processor)), acquires);
        }
    }

    fn observe(&mut self, processor: ProcessorId, (token, version): (SyncToken, u64), acquires: bool) {
        let versions = self.versions.entry(token).or_default();
        if versions.has(version) {
            if acquires {
                let site = self.site(processor);
                self.synchronise(processor, SyncKind::Acquire, token, site);
            }
            return;
        }
        versions.waiting.push((version, processor, acquires));
        self.block(processor, VirtualWaitSubject::Version(token));
    }

    /// Goes on with a version that it waited for.
    fn observed(
        &mut self,
        processor: ProcessorId,
        token: SyncToken,
        (ready, enabled_by): (u64, Option<ProcessorId>),
        acquires: bool,
    ) {
        self.resume(processor, ready, None, (VirtualWaitCause::Token(token), enabled_by));
        if acquires {
            let site = self.site(processor);
            self.synchronise(processor, SyncKind::Acquire, token, site);
        }
    }

    #[inline]
    fn access(&mut self, access: DataAccess, is_whole: bool) -> Result<()> {
        let processor = access.processor;
        let of_node = DataAccess { processor: self.node(processor), ..access };
        let outcome = match self.map {
            Some(_) => self.access_mapped(processor, &of_node),
            None => {
                self.words.iter_mut().for_each(|words| words.access(&of_node));
                self.simulation.access(&of_node)
            }
        };
        let protocol = outcome.cost;
        if protocol > 0 && self.keeps_waits {
            self.waits.push(VirtualWait {
                processor,
                site: access.site,
                start: access.time,
                end: access.time + protocol,
                cause: VirtualWaitCause::Protocol,
                enabled_by: None,
            });
        }
        if O::IS_TOLD && outcome != AccessOutcome::default() {
            self.tell_protocol(&access, outcome);
        }
        let computes_from = access.time + protocol;
        let duration = if is_whole { self.costs.access } else { 0 };
        self.observer.compute(processor, access.site, computes_from, duration);
        let state = self.state(processor);
        state.time = computes_from + duration;
        state.left = 0;
        state.simulated = (state.simulated.0 + u64::from(is_whole), state.simulated.1 + protocol);
        if outcome.requests > 0 { self.note_growth() } else { Ok(()) }
    }

    /// An access touched new units, or lost copies: now and then the room for them is looked at.
    fn note_growth(&mut self) -> Result<()> {
        // Copies of large units take much each.
        let interval = (1 << 16 >> self.settings.unit.trailing_zeros()).clamp(1, 256);
        self.unlooked += 1;
        if self.unlooked < interval {
            return Ok(());
        }
        self.unlooked = 0;
        let words = self.words.as_ref().map_or(0, DataWords::footprint);
        self.simulation.check_footprint(words + room(&self.waits))
    }

    /// An access in the other layout: one step, whatever pieces it has become.
    fn access_mapped(&mut self, processor: ProcessorId, access: &DataAccess) -> AccessOutcome {
        let mut outcome = AccessOutcome::default();
        let Some(map) = &mut self.map else { return outcome };
        map.pieces(processor, (access.address, access.size), &mut self.pieces);
        for got in map.take_objects() {
            self.simulation.place_object(got.address, got.size, got.object);
            self.words.iter_mut().for_each(|words| words.place_object(got.address, got.size, got.object));
        }
        for &(address, size) in &self.pieces {
            let piece = DataAccess { address, size, ..*access };
            let part = self.simulation.access(&piece);
            self.words.iter_mut().for_each(|words| words.access(&piece));
            outcome.requests += part.requests;
            outcome.upgrades += part.upgrades;
            outcome.cost += part.cost;
        }
        outcome
    }

    /// Tells of the requests of an access, one after the other, and then of its upgrades.
    fn tell_protocol(&mut self, access: &DataAccess, outcome: AccessOutcome) {
        let DataAccess { processor, site, mut time, .. } = *access;
        for (request, cost) in self.simulation.take_recent() {
            self.observer.happen(processor, site, time, VirtualEvent::Request { request: &request, cost });
            time += cost;
        }
        if outcome.upgrades > 0 {
            let exchange = VirtualExchange::Upgrade(access.address & !(self.settings.unit - 1));
            let cost = u64::from(outcome.upgrades) * self.settings.costs.upgrade;
            self.observer.happen(processor, site, time, VirtualEvent::Exchange { exchange, cost });
        }
    }

    /// Applies an operation of the processor's node. What the threads of one node do to each other needs nothing.
    fn synchronise(&mut self, processor: ProcessorId, kind: SyncKind, token: SyncToken, site: SiteId) {
        let (time, node) = (self.state(processor).time, self.node(processor));
        let kind = match kind {
            SyncKind::Fork { child } => SyncKind::Fork { child: self.node(child) },
            SyncKind::Join { child } => SyncKind::Join { child: self.node(child) },
            other => other,
        };
        if let SyncKind::Fork { child } | SyncKind::Join { child } = kind
            && child == node
        {
            return;
        }
        let operation = SyncOperation { processor: node, token, kind, site, time };
        self.simulation.synchronise(&operation);
        if let Some(words) = &mut self.words {
            words.synchronise(&operation);
        }
    }

    /// The place of the step that was taken last.
    fn site(&self, processor: ProcessorId) -> SiteId {
        self.processors[processor.index()].site
    }

    /// Waits until another processor lets it go on.
    fn block(&mut self, processor: ProcessorId, subject: VirtualWaitSubject) {
        self.state(processor).progress = VirtualProgress::Blocked;
        self.tell(processor, VirtualEvent::Block(subject));
    }

    /// Goes on after a wait that ended at `ready`, and the messages that it takes then.
    fn resume(
        &mut self,
        processor: ProcessorId,
        ready: u64,
        messages: Option<(VirtualExchange, u64)>,
        (cause, enabled_by): (VirtualWaitCause, Option<ProcessorId>),
    ) {
        let site = self.site(processor);
        let state = self.state(processor);
        let start = state.time;
        let was_blocked = state.progress == VirtualProgress::Blocked;
        state.progress = VirtualProgress::Ready;
        state.time = start.max(ready);
        if was_blocked {
            let by = enabled_by.map(|one| (one, self.site(one)));
            self.tell(processor, VirtualEvent::Resume { by });
        }
        if let VirtualWaitCause::Barrier(token) = cause {
            self.tell(processor, VirtualEvent::Depart(token));
        }
        if let Some((exchange, cost)) = messages.filter(|&(_, cost)| cost > 0) {
            self.tell(processor, VirtualEvent::Exchange { exchange, cost });
            self.state(processor).time += cost;
        }
        let end = self.state(processor).time;
        if end > start && self.keeps_waits {
            self.waits.push(VirtualWait { processor, site, start, end, cause, enabled_by });
        }
    }

    fn fork(&mut self, processor: ProcessorId, child: ProcessorId, site: SiteId) {
        self.synchronise(processor, SyncKind::Fork { child }, SyncToken(0), site);
        let time = self.state(processor).time;
        let state = self.state(child);
        if state.progress == VirtualProgress::Unborn {
            state.time = time;
            state.site = site;
            state.progress = VirtualProgress::Ready;
            self.tell(child, VirtualEvent::Begin { creator: Some(processor) });
        }
    }

    /// Takes a token, or waits for it.
    fn ask(&mut self, processor: ProcessorId, token: SyncToken, is_lock: bool) {
        let state = self.tokens.entry(token).or_default();
        let is_free = if is_lock { state.holder.is_none() } else { state.posts > 0 };
        if is_free {
            self.take(processor, token, is_lock);
        } else {
            state.waiting.push_back(processor);
            let subject = if is_lock { VirtualWaitSubject::Lock } else { VirtualWaitSubject::Semaphore };
            self.block(processor, subject(token));
        }
    }

    fn post(&mut self, processor: ProcessorId, token: SyncToken, site: SiteId) {
        self.synchronise(processor, SyncKind::Release, token, site);
        self.tell(processor, VirtualEvent::Post(token));
        let state = self.tokens.entry(token).or_default();
        state.posts += 1;
        state.last = Some(processor);
        self.wake(token, false);
    }

    /// Takes a lock that is free, or one post.
    fn take(&mut self, processor: ProcessorId, token: SyncToken, is_lock: bool) {
        let state = self.tokens.entry(token).or_default();
        if is_lock {
            state.holder = Some(processor);
        } else {
            state.posts -= 1;
        }
        let (last, cost) = (state.last, self.costs.lock);
        // A post or an unlock is never ahead of the least clock, so a token that is free has been free since then.
        let is_contended = self.state(processor).progress == VirtualProgress::Blocked;
        let ready = last.filter(|_| is_contended);
        let ready = ready.map_or(0, |last| self.state(last).time);
        let enabler = last.filter(|_| ready > 0);
        let messages = (VirtualExchange::Acquisition(token), cost);
        self.resume(processor, ready, Some(messages), (VirtualWaitCause::Token(token), enabler));
        let site = self.site(processor);
        self.synchronise(processor, SyncKind::Acquire, token, site);
        let acquired = VirtualEvent::Acquire { lock: token, is_contended };
        self.tell(processor, if is_lock { acquired } else { VirtualEvent::Take(token) });
    }

    fn unlock(&mut self, processor: ProcessorId, token: SyncToken, site: SiteId) -> Result<()> {
        let state = self.tokens.entry(token).or_default();
        if state.holder != Some(processor) {
            return Err(Error::NotHeld { processor, token });
        }
        state.holder = None;
        state.last = Some(processor);
        self.synchronise(processor, SyncKind::Release, token, site);
        self.tell(processor, VirtualEvent::Release(token));
        self.wake(token, true);
        Ok(())
    }

    /// Gives a token to the processor that has waited longest.
    fn wake(&mut self, token: SyncToken, is_lock: bool) {
        if let Some(waiter) = self.tokens.entry(token).or_default().waiting.pop_front() {
            self.take(waiter, token, is_lock);
        }
    }

    fn arrive(&mut self, processor: ProcessorId, token: SyncToken, expected: u32, site: SiteId) {
        if self.nodes.is_empty() {
            self.synchronise(processor, SyncKind::Barrier { expected }, token, site);
        }
        self.tell(processor, VirtualEvent::Arrive(token));
        let arrived = self.barriers.entry(token).or_default();
        arrived.push(processor);
        if arrived.len() < expected as usize {
            self.block(processor, VirtualWaitSubject::Barrier(token));
            return;
        }
        let ready = self.state(processor).time;
        let arrived = self.barriers.remove(&token).unwrap_or_default();
        self.meet_by_nodes(&arrived, token);
        for waiter in arrived {
            let cause = (VirtualWaitCause::Barrier(token), Some(processor));
            let messages = (VirtualExchange::Passing(token), self.costs.barrier);
            self.resume(waiter, ready, Some(messages), cause);
        }
    }

    /// Where processors share nodes, each node comes to the barrier once.
    fn meet_by_nodes(&mut self, arrived: &[ProcessorId], token: SyncToken) {
        if self.nodes.is_empty() {
            return;
        }
        let mut members: BTreeMap<ProcessorId, ProcessorId> = BTreeMap::new();
        for &one in arrived {
            members.entry(self.node(one)).or_insert(one);
        }
        let kind = SyncKind::Barrier { expected: members.len() as u32 };
        for &one in members.values() {
            let site = self.site(one);
            self.synchronise(one, kind, token, site);
        }
    }

    fn join(&mut self, processor: ProcessorId, child: ProcessorId) {
        if self.state(child).progress == VirtualProgress::Ended {
            let ready = self.state(child).time;
            self.resume_joiner(processor, child, ready);
        } else {
            self.block(processor, VirtualWaitSubject::Join(child));
            self.joiners.entry(child).or_default().push(processor);
        }
    }

    fn resume_joiner(&mut self, processor: ProcessorId, child: ProcessorId, ready: u64) {
        self.resume(processor, ready, None, (VirtualWaitCause::Join(child), Some(child)));
        self.tell(processor, VirtualEvent::Joined(child));
        let site = self.site(processor);
        self.synchronise(processor, SyncKind::Join { child }, SyncToken(0), site);
    }

    fn end(&mut self, processor: ProcessorId) {
        self.state(processor).progress = VirtualProgress::Ended;
        let ready = self.state(processor).time;
        for joiner in self.joiners.remove(&processor).unwrap_or_default() {
            self.resume_joiner(joiner, processor, ready);
        }
        self.tell(processor, VirtualEvent::End);
    }

    fn check_ended(&self) -> Result<()> {
        let waiting = |state: &VirtualProcessor| state.progress != VirtualProgress::Ended;
        let left = self.processors.iter().enumerate().filter(|(_, state)| waiting(state));
        let (blocked, steps): (Vec<_>, Vec<_>) =
            left.map(|(index, state)| (ProcessorId(index as u16), state.next.saturating_sub(1))).unzip();
        if blocked.is_empty() { Ok(()) } else { Err(Error::Deadlock { blocked, steps }) }
    }
}

/// Processors that another one creates do not begin by themselves.
fn find_unborn(streams: &[ProcessorStream], processors: &mut [VirtualProcessor]) -> Result<()> {
    for (index, stream) in streams.iter().enumerate() {
        let processor = ProcessorId(index as u16);
        for (_, step) in stream {
            let (StreamStep::Fork(child) | StreamStep::Join(child)) = *step else { continue };
            let unknown = Error::NoStream { processor, child };
            let state = processors.get_mut(child.index()).filter(|_| child != processor).ok_or(unknown)?;
            if let StreamStep::Fork(_) = step {
                if state.progress == VirtualProgress::Unborn {
                    return Err(Error::NoStream { processor, child });
                }
                state.progress = VirtualProgress::Unborn;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: StepCosts = StepCosts { access: 1, lock: 20, barrier: 100 };
    const TOKEN: SyncToken = SyncToken(9);

    fn run(streams: Vec<Vec<StreamStep>>) -> VirtualRun {
        run_with(CoherenceSettings::lines(), streams).unwrap()
    }

    fn run_with(settings: CoherenceSettings, streams: Vec<Vec<StreamStep>>) -> Result<VirtualRun> {
        let sited = |steps: Vec<StreamStep>| {
            steps.into_iter().enumerate().map(|(at, step)| (SiteId(at as u32), step)).collect::<Vec<_>>()
        };
        let sources = streams.into_iter().map(|steps| sited(steps).into_iter()).collect();
        let setup = VirtualRunSetup {
            settings,
            costs: COSTS,
            objects: Vec::new(),
            nodes: Vec::new(),
            words_of: Vec::new(),
            records_of: Vec::new(),
            keeps_waits: true,
            layout: None,
        };
        VirtualRun::of_recorded(sources, &setup)
    }

    #[test]
    fn a_run_ends_before_its_tables_take_more_than_they_may() {
        let sweep = |lines: u64| {
            let touch = |line| StreamStep::Access { address: line * 64, size: 8, kind: AccessKind::Write };
            vec![(0..lines).map(touch).collect::<Vec<_>>()]
        };
        let settings = |memory| CoherenceSettings { memory, ..CoherenceSettings::lines() };
        let Err(Error::Memory { mebibytes: 4, units, unit: 64 }) =
            run_with(settings(4 << 20), sweep(1 << 20))
        else {
            panic!("the run was not refused");
        };
        // Half a kilobyte to two a line, as tables double.
        assert!((2000..16_000).contains(&units), "{units}");
        assert_eq!(run_with(settings(4 << 20), sweep(1000)).unwrap(), run(sweep(1000)));
        // Few large units take as much.
        let pages = CoherenceSettings { memory: 4 << 20, ..CoherenceSettings::pages(1 << 20) };
        let far =
            (0..64).map(|page| StreamStep::Access { address: page << 20, size: 8, kind: AccessKind::Read });
        assert!(matches!(run_with(pages, vec![far.collect()]), Err(Error::Memory { .. })));
    }

    #[test]
    fn accesses_that_are_not_simulated_take_what_the_others_took_on_average() {
        let access = |line: u64| StreamStep::Access { address: line * 64, size: 8, kind: AccessKind::Read };
        // Nothing is known before the first access: 3 ns. Two accesses with one request: 1 + 100 + 1; then 4 · (1 + 50).
        let steps = vec![StreamStep::Unsimulated(3), access(1), access(1), StreamStep::Unsimulated(4)];
        assert_eq!(run(vec![steps]).ends, [3 + 102 + 204]);
        // An access in parts takes the time of one.
        let part = |line: u64| StreamStep::Part { address: line * 64, size: 64, kind: AccessKind::Write };
        let rest = StreamStep::Access { address: 192, size: 0, kind: AccessKind::Write };
        let parts = run(vec![vec![part(1), part(2), rest, StreamStep::Unsimulated(1)]]);
        assert_eq!((parts.ends, parts.communication.total_requests), (vec![201 + 201], 2));
    }

    fn write() -> StreamStep {
        StreamStep::Access { address: 0x1000, size: 8, kind: AccessKind::Write }
    }

    fn publish(version: u64) -> StreamStep {
        StreamStep::Publish { token: TOKEN, version, release: Some(SyncKind::ReleaseStore) }
    }

    fn observe(version: u64) -> StreamStep {
        StreamStep::Observe { token: TOKEN, version, acquires: true }
    }

    #[test]
    fn a_version_is_seen_when_it_has_been_made_and_carries_what_was_written() {
        let child = ProcessorId(1);
        let first = vec![StreamStep::Fork(child), StreamStep::Compute(500), write(), publish(1)];
        let run = run(vec![first, vec![observe(0), observe(1), write()]]);
        // 500 and a first reference, then another request.
        assert_eq!((run.ends, run.unfollowed), (vec![601, 702], 0));
        assert_eq!(run.waits[1].cause, VirtualWaitCause::Token(TOKEN));
        let range = run.communication.range();
        assert_eq!((run.communication.total_requests, range.necessary, range.possible), (2, 0, 0));
    }

    #[test]
    fn versions_may_be_made_in_another_order_than_the_recorded_one() {
        let first = vec![StreamStep::Fork(ProcessorId(1)), StreamStep::Compute(50), publish(1)];
        let run = run(vec![first, vec![publish(2), observe(2), observe(1)]]);
        assert_eq!((run.ends, run.unfollowed), (vec![50, 50], 0));
    }

    #[test]
    fn what_never_comes_in_this_order_is_counted_and_passed() {
        // The recorded run had the second thread's lock first; here the first one has it and waits for the other.
        let first = vec![
            StreamStep::Fork(ProcessorId(1)),
            StreamStep::Lock(TOKEN),
            observe(1),
            StreamStep::Unlock(TOKEN),
        ];
        let second =
            vec![StreamStep::Compute(10), StreamStep::Lock(TOKEN), publish(1), StreamStep::Unlock(TOKEN)];
        assert_eq!(run(vec![first, second]).unfollowed, 1);
        // A thread whose creation was lost begins all the same; one that nobody meets at a barrier ends there.
        let run = run(vec![vec![StreamStep::Barrier(TOKEN, 2)], Vec::new()]);
        assert_eq!((run.unfollowed, run.ends.len()), (1, 2));
    }
}
