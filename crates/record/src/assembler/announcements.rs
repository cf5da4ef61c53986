//! What threads say of themselves, through the agent.

use std::collections::BTreeMap;

use longpole_event::{
    EventKind, FrameId, IdKind, ModuleDefinition, ModuleKind, Primitive, PrimitiveId, PrimitiveKind,
    ProcessId, TextId, ThreadId,
};
use longpole_recording::Result;

use super::{Assembler, TimeAndCpu};
use crate::raw::{KernelTask, RawJoined, RawMark, RawPrimitive, RawScope, RawTransfer};

/// Primitives in one log; further ones are not told apart from others of their kind.
const MOST_PRIMITIVES: usize = 200_000;

/// The primitives that a log has defined.
#[derive(Debug, Default)]
pub(super) struct DefinedPrimitives {
    /// By process and address: how many bytes the name is for, and the name.
    names: BTreeMap<(u32, u64), (u64, TextId)>,
}

impl DefinedPrimitives {
    /// What is named again without being looked up.
    pub(super) fn pinned(&self) -> impl Iterator<Item = (IdKind, u32)> + '_ {
        self.names.values().map(|&(_, name)| (IdKind::Text, name.0))
    }

    /// What the program calls the object that this address lies in.
    fn name(&self, pid: u32, address: u64) -> Option<TextId> {
        let (&(_, start), &(bytes, name)) = self.names.range((pid, 0)..=(pid, address)).next_back()?;
        (address - start < bytes.max(1)).then_some(name)
    }
}

