//! Writes a drawing as a recording, as a collector would have recorded that run.
//!
//! What a drawing says and a collector cannot see is left out: dependences on threads that were not waiting, and the
//! cause of a wait that a thread is in when it is first seen. Dependences between machines, and those that are under
//! way for a while, are written as messages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use longpole_event::{
    Blocking, BusyWaiting, CallDefinition, Event, EventKind, FileKind, FrameDefinition, FrameId, MachineId,
    ModuleDefinition, ModuleKind, Primitive, PrimitiveId, PrimitiveKind, ProcessDefinition, ProcessId,
    StackDefinition, StackId, Symbol, SymbolPlace, ThreadDefinition, ThreadId, Time, Waker,
};
use longpole_recording::{
    Destination, LogBuilder, LogName, MachineDescription, Manifest, RecordingFolder, Result, RunOutcome,
};
use longpole_trace::{Cause, ObjectKind, State};

use crate::drawing::{Drawing, DrawnDependence, DrawnHold};
use crate::memory::region;

impl Drawing {
    /// Writes the run as a recording into `folder`, over a recording that is there.
    ///
    /// # Errors
    /// What keeps the files from being written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut names: Vec<&str> = Vec::new();
        for thread in &self.threads {
            if !names.contains(&thread.machine.as_str()) {
                names.push(&thread.machine);
            }
        }
        let cpus = self.cpus.unwrap_or(self.threads.len() as u32);
        let machine = |name: &&str| MachineDescription {
            name: (*name).to_owned(),
            cpus,
            ..MachineDescription::default()
        };
        let outcome = RunOutcome {
            begin_nanoseconds: 0,
            end_nanoseconds: self.time(self.length()).nanoseconds(),
            exit_code: Some(0),
            signal: None,
            truncated: false,
        };
        let manifest = Manifest {
            format_version: longpole_recording::FORMAT_VERSION,
            command: vec!["drawn".to_owned()],
            machines: names.iter().map(machine).collect(),
            outcome: Some(outcome),
            ..Manifest::default()
        };
        let folder = Destination::Replace(folder.to_owned()).create(&manifest)?;
        for (index, name) in names.iter().enumerate() {
            MachineLogWriter::new(self, &folder, MachineId::from_index(index), name)?.write()?;
        }
        Ok(())
    }
}

/// Writes the logs of one machine.
struct MachineLogWriter<'a> {
    drawing: &'a Drawing,
    events: LogBuilder,
    symbols: LogBuilder,
    /// Ids in this log of the machine's threads, by their position in the drawing.
    ids: BTreeMap<usize, ThreadId>,
    frames: BTreeMap<(String, u32, bool), FrameId>,
    /// Processes by name, with the number of their threads.
    processes: BTreeMap<String, (ProcessId, u32)>,
    /// Threads that have told of a wait.
    inside: BTreeSet<usize>,
}

impl<'a> MachineLogWriter<'a> {
    fn new(drawing: &'a Drawing, folder: &RecordingFolder, machine: MachineId, name: &str) -> Result<Self> {
        let log = |log| folder.create_log(machine, log).map(LogBuilder::new);
        let mut writer = MachineLogWriter {
            drawing,
            events: log(LogName::Events)?,
            symbols: log(LogName::Symbols)?,
            ids: BTreeMap::new(),
            frames: BTreeMap::new(),
            processes: BTreeMap::new(),
            inside: BTreeSet::new(),
        };
        for (index, thread) in drawing.threads.iter().enumerate() {
            if thread.machine != name {
                continue;
            }
            let next = writer.processes.len() as u32;
            let (process, threads) = match writer.processes.get(&thread.process) {
                Some(&known) => known,
                None => {
                    let creator = drawing.creation(index).map(|(creator, _)| &drawing.threads[creator]);
                    let parent = creator
                        .and_then(|creator| writer.processes.get(&creator.process))
                        .map(|&(parent, _)| parent);
                    (writer.events.process(ProcessDefinition { pid: (next + 1) * 100, parent })?, 0)
                }
            };
            writer.processes.insert(thread.process.clone(), (process, threads + 1));
            let tid = (process.0 + 1) * 100 + threads;
            writer.ids.insert(index, writer.events.thread(ThreadDefinition { process, tid })?);
        }
        Ok(writer)
    }

