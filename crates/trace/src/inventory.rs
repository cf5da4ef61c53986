//! The first reading of one machine's log: its definitions, its threads, and its counts.

use longpole_event::{
    Blocking, CallId, Event, EventKind, LossKind, MachineId, ProcessDefinition, ProcessId, TextId, ThreadId,
    Time, Waker,
};
use longpole_recording::{Defects, DefinitionTables, LogName, RecordingFolder};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::connections::{CarriedEvent, ReadWait, is_carried};
use crate::deliveries::{Deliveries, is_late};
use crate::dependences::{LogDependences, monitor_step};
use crate::end_polls::{SeenEnd, SleepRow};
use crate::error::Result;
use crate::exits::find_killed;
use crate::program::Affinity;
use crate::state::{Cause, State};
use crate::stops::{PossibleStop, Sleeps};
use crate::stream::LogStream;
use crate::transitions::Foreknowledge;
use crate::working_stops::{WorkingStop, working_stops};

/// One machine's log, as the first reading finds it. Times are the machine's own.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) tables: DefinitionTables,
    pub(crate) threads: Vec<InventoryThread>,
    /// Messages sent: key, thread and time.
    pub(crate) sent: Vec<(u64, ThreadId, Time)>,
    /// What threads wrote into streams between machines and read from them, where that is asked for.
    pub(crate) carried: Vec<CarriedEvent>,
    keeps_carried: bool,
    /// What threads say of messages.
    pub(crate) messages: Vec<(Time, ThreadId, EventKind)>,
    /// Owners of locks that threads wait for, as they were seen: when, who waits, and who holds the lock.
    pub(crate) owners: Vec<(Time, ThreadId, ThreadId)>,
    /// Where threads may run, as it was told.
    pub(crate) affinities: Vec<Affinity>,
    pub(crate) possible_stops: Vec<PossibleStop>,
    pub(crate) first: Option<Time>,
    pub(crate) last: Time,
    pub(crate) counts: EventCounts,
    pub(crate) outside: FxHashMap<TextId, u64>,
    pub(crate) defects: Defects,
    pub(crate) dependences: LogDependences,
    deliveries: Deliveries,
}

/// Numbers of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventCounts {
    pub(crate) events: u64,
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) samples: u64,
    pub(crate) lost_events: u64,
    pub(crate) lost_samples: u64,
    pub(crate) lost_stacks: u64,
    pub(crate) lost_threads: u64,
    pub(crate) lost_calls: u64,
    pub(crate) lost_communications: u64,
}

/// A thread that is switched off its processor can be woken before that is told; it takes so long at most, nanoseconds: a few microseconds,
/// and what others take of the processor.
const LONGEST_SWITCH: u64 = 1_000_000;

/// One thread, as the first reading finds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct InventoryThread {
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    pub(crate) creator: Option<ThreadId>,
    /// The system call in which it ended, where that was told.
    pub(crate) ended_in: Option<CallId>,
    /// When its creator last did something before that.
    pub(crate) creators_last: Option<Time>,
    /// The last wait that it ended.
    pub(crate) let_go: Option<LetGo>,
    pub(crate) name: Option<TextId>,
    pub(crate) program: Option<TextId>,
    pub(crate) title: Option<TextId>,
    /// Of its process.
    pub(crate) rank: Option<u32>,
    has_history: bool,
    /// Times it was woken.
    wakes: u64,
    /// When it began to wait, if it waits.
    blocked: Option<Time>,
    /// The number and time of its last wake while it had a processor.
    woken_running: Option<(u64, Time)>,
    /// The wait after which it has not waited again.
    waited: Option<ReadWait>,
    /// That wait, where an interrupt ended it and the thread has not read yet.
    interrupted: Option<ReadWait>,
    sleeps: Sleeps,
    sleep_row: SleepRow,
    pub(crate) working_stop: WorkingStop,
    pub(crate) known: Foreknowledge,
}

/// A wait of a thread that another one ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LetGo {
    pub(crate) thread: ThreadId,
    /// Since when it waited.
    pub(crate) since: Time,
    /// What the other one was in.
    pub(crate) call: Option<CallId>,
}