impl Assembler {
    pub(super) fn inside(&mut self, at: TimeAndCpu, task: KernelTask, mark: RawMark) -> Result<()> {
        // A process that ends leaves holds behind that nobody told of while its threads lived.
        let state = match self.gone.get(&task.tid) {
            Some(gone) if !self.knows(task.tid) => *gone,
            _ => self.thread(at, task)?,
        };
        let pid = state.pid;
        let kind = match mark {
            RawMark::Await { primitive, stack } => EventKind::Await {
                primitive: match primitive {
                    Some(primitive) => Some(self.primitive((pid, state.process), primitive)?),
                    None => None,
                },
                stack: self.stack(pid, &stack)?,
            },
            RawMark::Proceed => EventKind::Proceed,
            RawMark::Freed { by, flag, stack } => EventKind::Freed {
                by: self.thread(at, by)?.id,
                primitive: self.primitive((pid, state.process), flag)?,
                stack: self.stack(pid, &stack)?,
            },
            RawMark::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest } => {
                let primitive = self.primitive((pid, state.process), primitive)?;
                let stack = self.stack(pid, &stack)?;
                let outer = match outer {
                    Some(outer) => Some(self.primitive((pid, state.process), outer)?),
                    None => None,
                };
                EventKind::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest }
            }
            RawMark::Enter { place, stack, task } => {
                let Some(frame) = self.place(pid, &place)? else { return Ok(()) };
                EventKind::Enter { frame, stack: self.stack(pid, &stack)?, task }
            }
            RawMark::Communicate { communicator, peer, stack } => {
                EventKind::Communicate { communicator, peer, stack: self.stack(pid, &stack)? }
            }
            RawMark::CommunicatorName { communicator, name } => {
                EventKind::CommunicatorName { communicator, name: self.log.text(&name)? }
            }
            RawMark::Message(kind) => kind,
            RawMark::Leave => EventKind::Leave,
            RawMark::Spawn { task, stack } => EventKind::Spawn { task, stack: self.stack(pid, &stack)? },
            RawMark::Overhead(nanoseconds) => EventKind::Overhead { nanoseconds },
            RawMark::Allowed { count, first } => {
                let (count, first) = crate::machine::allowed_online(count, first);
                EventKind::Allowed { count: count.into(), first }
            }
            RawMark::Joined { ended, waits } => {
                let Some(ended) = self.joined(pid, ended, waits) else { return Ok(()) };
                EventKind::Joined { ended }
            }
            RawMark::Handle(handle) => {
                if let Some(process) = self.processes.get_mut(&pid) {
                    process.handles.insert(handle, task.tid);
                }
                return Ok(());
            }
            RawMark::Write(RawTransfer { channel, position, bytes }) => {
                EventKind::Write { channel, position, bytes }
            }
            RawMark::Read(RawTransfer { channel, position, bytes }) => {
                EventKind::Read { channel, position, bytes }
            }
            mark => match self.primitive_mark((pid, state.process), &mark)? {
                Some(kind) => kind,
                None => return Ok(()),
            },
        };
        self.event(at, state.id, kind)
    }

    /// What is said of primitives alone.
    fn primitive_mark(&mut self, of: (u32, ProcessId), mark: &RawMark) -> Result<Option<EventKind>> {
        Ok(Some(match mark {
            &RawMark::Post { primitive, count } => {
                EventKind::Post { primitive: self.primitive(of, primitive)?, count }
            }
            &RawMark::Initialise { primitive, count } => {
                EventKind::Initialise { primitive: self.primitive(of, primitive)?, count }
            }
            &RawMark::Take(primitive) => EventKind::Take { primitive: self.primitive(of, primitive)? },
            &RawMark::Arrive(primitive) => EventKind::Arrive { primitive: self.primitive(of, primitive)? },
            &RawMark::Depart(primitive) => EventKind::Depart { primitive: self.primitive(of, primitive)? },
            &RawMark::Unlock(mutex) => EventKind::Unlock { mutex: self.primitive(of, mutex)? },
            RawMark::Lock { mutex, stack } => {
                EventKind::Lock { mutex: self.primitive(of, *mutex)?, stack: self.stack(of.0, stack)? }
            }
            RawMark::Waited { condition, mutex, granted, stack } => EventKind::Waited {
                condition: self.primitive(of, *condition)?,
                mutex: self.primitive(of, *mutex)?,
                granted: *granted,
                stack: self.stack(of.0, stack)?,
            },
            RawMark::Signal { condition, broadcast, stack } => EventKind::Signal {
                condition: self.primitive(of, *condition)?,
                broadcast: *broadcast,
                stack: self.stack(of.0, stack)?,
            },
            _ => return Ok(None),
        }))
    }

    /// The thread that is joined, or the first one of the child process. One that has not ended is joined only where the
    /// join waits.
    fn joined(&mut self, pid: u32, joined: RawJoined, waits: bool) -> Option<ThreadId> {
        let tid = match joined {
            RawJoined::Tid(tid) => tid,
            RawJoined::Handle(handle) => *self.processes.get(&pid)?.handles.get(&handle)?,
            RawJoined::Child(child) => return self.children.wait(pid, child),
        };
        let state = match self.gone.get_mut(&tid).filter(|gone| !gone.is_joined) {
            Some(gone) => gone,
            None => self.threads.get_mut(&tid).filter(|live| waits && !live.is_joined)?,
        };
        state.is_joined = true;
        Some(state.id)
    }

    /// What the program calls a primitive, which is the first in these bytes of memory, from now on.
    pub(super) fn name_primitive(
        &mut self,
        (pid, address): (u32, u64),
        bytes: u64,
        name: &str,
    ) -> Result<()> {
        if self.primitives.names.len() < MOST_PRIMITIVES {
            let name = self.log.text(name)?;
            self.primitives.names.insert((pid, address), (bytes, name));
        }
        let Some(process) = self.processes.get(&pid) else { return Ok(()) };
        let is_its = |word: &&u64| **word >= address && **word - address < bytes.max(1);
        let mut words: Vec<u64> = process.words.iter().filter(is_its).copied().collect();
        words.sort_unstable();
        words.into_iter().try_for_each(|word| self.name_word(pid, word))
    }

    /// A futex that the program named, or that lies in what it named: the kernel tells of waits for it by its address.
    pub(super) fn name_word(&mut self, pid: u32, address: u64) -> Result<()> {
        let process = self.processes.get(&pid).map(|process| process.id);
        if let Some(process) = process.filter(|_| self.primitives.name(pid, address).is_some()) {
            self.primitive((pid, process), RawPrimitive { kind: PrimitiveKind::Futex, address })?;
        }
        Ok(())
    }

    fn primitive(
        &mut self,
        (pid, process): (u32, ProcessId),
        primitive: RawPrimitive,
    ) -> Result<PrimitiveId> {
        let RawPrimitive { kind, address } = primitive;
        self.word(pid, address)?;
        let name = self.primitives.name(pid, address);
        let is_full = self.log.primitive_count() >= MOST_PRIMITIVES;
        let address = if is_full { 0 } else { address };
        self.log.primitive(Primitive { process, kind, address, name })
    }

    fn place(&mut self, pid: u32, place: &RawScope) -> Result<Option<FrameId>> {
        match place {
            RawScope::Procedure(address) => {
                let Some(process) = self.processes.get(&pid) else { return Ok(None) };
                self.stacks.place(&mut self.log, (pid, process.id), *address)
            }
            RawScope::Region(name) => {
                let path = self.log.text(name)?;
                let kind = ModuleKind::Region;
                let module =
                    self.log.module(ModuleDefinition { path, build_id: Vec::new(), kind, process: None })?;
                Ok(Some(self.log.frame(longpole_event::FrameDefinition { module, address: 0 })?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_for_the_bytes_of_its_object_in_its_process() {
        let mut primitives = DefinedPrimitives::default();
        let (first, second) = (TextId::from_index(1), TextId::from_index(2));
        primitives.names.insert((7, 100), (8, first));
        primitives.names.insert((7, 200), (0, second));
        let found = [99, 100, 107, 108, 200, 201].map(|address| primitives.name(7, address));
        assert_eq!(found, [None, Some(first), Some(first), None, Some(second), None]);
        assert_eq!((primitives.name(6, 100), primitives.name(8, 100)), (None, None));
    }
}