    fn write(mut self) -> Result<()> {
        for column in 0..=self.drawing.length() {
            self.write_column(column)?;
        }
        self.events.flush()?;
        self.symbols.flush()
    }

    /// Looks, then dependences, then changes of state, as the drawing's timelines have them.
    fn write_column(&mut self, column: usize) -> Result<()> {
        let drawing = self.drawing;
        let threads: Vec<usize> = self.ids.keys().copied().collect();
        for &thread in &threads {
            if drawing.is_observed(thread, column) {
                let spins = drawing.state(thread, column - 1) == State::Spinning;
                let stack = self.stack(thread, column, spins)?;
                self.event(thread, column, EventKind::Sample { stack, kernel: false, gap: 0 })?;
            }
        }
        self.write_holds(column)?;
        let mut woken = Vec::new();
        for (key, dependence) in drawing.dependences.iter().enumerate() {
            self.write_dependence(key as u64, dependence, column, &mut woken)?;
        }
        for &thread in &threads {
            let before = column.checked_sub(1).map_or(State::Absent, |before| drawing.state(thread, before));
            let lives_on = column == drawing.length() && drawing.end(thread).is_none();
            let after = if lives_on { before } else { drawing.state(thread, column) };
            if before != after {
                self.write_change(thread, column, (before, after), woken.contains(&thread))?;
            }
        }
        Ok(())
    }

    fn write_dependence(
        &mut self,
        key: u64,
        dependence: &DrawnDependence,
        column: usize,
        woken: &mut Vec<usize>,
    ) -> Result<()> {
        let DrawnDependence { source, source_time, thread, time, kind } = *dependence;
        let (source_id, is_here) = (self.ids.get(&source).copied(), self.ids.contains_key(&thread));
        let is_direct = source_time == time && source_id.is_some() && is_here;
        if !is_direct {
            if source_id.is_some() && source_time == column {
                self.event(source, column, EventKind::Send { key })?;
            }
            if is_here && time == column {
                self.event(thread, column, EventKind::Receive { key })?;
            }
            return Ok(());
        }
        if time != column {
            return Ok(());
        }
        let before = column.checked_sub(1).map_or(State::Absent, |before| self.drawing.state(thread, before));
        let stack = self.stack(source, column, false)?;
        if kind == longpole_trace::DependenceKind::Create && before == State::Absent {
            woken.push(thread);
            self.event(thread, column, EventKind::Start { creator: source_id, stack })?;
            if self.drawing.threads[thread].process != self.drawing.threads[source].process {
                let program = self.events.text(&self.drawing.threads[thread].process)?;
                self.event(thread, column, EventKind::Exec { program })?;
            }
            return self.write_name(thread, column);
        }
        let goes_on = !matches!(self.drawing.state(thread, column), State::Blocked(_));
        if let (State::Blocked(_), true, Some(waker)) = (before, goes_on, source_id) {
            woken.push(thread);
            let waker = Waker::Thread(waker);
            self.event(thread, column, EventKind::Wake { waker, call: None, stack })?;
        }
        Ok(())
    }

    fn write_change(
        &mut self,
        thread: usize,
        column: usize,
        (before, after): (State, State),
        woken: bool,
    ) -> Result<()> {
        match before {
            State::Absent if !woken => {
                self.event(thread, column, EventKind::Start { creator: None, stack: None })?;
                self.write_name(thread, column)?;
            }
            State::Blocked(_) if !woken && after != State::Absent => {
                // A hard interrupt tells the timers of a poll from its descriptors.
                let waker = match before {
                    State::Blocked(Cause::PollTimeout) => Waker::HardInterrupt,
                    _ => Waker::Interrupt,
                };
                let kind = EventKind::Wake { waker, call: None, stack: None };
                self.event(thread, column, kind)?;
            }
            _ => {}
        }
        if before == State::Overhead {
            let since = (0..column).rev().take_while(|&at| self.drawing.state(thread, at) == State::Overhead);
            let nanoseconds = since.count() as u64 * self.drawing.unit;
            self.event(thread, column, EventKind::Overhead { nanoseconds })?;
        }
        let was_on = before.is_on_cpu();
        match after {
            State::Running | State::Spinning | State::Overhead => {
                if !was_on {
                    self.event(thread, column, EventKind::In)?;
                }
                self.write_inside(thread, column, after)
            }
            State::Ready if was_on => {
                let stack = self.stack(thread, column, false)?;
                let kind = EventKind::Out { blocking: Blocking::Runnable, call: None, stack };
                self.event(thread, column, kind)
            }
            State::Ready => Ok(()),
            // What a thread waits for when it is first seen cannot be known.
            State::Blocked(_) if before == State::Absent => Ok(()),
            State::Blocked(cause) => {
                if !was_on {
                    self.event(thread, column, EventKind::In)?;
                }
                self.write_block(thread, column, cause)
            }
            State::Absent => {
                self.event(thread, column, EventKind::Exit)?;
                if !was_on {
                    return Ok(());
                }
                let kind = EventKind::Out { blocking: Blocking::Dead, call: None, stack: None };
                self.event(thread, column, kind)
            }
        }
    }

