//! Python in the recorded processes: how the kernel programs read what its threads execute, and what functions are called.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aya::maps::{HashMap as BpfHashMap, MapData};
use longpole_event::Time;
use longpole_symbols::{LoopFrames, MappedPython, PythonFiles, PythonLayout, UnreadablePython, maps_of};
use rustc_hash::FxHashMap;

use super::wire::{ReadPython, SentFunction};
use crate::python::{PythonFrame, PythonFunction, PythonStack};
use crate::raw::{RawEvent, RawKind, RawStack};

/// As `struct python` in `bpf/longpole.bpf.c`.
pub(super) type WirePython = [u64; 24];

/// Mappings for an execution are made before it is reported, but hardly longer than this before.
const EXECUTION_NANOSECONDS: u64 = 2_000_000_000;
/// After an execution its mappings are looked for so often and so long.
const SHORT_ROUND: Duration = Duration::from_millis(2);
const SHORT_ROUNDS_NANOSECONDS: u64 = 100_000_000;
/// Functions whose names are remembered; beyond, further ones have none.
const MOST_FUNCTIONS: usize = 1 << 20;

/// To what belongs what a thread executes of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PythonOwner {
    Stack(u64),
    /// The next sample of a processor.
    Sample(u16),
}

/// What is known of Python in the recorded processes.
#[derive(Debug)]
pub(super) struct Pythons {
    files: PythonFiles,
    published: BpfHashMap<MapData, u32, WirePython>,
    /// What each process mapped of late: an execution makes the kernel programs forget it.
    recent: FxHashMap<u32, (Time, WirePython)>,
    /// By the numbers that the kernel programs have.
    layouts: Vec<PythonLayout>,
    functions: FxHashMap<u64, Arc<PythonFunction>>,
    /// Of stacks and samples that are still to come.
    pending: FxHashMap<PythonOwner, (Time, Box<PythonStack>)>,
    unreadable: BTreeSet<UnreadablePython>,
    /// Frames, and those of them whose functions could not be read.
    frames: u64,
    nameless: u64,
    looks_until: Time,
}

impl Pythons {
    pub(super) fn new(published: BpfHashMap<MapData, u32, WirePython>) -> Pythons {
        Pythons {
            files: PythonFiles::default(),
            published,
            recent: FxHashMap::default(),
            layouts: Vec::new(),
            functions: FxHashMap::default(),
            pending: FxHashMap::default(),
            unreadable: BTreeSet::new(),
            frames: 0,
            nameless: 0,
            looks_until: Time::ZERO,
        }
    }

    /// Looks for an interpreter in what a process has mapped already.
    pub(super) fn look_at_process(&mut self, pid: u32, time: Time) {
        for mapping in maps_of(pid).unwrap_or_default() {
            self.look(pid, &mapping, time);
        }
    }

    /// Learns from an event.
    pub(super) fn learn(&mut self, event: &RawEvent) {
        match &event.kind {
            RawKind::Map { pid, mapping } => self.look(*pid, mapping, event.time),
            RawKind::Exec { task, .. } => {
                let recent = self.recent.get(&task.pid).copied();
                let recent = recent.filter(|(time, _)| event.time.since(*time) < EXECUTION_NANOSECONDS);
                if let Some((_, wire)) = recent {
                    self.publish(task.pid, wire);
                }
            }
            _ => {}
        }
    }