impl Inventory {
    /// Reads the whole log of a machine. With `is_part`, connections to other machines are kept.
    pub(crate) fn read(folder: &RecordingFolder, machine: MachineId, is_part: bool) -> Result<Self> {
        let mut inventory = Inventory { keeps_carried: is_part, ..Inventory::default() };
        let Some(log) = LogStream::open(folder, machine, LogName::Events)? else { return Ok(inventory) };
        let mut log = log.read_ahead(|_| true);
        let mut tables = DefinitionTables::default();
        log.read_all(&mut tables, &mut |event| inventory.take(event))?;
        inventory.defects = log.defects();
        if tables.processes.is_empty() && !tables.threads.is_empty() {
            // Only in a damaged log: its threads need a process to belong to.
            tables.processes.push(ProcessDefinition { pid: 0, parent: None });
        }
        inventory.threads.truncate(tables.threads.len());
        inventory.threads.resize(tables.threads.len(), InventoryThread::default());
        inventory.tables = tables;
        inventory.find_new_processes();
        inventory.count_conditions(folder, machine)?;
        Ok(inventory)
    }

    /// Reads the log once more, where threads tell of waits for conditions: numbers of signals and passes mean something
    /// only once it is known where threads signal.
    fn count_conditions(&mut self, folder: &RecordingFolder, machine: MachineId) -> Result<()> {
        let sites = std::mem::take(&mut self.dependences.sites);
        if sites.is_empty() {
            return Ok(());
        }
        let mut counter = sites.into_counter();
        if let Some(mut log) = LogStream::open(folder, machine, LogName::Events)? {
            log.read_all(&mut DefinitionTables::default(), &mut |event| {
                if let Some(step) = monitor_step(event.kind) {
                    counter.take(event.thread, step);
                }
            })?;
        }
        self.dependences.conditions = counter.into_rules();
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        self.counts.events += 1;
        self.first = Some(self.first.map_or(event.time, |first| first.min(event.time)));
        self.last = self.last.max(event.time);
        match event.kind {
            EventKind::Value { .. } => return,
            EventKind::Lost { kind, count } => {
                let lost = match kind {
                    LossKind::Events => &mut self.counts.lost_events,
                    LossKind::Samples => &mut self.counts.lost_samples,
                    LossKind::Stacks => &mut self.counts.lost_stacks,
                    LossKind::Threads => &mut self.counts.lost_threads,
                    LossKind::Calls => &mut self.counts.lost_calls,
                    LossKind::Communications => &mut self.counts.lost_communications,
                };
                *lost = lost.saturating_add(count);
                return;
            }
            _ => {}
        }
        self.dependences.take(event.thread, event.kind);
        self.deliver(event);
        if let EventKind::Owner { owner } = event.kind {
            self.owners.push((event.time, event.thread, owner));
            return;
        }
        if let EventKind::Allowed { count, first } = event.kind {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            self.affinities.push(Affinity { time: event.time, thread: event.thread, count, first });
            return;
        }
        if let EventKind::Joined { ended } = event.kind {
            self.join(event.thread, event.time, ended);
        }
        if let EventKind::Wake { waker: Waker::Thread(waker), call, .. } = event.kind
            && let Some(since) = self.threads.get(event.thread.index()).and_then(|thread| thread.blocked)
            && let Some(waker) = self.threads.get_mut(waker.index())
        {
            waker.sleeps.let_go(event.thread, since);
            waker.let_go = Some(LetGo { thread: event.thread, since, call });
        }
        let Some(thread) = self.thread(event.thread) else { return };
        thread.start = thread.start.or(Some(event.time));
        thread.foresee(event);
        thread.follow_wait(event);
        let waited = thread.waited;
        match event.kind {
            EventKind::Start { creator, .. } => thread.creator = creator,
            EventKind::Continue { creator, is_alive, .. } => {
                thread.creator = creator;
                thread.end = (!is_alive).then_some(event.time);
            }
            EventKind::Name { name } => thread.name = Some(name),
            EventKind::Exec { program } => {
                (thread.program, thread.title, thread.rank) = (Some(program), None, None);
            }
            EventKind::Title { title } => thread.title = Some(title),
            EventKind::Rank { rank } => thread.rank = Some(rank),
            EventKind::Exit => {
                thread.end = thread.end.or(Some(event.time));
                thread.sleeps.end(event.time);
                let stop = thread.tell_stop(event.thread);
                self.possible_stops.extend(stop);
            }
            EventKind::Out { blocking: Blocking::Dead, call, .. } => self.die(event.thread, event.time, call),
            EventKind::Communicate { .. }
            | EventKind::Communicated
            | EventKind::MessageSend(_)
            | EventKind::MessageSent { .. }
            | EventKind::MessageReceive { .. }
            | EventKind::MessageProbe(_)
            | EventKind::Meet(_)
            | EventKind::MeetingComplete { .. }
            | EventKind::CommunicatorName { .. } => {
                self.messages.push((event.time, event.thread, event.kind));
            }
            kind if self.keeps_carried && is_carried(kind) => {
                self.carried.push(CarriedEvent { time: event.time, thread: event.thread, kind, waited });
            }
            EventKind::Send { key } => self.sent.push((key, event.thread, event.time)),
            EventKind::Wake { waker: Waker::Outside(name), .. } => {
                *self.outside.entry(name).or_default() += 1;
            }
            _ => {}
        }
        match event.kind {
            EventKind::Out { .. } => self.counts.switches += 1,
            EventKind::Wake { .. } => self.counts.wakes += 1,
            EventKind::Sample { .. } => self.counts.samples += 1,
            _ => {}
        }
    }

