//! Places of frames: what each code address of a log means; and the variables that threads waited on.

use longpole_event::{BusyWaiting, FrameId, MachineId, ModuleId, ModuleKind};
use longpole_recording::{DefinitionTables, LogName, RecordingFolder};
use longpole_symbols::{CodeModule, Symboliser, name_callees, name_variables};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Result;
use crate::library_sources::{is_standard_library, qualified};
use crate::object_names::ObjectVariable;
use crate::paths::{CodePlace, Paths, PlaceId, Procedure};
use crate::stream::LogStream;
use crate::waiting_frames::AGENT;

/// What the frames of one machine's log mean.
#[derive(Debug, Default)]
pub(crate) struct FrameNames {
    /// Places of each frame, innermost inlined one first; never empty.
    places: Vec<Vec<PlaceId>>,
    /// Whether a thread found at the frame's address waits.
    waiting: Vec<BusyWaiting>,
    /// Frames of the kernel.
    kernel: Vec<bool>,
    /// Frames of the collector's own code in the program.
    agent: Vec<bool>,
    /// Procedures that are called at a frame, where that is known beside the stack.
    callees: FxHashMap<FrameId, String>,
    /// Places in the standard library of the program's language.
    library: FxHashSet<PlaceId>,
    /// Places in the kernel's way in from user code, which is the same for every system call.
    entries: FxHashSet<PlaceId>,
}

impl FrameNames {
    /// The procedure of a frame that the log defines, without what is inlined there.
    pub(crate) fn outermost(&self, frame: FrameId) -> Option<PlaceId> {
        self.places.get(frame.index())?.last().copied()
    }

    /// The places of a frame, innermost inlined one first.
    pub(crate) fn places(&self, frame: FrameId) -> &[PlaceId] {
        &self.places[frame.index()]
    }

    /// Whether a thread found at the frame's address waits.
    pub(crate) fn waiting(&self, frame: FrameId) -> BusyWaiting {
        self.waiting[frame.index()]
    }

    /// The places of a frame that count as procedures of their own, without the `dropped` innermost ones,
    /// innermost first: what is inlined from the standard library is part of the procedure that uses it, and
    /// the kernel's way in is part of the procedure that takes it.
    pub(crate) fn procedures(
        &self,
        frame: FrameId,
        dropped: usize,
    ) -> impl DoubleEndedIterator<Item = PlaceId> {
        let places = &self.places[frame.index()];
        let outermost = places.len() - 1;
        let counts = move |index: usize, place: PlaceId| {
            !self.entries.contains(&place) && (index == outermost || !self.library.contains(&place))
        };
        let counting = places.iter().enumerate().skip(dropped);
        counting.filter(move |&(index, &place)| counts(index, place)).map(|(_, &place)| place)
    }

    /// Whether a place is the standard library's, where it is inlined.
    pub(crate) fn is_inlined_library(&self, place: PlaceId) -> bool {
        self.library.contains(&place)
    }

    /// The procedure that is called there, where that is known beside the stack.
    pub(crate) fn callee(&self, frame: FrameId) -> Option<&str> {
        self.callees.get(&frame).map(String::as_str)
    }

    /// Whether the frame is of the collector's own code in the program.
    pub(crate) fn is_agent(&self, frame: FrameId) -> bool {
        self.agent[frame.index()]
    }

    /// Whether the frame is the kernel's.
    pub(crate) fn is_kernel(&self, frame: FrameId) -> bool {
        self.kernel[frame.index()]
    }
}

/// What a symbol log tells, or what was looked up in its stead.
#[derive(Debug, Default)]
struct NamedFrames {
    /// One entry for each named frame: (places, whether a thread found there waits).
    frames: FxHashMap<FrameId, (Vec<RawPlace>, BusyWaiting)>,
    variables: VariableNames,
    /// What calls of OpenMP's runtime are for.
    callees: FxHashMap<FrameId, String>,
}

/// Variables by module and address in the module's file.
pub(crate) type VariableNames = FxHashMap<(ModuleId, u64), ObjectVariable>;

#[derive(Debug)]
struct RawPlace {
    procedure: String,
    file: Option<String>,
    line: u32,
}

/// Whether a machine's symbols came with the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolSource {
    /// The recorder resolved them when the run ended.
    Recording,
    /// They were looked up now, in this machine's files.
    Here,
}

