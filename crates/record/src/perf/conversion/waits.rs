//! Why and where threads wait, and who wakes them, where system calls and switches of one's own threads tell it.

use longpole_event::CallDefinition;

use super::{Conversion, RecordPlace};
use crate::perf::futexes::FutexCalls;
use crate::perf::layout::PerfSample;
use crate::perf::repeats::key;
use crate::raw::{KernelTask, RawKind, RawStack, RawWaker};

impl Conversion {
    /// A thread calls futex: to wait, or to let others go on.
    pub(super) fn futex(
        &mut self,
        calls: &FutexCalls,
        here: RecordPlace,
        task: KernelTask,
        sample: &PerfSample<'_>,
    ) -> Option<()> {
        let call = calls.read(sample.raw)?;
        // Its arguments are addresses of the process's memory.
        if self.is_private(task.pid) {
            return Some(());
        }
        let stack = self.keyed(task.pid, sample);
        for wakee in self.futexes.enter(task, call, stack.clone()) {
            self.told_wake(here, wakee, (task, call.call(), stack.clone()));
        }
        Some(())
    }

    /// What a thread that blocks waits for, and where, as far as that was told. The place where it left its processor
    /// has the kernel's procedures too.
    pub(super) fn wait_of(
        &mut self,
        tid: u32,
        place: Option<RawStack>,
    ) -> (Option<CallDefinition>, RawStack) {
        let (call, calling) = match self.futexes.block(tid) {
            Some((call, stack)) => (Some(call), stack),
            None => (None, RawStack::None),
        };
        (call, self.named(place.unwrap_or(calling)))
    }

    /// The stack with a key, by which it can be named if it is handed over.
    pub(super) fn keyed(&self, pid: u32, sample: &PerfSample<'_>) -> RawStack {
        let mut stack = self.stack(pid, sample);
        if let RawStack::Taken(taken) = &mut stack {
            taken.key = Some(key(pid, sample));
        }
        stack
    }

    /// A wake that the waker's system call told.
    pub(super) fn told_wake(
        &mut self,
        here: RecordPlace,
        wakee: u32,
        (waker, call, stack): (KernelTask, CallDefinition, RawStack),
    ) {
        let Some(wakee) = self.threads.recorded(wakee) else { return };
        let stack = self.named(stack);
        let waker = RawWaker::Task(waker, self.threads.name(waker.tid).to_owned());
        self.push(here, wakee.tid, RawKind::Wake { wakee, waker, call: Some(call), stack });
    }

    /// The stack, or its name if it was handed over before.
    fn named(&mut self, stack: RawStack) -> RawStack {
        match (&stack, &mut self.repeats) {
            (RawStack::Taken(taken), Some(repeats)) => match taken.key {
                Some(key) if repeats.is_known(key) => RawStack::Known(key),
                _ => stack,
            },
            _ => stack,
        }
    }
}
