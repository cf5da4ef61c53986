//! Turns decoded perf records, in time order, into raw events of the recorded threads.

mod waits;

use longpole_event::{Blocking, LossKind, Time};
use rustc_hash::FxHashMap;

use super::futexes::{FutexCalls, Futexes};
use super::layout::{PerfRecord, PerfSample, RecordOrigin};
use super::private_places::PrivatePlaces;
use super::repeats::{Repeats, key};
use super::scheduling::{Creating, Switching, WakeContext, Waking};
use super::switches::{RecordedSwitch, SwitchRecord, Switches};
use super::threads::{self, Threads};
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, RawWaker, TakenStack};

/// What the samples of an event tell.
#[derive(Clone, Debug)]
pub enum SampleMeaning {
    /// `sched:sched_switch`.
    Switch(Switching),
    /// `sched:sched_waking`.
    Wake(Waking),
    /// `sched:sched_process_fork`.
    Create(Creating),
    /// `syscalls:sys_enter_futex`.
    FutexEnter(FutexCalls),
    /// `syscalls:sys_exit_futex`.
    FutexExit,
    /// A thread is about to leave its processor; its switch record comes next.
    Leave,
    /// A clock or cycle counter found a thread running.
    Clock,
    /// Nothing that is used.
    Unused,
}

/// What becomes of the kernel's part of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelAddresses {
    /// They are of the kernel that runs; this is added to each (0, or the difference of two starts of
    /// the same kernel).
    Add(u64),
    /// They are of a kernel that cannot be asked for names.
    Drop,
}

/// The conversion of one source of records.
#[derive(Debug)]
pub struct Conversion {
    /// The threads, and which are recorded.
    pub threads: Threads,
    /// What to do with kernel addresses.
    pub kernel: KernelAddresses,
    /// Whether user registers are x86-64's.
    pub has_registers: bool,
    /// A `sched:sched_process_fork` follows each fork and tells where the creator was.
    pub has_creation: bool,
    /// With these the source's switch records say who is on a processor, and tracepoints only why a thread left.
    pub switches: Option<Switches>,
    /// What the tracepoints of futex calls tell of waits and wakes.
    pub futexes: Futexes,
    /// Waits and wakes repeat their stacks: with this, one that was handed over before is only named.
    pub repeats: Option<Repeats>,
    /// Processes whose places are not for the recorder's caller.
    pub(crate) privacy: Option<PrivatePlaces>,
    /// Records that did not hold what their event promises.
    pub damaged: u64,
    /// Samples by an event that means nothing here.
    pub unused: u64,
    /// The time of the record that is converted.
    now: Time,
    forks: FxHashMap<u32, (KernelTask, KernelTask)>,
    /// Where threads are that are about to leave their processors.
    leaving: FxHashMap<u32, RawStack>,
    out: Vec<RawEvent>,
}

impl Conversion {
    /// A conversion that has seen nothing.
    #[must_use]
    pub fn new(threads: Threads) -> Self {
        Conversion {
            threads,
            kernel: KernelAddresses::Add(0),
            has_registers: true,
            has_creation: false,
            switches: None,
            futexes: Futexes::default(),
            repeats: None,
            privacy: None,
            damaged: 0,
            unused: 0,
            now: Time::default(),
            forks: FxHashMap::default(),
            leaving: FxHashMap::default(),
            out: Vec::new(),
        }
    }

    /// Records may have been lost before this moment.
    pub(crate) fn lose(&mut self) {
        if let Some(privacy) = &mut self.privacy {
            privacy.lose(self.threads.recorded_pids());
        }
    }

