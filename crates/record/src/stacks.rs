//! Raw stacks to the stacks of a log: unwound, interned, and remembered by key.

use std::sync::Arc;

use longpole_event::{
    FrameDefinition, FrameId, IdKind, LossKind, ModuleDefinition, ModuleId, ModuleKind, ProcessId,
    StackDefinition, StackId, WordDefinition,
};
use longpole_recording::{LogBuilder, Result};
use longpole_symbols::{CodeAddress, CodeModule, Unwinder, UserStack};
use rustc_hash::FxHashMap;

use crate::python::{PythonFunction, PythonWeaver, WovenFrame};
use crate::raw::{RawStack, TakenStack};

/// Keys in one generation of the memory of keys; twice as many are remembered at most.
const KEYS_PER_GENERATION: usize = 1 << 18;
/// Distinct nodes of call paths in one log. Beyond, paths end at the last node that is known.
const MOST_STACKS: usize = 900_000;

/// Unwinds and interns.
pub(crate) struct StackInterner {
    pub(crate) unwinder: Unwinder,
    /// By the unwinder's number of a module.
    modules: Vec<Option<ModuleId>>,
    recent: FxHashMap<u64, StackId>,
    older: FxHashMap<u64, StackId>,
    addresses: Vec<CodeAddress>,
    weaver: PythonWeaver,
    /// Functions of Python.
    functions: FxHashMap<Arc<PythonFunction>, ModuleId>,
    most_stacks: usize,
    /// Stacks that were named but are not known, or were cut.
    pub(crate) lost: u64,
}

impl Default for StackInterner {
    fn default() -> Self {
        StackInterner {
            unwinder: Unwinder::new(),
            modules: Vec::new(),
            recent: FxHashMap::default(),
            older: FxHashMap::default(),
            addresses: Vec::new(),
            weaver: PythonWeaver::default(),
            functions: FxHashMap::default(),
            most_stacks: MOST_STACKS,
            lost: 0,
        }
    }
}

impl StackInterner {
    /// The log's stack of a raw stack of process `pid`, which is `process` in the log.
    pub(crate) fn resolve(
        &mut self,
        log: &mut LogBuilder,
        pid: u32,
        process: ProcessId,
        stack: &RawStack,
    ) -> Result<Option<StackId>> {
        match stack {
            RawStack::None => Ok(None),
            RawStack::Known(key) => {
                let known = self.remembered(*key);
                self.lost += u64::from(known.is_none());
                Ok(known)
            }
            RawStack::Taken(taken) => {
                let id = self.unwind(log, pid, process, taken)?;
                if let (Some(key), Some(id)) = (taken.key, id) {
                    self.remember(key, id);
                }
                Ok(id)
            }
        }
    }

    fn unwind(
        &mut self,
        log: &mut LogBuilder,
        pid: u32,
        process: ProcessId,
        taken: &TakenStack,
    ) -> Result<Option<StackId>> {
        let mut addresses = std::mem::take(&mut self.addresses);
        addresses.clear();
        self.unwinder.kernel(&taken.kernel, &mut addresses);
        let stack = UserStack { registers: taken.registers, memory: &taken.memory, chain: &taken.chain };
        let mut is_whole = false;
        if let Some(place) = taken.at_call {
            self.unwinder.unwind_call(pid, place, &taken.memory, &mut addresses);
        } else if taken.registers.is_some() || !taken.chain.is_empty() {
            is_whole = self.unwinder.unwind(pid, &stack, &mut addresses);
        }
        self.unwinder.procedures(pid, &taken.procedures, &mut addresses);
        let path = match &taken.python {
            None => self.path(log, addresses.iter().copied().map(WovenFrame::Native), process)?,
            Some(python) => {
                let modules = self.unwinder.modules();
                let woven = self.weaver.weave(modules, (&addresses, is_whole), python);
                self.path(log, woven.into_iter(), process)?
            }
        };
        self.addresses = addresses;
        Ok(path)
    }