    /// An execution, as soon as it is read.
    pub(super) fn see_execution(&mut self, event: &RawEvent) {
        let RawKind::Exec { task, .. } = &event.kind else { return };
        let is_named_so = |mapping: &longpole_symbols::Mapping| {
            let name = mapping.path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b"python")
        };
        let mappings = maps_of(task.pid).unwrap_or_default();
        if mappings.iter().any(is_named_so) {
            let now = crate::clock::now();
            mappings.iter().for_each(|mapping| self.look(task.pid, mapping, now));
            // The library that has the interpreter is still to come.
            self.looks_until = now + SHORT_ROUNDS_NANOSECONDS;
        }
    }

    fn look(&mut self, pid: u32, mapping: &longpole_symbols::Mapping, time: Time) {
        match self.files.look(pid, mapping) {
            Some(Ok(python)) => {
                let wire = to_wire(&python, self.number_of(python.layout));
                self.recent.insert(pid, (time, wire));
                self.publish(pid, wire);
            }
            Some(Err(unreadable)) => _ = self.unreadable.insert(unreadable),
            None => {}
        }
    }

    fn number_of(&mut self, layout: PythonLayout) -> usize {
        let known = self.layouts.iter().position(|known| *known == layout);
        known.unwrap_or_else(|| {
            self.layouts.push(layout);
            self.layouts.len() - 1
        })
    }

    fn publish(&mut self, pid: u32, wire: WirePython) {
        // A full table is no failure: the functions of the process have no names then.
        let _ = self.published.insert(pid, wire, 0);
    }

    /// The longest time between two looks into the buffers.
    pub(super) fn round(&self) -> Option<Duration> {
        (crate::clock::now() < self.looks_until).then_some(SHORT_ROUND)
    }

    /// A function that later frames have by its number.
    pub(super) fn define(&mut self, sent: &SentFunction) {
        let layout = usize::try_from(sent.layout).ok().and_then(|number| self.layouts.get(number));
        if let Some(function) = layout.and_then(|layout| function(layout, sent))
            && self.functions.len() < MOST_FUNCTIONS
        {
            self.functions.insert(sent.number, Arc::new(function));
        }
    }

    /// Keeps what a thread executes until the stack or sample comes that it belongs to.
    pub(super) fn keep(&mut self, read: &ReadPython) {
        let owner = read.key.map_or(PythonOwner::Sample(read.cpu), PythonOwner::Stack);
        let stack = self.name(read);
        self.pending.insert(owner, (read.time, stack));
    }

    /// What the thread of the stack with this key executes.
    pub(super) fn of_stack(&mut self, key: u64) -> Option<Box<PythonStack>> {
        self.pending.remove(&PythonOwner::Stack(key)).map(|(_, stack)| stack)
    }

    /// Gives a sample what its thread executes.
    pub(super) fn attach_to_sample(&mut self, event: &mut RawEvent) {
        let RawKind::Sample { stack: RawStack::Taken(stack), .. } = &mut event.kind else { return };
        let kept = self.pending.remove(&PythonOwner::Sample(event.cpu));
        // One whose sample was lost is of another time.
        stack.python = kept.filter(|(time, _)| *time == event.time).map(|(_, stack)| stack);
    }

    /// The functions of frames.
    fn name(&mut self, read: &ReadPython) -> Box<PythonStack> {
        let mut frames = Vec::with_capacity(read.frames.len());
        for frame in &read.frames {
            let function = frame.number.and_then(|number| self.functions.get(&number)).cloned();
            if !frame.is_own {
                self.frames += 1;
                self.nameless += u64::from(function.is_none());
            }
            frames.push(PythonFrame { function, begins_loop: frame.begins_loop });
        }
        Box::new(PythonStack { frames, is_cut: read.is_cut })
    }

    /// What a reader has to know of this run.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let unreadable = self.unreadable.iter().map(|UnreadablePython { path, reason }| {
            format!("functions of Python have no names in {}: {reason}", path.display())
        });
        let nameless = (self.nameless > 0).then(|| {
            format!(
                "{} of {} frames of Python could not be read and are missing in call paths",
                self.nameless, self.frames
            )
        });
        unreadable.chain(nameless)
    }
}

fn to_wire(python: &MappedPython, number: usize) -> WirePython {
    let layout = &python.layout;
    let loop_frames = match layout.loop_frames {
        LoopFrames::Each => 0,
        LoopFrames::Marked => 1,
        LoopFrames::BehindOwn => 2,
    };
    let code_begin = layout.file.min(layout.name).min(layout.line) & !7;
    [
        python.runtime,
        python.code_type,
        layout.is_current_thread.into(),
        layout.interpreters,
        layout.next_interpreter,
        layout.threads,
        layout.next_thread,
        layout.interpreter,
        layout.handle,
        layout.frame,
        layout.indirect.is_some().into(),
        layout.indirect.unwrap_or(0),
        layout.previous,
        layout.code,
        loop_frames,
        layout.begins_loop,
        code_begin,
        layout.file - code_begin,
        layout.name - code_begin,
        layout.line - code_begin,
        layout.length,
        layout.state,
        layout.text,
        number as u64,
    ]
}

/// The function of a record; `None` where its texts are no texts.
fn function(layout: &PythonLayout, sent: &SentFunction) -> Option<PythonFunction> {
    let name = text(layout, &sent.name)?;
    let file = text(layout, &sent.file).filter(|file| !file.is_empty());
    let name = match &file {
        None => name,
        Some(file) => {
            let short = file.rsplit('/').next().unwrap_or(file);
            if layout.has_qualified_names {
                format!("{name} {short}")
            } else {
                format!("{name} {short}:{}", sent.line)
            }
        }
    };
    Some(PythonFunction { name, file: file.unwrap_or_default(), line: sent.line })
}

