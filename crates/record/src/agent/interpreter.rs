//! What the agent's events mean for a recording.

use longpole_event::Time;
use longpole_ring::WaitKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::causes::Causes;
use super::states::States;
use super::teams::Teams;
use super::told::{Told, primitive};
use crate::raw::{RawEvent, RawKind, RawMark, RawPlace, RawStack, TakenStack, Task};

/// What of a recording is the agent's to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The kernel tells states, causes and wakers: the agent adds what happens without the kernel.
    Locks,
    /// The kernel tells states only: causes, places and wakers are the agent's.
    Causes,
    /// Nobody else tells anything: states, causes and wakers are the agent's too.
    All,
}

/// What follows the agent's word on waits, by the part that is the agent's to tell.
enum Beside {
    /// Nothing does.
    Locks,
    Causes(Causes),
    Alone(States),
}

/// Turns told events into raw events; others pass.
pub(crate) struct Interpreter {
    beside: Beside,
    /// Threads whose wait was told on.
    waiting: FxHashSet<Task>,
    handles: Handles,
    teams: Teams,
}

impl Interpreter {
    pub(crate) fn new(part: Part) -> Interpreter {
        let beside = match part {
            Part::Locks => Beside::Locks,
            Part::Causes => Beside::Causes(Causes::default()),
            Part::All => Beside::Alone(States::default()),
        };
        let (waiting, handles, teams) = Default::default();
        Interpreter { beside, waiting, handles, teams }
    }

    /// Takes the next event in time order.
    pub(crate) fn take(&mut self, event: RawEvent, out: &mut impl FnMut(RawEvent)) {
        let RawEvent { time, cpu, kind } = event;
        let (task, mut told) = match kind {
            RawKind::Told { task, told } => (task, *told),
            kind => return self.pass(RawEvent { time, cpu, kind }, out),
        };
        self.handles.follow(task, &mut told);
        if let Some(kind) = self.teams.follow(time, task, &told) {
            self.pass(RawEvent { time, cpu, kind }, out);
        }
        let mark = self.mark(task, &told);
        let is_marked = mark.is_some();
        if let Some(mark) = mark {
            self.pass(RawEvent { time, cpu, kind: mark }, out);
        }
        match &mut self.beside {
            Beside::Alone(states) if !is_marked => states.take(time, task, told, out),
            Beside::Causes(causes) => causes.take(time, task, told, out),
            _ => {}
        }
    }

    /// Hands on what was held back.
    pub(crate) fn finish(&mut self, end: Time, out: &mut impl FnMut(RawEvent)) {
        match &mut self.beside {
            Beside::Locks => {}
            Beside::Causes(causes) => causes.finish(out),
            Beside::Alone(states) => states.finish(end, out),
        }
    }

    /// What a reader has to know of this run.
    pub(crate) fn findings(&self) -> Vec<String> {
        match &self.beside {
            Beside::Alone(states) => states.findings(),
            _ => Vec::new(),
        }
    }

    fn pass(&mut self, event: RawEvent, out: &mut impl FnMut(RawEvent)) {
        match &mut self.beside {
            Beside::Locks => out(event),
            Beside::Causes(causes) => causes.pass(event, out),
            Beside::Alone(states) => states.pass(event, out),
        }
    }