/// Names all frames of a log.
pub(crate) fn name_frames(
    folder: &RecordingFolder,
    machine: MachineId,
    tables: &DefinitionTables,
    paths: &mut Paths,
) -> Result<(FrameNames, VariableNames, SymbolSource)> {
    let (named, source) = match LogStream::open(folder, machine, LogName::Symbols)? {
        Some(mut log) => (read_symbols(&mut log)?, SymbolSource::Recording),
        None => (look_up_here(tables), SymbolSource::Here),
    };
    let names = FrameNames { callees: named.callees.clone(), ..intern(tables, &named, paths) };
    Ok((names, named.variables, source))
}

fn read_symbols(log: &mut LogStream) -> Result<NamedFrames> {
    let mut symbols = DefinitionTables::default();
    log.read_all(&mut symbols, &mut |_| {})?;
    let raw = |symbol: &longpole_event::Symbol| {
        symbol
            .places
            .iter()
            .map(|place| {
                let (procedure, file, line) = symbols.place(place);
                RawPlace { procedure: procedure.to_owned(), file: file.map(str::to_owned), line }
            })
            .collect()
    };
    let frames = symbols.symbols.iter().map(|symbol| (symbol.frame, (raw(symbol), symbol.waiting))).collect();
    let named = |variable: &longpole_event::VariableDefinition| {
        let name = symbols.text(variable.name).to_owned();
        ((variable.module, variable.file_address), ObjectVariable { name, offset: variable.offset })
    };
    let callee = |callee: &longpole_event::Callee| (callee.frame, symbols.text(callee.procedure).to_owned());
    Ok(NamedFrames {
        frames,
        variables: symbols.variables.iter().map(named).collect(),
        callees: symbols.callees.iter().map(callee).collect(),
    })
}

/// Names the frames of a recording whose recorder could not: the program's files may still be here.
fn look_up_here(tables: &DefinitionTables) -> NamedFrames {
    let mut frames_of: Vec<Vec<FrameId>> = vec![Vec::new(); tables.modules.len()];
    for (index, frame) in tables.frames.iter().enumerate() {
        if let Some(frames) = frames_of.get_mut(frame.module.index()) {
            frames.push(FrameId::from_index(index));
        }
    }
    let mut words_of: Vec<Vec<u64>> = vec![Vec::new(); tables.modules.len()];
    for word in &tables.words {
        words_of[word.module.index()].push(word.file_address);
    }
    let mut symboliser = Symboliser::new();
    let mut named = NamedFrames::default();
    for (index, (module, frames)) in tables.modules.iter().zip(frames_of).enumerate() {
        if matches!(module.kind, ModuleKind::Region | ModuleKind::Python) {
            continue;
        }
        let pid = module.process.and_then(|process| Some(tables.processes.get(process.index())?.pid));
        let path = tables.text(module.path).into();
        let code = CodeModule::new(path, module.build_id.clone(), module.kind, pid);
        let addresses: Vec<u64> = frames.iter().map(|frame| tables.frames[frame.index()].address).collect();
        let frame_at = |address| frames.iter().find(|frame| tables.frames[frame.index()].address == address);
        for (address, name) in name_callees(&code, &addresses) {
            named.callees.extend(frame_at(address).map(|&frame| (frame, name)));
        }
        for (frame, found) in frames.iter().zip(symboliser.symbolise(&code, &addresses)) {
            let places = found.places.into_iter().map(|place| RawPlace {
                procedure: place.procedure,
                file: place.file,
                line: place.line,
            });
            named.frames.insert(*frame, (places.collect(), found.waiting));
        }
        let words = &words_of[index];
        if !words.is_empty() {
            for (&word, found) in words.iter().zip(name_variables(&code, words)) {
                let key = (ModuleId::from_index(index), word);
                let variable = found.map(|found| ObjectVariable { name: found.name, offset: found.offset });
                named.variables.extend(variable.map(|variable| (key, variable)));
            }
        }
    }
    named
}

