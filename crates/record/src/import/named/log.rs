//! The log: threads with their states and the slices that they are in.

use longpole_event::{
    Blocking, CollectiveMeeting, Event, EventKind, ProcessDefinition, ProcessId, StackId, ThreadDefinition,
    ThreadId, Time, Waker,
};
use longpole_recording::LogBuilder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::error::ImportResult;
use super::code::{NamedCode, NamedProcedure};

/// Slices that a thread can be in at a time; further ones do not change its path.
const DEEPEST: usize = 4096;

/// How a trace tells threads apart.
pub(in super::super) type NamedThreadKey = u64;

/// A thread that begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct NamedTask {
    pub(in super::super) pid: u32,
    pub(in super::super) tid: u32,
    pub(in super::super) name: String,
    pub(in super::super) program: String,
    pub(in super::super) rank: Option<u32>,
    /// Its call paths are not called from where it was created.
    pub(in super::super) is_root: bool,
}

/// How far a thread has got.
#[derive(Clone, Debug)]
struct NamedThread {
    id: ThreadId,
    /// Path of each slice that it is in.
    slices: Vec<Option<StackId>>,
    is_running: bool,
    is_ending: bool,
    /// Until when it was said where it was.
    observed: u64,
    has_slices: bool,
    cpu: u16,
}

/// Writes a log.
pub(in super::super) struct NamedLog {
    log: LogBuilder,
    code: NamedCode,
    threads: FxHashMap<NamedThreadKey, NamedThread>,
    processes: FxHashMap<u32, ProcessId>,
    /// Communicators that have a name.
    communicators: FxHashSet<u64>,
    /// Slices alone say where threads are: there are no samples of call stacks.
    is_by_slices: bool,
    reached: u64,
    pub(in super::super) span: Option<(u64, u64)>,
    pub(in super::super) events: u64,
    pub(in super::super) samples: u64,
    /// Events that were before the one before them.
    pub(in super::super) late: u64,
    /// Ends of slices that had not begun.
    pub(in super::super) unmatched_ends: u64,
}

impl NamedLog {
    pub(in super::super) fn new(log: LogBuilder, is_by_slices: bool) -> NamedLog {
        NamedLog {
            log,
            code: NamedCode::default(),
            threads: FxHashMap::default(),
            processes: FxHashMap::default(),
            communicators: FxHashSet::default(),
            is_by_slices,
            reached: 0,
            span: None,
            events: 0,
            samples: 0,
            late: 0,
            unmatched_ends: 0,
        }
    }

    /// Paths that were cut, as there were too many of them.
    pub(in super::super) fn cut_paths(&self) -> u64 {
        self.code.cut
    }

    pub(in super::super) fn knows(&self, key: NamedThreadKey) -> bool {
        self.threads.contains_key(&key)
    }

    pub(in super::super) fn is_running(&self, key: NamedThreadKey) -> bool {
        self.threads.get(&key).is_some_and(|thread| thread.is_running)
    }

    /// Slices that a thread is in.
    pub(in super::super) fn depth(&self, key: NamedThreadKey) -> usize {
        self.threads.get(&key).map_or(0, |thread| thread.slices.len())
    }

    /// Where a thread is, by its slices.
    pub(in super::super) fn path(&self, key: NamedThreadKey) -> Option<StackId> {
        self.threads.get(&key)?.slices.last().copied().flatten()
    }

    /// The path through these procedures, outermost first.
    pub(in super::super) fn stack(
        &mut self,
        base: Option<StackId>,
        procedures: &[NamedProcedure],
    ) -> ImportResult<Option<StackId>> {
        let mut path = base;
        for procedure in procedures {
            path = self.code.call(path, procedure, &mut self.log)?;
        }
        Ok(path)
    }

    fn time(&mut self, time: u64) -> u64 {
        self.late += u64::from(time < self.reached);
        self.reached = self.reached.max(time);
        self.span = Some((self.span.map_or(self.reached, |(begin, _)| begin), self.reached));
        self.reached
    }