    /// The log's path of frames, innermost first.
    fn path(
        &mut self,
        log: &mut LogBuilder,
        frames: impl DoubleEndedIterator<Item = WovenFrame>,
        process: ProcessId,
    ) -> Result<Option<StackId>> {
        let mut path = None;
        for frame in frames.rev() {
            if log.stack_count() >= self.most_stacks {
                self.lost += 1;
                break;
            }
            let frame = match &frame {
                WovenFrame::Native(address) => self.frame(log, process, address)?,
                WovenFrame::Python(function) => self.function(log, function)?,
                WovenFrame::Missing => {
                    let missing = self.unwinder.missing();
                    self.frame(log, process, &missing)?
                }
            };
            path = Some(log.stack(StackDefinition { caller: path, frame })?);
        }
        Ok(path)
    }

    /// The log's frame of a function of Python.
    fn function(&mut self, log: &mut LogBuilder, function: &Arc<PythonFunction>) -> Result<FrameId> {
        let module = match self.functions.get(function) {
            Some(&module) => module,
            None => {
                let (path, build_id) = (log.text(&function.file)?, function.name.clone().into_bytes());
                let kind = ModuleKind::Python;
                let module = log.module(ModuleDefinition { path, build_id, kind, process: None })?;
                self.functions.insert(Arc::clone(function), module);
                module
            }
        };
        log.frame(FrameDefinition { module, address: function.line.into() })
    }

    /// The log's frame of one code address of the process.
    pub(crate) fn place(
        &mut self,
        log: &mut LogBuilder,
        (pid, process): (u32, ProcessId),
        address: u64,
    ) -> Result<Option<FrameId>> {
        let mut addresses = std::mem::take(&mut self.addresses);
        addresses.clear();
        let stack = UserStack { registers: None, memory: &[], chain: &[address] };
        self.unwinder.unwind(pid, &stack, &mut addresses);
        let frame = match addresses.first() {
            Some(address) => Some(self.frame(log, process, address)?),
            None => None,
        };
        self.addresses = addresses;
        Ok(frame)
    }

    fn frame(&mut self, log: &mut LogBuilder, process: ProcessId, address: &CodeAddress) -> Result<FrameId> {
        let module = self.module(log, process, address.module)?;
        log.frame(FrameDefinition { module, address: address.address })
    }

    /// The log's module of a module of the unwinder.
    fn module(&mut self, log: &mut LogBuilder, process: ProcessId, module: u32) -> Result<ModuleId> {
        let index = module as usize;
        if index >= self.modules.len() {
            self.modules.resize(index + 1, None);
        }
        if let Some(module) = self.modules[index] {
            return Ok(module);
        }
        let code: &CodeModule = &self.unwinder.modules()[index];
        let path = log.text(&code.path.to_string_lossy())?;
        let process = code.pid.map(|_| process);
        let module = ModuleDefinition { path, build_id: code.build_id.clone(), kind: code.kind, process };
        Ok(*self.modules[index].insert(log.module(module)?))
    }

    /// Writes where the word at this address of the process lies in a file, if it lies in one.
    pub(crate) fn word(
        &mut self,
        log: &mut LogBuilder,
        (pid, process): (u32, ProcessId),
        address: u64,
    ) -> Result<()> {
        let Some(data) = self.unwinder.data(pid, address) else { return Ok(()) };
        let module = self.module(log, process, data.module)?;
        log.word(WordDefinition { process, address, module, file_address: data.address })
    }

    fn remember(&mut self, key: u64, stack: StackId) {
        if self.recent.len() >= KEYS_PER_GENERATION {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, stack);
    }

    fn remembered(&mut self, key: u64) -> Option<StackId> {
        if let Some(&stack) = self.recent.get(&key) {
            return Some(stack);
        }
        let stack = self.older.remove(&key)?;
        self.remember(key, stack);
        Some(stack)
    }