    /// The events made since the last call.
    pub fn take(&mut self) -> impl Iterator<Item = RawEvent> + '_ {
        self.out.drain(..)
    }

    /// Converts one record. `time` is the record's, or the start of the source for what was so before.
    pub fn convert(
        &mut self,
        meaning: &SampleMeaning,
        time: Time,
        origin: RecordOrigin,
        record: PerfRecord<'_>,
    ) {
        let here = RecordPlace { time, cpu: origin.cpu.and_then(|cpu| u16::try_from(cpu).ok()) };
        self.now = time;
        match record {
            PerfRecord::Sample(sample) => self.sample(meaning, here, origin, &sample),
            PerfRecord::Map { pid, mapping } => {
                if self.threads.is_recorded_process(pid) {
                    self.privacy.iter_mut().for_each(|privacy| privacy.map(pid, &mapping.path));
                    if !self.is_private(pid) {
                        self.push(here, pid, RawKind::Map { pid, mapping });
                    }
                }
            }
            PerfRecord::Name { pid, tid, name, is_exec } => {
                self.name(here, KernelTask { pid, tid }, name, is_exec)
            }
            PerfRecord::Fork { child, parent } => {
                let (child, parent) =
                    (KernelTask { pid: child.0, tid: child.1 }, KernelTask { pid: parent.0, tid: parent.1 });
                self.fork(here, parent, child);
            }
            PerfRecord::Exit { pid, tid } => {
                self.settle(here, tid);
                self.futexes.end(tid);
                self.leaving.remove(&tid);
                if self.threads.recorded(tid).is_some() {
                    self.push(here, tid, RawKind::Exit { task: KernelTask { pid, tid } });
                    if let Some(switches) = &mut self.switches {
                        switches.end(tid);
                    }
                }
            }
            PerfRecord::Lost { count } => {
                self.switches.iter_mut().for_each(Switches::lose);
                self.push(here, 0, RawKind::Lost { kind: LossKind::Events, count });
            }
            PerfRecord::LostSamples { count } => {
                self.push(here, 0, RawKind::Lost { kind: LossKind::Samples, count })
            }
            PerfRecord::Switch(record) => {
                self.switch_record(here, KernelTask { pid: origin.pid, tid: origin.tid }, record)
            }
            PerfRecord::Other => {}
        }
    }

    /// Converts a record about the time before the source began: a thread or mapping that was there.
    pub fn convert_initial(&mut self, time: Time, record: PerfRecord<'_>) {
        let here = RecordPlace { time, cpu: None };
        match record {
            PerfRecord::Fork { child, parent } => {
                let (child, parent) =
                    (KernelTask { pid: child.0, tid: child.1 }, KernelTask { pid: parent.0, tid: parent.1 });
                self.threads.fork(parent, child);
            }
            PerfRecord::Name { pid, tid, name, .. } => {
                let is_recorded = self.threads.rename_initially(KernelTask { pid, tid }, &name);
                // Until it executes the program, perf's child has perf's name.
                if is_recorded && !threads::is_perf(&name) {
                    self.push(here, tid, RawKind::Name { task: KernelTask { pid, tid }, name });
                }
            }
            PerfRecord::Map { pid, mapping } if self.threads.is_recorded_process(pid) => {
                self.push(here, pid, RawKind::Map { pid, mapping });
            }
            _ => {}
        }
    }

    fn name(&mut self, here: RecordPlace, task: KernelTask, name: String, is_exec: bool) {
        self.settle(here, task.tid);
        if !self.threads.rename(task, &name, is_exec) {
            return;
        }
        self.push(here, task.tid, RawKind::Name { task, name: name.clone() });
        if is_exec {
            if let Some(repeats) = &mut self.repeats {
                repeats.forget();
            }
            self.push(here, task.tid, RawKind::Exec { task, program: name, title: None });
        }
    }

    fn fork(&mut self, here: RecordPlace, parent: KernelTask, child: KernelTask) {
        if !self.threads.fork(parent, child) {
            return;
        }
        self.privacy.iter_mut().for_each(|privacy| privacy.fork(parent.pid, child.pid));
        if self.has_creation {
            self.forks.insert(child.tid, (parent, child));
        } else {
            self.push(here, parent.tid, RawKind::Fork { parent, child, stack: RawStack::None });
        }
    }

    /// Hands over a fork whose place is not going to be told.
    fn settle(&mut self, here: RecordPlace, tid: u32) {
        if !self.forks.is_empty()
            && let Some((parent, child)) = self.forks.remove(&tid)
        {
            self.push(here, parent.tid, RawKind::Fork { parent, child, stack: RawStack::None });
        }
    }

    fn sample(
        &mut self,
        meaning: &SampleMeaning,
        here: RecordPlace,
        origin: RecordOrigin,
        sample: &PerfSample<'_>,
    ) {
        let task = KernelTask { pid: origin.pid, tid: origin.tid };
        if !matches!(meaning, SampleMeaning::Unused) {
            self.threads.see(task, here.cpu);
        }
        let understood = match meaning {
            SampleMeaning::Switch(switching) => self.switch(switching, here, sample),
            SampleMeaning::Wake(waking) => self.wake(waking, here, task, sample),
            SampleMeaning::Create(creating) => self.create(creating, here, sample),
            SampleMeaning::FutexEnter(calls) => self.futex(calls, here, task, sample),
            SampleMeaning::Leave => {
                let stack = self.keyed(task.pid, sample);
                self.leaving.insert(task.tid, stack);
                Some(())
            }
            SampleMeaning::FutexExit => {
                self.futexes.exit(task.tid);
                Some(())
            }
            SampleMeaning::Clock => {
                self.clock(here, task, origin.interval, sample);
                Some(())
            }
            SampleMeaning::Unused => {
                self.unused += 1;
                Some(())
            }
        };
        if understood.is_none() {
            self.damaged += 1;
        }
    }

    fn switch(&mut self, switching: &Switching, here: RecordPlace, sample: &PerfSample<'_>) -> Option<()> {
        let switch = switching.read(sample.raw)?;
        self.settle(here, switch.next);
        let previous = self.threads.recorded(switch.previous);
        let next = self.threads.recorded(switch.next).filter(|_| self.switches.is_none());
        if previous.is_some() || next.is_some() {
            // A thread that was pre-empted waits for nothing, and its next sample finds it in the same place.
            let has_place = !matches!(switch.blocking, Blocking::Runnable | Blocking::Dead);
            let is_waiting = previous.is_some() && has_place;
            let pid = previous.map_or(0, |task| task.pid);
            let stack = if is_waiting { self.repeated(pid, sample) } else { RawStack::None };
            let kind = RawKind::Switch { previous, blocking: switch.blocking, call: None, stack, next };
            self.push(here, switch.previous, kind);
        }
        if let (Some(switches), Some(_)) = (&mut self.switches, previous) {
            switches.announce(here.cpu, switch.previous, switch.blocking);
        }
        if let Some(cpu) = here.cpu {
            self.threads.place(switch.next, cpu);
        }
        if switch.blocking == Blocking::Dead {
            self.threads.forget(switch.previous);
        }
        Some(())
    }

    /// A thread got its processor or left it, which its tracepoint may have told already.
    fn switch_record(&mut self, here: RecordPlace, task: KernelTask, record: SwitchRecord) {
        let Some(switches) = &mut self.switches else { return };
        if !record.is_out {
            self.threads.see(task, here.cpu);
        }
        let is_recorded = |tid| self.threads.recorded(tid).is_some();
        match switches.take(record, here.cpu, task.tid, is_recorded) {
            RecordedSwitch::Nothing => {}
            RecordedSwitch::Out(tid, blocking) => {
                let place = self.leaving.remove(&tid);
                let (call, stack) = match blocking {
                    Blocking::Runnable | Blocking::Dead => (None, RawStack::None),
                    _ => self.wait_of(tid, place),
                };
                let previous = self.threads.recorded(tid);
                self.push(here, tid, RawKind::Switch { previous, blocking, call, stack, next: None });
                if blocking == Blocking::Dead {
                    self.threads.forget(tid);
                }
            }
            RecordedSwitch::In(tid, waker) => {
                self.settle(here, tid);
                let next = self.threads.recorded(tid);
                if let (Some(wakee), Some(waker)) = (next, waker) {
                    self.push(here, tid, RawKind::Wake { wakee, waker, call: None, stack: RawStack::None });
                }
                if let Some((waker, call, stack)) = self.futexes.run(tid) {
                    self.told_wake(here, tid, (waker, call, stack));
                }
                self.push(here, tid, RawKind::switch(None, Blocking::Runnable, next));
            }
        }
    }

    fn wake(
        &mut self,
        waking: &Waking,
        here: RecordPlace,
        current: KernelTask,
        sample: &PerfSample<'_>,
    ) -> Option<()> {
        let wake = waking.read(sample.raw)?;
        // A thread that is woken while it still runs has not stopped.
        if wake.wakee == current.tid {
            return Some(());
        }
        self.settle(here, wake.wakee);
        let Some(wakee) = self.threads.recorded(wake.wakee) else { return Some(()) };
        if let Some(switches) = &mut self.switches {
            switches.wake(wakee.tid);
        }
        let waker = match wake.context {
            WakeContext::HardInterrupt => RawWaker::HardInterrupt,
            // Nothing but interrupts wakes a thread while the processor is idle.
            _ if current.tid == 0 => RawWaker::Interrupt,
            WakeContext::SoftInterrupt => RawWaker::SoftInterrupt(current),
            WakeContext::Task => RawWaker::Task(current, self.threads.name(current.tid).to_owned()),
        };
        let is_task = matches!(waker, RawWaker::Task(..) | RawWaker::SoftInterrupt(_));
        let is_of_program = is_task && self.threads.recorded(current.tid).is_some();
        let stack = if is_of_program { self.repeated(current.pid, sample) } else { RawStack::None };
        self.push(here, current.tid, RawKind::Wake { wakee, waker, call: None, stack });
        Some(())
    }

    fn create(&mut self, creating: &Creating, here: RecordPlace, sample: &PerfSample<'_>) -> Option<()> {
        let child = creating.read(sample.raw)?;
        if let Some((parent, child)) = self.forks.remove(&child) {
            let stack = self.stack(parent.pid, sample);
            self.push(here, parent.tid, RawKind::Fork { parent, child, stack });
        }
        Some(())
    }

    fn clock(&mut self, here: RecordPlace, task: KernelTask, interval: u64, sample: &PerfSample<'_>) {
        self.settle(here, task.tid);
        if let Some(task) = self.threads.recorded(task.tid) {
            let stack = self.stack(task.pid, sample);
            self.push(
                here,
                task.tid,
                RawKind::Sample { task, kernel: sample.is_kernel, stack, gap: interval },
            );
        }
    }

    /// The stack, or its name if it was handed over before.
    fn repeated(&mut self, pid: u32, sample: &PerfSample<'_>) -> RawStack {
        if self.is_private(pid) {
            return RawStack::None;
        }
        let Some(repeats) = &mut self.repeats else { return self.stack(pid, sample) };
        let key = key(pid, sample);
        if repeats.is_known(key) {
            return RawStack::Known(key);
        }
        let mut stack = self.stack(pid, sample);
        if let RawStack::Taken(taken) = &mut stack {
            taken.key = Some(key);
        }
        stack
    }

    fn is_private(&self, pid: u32) -> bool {
        self.privacy.as_ref().is_some_and(|privacy| privacy.is_private(pid, self.now))
    }

    fn stack(&self, pid: u32, sample: &PerfSample<'_>) -> RawStack {
        if self.is_private(pid) {
            return RawStack::None;
        }
        let (mut kernel, chain) = sample.split_chain();
        match self.kernel {
            KernelAddresses::Add(difference) => {
                kernel.iter_mut().for_each(|address| *address = address.wrapping_add(difference));
            }
            KernelAddresses::Drop => kernel.clear(),
        }
        let registers = sample.registers.filter(|_| self.has_registers);
        if kernel.is_empty() && chain.is_empty() && registers.is_none() {
            return RawStack::None;
        }
        let memory = if registers.is_some() { sample.memory.to_vec() } else { Vec::new() };
        RawStack::Taken(Box::new(TakenStack {
            python: None,
            key: None,
            kernel,
            registers,
            memory,
            chain,
            procedures: Vec::new(),
            at_call: None,
        }))
    }

    /// Appends an event; a record without processor is where its thread was seen last.
    fn push(&mut self, here: RecordPlace, tid: u32, kind: RawKind) {
        let cpu = here.cpu.unwrap_or_else(|| self.threads.cpu(tid));
        self.out.push(RawEvent { time: here.time, cpu, kind });
    }
}

/// Time and processor of a record.
#[derive(Clone, Copy, Debug)]
struct RecordPlace {
    time: Time,
    cpu: Option<u16>,
}
