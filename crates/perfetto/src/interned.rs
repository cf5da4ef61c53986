//! Interned data: what packets of a sequence refer to by number, until the sequence begins anew.

use rustc_hash::FxHashMap;

use crate::wire::{WireFields, WireValue, repeated};

/// Bytes of interned data that are kept.
const MOST_BYTES: usize = 256 << 20;
/// What an entry takes beside its text.
const ENTRY_BYTES: usize = 64;

/// A call stack: which one of which generation of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallstackKey {
    pub(crate) generation: u32,
    pub(crate) number: u64,
}

/// A frame of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfettoFrame {
    /// The procedure's name, empty where the trace has none.
    pub procedure: String,
    /// Path of the file that holds the code.
    pub module: String,
    /// Its build ID.
    pub build_id: Vec<u8>,
    /// The address as the file states it.
    pub address: u64,
    /// Source file, empty where not known.
    pub file: String,
    /// Line, 0 where not known.
    pub line: u32,
}

#[derive(Clone, Debug, Default)]
struct InternedFrame {
    function: u64,
    mapping: u64,
    address: u64,
    source: u64,
    line: u32,
}

#[derive(Clone, Debug, Default)]
struct InternedMapping {
    build_id: u64,
    path: Vec<u64>,
}

/// The interned data of one generation of a sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct InternedTables {
    names: FxHashMap<u64, String>,
    /// Functions, build IDs, paths and source files, by the field's number in InternedData.
    texts: FxHashMap<(u32, u64), Vec<u8>>,
    frames: FxHashMap<u64, InternedFrame>,
    mappings: FxHashMap<u64, InternedMapping>,
    stacks: FxHashMap<u64, Vec<u64>>,
}

const NAMES: u32 = 2;
const FUNCTIONS: u32 = 5;
const FRAMES: u32 = 6;
const CALLSTACKS: u32 = 7;
const BUILD_IDS: u32 = 16;
const PATHS: u32 = 17;
const SOURCES: u32 = 18;
const MAPPINGS: u32 = 19;

impl InternedTables {
    /// Takes interned data; `bytes` counts what all tables take. Returns whether all of it was kept.
    pub(crate) fn take(&mut self, data: &[u8], bytes: &mut usize) -> bool {
        let mut fields = WireFields::of(data);
        for (number, value) in fields.by_ref() {
            *bytes = bytes.saturating_add(value.bytes().len() + ENTRY_BYTES);
            if *bytes > MOST_BYTES {
                return false;
            }
            self.take_entry(number, value.bytes());
        }
        !fields.is_damaged()
    }

    fn take_entry(&mut self, field: u32, entry: &[u8]) {
        let number =
            |wanted| WireFields::of(entry).find(|&(found, _)| found == wanted).map(|(_, value)| value);
        let id = number(1).map_or(0, WireValue::number);
        let all = |wanted: u32| {
            let mut numbers = Vec::new();
            let fields = WireFields::of(entry).filter(|&(found, _)| found == wanted);
            fields.for_each(|(_, value)| repeated(value, &mut numbers));
            numbers
        };
        let of = |wanted| number(wanted).map_or(0, WireValue::number);
        match field {
            NAMES => drop(self.names.insert(id, number(2).map(WireValue::text).unwrap_or_default())),
            FUNCTIONS | BUILD_IDS | PATHS | SOURCES => {
                let text = number(2).map(|value| value.bytes().to_vec()).unwrap_or_default();
                self.texts.insert((field, id), text);
            }
            FRAMES => {
                let frame = InternedFrame {
                    function: of(2),
                    mapping: of(3),
                    address: of(4),
                    source: of(5),
                    line: of(6) as u32,
                };
                self.frames.insert(id, frame);
            }
            CALLSTACKS => drop(self.stacks.insert(id, all(2))),
            MAPPINGS => drop(self.mappings.insert(id, InternedMapping { build_id: of(2), path: all(7) })),
            _ => {}
        }
    }

    /// The name of a slice.
    pub(crate) fn name(&self, number: u64) -> Option<&str> {
        self.names.get(&number).map(String::as_str)
    }

    /// The frames of a call stack, outermost first.
    pub(crate) fn frames(&self, stack: u64) -> Vec<PerfettoFrame> {
        let frames = self.stacks.get(&stack).map_or(&[][..], Vec::as_slice);
        frames.iter().filter_map(|frame| self.frames.get(frame)).map(|frame| self.frame(frame)).collect()
    }

    fn frame(&self, frame: &InternedFrame) -> PerfettoFrame {
        let text = |field, number| {
            let bytes = self.texts.get(&(field, number)).map_or(&[][..], Vec::as_slice);
            String::from_utf8_lossy(bytes).into_owned()
        };
        let mapping = self.mappings.get(&frame.mapping).cloned().unwrap_or_default();
        let parts: Vec<String> = mapping.path.iter().map(|&part| text(PATHS, part)).collect();
        let path = parts.join("/");
        PerfettoFrame {
            procedure: text(FUNCTIONS, frame.function),
            module: if path.is_empty() || path.starts_with(['/', '[']) { path } else { format!("/{path}") },
            build_id: self.texts.get(&(BUILD_IDS, mapping.build_id)).cloned().unwrap_or_default(),
            address: frame.address,
            file: text(SOURCES, frame.source),
            line: frame.line,
        }
    }
}