    /// What the thread itself says of its waits.
    fn write_inside(&mut self, thread: usize, column: usize, after: State) -> Result<()> {
        if after == State::Running {
            let was_inside = self.inside.remove(&thread);
            return if was_inside { self.event(thread, column, EventKind::Proceed) } else { Ok(()) };
        }
        let Some(object) = self.drawing.awaited(thread, column) else { return Ok(()) };
        let primitive = Some(self.primitive(thread, object, self.drawing.address(thread, column))?);
        let stack = self.stack(thread, column, false)?;
        self.inside.insert(thread);
        self.event(thread, column, EventKind::Await { primitive, stack })
    }

    /// What threads say of the locks that they held.
    fn write_holds(&mut self, column: usize) -> Result<()> {
        let drawing = self.drawing;
        let here = |hold: &&DrawnHold| hold.time == column;
        for hold in drawing.holds.iter().filter(here) {
            if !self.ids.contains_key(&hold.thread) {
                continue;
            }
            let Some(object) = drawing.object_of(hold.object) else { continue };
            let primitive = self.primitive(hold.thread, object, drawing.address_of(object))?;
            let kind = EventKind::Held {
                primitive,
                stack: self.stack(hold.thread, column, false)?,
                outer: None,
                acquisitions: hold.acquisitions,
                contended: hold.contended,
                nanoseconds: hold.held * drawing.unit,
                longest: hold.longest * drawing.unit,
            };
            self.event(hold.thread, column, kind)?;
        }
        Ok(())
    }

    fn primitive(
        &mut self,
        thread: usize,
        (kind, name): &(ObjectKind, String),
        address: u64,
    ) -> Result<PrimitiveId> {
        let name = Some(self.events.text(name)?);
        let process = self.processes[&self.drawing.threads[thread].process].0;
        self.events.primitive(Primitive { process, kind: primitive(*kind), address, name })
    }

    fn write_block(&mut self, thread: usize, column: usize, cause: Cause) -> Result<()> {
        let (call, waiting) = evidence_of(cause, self.drawing.address(thread, column));
        let call = call.map(|call| self.events.call(call)).transpose()?;
        let mut stack = self.stack(thread, column, false)?;
        if let Some((module, name)) = waiting {
            let frame = self.frame(module, name, 0, false)?;
            stack = Some(self.events.stack(StackDefinition { caller: stack, frame })?);
        }
        self.event(thread, column, EventKind::Out { blocking: Blocking::Interruptible, call, stack })
    }

    fn write_name(&mut self, thread: usize, column: usize) -> Result<()> {
        let name = self.events.text(&self.drawing.threads[thread].name)?;
        self.event(thread, column, EventKind::Name { name })
    }

    /// The thread's own stack just before `column`; its creators' paths are not part of it.
    fn stack(&mut self, thread: usize, column: usize, spins: bool) -> Result<Option<StackId>> {
        let Some(letter) = self.drawing.letter_before(thread, column) else { return Ok(None) };
        let places = self.drawing.letters.get(&letter).cloned();
        let places = places.unwrap_or_else(|| vec![(letter.to_string(), 0)]);
        let mut caller = None;
        for (index, (name, line)) in places.iter().enumerate() {
            let is_innermost = index + 1 == places.len();
            let frame = self.frame("/bin/drawn", name, *line, spins && is_innermost)?;
            caller = Some(self.events.stack(StackDefinition { caller, frame })?);
        }
        Ok(caller)
    }