    /// The thread is off its processor for ever.
    fn die(&mut self, thread: ThreadId, time: Time, call: Option<CallId>) {
        let creator =
            self.threads[thread.index()].creator.and_then(|creator| self.threads.get(creator.index()));
        let creator = creator.filter(|creator| creator.end.is_none());
        let creators_last = creator.map(|creator| creator.blocked.unwrap_or(time));
        let own = &mut self.threads[thread.index()];
        (own.end, own.ended_in, own.creators_last) = (Some(time), call, creators_last);
        own.known.dies_at_switch = true;
    }

    /// The thread joins another one, at its end or before.
    fn join(&mut self, thread: ThreadId, time: Time, ended: ThreadId) {
        let Some(since) = self.thread(thread).map(|own| own.working_stop.join(time)) else { return };
        let Some(other) = self.threads.get_mut(ended.index()) else { return };
        if other.end.is_none() && other.blocked.is_none() {
            other.working_stop.joined(thread, (time, since));
        }
        other.sleeps.join(other.wakes, thread, time);
        if let Some(end) = other.end
            && let Some(thread) = self.thread(thread)
        {
            let seen = thread.sleep_row.join(ended, end);
            // Of two that ended in one sleep the first will do: their joins say the rest.
            let is_new =
                |seen: &SeenEnd| thread.known.seen_ends.last().is_none_or(|last| last.wake < seen.wake);
            let seen = seen.filter(is_new);
            thread.known.seen_ends.extend(seen);
        }
    }

    /// Follows what is written and read, behind the dependences.
    fn deliver(&mut self, event: &Event) {
        match event.kind {
            EventKind::Write { channel, position, bytes } => {
                self.deliveries.write(channel, position.saturating_add(bytes), event.time);
            }
            EventKind::Read { channel, position, bytes } if bytes > 0 => {
                let known = self.dependences.streams[&channel];
                let end = position.saturating_add(bytes);
                let written = self.deliveries.read(channel, position, end, known);
                if let Some(thread) = self.thread(event.thread)
                    && let Some(wait) = thread.interrupted.take()
                    && written.is_some_and(|written| is_late(wait, written))
                {
                    thread.known.delivery_wakes.push(wait.wake);
                }
            }
            _ => {}
        }
    }

    /// The thread's row; ids far beyond the log's definitions are damage and have none.
    fn thread(&mut self, id: ThreadId) -> Option<&mut InventoryThread> {
        const MORE_THAN_ANY_MACHINE_HAS: usize = 1 << 26;
        let index = id.index();
        if index >= self.threads.len() {
            if index > self.threads.len() + 1024 || index > MORE_THAN_ANY_MACHINE_HAS {
                return None;
            }
            self.threads.resize(index + 1, InventoryThread::default());
        }
        Some(&mut self.threads[index])
    }

    fn find_new_processes(&mut self) {
        let processes: Vec<_> = self.tables.threads.iter().map(|thread| thread.process).collect();
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let creator = thread.creator.and_then(|creator| processes.get(creator.index()));
            thread.known.is_new_process = creator.is_some_and(|&process| process != processes[index]);
        }
        find_killed(&mut self.threads, &self.tables);
        self.find_joined(&processes);
        // Who joins a thread may end the program before that thread's last moment is told.
        for (index, thread) in self.threads.iter_mut().enumerate() {
            thread.sleeps.cut();
            self.possible_stops.extend(thread.tell_stop(ThreadId::from_index(index)));
        }
        let working = working_stops(&self.threads, &processes, &self.possible_stops);
        self.possible_stops.extend(working);
    }
}