    /// What is named again without being looked up in the log.
    pub(crate) fn pinned(&self) -> impl Iterator<Item = (IdKind, u32)> + '_ {
        let stacks = self.recent.values().chain(self.older.values()).map(|id| (IdKind::Stack, id.0));
        let functions = self.functions.values();
        stacks.chain(self.modules.iter().flatten().chain(functions).map(|id| (IdKind::Module, id.0)))
    }

    /// What was lost since the last call.
    pub(crate) fn take_losses(&mut self) -> Option<(LossKind, u64)> {
        let lost = std::mem::take(&mut self.lost);
        (lost > 0).then_some((LossKind::Stacks, lost))
    }

    /// For each module of the log, by its id, the unwinder's module.
    pub(crate) fn modules_of_log(&self) -> FxHashMap<ModuleId, &CodeModule> {
        let known = self.modules.iter().zip(self.unwinder.modules());
        known.filter_map(|(id, module)| Some(((*id)?, module))).collect()
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{Decoder, MachineId, Record};
    use longpole_recording::{LogName, Manifest, RecordingFolder};

    use super::*;

    struct Setting {
        folder: tempfile::TempDir,
        log: LogBuilder,
        stacks: StackInterner,
    }

    fn setting() -> Setting {
        let folder = tempfile::tempdir().unwrap();
        let recording =
            RecordingFolder::create(&folder.path().join("x.longpole"), &Manifest::default()).unwrap();
        let log = LogBuilder::new(recording.create_log(MachineId(0), LogName::Events).unwrap());
        Setting { folder, log, stacks: StackInterner::default() }
    }

    fn taken(key: Option<u64>, kernel: &[u64]) -> RawStack {
        RawStack::Taken(Box::new(TakenStack { key, kernel: kernel.to_vec(), ..Default::default() }))
    }

    impl Setting {
        fn resolve(&mut self, stack: &RawStack) -> Option<StackId> {
            self.stacks.resolve(&mut self.log, 1, ProcessId(0), stack).unwrap()
        }
    }

    #[test]
    fn a_key_names_the_stack_that_was_sent_with_it() {
        let mut setting = setting();
        let sent = setting.resolve(&taken(Some(7), &[0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]));
        assert!(sent.is_some());
        assert_eq!(setting.resolve(&RawStack::Known(7)), sent);
        assert_eq!(setting.resolve(&RawStack::Known(8)), None);
        assert_eq!(setting.stacks.take_losses(), Some((LossKind::Stacks, 1)));
        assert_eq!(setting.stacks.take_losses(), None);
    }

    #[test]
    fn paths_share_their_outer_frames() {
        let mut setting = setting();
        let [inner, other, outer] = [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020, 0xffff_ffff_8100_0030];
        setting.resolve(&taken(None, &[inner, outer]));
        setting.resolve(&taken(None, &[other, outer]));
        assert_eq!(setting.log.stack_count(), 3);
    }

    #[test]
    fn a_full_table_cuts_paths_at_the_inner_end_and_counts_them() {
        let mut setting = setting();
        setting.stacks.most_stacks = 1;
        let path = setting.resolve(&taken(None, &[0xffff_ffff_8100_0010, 0xffff_ffff_8100_0030])).unwrap();
        setting.log.flush().unwrap();
        let (recording, _) = RecordingFolder::open(&setting.folder.path().join("x.longpole")).unwrap();
        let mut reader = recording.open_log(MachineId(0), LogName::Events).unwrap().unwrap();
        let chunk = reader.next_chunk().unwrap().unwrap();
        let records: Vec<_> = Decoder::new(chunk.bytes).map(|record| record.unwrap()).collect();
        let address = 0xffff_ffff_8100_0030 - 1;
        assert!(
            records.iter().any(|record| matches!(record, Record::Frame(frame) if frame.address == address))
        );
        assert_eq!(path, StackId(0));
        assert_eq!(setting.stacks.take_losses(), Some((LossKind::Stacks, 1)));
    }

    #[test]
    fn keys_in_use_survive_a_change_of_generation() {
        let mut setting = setting();
        setting.resolve(&taken(Some(1), &[0xffff_ffff_8100_0010]));
        setting.resolve(&taken(Some(2), &[0xffff_ffff_8100_0010]));
        for round in 0..3 {
            for key in 0..KEYS_PER_GENERATION as u64 - 1 {
                setting.stacks.remember(10 + key + (round << 32), StackId(0));
            }
            assert!(setting.resolve(&RawStack::Known(1)).is_some());
        }
        assert_eq!(setting.resolve(&RawStack::Known(2)), None);
    }
}
