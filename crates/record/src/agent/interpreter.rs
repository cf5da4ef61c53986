//! What the agent's events mean for a recording.

use longpole_event::Time;
use longpole_ring::WaitKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::agent_event::{AgentEvent, primitive};
use super::causes::CauseInterpreter;
use super::messages::Messages;
use super::passages::Passages;
use super::states::StateInterpreter;
use super::teams::Teams;
use crate::raw::{KernelTask, RawEvent, RawKind, RawMark, RawScope, RawStack, TakenStack};

/// What of a recording is the agent's to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentScope {
    /// The kernel tells states, causes and wakers: the agent adds what happens without the kernel.
    Locks,
    /// The kernel tells states only: causes, places and wakers are the agent's.
    Causes,
    /// Nobody else tells anything: states, causes and wakers are the agent's too.
    All,
}

/// What follows the agent's word on waits, by the part that is the agent's to tell.
enum WaitInterpreter {
    /// Nothing does.
    Locks,
    Causes(CauseInterpreter),
    Alone(StateInterpreter),
}

/// Turns told events into raw events; others pass.
pub(crate) struct Interpreter {
    wait_interpreter: WaitInterpreter,
    /// Threads whose wait was told on.
    waiting: FxHashSet<KernelTask>,
    handles: Handles,
    passages: Passages,
    teams: Teams,
    messages: Messages,
}

impl Interpreter {
    pub(crate) fn new(part: AgentScope) -> Interpreter {
        let wait_interpreter = match part {
            AgentScope::Locks => WaitInterpreter::Locks,
            AgentScope::Causes => WaitInterpreter::Causes(CauseInterpreter::default()),
            AgentScope::All => WaitInterpreter::Alone(StateInterpreter::default()),
        };
        let (waiting, handles, passages, teams, messages) = Default::default();
        Interpreter { wait_interpreter, waiting, handles, passages, teams, messages }
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
        if let Some(mark) = self.passages.follow(task, &told) {
            self.pass(RawEvent { time, cpu, kind: RawKind::Inside { task, mark } }, out);
        }
        let mut meant = Vec::new();
        self.messages.follow(time, task, &told, &mut |kind| meant.push(kind));
        meant.into_iter().for_each(|kind| self.pass(RawEvent { time, cpu, kind }, out));
        let mark = self.mark(task, &told);
        let is_marked = mark.is_some();
        if let Some(mark) = mark {
            self.pass(RawEvent { time, cpu, kind: mark }, out);
        }
        match &mut self.wait_interpreter {
            WaitInterpreter::Alone(states) if !is_marked => states.take(time, task, told, out),
            WaitInterpreter::Causes(causes) => causes.take(time, task, told, out),
            _ => {}
        }
    }

    /// Hands on what was held back.
    pub(crate) fn finish(&mut self, end: Time, out: &mut impl FnMut(RawEvent)) {
        match &mut self.wait_interpreter {
            WaitInterpreter::Locks => {}
            WaitInterpreter::Causes(causes) => causes.finish(out),
            WaitInterpreter::Alone(states) => states.finish(end, out),
        }
    }

    /// What a reader has to know of this run.
    pub(crate) fn findings(&self) -> Vec<String> {
        match &self.wait_interpreter {
            WaitInterpreter::Alone(states) => states.findings(),
            _ => Vec::new(),
        }
    }

    fn pass(&mut self, event: RawEvent, out: &mut impl FnMut(RawEvent)) {
        match &mut self.wait_interpreter {
            WaitInterpreter::Locks => out(event),
            WaitInterpreter::Causes(causes) => causes.pass(event, out),
            WaitInterpreter::Alone(states) => states.pass(event, out),
        }
    }

