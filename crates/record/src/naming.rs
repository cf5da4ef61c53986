//! Names the frames of a recording, and the variables that threads waited on, when the run has ended.
//!
//! In: the frames and words of the event log. Out: the symbol log. Names come from files as they are on this machine
//! now, so a recording that is opened elsewhere needs none of them.

use longpole_event::{Callee, Frame, FrameId, ModuleId, Symbol, SymbolPlace, Variable, Word};
use longpole_recording::{LogBuilder, Result};
use longpole_symbols::{CodeModule, Named, Symboliser, name_callees, name_variables};
use rustc_hash::FxHashMap;

use crate::stacks::Stacks;

/// Frames of one module, in the order of their ids, and the addresses of its words.
#[derive(Debug)]
struct Group {
    id: ModuleId,
    module: CodeModule,
    frames: Vec<(FrameId, u64)>,
    words: Vec<u64>,
}

/// The frames of a log, by module.
#[derive(Debug, Default)]
pub struct FramesToName {
    groups: Vec<Group>,
}

impl FramesToName {
    pub(crate) fn collect(frames: &[Frame], words: &[Word], stacks: &Stacks) -> FramesToName {
        let modules = stacks.modules_of_log();
        let mut groups: Vec<Group> = Vec::new();
        let mut by_module: FxHashMap<ModuleId, usize> = FxHashMap::default();
        let mut group_of = |groups: &mut Vec<Group>, id: ModuleId| {
            // Regions have their names already, and no code.
            let module = modules.get(&id)?;
            Some(*by_module.entry(id).or_insert_with(|| {
                let module = (*module).clone();
                groups.push(Group { id, module, frames: Vec::new(), words: Vec::new() });
                groups.len() - 1
            }))
        };
        for (index, frame) in frames.iter().enumerate() {
            let Some(group) = group_of(&mut groups, frame.module) else { continue };
            groups[group].frames.push((FrameId::from_index(index), frame.address));
        }
        for word in words {
            let Some(group) = group_of(&mut groups, word.module) else { continue };
            groups[group].words.push(word.file_address);
        }
        for group in &mut groups {
            group.words.sort_unstable();
            group.words.dedup();
        }
        FramesToName { groups }
    }

    /// Number of frames.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.iter().map(|group| group.frames.len()).sum()
    }

    /// Names every frame and writes the symbol log; gives the names of the source files, the one of most frames first.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn write(self, log: &mut LogBuilder) -> Result<Vec<String>> {
        let mut symboliser = Symboliser::new();
        let mut files: FxHashMap<String, u64> = FxHashMap::default();
        for Group { id, module, frames, words } in self.groups {
            write_variables(log, id, &module, &words)?;
            let addresses: Vec<u64> = frames.iter().map(|(_, address)| *address).collect();
            write_callees(log, &module, &frames, &addresses)?;
            let names = symboliser.symbolise(&module, &addresses);
            for ((frame, _), named) in frames.into_iter().zip(names) {
                for file in named.places.iter().filter_map(|place| place.file.as_deref()) {
                    count(&mut files, file);
                }
                let symbol = symbol(log, frame, named)?;
                log.symbol(symbol)?;
            }
        }
        log.flush()?;
        let mut files: Vec<(String, u64)> = files.into_iter().collect();
        files.sort_by(|(one, frames), (other, others)| others.cmp(frames).then_with(|| one.cmp(other)));
        Ok(files.into_iter().map(|(file, _)| file).collect())
    }
}

fn count(files: &mut FxHashMap<String, u64>, file: &str) {
    match files.get_mut(file) {
        Some(frames) => *frames += 1,
        None => drop(files.insert(file.to_owned(), 1)),
    }
}

/// Writes the variables that hold the words of one module.
fn write_variables(log: &mut LogBuilder, id: ModuleId, module: &CodeModule, words: &[u64]) -> Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    for (&file_address, variable) in words.iter().zip(name_variables(module, words)) {
        if let Some(variable) = variable {
            let name = log.text(&variable.name)?;
            log.variable(Variable { module: id, file_address, name, offset: variable.offset })?;
        }
    }
    Ok(())
}

/// Writes the procedures that frames of one module call.
fn write_callees(
    log: &mut LogBuilder,
    module: &CodeModule,
    frames: &[(FrameId, u64)],
    addresses: &[u64],
) -> Result<()> {
    let callees = name_callees(module, addresses);
    if callees.is_empty() {
        return Ok(());
    }
    let frame_at: FxHashMap<u64, FrameId> = frames.iter().map(|&(frame, address)| (address, frame)).collect();
    for (address, name) in callees {
        let procedure = log.text(&name)?;
        log.callee(Callee { frame: frame_at[&address], procedure })?;
    }
    Ok(())
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