    /// What means the same whoever else tells.
    fn mark(&mut self, task: Task, told: &Told) -> Option<RawKind> {
        let is_alone = matches!(self.beside, Beside::Alone(_));
        let mark = match told {
            Told::Waits { wait, stack } if may_spin(wait.kind, is_alone) => {
                self.waiting.insert(task);
                RawMark::Await { primitive: primitive(wait.kind, wait.subject), stack: stack.clone() }
            }
            Told::Done { .. } | Told::Gap if self.waiting.remove(&task) => RawMark::Proceed,
            &Told::Held { kind, subject, place, outer, acquisitions, contended, nanoseconds, longest } => {
                let outer = outer.and_then(|(subject, kind)| primitive(kind, subject));
                let primitive = primitive(kind, subject)?;
                let stack = TakenStack { chain: vec![place], ..TakenStack::default() };
                let stack = RawStack::Taken(Box::new(stack));
                RawMark::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest }
            }
            Told::Enters { name, stack } => {
                RawMark::Enter { place: RawPlace::Region(name.clone()), stack: stack.clone(), task: None }
            }
            Told::Runs { task, name, stack } => RawMark::Enter {
                place: RawPlace::Region(name.clone()),
                stack: stack.clone(),
                task: Some(*task),
            },
            Told::Spawns { task, stack } => RawMark::Spawn { task: *task, stack: stack.clone() },
            &Told::NamesObject { subject, bytes, ref name } => {
                let (pid, address, name) = (task.pid, subject, name.clone());
                return Some(RawKind::NamePrimitive { pid, address, bytes, name });
            }
            _ => return None,
        };
        Some(RawKind::Inside { task, mark })
    }
}

/// The threads of each process by their handles, which are what a join names.
#[derive(Debug, Default)]
struct Handles(FxHashMap<(u32, u64), u32>);

impl Handles {
    /// Follows what is told of handles, and completes a join by its thread's tid.
    fn follow(&mut self, task: Task, told: &mut Told) {
        match told {
            Told::Created { handle, .. } => _ = self.0.insert((task.pid, *handle), task.tid),
            Told::Began { .. } => self.0.retain(|(pid, _), _| *pid != task.pid),
            Told::Waits { wait, .. } if wait.kind == WaitKind::Join => {
                if let Some(&tid) = self.0.get(&(task.pid, wait.subject)) {
                    wait.detail = u64::from(tid);
                }
            }
            _ => {}
        }
    }
}

/// Kinds of waits that begin on the processor, and may end there. Alone, the agent cannot tell how long: what is not
/// made to spin is taken to block at once.
fn may_spin(kind: WaitKind, is_alone: bool) -> bool {
    match kind {
        WaitKind::SpinLock | WaitKind::Team => true,
        WaitKind::Mutex | WaitKind::ReadLock | WaitKind::WriteLock | WaitKind::Once => !is_alone,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::Blocking;

    use super::super::told::Wait;
    use super::*;

    const FIRST: Task = Task { pid: 1, tid: 7 };
    const SECOND: Task = Task { pid: 1, tid: 8 };

    fn at(time: u64, kind: RawKind) -> RawEvent {
        RawEvent { time: Time::from_nanoseconds(time), cpu: 0, kind }
    }

    fn told(time: u64, task: Task, told: Told) -> RawEvent {
        at(time, RawKind::Told { task, told: Box::new(told) })
    }

    fn interpreted(part: Part, events: Vec<RawEvent>) -> Vec<RawEvent> {
        let (mut interpreter, mut out) = (Interpreter::new(part), Vec::new());
        let end = events.last().expect("some events").time;
        events.into_iter().for_each(|event| interpreter.take(event, &mut |event| out.push(event)));
        interpreter.finish(end, &mut |event| out.push(event));
        out
    }

    #[test]
    fn a_join_names_the_thread_by_its_handle() {
        let wait = Wait { kind: WaitKind::Join, subject: 0x700, detail: 0, file: Default::default() };
        let created = told(5, SECOND, Told::Created { key: 1, handle: 0x700 });
        let waits = told(10, FIRST, Told::Waits { wait, stack: RawStack::None });
        let leaves = at(12, RawKind::switch(Some(FIRST), Blocking::Interruptible, None));
        for (part, events) in
            [(Part::Causes, vec![created.clone(), waits.clone(), leaves]), (Part::All, vec![created, waits])]
        {
            let out = interpreted(part, events);
            let joined = out.iter().find_map(|event| match &event.kind {
                RawKind::Switch { previous: Some(FIRST), call: Some(call), .. } => Some(call.arguments[2]),
                _ => None,
            });
            assert_eq!(joined, Some(8), "{part:?}: {out:?}");
        }
    }
}
