//! Names the frames of a recording when the run has ended.
//!
//! In: the frames of the event log. Out: the symbol log. Names come from files as they are on this machine
//! now, so a recording that is opened elsewhere needs none of them.

use longpole_event::{Frame, FrameId, ModuleId, Symbol, SymbolPlace};
use longpole_recording::{LogBuilder, Result};
use longpole_symbols::{CodeModule, Named, Symboliser};
use rustc_hash::FxHashMap;

use crate::stacks::Stacks;

/// Frames of one module, in the order of their ids.
#[derive(Debug)]
struct Group {
    module: CodeModule,
    frames: Vec<(FrameId, u64)>,
}

/// The frames of a log, by module.
#[derive(Debug, Default)]
pub struct FramesToName {
    groups: Vec<Group>,
}

impl FramesToName {
    pub(crate) fn collect(frames: &[Frame], stacks: &Stacks) -> FramesToName {
        let modules = stacks.modules_of_log();
        let mut groups: Vec<Group> = Vec::new();
        let mut by_module: FxHashMap<ModuleId, usize> = FxHashMap::default();
        for (index, frame) in frames.iter().enumerate() {
            let group = *by_module.entry(frame.module).or_insert_with(|| {
                let module = modules.get(&frame.module).expect("every frame's module came from the unwinder");
                groups.push(Group { module: (*module).clone(), frames: Vec::new() });
                groups.len() - 1
            });
            groups[group].frames.push((FrameId::from_index(index), frame.address));
        }
        FramesToName { groups }
    }

    /// Number of frames.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.iter().map(|group| group.frames.len()).sum()
    }

    /// Names every frame and writes the symbol log.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn write(self, log: &mut LogBuilder) -> Result<()> {
        let mut symboliser = Symboliser::new();
        for Group { module, frames } in self.groups {
            let addresses: Vec<u64> = frames.iter().map(|(_, address)| *address).collect();
            let names = symboliser.symbolise(&module, &addresses);
            for ((frame, _), named) in frames.into_iter().zip(names) {
                let symbol = symbol(log, frame, named)?;
                log.symbol(symbol)?;
            }
        }
        log.flush()
    }
}

fn symbol(log: &mut LogBuilder, frame: FrameId, named: Named) -> Result<Symbol> {
    let mut places = Vec::with_capacity(named.places.len());
    for place in named.places {
        let procedure = log.text(&place.procedure)?;
        let file = place.file.map(|file| log.text(&file)).transpose()?;
        places.push(SymbolPlace { procedure, file, line: place.line });
    }
    Ok(Symbol { frame, places, spins: named.spins })
}
