//! Recordings written by hand, event by event.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::Path;

use longpole_event::{
    Blocking, BusyWaiting, CallDefinition, Event, EventKind, FileKind, FrameDefinition, FrameId, MachineId,
    ModuleDefinition, ModuleKind, Primitive, PrimitiveId, PrimitiveKind, ProcessDefinition, ProcessId,
    StackDefinition, StackId, Symbol, SymbolPlace, ThreadDefinition, ThreadId, Time, Waker,
};
use longpole_recording::{LogBuilder, LogName, MachineDescription, Manifest, RecordingFolder, RunOutcome};
use longpole_trace::{Item, ItemKind, LockHold, State, Trace};
use tempfile::TempDir;

/// One machine's log under construction. Every procedure is a frame of its own.
pub struct Log {
    events: LogBuilder,
    symbols: LogBuilder,
    next_address: u64,
}

impl Log {
    pub fn new(folder: &RecordingFolder, machine: u32) -> Self {
        let builder = |log| LogBuilder::new(folder.create_log(MachineId(machine), log).unwrap());
        Log { events: builder(LogName::Events), symbols: builder(LogName::Symbols), next_address: 0x1000 }
    }

    pub fn text(&mut self, text: &str) -> longpole_event::TextId {
        self.events.text(text).unwrap()
    }

    pub fn process(&mut self, pid: u32, parent: Option<ProcessId>) -> ProcessId {
        self.events.process(ProcessDefinition { pid, parent }).unwrap()
    }

    pub fn thread(&mut self, process: ProcessId, tid: u32) -> ThreadId {
        self.events.thread(ThreadDefinition { process, tid }).unwrap()
    }

    /// A frame of `module` with these procedures, innermost inlined one first.
    pub fn frame(&mut self, module: &str, procedures: &[&str], spins: bool) -> FrameId {
        let waiting = if spins { BusyWaiting::Spins } else { BusyWaiting::Work };
        self.waiting_frame(module, procedures, waiting)
    }

    /// A frame at which a thread waits, or not.
    pub fn waiting_frame(&mut self, module: &str, procedures: &[&str], waiting: BusyWaiting) -> FrameId {
        let path = self.events.text(module).unwrap();
        let kind = if module == "[kernel]" { ModuleKind::Kernel } else { ModuleKind::File };
        let module = ModuleDefinition { path, build_id: vec![], kind, process: None };
        let module = self.events.module(module).unwrap();
        self.next_address += 1;
        let frame = self.events.frame(FrameDefinition { module, address: self.next_address }).unwrap();
        let places = procedures
            .iter()
            .map(|name| SymbolPlace { procedure: self.symbols.text(name).unwrap(), file: None, line: 0 })
            .collect();
        self.symbols.symbol(Symbol { frame, places, waiting }).unwrap();
        frame
    }

    /// A stack, outermost first.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        let mut caller = None;
        for &frame in frames {
            caller = Some(self.events.stack(StackDefinition { caller, frame }).unwrap());
        }
        caller.unwrap()
    }

    /// A stack of plain procedures of the program, outermost first.
    pub fn plain(&mut self, procedures: &[&str]) -> StackId {
        let frames: Vec<_> =
            procedures.iter().map(|name| self.frame("/bin/program", &[name], false)).collect();
        self.stack(&frames)
    }

    pub fn event(&mut self, time: u64, thread: ThreadId, kind: EventKind) {
        let time = Time::from_nanoseconds(time);
        self.events.event(Event { time, cpu: 0, thread, kind }).unwrap();
    }

    pub fn start(&mut self, time: u64, thread: ThreadId, by: Option<(ThreadId, StackId)>) {
        let (creator, stack) = (by.map(|by| by.0), by.map(|by| by.1));
        self.event(time, thread, EventKind::Start { creator, stack });
    }

    pub fn switch_in(&mut self, time: u64, thread: ThreadId) {
        self.event(time, thread, EventKind::In);
    }

    pub fn futex(&mut self, time: u64, thread: ThreadId, stack: StackId) {
        self.futex_at(time, thread, stack, 0x10);
    }

    pub fn futex_at(&mut self, time: u64, thread: ThreadId, stack: StackId, address: u64) {
        let call = CallDefinition { number: 202, arguments: [address, 128, 0], file: FileKind::None };
        let call = Some(self.events.call(call).unwrap());
        let (blocking, stack) = (Blocking::Interruptible, Some(stack));
        self.event(time, thread, EventKind::Out { blocking, call, stack });
    }

    /// The thread waits for data in a socket.
    pub fn receives(&mut self, time: u64, thread: ThreadId, stack: StackId) {
        let call = CallDefinition { number: 45, arguments: [3, 0, 99], file: FileKind::Socket };
        let call = Some(self.events.call(call).unwrap());
        let (blocking, stack) = (Blocking::Interruptible, Some(stack));
        self.event(time, thread, EventKind::Out { blocking, call, stack });
    }

    pub fn wake(&mut self, time: u64, thread: ThreadId, waker: ThreadId, stack: StackId) {
        let (waker, stack) = (Waker::Thread(waker), Some(stack));
        self.event(time, thread, EventKind::Wake { waker, call: None, stack });
    }

    pub fn sample(&mut self, time: u64, thread: ThreadId, stack: StackId) {
        self.event(time, thread, EventKind::Sample { stack: Some(stack), kernel: false, gap: 0 });
    }

    /// What stands for a region or a task of this name.
    pub fn mark(&mut self, name: &str) -> FrameId {
        let path = self.events.text(name).unwrap();
        let module = ModuleDefinition { path, build_id: vec![], kind: ModuleKind::Region, process: None };
        let module = self.events.module(module).unwrap();
        self.events.frame(FrameDefinition { module, address: 0 }).unwrap()
    }

    /// A primitive of the process, named where `name` is not empty.
    pub fn primitive(
        &mut self,
        process: ProcessId,
        kind: PrimitiveKind,
        address: u64,
        name: &str,
    ) -> PrimitiveId {
        let name = (!name.is_empty()).then(|| self.events.text(name).unwrap());
        self.events.primitive(Primitive { process, kind, address, name }).unwrap()
    }

    pub fn awaits(&mut self, time: u64, thread: ThreadId, primitive: PrimitiveId, stack: Option<StackId>) {
        self.event(time, thread, EventKind::Await { primitive: Some(primitive), stack });
    }

    pub fn proceed(&mut self, time: u64, thread: ThreadId) {
        self.event(time, thread, EventKind::Proceed);
    }

    /// The thread is off its processor, by a collector that sees neither call nor stack.
    pub fn out(&mut self, time: u64, thread: ThreadId, blocking: Blocking) {
        self.event(time, thread, EventKind::Out { blocking, call: None, stack: None });
    }

    pub fn dead(&mut self, time: u64, thread: ThreadId) {
        self.event(time, thread, EventKind::Exit);
        self.event(time, thread, EventKind::Out { blocking: Blocking::Dead, call: None, stack: None });
    }

    fn finish(mut self) {
        self.events.flush().unwrap();
        self.symbols.flush().unwrap();
    }
}