    /// What means the same whoever else tells.
    fn mark(&mut self, task: KernelTask, told: &AgentEvent) -> Option<RawKind> {
        let is_alone = matches!(self.wait_interpreter, WaitInterpreter::Alone(_));
        let mark = match told {
            AgentEvent::Waits { wait, stack } if may_spin(wait.kind, is_alone) => {
                self.waiting.insert(task);
                RawMark::Await { primitive: primitive(wait.kind, wait.subject), stack: stack.clone() }
            }
            AgentEvent::Done { .. } | AgentEvent::Gap if self.waiting.remove(&task) => RawMark::Proceed,
            &AgentEvent::Held {
                kind,
                subject,
                place,
                outer,
                acquisitions,
                contended,
                nanoseconds,
                longest,
            } => {
                let outer = outer.and_then(|(subject, kind)| primitive(kind, subject));
                let primitive = primitive(kind, subject)?;
                let stack = RawStack::Taken(Box::new(TakenStack::calling(place)));
                RawMark::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest }
            }
            &AgentEvent::Posts { subject, count } => {
                RawMark::Post { primitive: primitive(WaitKind::Semaphore, subject)?, count }
            }
            &AgentEvent::Takes { subject } => RawMark::Take(primitive(WaitKind::Semaphore, subject)?),
            &AgentEvent::Initialises { subject, count } => {
                RawMark::Initialise { primitive: primitive(WaitKind::Semaphore, subject)?, count }
            }
            &AgentEvent::Locks { subject, place } => {
                let taken = || RawStack::Taken(Box::new(TakenStack::calling(place)));
                let stack = if place == 0 { RawStack::None } else { taken() };
                RawMark::Lock { mutex: primitive(WaitKind::Mutex, subject)?, stack }
            }
            &AgentEvent::Unlocks { subject } => RawMark::Unlock(primitive(WaitKind::Mutex, subject)?),
            &AgentEvent::Waited { subject, mutex, granted } => RawMark::Waited {
                condition: primitive(WaitKind::Condition, subject)?,
                mutex: primitive(WaitKind::Mutex, mutex)?,
                granted,
                stack: RawStack::None,
            },
            &AgentEvent::Signals { subject, broadcast } => RawMark::Signal {
                condition: primitive(WaitKind::Condition, subject)?,
                broadcast,
                stack: RawStack::None,
            },
            &AgentEvent::Delayed { nanoseconds } => RawMark::Overhead(nanoseconds),
            AgentEvent::Enters { name, stack } => {
                RawMark::Enter { place: RawScope::Region(name.clone()), stack: stack.clone(), task: None }
            }
            AgentEvent::Runs { task, name, stack } => RawMark::Enter {
                place: RawScope::Region(name.clone()),
                stack: stack.clone(),
                task: Some(*task),
            },
            AgentEvent::Spawns { task, stack } => RawMark::Spawn { task: *task, stack: stack.clone() },
            &AgentEvent::NamesObject { subject, bytes, ref name } => {
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
    fn follow(&mut self, task: KernelTask, told: &mut AgentEvent) {
        match told {
            AgentEvent::Created { handle, .. } => _ = self.0.insert((task.pid, *handle), task.tid),
            AgentEvent::Began { .. } => self.0.retain(|(pid, _), _| *pid != task.pid),
            AgentEvent::Waits { wait, .. } if wait.kind == WaitKind::Join => {
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

    use super::super::agent_event::AgentWait;
    use super::*;

    const FIRST: KernelTask = KernelTask { pid: 1, tid: 7 };
    const SECOND: KernelTask = KernelTask { pid: 1, tid: 8 };

    fn at(time: u64, kind: RawKind) -> RawEvent {
        RawEvent { time: Time::from_nanoseconds(time), cpu: 0, kind }
    }

    fn told(time: u64, task: KernelTask, told: AgentEvent) -> RawEvent {
        at(time, RawKind::Told { task, told: Box::new(told) })
    }

    fn interpreted(part: AgentScope, events: Vec<RawEvent>) -> Vec<RawEvent> {
        let (mut interpreter, mut out) = (Interpreter::new(part), Vec::new());
        let end = events.last().expect("some events").time;
        events.into_iter().for_each(|event| interpreter.take(event, &mut |event| out.push(event)));
        interpreter.finish(end, &mut |event| out.push(event));
        out
    }

    #[test]
    fn a_join_names_the_thread_by_its_handle() {
        let wait = AgentWait { kind: WaitKind::Join, subject: 0x700, detail: 0, file: Default::default() };
        let created = told(5, SECOND, AgentEvent::Created { key: 1, handle: 0x700 });
        let waits = told(10, FIRST, AgentEvent::Waits { wait, stack: RawStack::None });
        let leaves = at(12, RawKind::switch(Some(FIRST), Blocking::Interruptible, None));
        for (part, events) in [
            (AgentScope::Causes, vec![created.clone(), waits.clone(), leaves]),
            (AgentScope::All, vec![created, waits]),
        ] {
            let out = interpreted(part, events);
            let joined = out.iter().find_map(|event| match &event.kind {
                RawKind::Switch { previous: Some(FIRST), call: Some(call), .. } => Some(call.arguments[2]),
                _ => None,
            });
            assert_eq!(joined, Some(8), "{part:?}: {out:?}");
        }
    }
}