    fn frame(&mut self, module: &str, name: &str, line: u32, spins: bool) -> Result<FrameId> {
        let key = (name.to_owned(), line, spins);
        if let Some(&frame) = self.frames.get(&key) {
            return Ok(frame);
        }
        if let Some(region) = region(name) {
            let path = self.events.text(region)?;
            let module =
                ModuleDefinition { path, build_id: Vec::new(), kind: ModuleKind::Region, process: None };
            let module = self.events.module(module)?;
            return self.events.frame(FrameDefinition { module, address: 0 });
        }
        let path = self.events.text(module)?;
        let module = ModuleDefinition { path, build_id: Vec::new(), kind: ModuleKind::File, process: None };
        let module = self.events.module(module)?;
        let address = 0x1000 + 16 * self.frames.len() as u64;
        let frame = self.events.frame(FrameDefinition { module, address })?;
        let waiting = if spins { BusyWaiting::Spins } else { BusyWaiting::Work };
        let procedure = self.symbols.text(name)?;
        let file = Some(self.symbols.text("drawn.c")?);
        self.symbols.symbol(Symbol {
            frame,
            places: vec![SymbolPlace { procedure, file, line }],
            waiting,
        })?;
        self.frames.insert(key, frame);
        Ok(frame)
    }

    fn event(&mut self, thread: usize, column: usize, kind: EventKind) -> Result<()> {
        let time: Time = self.drawing.time(column);
        self.events.event(Event { time, cpu: 0, thread: self.ids[&thread], kind })
    }
}

/// The system call (x86-64) and the waiting procedure that show a wait of this cause.
fn evidence_of(cause: Cause, address: u64) -> (Option<CallDefinition>, Option<(&'static str, &'static str)>) {
    let call = |number| Some(CallDefinition { number, arguments: [address, 128, 0], file: FileKind::None });
    let read = |file| Some(CallDefinition { number: 0, arguments: [3, 0, 0], file });
    let libc = |name| Some(("/lib/libc.so.6", name));
    const FUTEX: i32 = 202;
    match cause {
        Cause::Lock => (call(FUTEX), libc("pthread_mutex_lock")),
        Cause::Condition => (call(FUTEX), libc("pthread_cond_wait")),
        Cause::Barrier => (call(FUTEX), libc("pthread_barrier_wait")),
        Cause::Join => (call(FUTEX), libc("pthread_join")),
        Cause::Park => (call(FUTEX), Some(("/bin/drawn", "std::thread::park"))),
        Cause::Futex => (call(FUTEX), None),
        Cause::Child => (call(61), None),
        Cause::Semaphore => (call(65), None),
        Cause::Message => (call(242), None),
        Cause::Io => (read(FileKind::Regular), None),
        Cause::Pipe => (read(FileKind::Pipe), None),
        Cause::Socket => (call(45), None),
        Cause::Terminal => (read(FileKind::Character), None),
        Cause::Poll | Cause::PollTimeout => (call(232), None),
        Cause::PageFault => (call(-1), None),
        Cause::Sleep => (call(35), None),
        Cause::Timer => (read(FileKind::Timer), None),
        Cause::Signal => (call(34), None),
        Cause::Kernel => (call(9), None),
        Cause::Stopped | Cause::Other => (None, None),
        Cause::Request => (call(longpole_event::PAGE_REQUEST), None),
        Cause::Delivery
        | Cause::PollingSleep
        | Cause::LateSender
        | Cause::LateReceiver
        | Cause::Collective => (None, None),
    }
}

/// What an agent calls an object of this kind.
fn primitive(kind: ObjectKind) -> PrimitiveKind {
    match kind {
        ObjectKind::Mutex => PrimitiveKind::Mutex,
        ObjectKind::RwLock => PrimitiveKind::ReadWriteLock,
        ObjectKind::SpinLock => PrimitiveKind::SpinLock,
        ObjectKind::Condition => PrimitiveKind::Condition,
        ObjectKind::Barrier => PrimitiveKind::Barrier,
        ObjectKind::Semaphore => PrimitiveKind::Semaphore,
        ObjectKind::Once => PrimitiveKind::Once,
        _ => PrimitiveKind::Futex,
    }
}
