//! Whether a program was compiled so that it tells of its accesses to memory, and to whom.

use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::frame_pointers::needed_libraries;
use crate::image::Image;

/// To whom a program tells of its accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessInstrumentation {
    /// To nobody: it has no calls for that.
    Absent,
    /// To the library that `longpole cc` links.
    Ours,
    /// To the compiler's own library for races: the two exclude each other.
    RaceDetector,
    /// It is no ELF program, such as a script.
    NoProgram,
}

/// Looks at the program's file.
#[must_use]
pub fn access_instrumentation(path: &Path, library: &str) -> AccessInstrumentation {
    let Ok(image) = Image::open(path) else { return AccessInstrumentation::NoProgram };
    let Some(elf) = image.elf() else { return AccessInstrumentation::NoProgram };
    let needed = needed_libraries(path);
    let defines_race_detector = || {
        let is_theirs = |name: &str| name == "__tsan_init";
        elf.symbols()
            .chain(elf.dynamic_symbols())
            .any(|symbol| symbol.is_definition() && symbol.name().is_ok_and(is_theirs))
    };
    if needed.iter().any(|name| name.starts_with("libtsan")) || defines_race_detector() {
        AccessInstrumentation::RaceDetector
    } else if needed.iter().any(|name| name == library) {
        AccessInstrumentation::Ours
    } else {
        AccessInstrumentation::Absent
    }
}