    fn event(&mut self, key: NamedThreadKey, time: u64, kind: EventKind) -> ImportResult<()> {
        let Some((id, cpu)) = self.threads.get(&key).map(|thread| (thread.id, thread.cpu)) else {
            return Ok(());
        };
        self.events += 1;
        Ok(self.log.event(Event { time: Time::from_nanoseconds(time), cpu, thread: id, kind })?)
    }

    /// A thread exists from now on; one that has the same key is gone.
    pub(in super::super) fn begin(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        task: &NamedTask,
        creator: Option<NamedThreadKey>,
    ) -> ImportResult<()> {
        let time = self.time(time);
        let is_first = !self.processes.contains_key(&task.pid);
        let parent = creator.and_then(|creator| self.threads.get(&creator)).map(|thread| thread.id);
        let stack = creator.filter(|_| !task.is_root).and_then(|creator| self.path(creator));
        let process = match self.processes.get(&task.pid) {
            Some(&known) => known,
            None => self.log.process(ProcessDefinition { pid: task.pid, parent: None })?,
        };
        self.processes.insert(task.pid, process);
        let id = self.log.thread(ThreadDefinition { process, tid: task.tid })?;
        let (slices, cpu, has_slices) = (Vec::new(), 0, false);
        let thread =
            NamedThread { id, slices, is_running: false, is_ending: false, observed: time, has_slices, cpu };
        self.threads.insert(key, thread);
        self.event(key, time, EventKind::Start { creator: parent, stack })?;
        self.rename(key, time, &task.name)?;
        if is_first && !task.program.is_empty() {
            self.execute(key, time, &task.program)?;
        }
        match task.rank.filter(|_| is_first) {
            Some(rank) => self.event(key, time, EventKind::Rank { rank }),
            None => Ok(()),
        }
    }

    pub(in super::super) fn rename(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        name: &str,
    ) -> ImportResult<()> {
        if name.is_empty() {
            return Ok(());
        }
        let (time, name) = (self.time(time), self.log.text(name)?);
        self.event(key, time, EventKind::Name { name })
    }

    pub(in super::super) fn execute(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        program: &str,
    ) -> ImportResult<()> {
        let (time, program) = (self.time(time), self.log.text(program)?);
        self.event(key, time, EventKind::Exec { program })
    }

    /// The thread gets a processor.
    pub(in super::super) fn switch_in(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        cpu: u16,
    ) -> ImportResult<()> {
        let time = self.time(time);
        if let Some(thread) = self.threads.get_mut(&key) {
            (thread.is_running, thread.cpu, thread.observed) = (true, cpu, time);
        }
        self.event(key, time, EventKind::In)
    }

    /// The thread leaves its processor.
    pub(in super::super) fn switch_out(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        blocking: Blocking,
    ) -> ImportResult<()> {
        let time = self.time(time);
        let stack = self.path(key).filter(|_| self.is_by_slices);
        self.event(key, time, EventKind::Out { blocking, call: None, stack })?;
        if let Some(thread) = self.threads.get_mut(&key) {
            thread.is_running = false;
        }
        match blocking {
            Blocking::Dead => self.exit(key, time),
            _ => Ok(()),
        }
    }

    fn exit(&mut self, key: NamedThreadKey, time: u64) -> ImportResult<()> {
        self.event(key, time, EventKind::Exit)?;
        self.threads.remove(&key);
        Ok(())
    }

    /// The thread ends; its last switch is still to come.
    pub(in super::super) fn ends(&mut self, key: NamedThreadKey) {
        if let Some(thread) = self.threads.get_mut(&key) {
            thread.is_ending = true;
        }
    }

    /// The thread can run, let go by another one, which was on that path.
    pub(in super::super) fn wake(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        waker: NamedWaker<'_>,
    ) -> ImportResult<()> {
        let time = self.time(time);
        let id = |key: NamedThreadKey| self.threads.get(&key).map(|thread| thread.id);
        let (waker, stack) = match waker {
            NamedWaker::Thread(by) => (id(by).map_or(Waker::Unknown, Waker::Thread), self.path(by)),
            NamedWaker::SoftInterrupt(by) => (id(by).map_or(Waker::Interrupt, Waker::SoftInterrupt), None),
            NamedWaker::Interrupt => (Waker::Interrupt, None),
            NamedWaker::Unknown => (Waker::Unknown, None),
            NamedWaker::Outside(name) => (Waker::Outside(self.log.text(name)?), None),
        };
        self.event(key, time, EventKind::Wake { waker, call: None, stack })
    }

