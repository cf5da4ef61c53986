//! Raw events in time order to the records of a log.
//!
//! Gives processes and threads their ids (a reused pid or tid is another one), follows names, programs and
//! mappings, and has stacks unwound while their processes still exist. Used by the recorder and by the
//! importers alike.
//!
//! What the events say of a thread begins with [`EventKind::Start`] and ends with [`EventKind::Exit`], which
//! comes after the thread's last switch-out: a thread that is ending still runs, and wakes whoever joins it.

mod announcements;
mod children;
mod owners;

use std::collections::VecDeque;

use longpole_event::{
    Blocking, CallDefinition, CallId, Event, EventKind, LossKind, ProcessDefinition, ProcessId, StackId,
    TextId, ThreadDefinition, ThreadId, Time, Waker,
};
use longpole_recording::{LogBuilder, Result};
use longpole_symbols::{Mapping, Unwinder};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arguments::futex_word;
use crate::definitions::Definitions;
use crate::lock_owners::FutexWait;
use crate::naming::FramesToName;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, RawWaker};
use crate::stacks::StackInterner;

use children::Children;

/// Words of a process that are looked at; further ones are named by the places of their waits.
const MOST_WORDS: usize = 100_000;
/// Threads that are remembered when they have ended.
const MOST_GONE: usize = 100_000;
/// Mappings of a process that are kept until its next execution is seen; see [`ProcessState`].
const MOST_NEW_MAPPINGS: usize = 64;

/// When and on which processor something happened.
#[derive(Clone, Copy, Debug)]
struct TimeAndCpu {
    time: Time,
    cpu: u16,
}

/// What the log says of a recorded thread that has not ended.
#[derive(Clone, Copy, Debug)]
struct ThreadState {
    id: ThreadId,
    process: ProcessId,
    pid: u32,
    name: Option<TextId>,
    last: Time,
    /// The kernel said that it ends; its last switch-out is still to come.
    is_ending: bool,
    /// A join of it, or a wait for its process, returned.
    is_joined: bool,
    /// The futex that it waits at, off its processor.
    waits: Option<FutexWait>,
}

/// What the log says of a recorded process that has not ended.
#[derive(Debug)]
struct ProcessState {
    id: ProcessId,
    threads: u32,
    /// Mappings since the process last took a name. An execution first drops the old mappings, then names
    /// the process, then maps the new program, and only then is it reported.
    new_mappings: Vec<Mapping>,
    /// Addresses of the words that its threads waited on since its last execution.
    words: FxHashSet<u64>,
    /// Threads by their handles.
    handles: FxHashMap<u64, u32>,
    /// Whether thread ids in its memory are those by which the recorder knows its threads; `None`: nobody has looked.
    has_our_ids: Option<bool>,
}

/// Numbers of what was assembled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    /// Switches, wakes, starts, ends, names.
    pub events: u64,
    /// Timer samples.
    pub samples: u64,
    /// Losses of any kind.
    pub lost: u64,
}

/// Assembles a log.
pub struct Assembler {
    log: LogBuilder,
    stacks: StackInterner,
    threads: FxHashMap<u32, ThreadState>,
    /// Threads that have ended.
    gone: FxHashMap<u32, ThreadState>,
    processes: FxHashMap<u32, ProcessState>,
    definitions: Definitions,
    primitives: announcements::DefinedPrimitives,
    children: Children,
    /// What looks at locks told, in order of time, that is not written down yet.
    seen_owners: VecDeque<owners::SeenOwner>,
    assembled: Assembled,
    last: Time,
}

impl Assembler {
    /// An assembler that writes into an empty log.
    #[must_use]
    pub fn new(log: LogBuilder) -> Self {
        Assembler {
            log,
            stacks: StackInterner::default(),
            threads: FxHashMap::default(),
            gone: FxHashMap::default(),
            processes: FxHashMap::default(),
            definitions: Definitions::default(),
            primitives: announcements::DefinedPrimitives::default(),
            children: Children::default(),
            seen_owners: VecDeque::new(),
            assembled: Assembled::default(),
            last: Time::ZERO,
        }
    }