impl Inventory {
    /// Whose ends are joined: those of threads by threads of the same process, else the end of the whole process.
    fn find_joined(&mut self, processes: &[ProcessId]) {
        let mut reaped = FxHashSet::default();
        for &(ended, by) in &self.dependences.joined {
            let (Some(&of), Some(&by)) = (processes.get(ended.index()), processes.get(by.index())) else {
                continue;
            };
            if of == by {
                self.threads[ended.index()].known.is_joined = true;
            } else {
                reaped.insert(of);
            }
        }
        for (thread, process) in self.threads.iter_mut().zip(processes) {
            thread.known.is_reaped = reaped.contains(process);
        }
    }
}

impl InventoryThread {
    /// Its sleeps are over: whether it was told to end in one of them is known, or may be.
    fn tell_stop(&mut self, id: ThreadId) -> Option<PossibleStop> {
        let sleeps = std::mem::take(&mut self.sleeps);
        if sleeps.are_a_loop() {
            self.working_stop.slept_often();
        }
        self.known.stopped = self.known.stopped.or(sleeps.stopped());
        sleeps.possible_stop(id)
    }

    /// The last wait, as a read that follows may tell what it was for.
    fn follow_wait(&mut self, event: &Event) {
        match event.kind {
            EventKind::Out { blocking, stack, .. } => {
                self.sleeps.leave(event.time);
                if blocking == Blocking::Runnable {
                    return;
                }
                self.working_stop.wait(blocking);
                (self.blocked, self.waited, self.interrupted) = (Some(event.time), None, None);
                let place = stack.filter(|_| blocking == Blocking::Interruptible);
                self.sleep_row.wait(place, event.time);
                if let Some(place) = place {
                    self.sleeps.wait(place, event.time);
                }
            }
            EventKind::Wake { waker, .. } => {
                self.sleeps.wake(waker, event.time);
                let wake = self.wakes;
                self.wakes += 1;
                self.sleep_row.wake(waker, event.time, wake);
                if waker == Waker::HardInterrupt {
                    self.known.timer_wakes.push(wake);
                }
                if let Some(begin) = self.blocked.take() {
                    self.working_stop.wake(waker);
                    self.waited = Some(ReadWait { wake, begin, end: event.time });
                    let by_interrupt = matches!(waker, Waker::Interrupt | Waker::SoftInterrupt(_));
                    self.interrupted = self.waited.filter(|_| by_interrupt);
                } else {
                    self.woken_running = Some((wake, event.time));
                }
            }
            EventKind::In => {
                self.sleeps.run(event.time);
                let (began, woken) = (self.blocked.take(), self.woken_running.take());
                if let (Some(begin), Some((wake, time))) = (began, woken)
                    && begin.since(time) <= LONGEST_SWITCH
                {
                    self.known.early_wakes.push(wake);
                    self.waited = Some(ReadWait { wake, begin, end: begin });
                }
            }
            _ => {}
        }
    }

    /// What the first event after the start proves about the state before it.
    fn foresee(&mut self, event: &Event) {
        let state = match event.kind {
            EventKind::In => State::Ready,
            EventKind::Out { .. } | EventKind::Sample { .. } => State::Running,
            EventKind::Await { .. }
            | EventKind::Proceed
            | EventKind::Held { .. }
            | EventKind::Enter { .. }
            | EventKind::Leave
            | EventKind::Spawn { .. }
            | EventKind::Joined { .. }
            | EventKind::Post { .. }
            | EventKind::Initialise { .. }
            | EventKind::Take { .. }
            | EventKind::Lock { .. }
            | EventKind::Unlock { .. }
            | EventKind::Waited { .. }
            | EventKind::Signal { .. }
            | EventKind::Write { .. }
            | EventKind::Read { .. }
            | EventKind::Arrive { .. }
            | EventKind::Depart { .. }
            | EventKind::Title { .. }
            | EventKind::Communicate { .. }
            | EventKind::Communicated
            | EventKind::MessageSend(_)
            | EventKind::MessageSent { .. }
            | EventKind::MessageReceive { .. }
            | EventKind::MessageProbe(_)
            | EventKind::Meet(_)
            | EventKind::MeetingComplete { .. }
            | EventKind::Rank { .. }
            | EventKind::Written { .. }
            | EventKind::Freed { .. }
            | EventKind::Overhead { .. } => State::Running,
            EventKind::Wake { .. } => State::Blocked(Cause::Other),
            _ => {
                // A thread that is never seen again is blocked all the time.
                self.known.initial = self.known.initial.or(Some(State::Blocked(Cause::Other)));
                return;
            }
        };
        if !self.has_history {
            self.has_history = true;
            self.known.initial = Some(state);
        }
    }
}