fn intern(tables: &DefinitionTables, named: &NamedFrames, paths: &mut Paths) -> FrameNames {
    let files = files_of_procedures(tables, named);
    let mut names = FrameNames::default();
    for (index, frame) in tables.frames.iter().enumerate() {
        let module = module_name(tables, frame.module);
        let found = named.frames.get(&FrameId::from_index(index));
        let kind = tables.modules.get(frame.module.index()).map(|module| module.kind);
        let is_kernel = kind == Some(ModuleKind::Kernel);
        let mut places = Vec::new();
        for place in found.iter().flat_map(|(places, _)| places) {
            let known = || files.get(&(frame.module, place.procedure.as_str())).map(|&file| file.to_owned());
            let file = place.file.clone().or_else(known).unwrap_or_default();
            let in_library = is_standard_library(&file);
            let name = qualified(&place.procedure, &file);
            let procedure = paths.procedure(Procedure { name, module: module.clone(), file });
            let place = paths.place(CodePlace { procedure, line: place.line });
            if in_library {
                names.library.insert(place);
            }
            if is_kernel && is_kernel_entry(&paths.procedure_named_by(procedure).name) {
                names.entries.insert(place);
            }
            places.push(place);
        }
        note_inlining(&names, &places, paths);
        if kind == Some(ModuleKind::Region) {
            places = vec![region(tables, frame.module, paths)];
        }
        if kind == Some(ModuleKind::Python) {
            places = vec![function_of_python(tables, frame.module, paths)];
        }
        if places.is_empty() {
            let name = if module.starts_with('[') { module.clone() } else { format!("[{module}]") };
            let procedure = paths.procedure(Procedure { name, module, file: String::new() });
            places.push(paths.place(CodePlace { procedure, line: 0 }));
        }
        names.places.push(places);
        names.waiting.push(found.map_or(BusyWaiting::Work, |(_, waiting)| *waiting));
        names.kernel.push(is_kernel);
        names.agent.push(module_name(tables, frame.module).starts_with(AGENT));
    }
    names
}

/// Which procedures of a frame's places were inlined into which, those of languages' libraries aside.
fn note_inlining(names: &FrameNames, places: &[PlaceId], paths: &mut Paths) {
    let outermost = places.len().saturating_sub(1);
    let counting = places.iter().enumerate();
    let counting = counting.filter(|&(at, place)| at == outermost || !names.library.contains(place));
    let procedures: Vec<_> =
        counting.map(|(_, place)| paths.all_places()[place.0 as usize].procedure).collect();
    for pair in procedures.windows(2).filter(|pair| pair[0] != pair[1]) {
        paths.inlined(pair[0], pair[1]);
    }
}

/// The place that stands for a function of Python.
fn function_of_python(tables: &DefinitionTables, module: ModuleId, paths: &mut Paths) -> PlaceId {
    let module = &tables.modules[module.index()];
    let name = String::from_utf8_lossy(&module.build_id).into_owned();
    let file = tables.text(module.path).to_owned();
    let procedure = paths.procedure(Procedure { name, module: Procedure::PYTHON.to_owned(), file });
    paths.place(CodePlace { procedure, line: 0 })
}

/// The place that stands for what the program itself marked.
fn region(tables: &DefinitionTables, module: ModuleId, paths: &mut Paths) -> PlaceId {
    let told = tables.modules.get(module.index()).map_or("", |module| tables.text(module.path));
    let name = if told.is_empty() { Procedure::REGION } else { told }.to_owned();
    let region = Procedure { name, module: Procedure::REGION.to_owned(), file: String::new() };
    let procedure = paths.procedure(region);
    paths.place(CodePlace { procedure, line: 0 })
}

/// Whether a kernel procedure only leads from user code to what was asked for, and back.
fn is_kernel_entry(name: &str) -> bool {
    const NAMES: &[&str] = &["do_syscall_64", "x64_sys_call", "syscall_return_via_sysret"];
    const BEGINNINGS: &[&str] = &["entry_SYSCALL", "asm_exc_", "asm_sysvec_", "asm_common_interrupt"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// The file of each procedure that has line information at one of its addresses at least, so that
/// addresses of the compiler's own making (no line) do not become a procedure of their own.
fn files_of_procedures<'a>(
    tables: &DefinitionTables,
    named: &'a NamedFrames,
) -> FxHashMap<(ModuleId, &'a str), &'a str> {
    let mut files = FxHashMap::default();
    for (index, frame) in tables.frames.iter().enumerate() {
        let Some((places, _)) = named.frames.get(&FrameId::from_index(index)) else { continue };
        for place in places {
            if let Some(file) = &place.file {
                files.entry((frame.module, place.procedure.as_str())).or_insert(file.as_str());
            }
        }
    }
    files
}

/// File name of a module without its folders; bracketed names stay whole.
fn module_name(tables: &DefinitionTables, module: ModuleId) -> String {
    let path = tables.modules.get(module.index()).map_or("[unknown]", |module| tables.text(module.path));
    if path.starts_with('[') {
        return path.to_owned();
    }
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("[unknown]").to_owned()
}