    /// A thread that exists when the recording begins. `parent` is its process's parent, where recorded.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn begin_thread(
        &mut self,
        time: Time,
        task: KernelTask,
        parent: Option<u32>,
        name: Option<&str>,
    ) -> Result<()> {
        self.process(task.pid, parent)?;
        let at = TimeAndCpu { time, cpu: 0 };
        let state = self.start(at, task, None, None)?;
        if let Some(name) = name {
            let name = self.log.text(name)?;
            self.name(at, task.tid, state, name)?;
        }
        Ok(())
    }

    /// What a person would call the process of a task that exists when the recording begins.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn title(&mut self, time: Time, task: KernelTask, title: Option<&str>) -> Result<()> {
        let (Some(title), Some(state)) = (title, self.threads.get(&task.tid)) else { return Ok(()) };
        let (id, title) = (state.id, self.log.text(title)?);
        self.event(TimeAndCpu { time, cpu: 0 }, id, EventKind::Title { title })
    }

    /// The unwinder, to be told of mappings that existed before the recording began.
    pub fn unwinder(&mut self) -> &mut Unwinder {
        &mut self.stacks.unwinder
    }

    /// Whether a task is recorded and has not ended.
    #[must_use]
    pub fn knows(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// Numbers so far.
    #[must_use]
    pub fn assembled(&self) -> Assembled {
        self.assembled
    }

    /// Bytes in the log's file.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.log.written_bytes()
    }

    /// Takes the next event. Times may go back by the bounded disorder that logs allow.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn push(&mut self, event: RawEvent) -> Result<()> {
        let RawEvent { time, cpu, kind } = event;
        self.tell_owners(time)?;
        let at = TimeAndCpu { time, cpu };
        self.last = self.last.max(time);
        match kind {
            RawKind::Fork { parent, child, stack } => self.fork(at, parent, child, &stack),
            RawKind::Exec { task, program, title } => self.execute(at, task, (&program, title.as_deref())),
            RawKind::Name { task, name } => {
                let state = self.thread(at, task)?;
                if let Some(process) = self.processes.get_mut(&state.pid) {
                    process.new_mappings.clear();
                }
                let name = self.log.text(&name)?;
                self.name(at, task.tid, state, name)
            }
            RawKind::Exit { task } => {
                if let Some(state) = self.threads.get_mut(&task.tid) {
                    state.is_ending = true;
                }
                Ok(())
            }
            RawKind::Map { pid, mapping } => {
                self.map(pid, mapping);
                Ok(())
            }
            RawKind::Switch { previous, blocking, call, stack, next } => {
                if let Some(previous) = previous {
                    self.switch_out(at, previous, blocking, call, &stack)?;
                }
                if let Some(next) = next {
                    let state = self.thread(at, next)?;
                    if let Some(state) = self.threads.get_mut(&next.tid) {
                        state.waits = None;
                    }
                    self.event(at, state.id, EventKind::In)?;
                }
                Ok(())
            }
            RawKind::Wake { wakee, waker, call, stack } => self.wake(at, wakee, &waker, call, &stack),
            RawKind::Sample { task, kernel, stack, gap } => {
                let state = self.thread(at, task)?;
                let stack = self.stack(state.pid, &stack)?;
                self.assembled.samples += 1;
                let gap = u32::try_from((gap + 500) / 1000).unwrap_or(u32::MAX);
                self.event(at, state.id, EventKind::Sample { stack, kernel, gap })
            }
            RawKind::File { number, name } => self.definitions.file(&mut self.log, number, &name),
            RawKind::Inside { task, mark } => self.inside(at, task, mark),
            RawKind::NamePrimitive { pid, address, bytes, name } => {
                self.name_primitive((pid, address), bytes, &name)
            }
            RawKind::Stack { pid, taken } => self.stack(pid, &RawStack::Taken(taken)).map(drop),
            // Without an interpreter it means nothing.
            RawKind::Told { .. } => Ok(()),
            RawKind::Lost { kind, count } => self.lost(time, kind, count),
        }
    }

    /// Writes what was pushed to the file.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        if let Some((kind, count)) = self.stacks.take_losses() {
            self.lost(self.last, kind, count)?;
        }
        self.forget_unused();
        self.log.flush()
    }

    /// Recorded tasks that have not ended.
    #[must_use]
    pub fn living(&self) -> usize {
        self.threads.values().filter(|state| !state.is_ending).count()
    }

    /// Ends the log, and hands over the frames that are to be named.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`]; what was pushed before is named by [`Assembler::frames_to_name`].
    pub fn finish(mut self) -> Result<FramesToName> {
        self.tell_owners(Time::from_nanoseconds(u64::MAX))?;
        self.end_all()?;
        Ok(self.frames_to_name())
    }

    /// The frames of everything that was pushed, whether or not it could be written.
    #[must_use]
    pub fn frames_to_name(&self) -> FramesToName {
        if self.log.is_whole() {
            FramesToName::collect(self.log.frames(), self.log.words(), &self.stacks)
        } else {
            FramesToName::of_window(&self.stacks)
        }
    }

    /// Writes all that was pushed to files that change no more, where only the last part of the log is kept.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn close_segment(&mut self) -> Result<()> {
        self.flush()?;
        self.log.next_segment()
    }

    /// Where only the last part of the log is kept, memory holds what that needs and what may be named again.
    fn forget_unused(&mut self) {
        if !self.log.should_forget() {
            return;
        }
        self.log.forget(self.stacks.pinned().chain(self.primitives.pinned()));
        self.definitions.forget_unknown(&self.log);
    }

    /// Ends the threads whose last switch-out was not seen.
    fn end_all(&mut self) -> Result<()> {
        let mut ending: Vec<_> = self.threads.values().filter(|state| state.is_ending).copied().collect();
        ending.sort_by_key(|state| (state.last, state.id));
        for state in ending {
            self.event(TimeAndCpu { time: state.last, cpu: 0 }, state.id, EventKind::Exit)?;
        }
        self.flush()
    }

    fn fork(
        &mut self,
        at: TimeAndCpu,
        parent: KernelTask,
        child: KernelTask,
        stack: &RawStack,
    ) -> Result<()> {
        let creator = self.thread(at, parent)?;
        self.end(child.tid)?;
        if child.pid != creator.pid {
            self.end_process(child.pid);
            self.stacks.unwinder.fork(creator.pid, child.pid);
        }
        // A thread that was told of before its creation can have been the last that the process was known by.
        self.process(child.pid, Some(creator.pid).filter(|&pid| pid != child.pid))?;
        let stack = self.stack(creator.pid, stack)?;
        let state = self.start(at, child, Some(creator.id), stack)?;
        if child.pid != creator.pid {
            self.children.begin(creator.pid, child.pid, state.id);
        }
        match creator.name {
            Some(name) => self.name(at, child.tid, state, name),
            None => Ok(()),
        }
    }

    fn execute(
        &mut self,
        at: TimeAndCpu,
        task: KernelTask,
        (program, title): (&str, Option<&str>),
    ) -> Result<()> {
        let state = self.thread(at, task)?;
        // The kernel has ended all other threads of the process.
        let others: Vec<_> =
            self.threads.iter().filter(|(tid, other)| other.pid == state.pid && **tid != task.tid).collect();
        let mut others: Vec<u32> = others.into_iter().map(|(tid, _)| *tid).collect();
        others.sort_unstable();
        for tid in others {
            self.end(tid)?;
        }
        self.stacks.unwinder.exec(state.pid);
        if let Some(process) = self.processes.get_mut(&state.pid) {
            process.words.clear();
            process.handles.clear();
            for mapping in std::mem::take(&mut process.new_mappings) {
                self.stacks.unwinder.map(state.pid, mapping);
            }
        }
        let program = self.log.text(program)?;
        self.event(at, state.id, EventKind::Exec { program })?;
        let Some(title) = title else { return Ok(()) };
        let title = self.log.text(title)?;
        self.event(at, state.id, EventKind::Title { title })
    }

    fn map(&mut self, pid: u32, mapping: Mapping) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        if process.new_mappings.len() < MOST_NEW_MAPPINGS {
            process.new_mappings.push(mapping.clone());
        }
        self.stacks.unwinder.map(pid, mapping);
    }

    fn switch_out(
        &mut self,
        at: TimeAndCpu,
        task: KernelTask,
        blocking: Blocking,
        call: Option<CallDefinition>,
        stack: &RawStack,
    ) -> Result<()> {
        let state = self.thread(at, task)?;
        let stack = self.stack(state.pid, stack)?;
        let waits_in = call.filter(|_| blocking != Blocking::Dead);
        let word = waits_in.and_then(|call| futex_word(&call));
        if let Some(address) = word {
            self.word(state.pid, address)?;
        }
        let call = self.call(call)?;
        self.event(at, state.id, EventKind::Out { blocking, call, stack })?;
        if blocking == Blocking::Dead {
            return self.end(task.tid);
        }
        if let Some(state) = self.threads.get_mut(&task.tid) {
            state.last = at.time;
            let word = word.filter(|_| blocking == Blocking::Interruptible);
            state.waits = word.map(|word| FutexWait::begin(word, at.time));
        }
        Ok(())
    }

    fn wake(
        &mut self,
        at: TimeAndCpu,
        wakee: KernelTask,
        waker: &RawWaker,
        call: Option<CallDefinition>,
        stack: &RawStack,
    ) -> Result<()> {
        let wakee = self.thread(at, wakee)?;
        let known = |task: &KernelTask| self.threads.get(&task.tid).copied();
        let (waker, pid) = match waker {
            RawWaker::Task(task, name) => match known(task) {
                Some(state) => (Waker::Thread(state.id), Some(state.pid)),
                None => (Waker::Outside(self.log.text(name)?), None),
            },
            // A soft interrupt on the time of a task that is not recorded is nobody's work, as a hard one is.
            RawWaker::SoftInterrupt(task) => match known(task) {
                Some(state) => (Waker::SoftInterrupt(state.id), Some(state.pid)),
                None => (Waker::Interrupt, None),
            },
            RawWaker::Interrupt => (Waker::Interrupt, None),
            RawWaker::HardInterrupt => (Waker::HardInterrupt, None),
            RawWaker::Unknown => (Waker::Unknown, None),
        };
        let stack = match pid {
            Some(pid) => self.stack(pid, stack)?,
            None => None,
        };
        let call = self.call(call)?;
        self.event(at, wakee.id, EventKind::Wake { waker, call, stack })
    }

    fn lost(&mut self, time: Time, kind: LossKind, count: u64) -> Result<()> {
        self.assembled.lost += count;
        self.log.event(Event { time, cpu: 0, thread: ThreadId(0), kind: EventKind::Lost { kind, count } })
    }

    /// The thread of a task. One that was never announced is defined now: its announcement was lost, or it
    /// existed before the recording.
    fn thread(&mut self, at: TimeAndCpu, task: KernelTask) -> Result<ThreadState> {
        if let Some(state) = self.threads.get(&task.tid) {
            return Ok(*state);
        }
        let pid = if task.pid == 0 { task.tid } else { task.pid };
        self.process(pid, None)?;
        self.start(at, KernelTask { pid, tid: task.tid }, None, None)
    }

    fn process(&mut self, pid: u32, parent: Option<u32>) -> Result<()> {
        if self.processes.contains_key(&pid) {
            return Ok(());
        }
        let parent = parent.and_then(|parent| self.processes.get(&parent)).map(|parent| parent.id);
        let id = self.log.process(ProcessDefinition { pid, parent })?;
        self.processes.insert(
            pid,
            ProcessState {
                id,
                threads: 0,
                new_mappings: Vec::new(),
                words: FxHashSet::default(),
                handles: FxHashMap::default(),
                has_our_ids: None,
            },
        );
        Ok(())
    }

    fn start(
        &mut self,
        at: TimeAndCpu,
        task: KernelTask,
        creator: Option<ThreadId>,
        stack: Option<StackId>,
    ) -> Result<ThreadState> {
        let process = self.processes.get_mut(&task.pid).expect("a thread's process is defined before it");
        process.threads += 1;
        let process = process.id;
        let id = self.log.thread(ThreadDefinition { process, tid: task.tid })?;
        let state = ThreadState {
            id,
            process,
            pid: task.pid,
            name: None,
            last: at.time,
            is_ending: false,
            is_joined: false,
            waits: None,
        };
        self.threads.insert(task.tid, state);
        self.event(at, id, EventKind::Start { creator, stack })?;
        Ok(state)
    }

    fn name(&mut self, at: TimeAndCpu, tid: u32, state: ThreadState, name: TextId) -> Result<()> {
        if let Some(state) = self.threads.get_mut(&tid) {
            state.name = Some(name);
        }
        self.event(at, state.id, EventKind::Name { name })
    }

    /// The thread's last event, if there is such a thread; with the last thread its process ends.
    fn end(&mut self, tid: u32) -> Result<()> {
        let Some(state) = self.threads.remove(&tid) else { return Ok(()) };
        if self.gone.len() >= MOST_GONE {
            self.gone.clear();
        }
        self.gone.insert(tid, state);
        self.event(TimeAndCpu { time: self.last, cpu: 0 }, state.id, EventKind::Exit)?;
        if let Some(process) = self.processes.get_mut(&state.pid) {
            process.threads = process.threads.saturating_sub(1);
            if process.threads == 0 {
                self.end_process(state.pid);
            }
        }
        Ok(())
    }

    fn end_process(&mut self, pid: u32) {
        if self.processes.remove(&pid).is_some() {
            self.children.end(pid);
            self.stacks.unwinder.exit(pid);
        }
    }

    fn stack(&mut self, pid: u32, stack: &RawStack) -> Result<Option<StackId>> {
        let Some(process) = self.processes.get(&pid) else { return Ok(None) };
        self.stacks.resolve(&mut self.log, pid, process.id, stack)
    }

    /// Notes the word of memory that a thread of the process waits on.
    fn word(&mut self, pid: u32, address: u64) -> Result<()> {
        let Some(process) = self.processes.get_mut(&pid) else { return Ok(()) };
        if process.words.len() >= MOST_WORDS || !process.words.insert(address) {
            return Ok(());
        }
        self.stacks.word(&mut self.log, (pid, process.id), address)?;
        self.name_word(pid, address)
    }

    fn call(&mut self, call: Option<CallDefinition>) -> Result<Option<CallId>> {
        call.map(|call| self.definitions.call(&mut self.log, call)).transpose()
    }

    fn event(&mut self, at: TimeAndCpu, thread: ThreadId, kind: EventKind) -> Result<()> {
        self.assembled.events += 1;
        self.log.event(Event { time: at.time, cpu: at.cpu, thread, kind })
    }
}