/// A recording of `machines` machines whose logs `write` fills; the run is from 0 to `end`.
pub fn recording(
    machines: Vec<MachineDescription>,
    end: u64,
    write: impl FnOnce(&mut [Log]),
) -> (TempDir, Trace) {
    let temporary = tempfile::tempdir().unwrap();
    let outcome = RunOutcome {
        begin_nanoseconds: 0,
        end_nanoseconds: end,
        exit_code: Some(0),
        signal: None,
        truncated: false,
    };
    let manifest = Manifest {
        format_version: 1,
        command: vec!["program".into()],
        machines,
        outcome: Some(outcome),
        ..Manifest::default()
    };
    let path = temporary.path().join("r.longpole");
    let folder = RecordingFolder::create(&path, &manifest).unwrap();
    let mut logs: Vec<_> =
        (0..manifest.machines.len()).map(|machine| Log::new(&folder, machine as u32)).collect();
    write(&mut logs);
    logs.into_iter().for_each(Log::finish);
    let trace = open(&path);
    (temporary, trace)
}

/// A recording of one process with the threads T0 and T1, which are on a processor from 0 on.
pub fn two(write: impl FnOnce(&mut Log, ProcessId, [ThreadId; 2])) -> (TempDir, Trace) {
    recording(vec![machine("a", 0)], 100, |logs| {
        let log = &mut logs[0];
        let process = log.process(10, None);
        let threads = [log.thread(process, 10), log.thread(process, 11)];
        for thread in threads {
            log.start(0, thread, None);
            log.switch_in(0, thread);
        }
        write(log, process, threads);
    })
}

pub fn open(path: &Path) -> Trace {
    Trace::open(path).unwrap()
}

/// The items as text: `T1 5 running`, `T2 7 at main/worker`, `T2 7 after T1@5 (Signal)`.
pub fn drawn(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    let mut draw = |item: &Item| {
        let what = match item.what {
            ItemKind::State(State::Blocked(cause)) => format!("blocked: {cause}"),
            ItemKind::State(state) => format!("{state:?}").to_lowercase(),
            ItemKind::Await(object) => format!("for {}", trace.objects().get(object).name),
            ItemKind::Release(token) => format!("releases {}", token.0),
            ItemKind::Acquire(acquisition) => format!("acquires {}", acquisition.token.0),
            ItemKind::Written { writer, path } => {
                format!("written by T{} at {}", writer.0, path_text(trace, path))
            }
            ItemKind::Held(hold) => {
                let LockHold { object, path, acquisitions, outer: _, contended, nanoseconds, longest } = hold;
                let (name, place) = (&trace.objects().get(object).name, path_text(trace, path));
                format!("held {name} {acquisitions}/{contended} for {nanoseconds}/{longest} at {place}")
            }
            ItemKind::Observe { path, .. } => format!("at {}", path_text(trace, path)),
            ItemKind::Depend { source, source_time, kind } => {
                format!("after T{}@{} ({kind:?})", source.0, source_time.nanoseconds())
            }
        };
        lines.push(format!("T{} {} {what}", item.thread.0, item.time.nanoseconds()));
    };
    trace.items(&mut draw).unwrap();
    lines
}

/// The items of one thread as text, without its name.
pub fn drawn_of(trace: &Trace, thread: &str) -> Vec<String> {
    let prefix = format!("{thread} ");
    drawn(trace).into_iter().filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned)).collect()
}

fn path_text(trace: &Trace, path: longpole_trace::PathId) -> String {
    let mut names: Vec<_> = trace
        .paths()
        .places_of(path)
        .map(|place| trace.paths().procedure_named_by(place.procedure).name.clone())
        .collect();
    names.reverse();
    names.join("/")
}

/// One machine with a clock of its own.
pub fn machine(name: &str, offset: i64) -> MachineDescription {
    let mut machine = MachineDescription { name: name.into(), cpus: 2, ..MachineDescription::default() };
    machine.clock.offset_nanoseconds = offset;
    machine
}
