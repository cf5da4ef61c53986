//! CPython in a file: where its runtime's variable lies, how the memory of its version is laid out, and which code is its loop.
//!
//! In: the file of an interpreter, `python3.11` or `libpython3.11.so.1.0`, which may be stripped: all that is looked up is exported.
//! Out: addresses and offsets by which the functions that a thread executes can be read from its process. Nothing is guessed: a version
//! whose layout is not known is said to be so.

mod layout;
mod python_loop;

use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};
use rustc_hash::FxHashMap;

use crate::image::{FileIdentity, Image};
use crate::locate;
use crate::mapping::Mapping;
use crate::module::without_deleted_mark;

pub use layout::{LoopFrames, PythonLayout};
pub use python_loop::PythonLoop;

/// The names under which an interpreter exports what is needed.
const RUNTIME: &str = "_PyRuntime";
/// Before Python 3.7.
const CURRENT_THREAD: &str = "_PyThreadState_Current";
const CODE_TYPE: &str = "PyCode_Type";
/// Since Python 3.11.
const VERSION: &str = "Py_Version";
const SINCE_3_8: &str = "PyConfig_InitPythonConfig";
/// In Python 2 only.
const BYTE_TEXT: &str = "PyString_Type";

/// An interpreter of Python in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedPython {
    /// Address of the variable that leads to all threads.
    pub runtime: u64,
    /// Address of the type of code objects.
    pub code_type: u64,
    /// Where what lies in memory.
    pub layout: PythonLayout,
}

/// An interpreter of Python that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnreadablePython {
    /// Its file.
    pub path: PathBuf,
    /// What is wrong; completes "cannot be read: ".
    pub reason: String,
}

/// What a file has to say.
#[derive(Clone, Copy, Debug)]
struct PythonFile {
    runtime: u64,
    code_type: u64,
    layout: PythonLayout,
}

type LookedAtFile = (Image, Option<Result<PythonFile, String>>);

/// The interpreters among the files of a machine, each looked at once.
#[derive(Debug, Default)]
pub struct PythonFiles {
    /// `None` for a program that only starts an interpreter, which a library has.
    files: FxHashMap<(PathBuf, FileIdentity), LookedAtFile>,
}

impl PythonFiles {
    /// The interpreter that a process has mapped there; `None` where that is no interpreter, or its file is gone.
    pub fn look(&mut self, pid: u32, mapping: &Mapping) -> Option<Result<MappedPython, UnreadablePython>> {
        let (path, deleted) = without_deleted_mark(&mapping.path);
        if !is_interpreter(path) {
            return None;
        }
        let found = locate::file_of(pid, mapping, path, deleted)?;
        let key = (path.to_owned(), found.identity);
        let (image, file) = match self.files.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let image = Image::open(&found.path).ok()?;
                let file = PythonFile::of(&image);
                new.insert((image, file))
            }
        };
        let shift = image.address_of(mapping.file_offset)?.wrapping_sub(mapping.start);
        Some(match file.as_ref()? {
            Ok(file) => Ok(MappedPython {
                runtime: file.runtime.wrapping_sub(shift),
                code_type: file.code_type.wrapping_sub(shift),
                layout: file.layout,
            }),
            Err(reason) => Err(UnreadablePython { path: path.to_owned(), reason: reason.clone() }),
        })
    }
}

/// Whether a file is named as interpreters of Python are, and the libraries that hold one.
pub(crate) fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // `libpython3.so` only leads to the library of a version.
    path.is_absolute()
        && name != "libpython3.so"
        && (name.starts_with("python") || name.starts_with("libpython"))
}

impl PythonFile {
    /// What the file of an interpreter says; `None` for another file.
    fn of(image: &Image) -> Option<Result<PythonFile, String>> {
        let symbols = exported(image);
        let runtime = *symbols.get(RUNTIME).or_else(|| symbols.get(CURRENT_THREAD))?;
        let code_type = *symbols.get(CODE_TYPE)?;
        let layout = if !symbols.contains_key(RUNTIME) {
            Ok(if symbols.contains_key(BYTE_TEXT) { layout::PYTHON_2 } else { layout::BEFORE_3_7 })
        } else if let Some(&version) = symbols.get(VERSION) {
            PythonLayout::of_version(word(image, version, 4), image, runtime)
        } else {
            Ok(if symbols.contains_key(SINCE_3_8) { layout::BEFORE_3_11 } else { layout::BEFORE_3_8 })
        };
        Some(layout.map(|layout| PythonFile { runtime, code_type, layout }))
    }
}

/// The addresses of those of the names that the file exports.
fn exported(image: &Image) -> FxHashMap<&'static str, u64> {
    const WANTED: [&str; 6] = [RUNTIME, CURRENT_THREAD, CODE_TYPE, VERSION, SINCE_3_8, BYTE_TEXT];
    let mut symbols = FxHashMap::default();
    let Some(elf) = image.elf() else { return symbols };
    for symbol in elf.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        let name = symbol.name().unwrap_or_default();
        if let Some(name) = WANTED.into_iter().find(|wanted| *wanted == name) {
            symbols.insert(name, symbol.address());
        }
    }
    symbols
}

/// The number of so many bytes there; 0 outside of the file's data.
fn word(image: &Image, address: u64, bytes: usize) -> u64 {
    let section = image.loaded_from(address);
    let found = section.as_ref().and_then(|section| section.bytes.get(..bytes)).unwrap_or_default();
    found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        let is = |path: &str| is_interpreter(Path::new(path));
        assert!(is("/usr/bin/python3.11") && is("/opt/lib/libpython3.8.so.1.0") && is("/usr/bin/python"));
        assert!(!is("/usr/lib/libpython3.so") && !is("/usr/lib/_json.cpython-311-x86_64-linux-gnu.so"));
        assert!(!is("//anon"));
    }
}