    /// A timer found the thread there.
    pub(in super::super) fn sample(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        (stack, kernel): (Option<StackId>, bool),
    ) -> ImportResult<()> {
        let time = self.time(time);
        self.samples += 1;
        self.event(key, time, EventKind::Sample { stack, kernel, gap: 0 })
    }

    /// Says where the thread was until now, if it was on a processor and its slices say it.
    pub(in super::super) fn observe(&mut self, key: NamedThreadKey, time: u64) -> ImportResult<()> {
        let time = self.time(time);
        let Some(thread) = self.threads.get_mut(&key) else { return Ok(()) };
        if !self.is_by_slices || !thread.has_slices || !thread.is_running || time <= thread.observed {
            return Ok(());
        }
        thread.observed = time;
        let stack = self.path(key);
        self.event(key, time, EventKind::Sample { stack, kernel: false, gap: 0 })
    }

    /// A slice of the thread begins.
    pub(in super::super) fn begin_slice(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        procedure: &NamedProcedure,
    ) -> ImportResult<()> {
        self.observe(key, time)?;
        let caller = self.path(key);
        let path = match self.depth(key) {
            DEEPEST.. => caller,
            _ => self.code.call(caller, procedure, &mut self.log)?,
        };
        if let Some(thread) = self.threads.get_mut(&key) {
            thread.slices.push(path);
            thread.has_slices = true;
        }
        Ok(())
    }

    /// The innermost slice of the thread ends.
    pub(in super::super) fn end_slice(&mut self, key: NamedThreadKey, time: u64) -> ImportResult<()> {
        self.observe(key, time)?;
        let ended = self.threads.get_mut(&key).and_then(|thread| thread.slices.pop());
        self.unmatched_ends += u64::from(ended.is_none());
        Ok(())
    }

    /// The thread comes to a collective operation of a communicator of that name, by a call that is the innermost slice.
    pub(in super::super) fn begin_meeting(
        &mut self,
        key: NamedThreadKey,
        time: u64,
        (meeting, name): (CollectiveMeeting, &str),
    ) -> ImportResult<()> {
        let (time, stack, communicator) = (self.time(time), self.path(key), meeting.communicator);
        if self.communicators.insert(communicator) {
            let name = self.log.text(name)?;
            self.event(key, time, EventKind::CommunicatorName { communicator, name })?;
        }
        self.event(key, time, EventKind::Communicate { communicator: 0, peer: None, stack })?;
        self.event(key, time, EventKind::Meet(meeting))
    }

    /// The collective operation of the innermost slice is over.
    pub(in super::super) fn end_meeting(&mut self, key: NamedThreadKey, time: u64) -> ImportResult<()> {
        let time = self.time(time);
        self.event(key, time, EventKind::Communicated)
    }

    /// Writes what is left, and what the frames mean.
    pub(in super::super) fn finish(&mut self, symbols: &mut LogBuilder) -> ImportResult<()> {
        let mut ending: Vec<(ThreadId, NamedThreadKey)> = self
            .threads
            .iter()
            .filter(|(_, thread)| thread.is_ending)
            .map(|(&key, thread)| (thread.id, key))
            .collect();
        ending.sort_unstable();
        let time = self.reached;
        for (_, key) in ending {
            self.exit(key, time)?;
        }
        self.log.flush()?;
        Ok(self.code.write_symbols(symbols)?)
    }
}

/// Who let a thread go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum NamedWaker<'a> {
    Thread(NamedThreadKey),
    SoftInterrupt(NamedThreadKey),
    Interrupt,
    /// A task that is not recorded, by name.
    Outside(&'a str),
    Unknown,
}