/// The characters of a text from its bytes in memory; `None` where they are not all there.
fn text(layout: &PythonLayout, object: &[u8]) -> Option<String> {
    let word = |offset: u64, bytes: usize| {
        let offset = usize::try_from(offset).ok()?;
        let bytes = object.get(offset..offset.checked_add(bytes)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let length = usize::try_from(word(layout.length, 8)?).ok()?;
    let (unit, begin) = if layout.state == 0 {
        (1, layout.text)
    } else {
        let state = word(layout.state, 4)?;
        let (is_compact, is_ascii) = (state >> 5 & 1 != 0, state >> 6 & 1 != 0);
        let unit = usize::try_from(state >> 2 & 7).ok()?;
        let begin = if is_ascii { layout.ascii_text } else { layout.text };
        (is_compact && matches!(unit, 1 | 2 | 4)).then_some((unit, begin))?
    };
    let begin = usize::try_from(begin).ok()?;
    let characters = object.get(begin..begin.checked_add(length.checked_mul(unit)?)?)?;
    if layout.state == 0 {
        return Some(String::from_utf8_lossy(characters).into_owned());
    }
    let code = |bytes: &[u8]| bytes.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
    let character = |bytes| char::from_u32(code(bytes)).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some(characters.chunks_exact(unit).map(character).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of Python 3.8.
    fn layout() -> PythonLayout {
        PythonLayout {
            is_current_thread: false,
            interpreters: 32,
            next_interpreter: 0,
            threads: 8,
            next_thread: 8,
            interpreter: 16,
            handle: 176,
            frame: 24,
            indirect: None,
            previous: 24,
            code: 32,
            loop_frames: LoopFrames::Each,
            begins_loop: 0,
            file: 104,
            name: 112,
            line: 40,
            length: 16,
            state: 32,
            ascii_text: 48,
            text: 72,
            has_qualified_names: false,
        }
    }

    /// A text of so many characters, stored with these flags.
    fn object(length: u64, state: u32, begin: usize, characters: &[u8]) -> Vec<u8> {
        let mut object = vec![0; begin];
        object[16..24].copy_from_slice(&length.to_le_bytes());
        object[32..36].copy_from_slice(&state.to_le_bytes());
        object.extend_from_slice(characters);
        object
    }

    const COMPACT: u32 = 1 << 5;
    const ASCII: u32 = COMPACT | 1 << 6;

    #[test]
    fn texts_of_all_widths_are_read() {
        let read = |object: &[u8]| text(&layout(), object);
        assert_eq!(read(&object(5, 1 << 2 | ASCII, 48, b"solve and more")).as_deref(), Some("solve"));
        assert_eq!(read(&object(4, 1 << 2 | COMPACT, 72, b"caf\xe9")).as_deref(), Some("café"));
        let wide: Vec<u8> = "длина".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&object(5, 2 << 2 | COMPACT, 72, &wide)).as_deref(), Some("длина"));
        let widest: Vec<u8> = "𝛑r".chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
        assert_eq!(read(&object(2, 4 << 2 | COMPACT, 72, &widest)).as_deref(), Some("𝛑r"));
        let bytes = PythonLayout { state: 0, ascii_text: 36, text: 36, ..layout() };
        assert_eq!(text(&bytes, &object(3, 0, 36, b"run\0")).as_deref(), Some("run"));
    }

    #[test]
    fn what_is_no_whole_text_is_none() {
        let read = |object: &[u8]| text(&layout(), object);
        assert_eq!(read(&object(600, 1 << 2 | ASCII, 48, b"cut")), None);
        assert_eq!(read(&object(u64::MAX, 4 << 2 | COMPACT, 72, b"")), None);
        assert_eq!(read(&object(3, 1 << 2, 48, b"old")), None, "not compact");
        assert_eq!(read(&object(3, 3 << 2 | COMPACT, 72, b"abc")), None, "no such width");
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn a_function_is_called_with_its_file_and_where_its_class_is_not_known_its_line() {
        let ascii = |text: &str| object(text.len() as u64, 1 << 2 | ASCII, 48, text.as_bytes());
        let sent = SentFunction {
            layout: 0,
            number: 2,
            line: 7,
            name: ascii("Solver.step"),
            file: ascii("/src/work.py"),
        };
        let named =
            |has_qualified_names| function(&PythonLayout { has_qualified_names, ..layout() }, &sent).unwrap();
        assert_eq!(
            (named(true).name.as_str(), named(true).file.as_str()),
            ("Solver.step work.py", "/src/work.py")
        );
        assert_eq!(named(false).name, "Solver.step work.py:7");
        let cut = SentFunction { file: object(600, 1 << 2 | ASCII, 48, b"/very"), ..sent };
        let named = function(&layout(), &cut).unwrap();
        assert_eq!(
            (named.name.as_str(), named.file.as_str()),
            ("Solver.step", ""),
            "no file is better than a wrong one"
        );
    }
}
