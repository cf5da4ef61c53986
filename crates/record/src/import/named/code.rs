//! Procedures by name, as frames, stacks and symbols of a log.

use longpole_event::{
    BusyWaiting, FrameDefinition, FrameId, ModuleDefinition, ModuleKind, StackDefinition, StackId, Symbol,
    SymbolPlace,
};
use longpole_recording::{LogBuilder, Result};
use rustc_hash::FxHashMap;

/// Distinct call paths; beyond, paths end at the last one that is known.
const MOST_STACKS: usize = 900_000;

/// A procedure as a trace names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct NamedProcedure {
    /// The procedure's name, empty where it has none.
    pub(in super::super) name: String,
    /// The file that holds its code.
    pub(in super::super) module: String,
    pub(in super::super) build_id: Vec<u8>,
    /// The address, 0 where the procedure is known by its name alone.
    pub(in super::super) address: u64,
    /// Source file, empty where not known.
    pub(in super::super) file: String,
    pub(in super::super) line: u32,
}

/// The procedures that were defined.
#[derive(Debug, Default)]
pub(super) struct NamedCode {
    frames: FxHashMap<NamedProcedure, FrameId>,
    /// How many procedures without an address a module has.
    numbers: FxHashMap<String, u64>,
    /// Paths that are cut.
    pub(super) cut: u64,
}

impl NamedCode {
    /// The path of a procedure that was called there.
    pub(super) fn call(
        &mut self,
        caller: Option<StackId>,
        procedure: &NamedProcedure,
        log: &mut LogBuilder,
    ) -> Result<Option<StackId>> {
        if log.stack_count() >= MOST_STACKS {
            self.cut += 1;
            return Ok(caller);
        }
        let frame = match self.frames.get(procedure) {
            Some(&known) => known,
            None => self.define(procedure, log)?,
        };
        Ok(Some(log.stack(StackDefinition { caller, frame })?))
    }

    fn define(&mut self, procedure: &NamedProcedure, log: &mut LogBuilder) -> Result<FrameId> {
        let kind = if is_kernel(&procedure.module) { ModuleKind::Kernel } else { ModuleKind::File };
        let path = log.text(&procedure.module)?;
        let build_id = procedure.build_id.clone();
        let module = log.module(ModuleDefinition { path, build_id, kind, process: None })?;
        let address = match procedure.address {
            0 => {
                let number = self.numbers.entry(procedure.module.clone()).or_default();
                *number += 1;
                *number
            }
            address => address,
        };
        let frame = log.frame(FrameDefinition { module, address })?;
        self.frames.insert(procedure.clone(), frame);
        Ok(frame)
    }

    /// Writes what the frames mean.
    pub(super) fn write_symbols(&self, log: &mut LogBuilder) -> Result<()> {
        let mut frames: Vec<(FrameId, &NamedProcedure)> =
            self.frames.iter().map(|(procedure, &frame)| (frame, procedure)).collect();
        frames.sort_unstable_by_key(|&(frame, _)| frame);
        let mut written = None;
        for (frame, procedure) in frames {
            if procedure.name.is_empty() || written == Some(frame) {
                continue;
            }
            written = Some(frame);
            let name = log.text(&procedure.name)?;
            let file = if procedure.file.is_empty() { None } else { Some(log.text(&procedure.file)?) };
            let line = if file.is_some() { procedure.line } else { 0 };
            let places = vec![SymbolPlace { procedure: name, file, line }];
            log.symbol(Symbol { frame, places, waiting: BusyWaiting::Work })?;
        }
        log.flush()
    }
}

/// Whether code is the kernel's.
fn is_kernel(module: &str) -> bool {
    module == "/kernel" || module.starts_with("[kernel")
}
