//! Regions of a trace as frames, stacks and symbols of one machine's log.

use longpole_event::{
    BusyWaiting, FrameDefinition, FrameId, ModuleDefinition, ModuleKind, StackDefinition, StackId, Symbol,
    SymbolPlace,
};
use longpole_otf2::{Paradigm, RegionDefinition, TraceDefinitions};
use longpole_recording::{LogBuilder, Result};
use rustc_hash::FxHashMap;

/// Distinct call paths of a machine; beyond, paths end at the last one that is known.
const MOST_STACKS: usize = 900_000;

/// The module of MPI's procedures.
const MPI_MODULE: &str = "libmpi.so";

/// The frames that were defined.
#[derive(Debug, Default)]
pub(super) struct TracedCode {
    frames: FxHashMap<u32, FrameId>,
    /// Events whose path is cut.
    pub(super) cut: u64,
}

impl TracedCode {
    /// The path of a region that was entered there. A procedure that calls itself stays where it is.
    pub(super) fn call(
        &mut self,
        (caller, region): (Option<StackId>, u32),
        (definitions, program): (&TraceDefinitions, &str),
        log: &mut LogBuilder,
    ) -> Result<Option<StackId>> {
        if log.stack_count() >= MOST_STACKS {
            self.cut += 1;
            return Ok(caller);
        }
        let frame = match self.frames.get(&region) {
            Some(&known) => known,
            None => self.define(region, (definitions, program), log)?,
        };
        Ok(Some(log.stack(StackDefinition { caller, frame })?))
    }

    fn define(
        &mut self,
        region: u32,
        (definitions, program): (&TraceDefinitions, &str),
        log: &mut LogBuilder,
    ) -> Result<FrameId> {
        let is_mpi = definitions.regions.get(&region).is_some_and(|region| is_mpi(definitions, region));
        let path = log.text(if is_mpi { MPI_MODULE } else { program })?;
        let (build_id, kind) = (Vec::new(), ModuleKind::File);
        let module = log.module(ModuleDefinition { path, build_id, kind, process: None })?;
        let frame = log.frame(FrameDefinition { module, address: region.into() })?;
        self.frames.insert(region, frame);
        Ok(frame)
    }

    /// Writes what the frames mean.
    pub(super) fn write_symbols(&self, definitions: &TraceDefinitions, log: &mut LogBuilder) -> Result<()> {
        let mut frames: Vec<(FrameId, u32)> =
            self.frames.iter().map(|(&region, &frame)| (frame, region)).collect();
        frames.sort_unstable();
        for (frame, number) in frames {
            let region = definitions.regions.get(&number);
            let name = region.map_or("", |region| definitions.text(region.name));
            let undefined = format!("region {number}");
            let procedure = log.text(if name.is_empty() { &undefined } else { name })?;
            let (file, line) = region.map_or(("", 0), |region| (definitions.text(region.file), region.line));
            let file = if file.is_empty() { None } else { Some(log.text(file)?) };
            let places = vec![SymbolPlace { procedure, file, line: if file.is_some() { line } else { 0 } }];
            log.symbol(Symbol { frame, places, waiting: BusyWaiting::Work })?;
        }
        log.flush()
    }
}

/// Whether a region is a procedure of MPI.
pub(super) fn is_mpi(definitions: &TraceDefinitions, region: &RegionDefinition) -> bool {
    region.paradigm == Paradigm::Mpi || definitions.text(region.name).starts_with("MPI_")
}
