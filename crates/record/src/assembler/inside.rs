//! What threads say of themselves, through the agent.

use longpole_event::{EventKind, FrameId, Module, ModuleKind, Primitive, PrimitiveId, ProcessId, TextId};
use longpole_recording::Result;
use rustc_hash::FxHashMap;

use super::{Assembler, Moment};
use crate::raw::{RawMark, RawPlace, RawPrimitive, Task};

/// Primitives in one log; further ones are not told apart from others of their kind.
const MOST_PRIMITIVES: usize = 200_000;

/// The primitives that a log has defined.
#[derive(Debug, Default)]
pub(super) struct Primitives {
    names: FxHashMap<(u32, u64), TextId>,
    count: usize,
}

impl Assembler {
    pub(super) fn inside(&mut self, at: Moment, task: Task, mark: RawMark) -> Result<()> {
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
            RawMark::Held { primitive, stack, acquisitions, contended, nanoseconds, longest } => {
                let primitive = self.primitive((pid, state.process), primitive)?;
                let stack = self.stack(pid, &stack)?;
                EventKind::Held { primitive, stack, acquisitions, contended, nanoseconds, longest }
            }
            RawMark::Enter { place, stack, task } => {
                let Some(frame) = self.place(pid, &place)? else { return Ok(()) };
                EventKind::Enter { frame, stack: self.stack(pid, &stack)?, task }
            }
            RawMark::Leave => EventKind::Leave,
            RawMark::Spawn { task, stack } => EventKind::Spawn { task, stack: self.stack(pid, &stack)? },
            RawMark::Overhead(nanoseconds) => EventKind::Overhead { nanoseconds },
        };
        self.event(at, state.id, kind)
    }

    /// What the program calls a primitive, from now on.
    pub(super) fn name_primitive(&mut self, pid: u32, address: u64, name: &str) -> Result<()> {
        if self.primitives.names.len() < MOST_PRIMITIVES {
            let name = self.log.text(name)?;
            self.primitives.names.insert((pid, address), name);
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
        let name = self.primitives.names.get(&(pid, address)).copied();
        let is_full = self.primitives.count >= MOST_PRIMITIVES;
        let address = if is_full { 0 } else { address };
        let id = self.log.primitive(Primitive { process, kind, address, name })?;
        self.primitives.count = self.primitives.count.max(id.index() + 1);
        Ok(id)
    }

    fn place(&mut self, pid: u32, place: &RawPlace) -> Result<Option<FrameId>> {
        match place {
            RawPlace::Procedure(address) => {
                let Some(process) = self.processes.get(&pid) else { return Ok(None) };
                self.stacks.place(&mut self.log, (pid, process.id), *address)
            }
            RawPlace::Region(name) => {
                let path = self.log.text(name)?;
                let kind = ModuleKind::Region;
                let module = self.log.module(Module { path, build_id: Vec::new(), kind, process: None })?;
                Ok(Some(self.log.frame(longpole_event::Frame { module, address: 0 })?))
            }
        }
    }
}
