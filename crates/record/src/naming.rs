//! Names the frames of a recording, and the variables that threads waited on, when the run has ended.
//!
//! In: the frames and words of the event log. Out: the symbol log. Names come from files as they are on this machine
//! now, so a recording that is opened elsewhere needs none of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use longpole_event::{
    Callee, FrameDefinition, FrameId, IdKind, MachineId, ModuleId, Record, Symbol, SymbolPlace, Time,
    VariableDefinition, WordDefinition,
};
use longpole_recording::{DefinitionTables, LogBuilder, LogName, RecordingFolder, Result};
use longpole_symbols::{CodeModule, NamedAddress, Symboliser, build_folders, name_callees, name_variables};
use rustc_hash::FxHashMap;

use crate::stacks::StackInterner;

/// Frames of one module, in the order of their ids, and the addresses of its words.
#[derive(Debug)]
struct ModuleFrames {
    id: ModuleId,
    module: CodeModule,
    frames: Vec<(FrameId, u64)>,
    words: Vec<u64>,
}

/// The frames of a log, by module.
#[derive(Debug, Default)]
pub struct FramesToName {
    groups: Vec<ModuleFrames>,
    /// Of a log of which only the last part is kept, where the frames are yet to be read from it: the modules of the whole
    /// run.
    modules: Option<FxHashMap<ModuleId, CodeModule>>,
}

impl FramesToName {
    /// The frames of a log that is kept from its beginning.
    pub(crate) fn collect(
        frames: &[FrameDefinition],
        words: &[WordDefinition],
        stacks: &StackInterner,
    ) -> FramesToName {
        FramesToName::group(frames, words, &stacks.modules_of_log())
    }

    /// Those of a log of which only the last part is kept, after [`read_window`](Self::read_window).
    pub(crate) fn of_window(stacks: &StackInterner) -> FramesToName {
        let modules = stacks.modules_of_log().into_iter().map(|(id, module)| (id, module.clone()));
        FramesToName { groups: Vec::new(), modules: Some(modules.collect()) }
    }

    /// Reads the frames of what is kept of a log; gives the beginning of that, where the run began before.
    ///
    /// # Errors
    /// [`longpole_recording::Error`].
    pub(crate) fn read_window(&mut self, folder: &RecordingFolder) -> Result<Option<Time>> {
        let Some(modules) = &self.modules else { return Ok(None) };
        let Some(mut window) = folder.open_window(MachineId(0), LogName::Events)? else { return Ok(None) };
        let mut tables = DefinitionTables::default();
        let mut begin = None;
        while let Some(records) = window.next_records(|_| true)? {
            for record in records {
                match record {
                    Record::Event(event) => begin = begin.or(Some(event.time)),
                    definition => tables.define(definition),
                }
            }
        }
        let id_here = |id: &ModuleId| window.id(IdKind::Module, id.0).map(ModuleId);
        let here = modules.iter().filter_map(|(id, module)| Some((id_here(id)?, module)));
        self.groups = FramesToName::group(&tables.frames, &tables.words, &here.collect()).groups;
        Ok(begin.filter(|_| window.is_cut()))
    }

    fn group(
        frames: &[FrameDefinition],
        words: &[WordDefinition],
        modules: &FxHashMap<ModuleId, &CodeModule>,
    ) -> FramesToName {
        let mut groups: Vec<ModuleFrames> = Vec::new();
        let mut by_module: FxHashMap<ModuleId, usize> = FxHashMap::default();
        let mut group_of = |groups: &mut Vec<ModuleFrames>, id: ModuleId| {
            // Regions have their names already, and no code.
            let module = modules.get(&id)?;
            Some(*by_module.entry(id).or_insert_with(|| {
                let module = (*module).clone();
                groups.push(ModuleFrames { id, module, frames: Vec::new(), words: Vec::new() });
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
        FramesToName { groups, modules: None }
    }

    /// Number of frames.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.iter().map(|group| group.frames.len()).sum()
    }

    /// The folders in which the modules of the frames were built.
    pub(crate) fn build_folders(&self) -> BTreeSet<PathBuf> {
        self.groups.iter().flat_map(|group| build_folders(&group.module)).collect()
    }

    /// Names every frame and writes the symbol log; gives the names of the source files, the one of most frames first.
    ///
    /// # Errors
    /// [`longpole_recording::Error::Io`].
    pub fn write(&self, log: &mut LogBuilder) -> Result<Vec<String>> {
        let mut symboliser = Symboliser::new();
        let mut files: FxHashMap<String, u64> = FxHashMap::default();
        for ModuleFrames { id, module, frames, words } in &self.groups {
            write_variables(log, *id, module, words)?;
            let addresses: Vec<u64> = frames.iter().map(|(_, address)| *address).collect();
            write_callees(log, module, frames, &addresses)?;
            let names = symboliser.symbolise(module, &addresses);
            for (&(frame, _), named) in frames.iter().zip(names) {
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
            log.variable(VariableDefinition { module: id, file_address, name, offset: variable.offset })?;
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

fn symbol(log: &mut LogBuilder, frame: FrameId, named: NamedAddress) -> Result<Symbol> {
    let mut places = Vec::with_capacity(named.places.len());
    for place in named.places {
        let procedure = log.text(&place.procedure)?;
        let file = place.file.map(|file| log.text(&file)).transpose()?;
        places.push(SymbolPlace { procedure, file, line: place.line });
    }
    Ok(Symbol { frame, places, waiting: named.waiting })
}
