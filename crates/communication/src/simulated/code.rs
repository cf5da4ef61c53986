//! Call paths of the simulated run: the places of the accesses as stacks, frames and symbols of a log.

use longpole_coherence::SiteId;
use longpole_event::{
    BusyWaiting, FrameDefinition, FrameId, ModuleDefinition, ModuleKind, StackDefinition, StackId, Symbol,
    SymbolPlace,
};
use longpole_recording::{LogBuilder, Result};
use rustc_hash::FxHashMap;

use crate::log::LoggedProcess;
use crate::sites::AccessSites;

/// The stacks that were defined.
#[derive(Debug)]
pub(super) struct SimulatedCode<'a> {
    process: &'a LoggedProcess,
    stacks: FxHashMap<SiteId, Option<StackId>>,
    frames: FxHashMap<u64, Option<FrameId>>,
    /// Return address of each frame.
    codes: Vec<(FrameId, u64)>,
}

impl<'a> SimulatedCode<'a> {
    pub(super) fn new(process: &'a LoggedProcess) -> Self {
        let (stacks, frames) = (FxHashMap::default(), FxHashMap::default());
        SimulatedCode { process, stacks, frames, codes: Vec::new() }
    }

    /// The stack of a place; `None` where no code of it has a name.
    pub(super) fn stack(
        &mut self,
        site: SiteId,
        sites: &AccessSites,
        log: &mut LogBuilder,
    ) -> Result<Option<StackId>> {
        if let Some(&known) = self.stacks.get(&site) {
            return Ok(known);
        }
        let mut codes: Vec<u64> = sites.calls(site).collect();
        codes.reverse();
        let mut stack = None;
        for code in codes {
            if let Some(frame) = self.frame(code, log)? {
                stack = Some(log.stack(StackDefinition { caller: stack, frame })?);
            }
        }
        self.stacks.insert(site, stack);
        Ok(stack)
    }

    /// The frame of a return address; `None` where its procedure is not known, as in the code that starts threads.
    fn frame(&mut self, code: u64, log: &mut LogBuilder) -> Result<Option<FrameId>> {
        if let Some(&known) = self.frames.get(&code) {
            return Ok(known);
        }
        let named = self.process.places.get(&code).filter(|named| !named.procedures.is_empty());
        let frame = match named {
            Some(named) => {
                let path = log.text(&named.module)?;
                let (build_id, kind) = (Vec::new(), ModuleKind::File);
                let module = log.module(ModuleDefinition { path, build_id, kind, process: None })?;
                // The call is before the return address.
                Some(log.frame(FrameDefinition { module, address: code.wrapping_sub(1) })?)
            }
            None => None,
        };
        self.frames.insert(code, frame);
        self.codes.extend(frame.map(|frame| (frame, code)));
        Ok(frame)
    }

    /// Writes what the frames mean.
    pub(super) fn write_symbols(&self, log: &mut LogBuilder) -> Result<()> {
        for &(frame, code) in &self.codes {
            let procedures = self.process.places.get(&code).map_or(&[][..], |named| &named.procedures);
            let mut places = Vec::with_capacity(procedures.len());
            for procedure in procedures {
                let file = match procedure.file.as_str() {
                    "" => None,
                    file => Some(log.text(file)?),
                };
                places.push(SymbolPlace {
                    procedure: log.text(&procedure.name)?,
                    file,
                    line: procedure.line,
                });
            }
            log.symbol(Symbol { frame, places, waiting: BusyWaiting::Work })?;
        }
        log.flush()
    }
}
