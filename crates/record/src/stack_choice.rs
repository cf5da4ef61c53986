//! How much of a stack to copy, from looking at the program.
//!
//! Frame pointers let the kernel follow a stack of any depth by itself, so that only the frames of
//! libraries without them need the copied memory. Without frame pointers the copy is all there is.

use std::path::Path;

use longpole_privileged::RARE_JOINS;
use longpole_symbols::{FramePointers, has_frame_pointers, imports_any};

use crate::collector_choice::Settings;
use crate::mpi;
use crate::session::{AccessSource, DEFAULT_HERTZ, RecordOptions};

/// Where the program and its libraries have frame pointers; the C library does not count.
const SMALL: u32 = 1024;
/// Where some libraries have none.
const MIDDLE: u32 = 4096;
/// Where the program has none, or a part of it.
const LARGE: u32 = 8192;

/// Share of a program's functions that keep frame pointers if it was compiled with them; even then the few
/// that the linker adds do not, which are many in a small program.
const MOST_FUNCTIONS: f64 = 0.5;

/// So many functions without frame pointers are no longer the linker's few: a part of the program was compiled without.
const A_PART: u32 = 32;
/// Share of functions with frame pointers from which on those without are left to themselves.
const NEARLY_ALL: f64 = 0.95;

/// Whether a part of the program has frame pointers, and a part has none. Stacks are followed by the kernel then, but what the part without
/// calls is found in the copy alone.
fn is_mixed(found: &FramePointers) -> bool {
    found.program_without >= A_PART && found.program.is_some_and(|share| share < NEARLY_ALL)
}

/// How to collect from this program.
pub(crate) fn settings(options: &RecordOptions, program: &Path) -> Settings {
    let hertz = options.hertz.unwrap_or(DEFAULT_HERTZ);
    let found = has_frame_pointers(program).ok();
    let frame_pointers =
        found.as_ref().is_none_or(|found| found.program.is_some_and(|share| share >= MOST_FUNCTIONS));
    let is_mixed = found.as_ref().is_some_and(is_mixed);
    let is_c_library = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["libc.", "ld-linux", "libm.", "libpthread.", "libgcc_s."].iter().any(|part| name.starts_with(part))
    };
    let others_have = found.as_ref().is_some_and(|found| found.libraries_without().all(is_c_library));
    let chosen = match (frame_pointers && !is_mixed, others_have) {
        (true, true) => SMALL,
        (true, false) => MIDDLE,
        (false, _) => LARGE,
    };
    let stack_bytes = options.stack_bytes.unwrap_or(chosen);
    let is_emulated = options.accesses == Some(AccessSource::Emulated);
    // In an emulator the agent would see the emulator.
    let messages = !is_emulated && (options.mpi || mpi::is_used_by(program));
    let libraries = found.iter().flat_map(|found| &found.libraries).map(|(path, _)| path.as_path());
    let rare_joins = libraries.chain([program]).any(|file| imports_any(file, &RARE_JOINS));
    Settings { hertz, stack_bytes, frame_pointers, calls: options.calls, messages, is_emulated, rare_joins }
}

/// What has to be known of call paths where so many bytes go with a stack.
pub(crate) fn note(settings: &Settings, bytes: u32) -> Option<String> {
    (!settings.frame_pointers).then(|| {
        format!(
            "the program was compiled without frame pointers: call paths are found in the first {bytes} bytes \
             of each stack, deeper ones are cut (--stack-bytes)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_which_a_part_has_frame_pointers_is_mixed_and_the_linkers_few_are_no_part() {
        let of = |share, program_without| {
            is_mixed(&FramePointers { program: Some(share), program_without, libraries: Vec::new() })
        };
        // Rust: the standard library has them, the program and its crates have none.
        assert!(of(0.51, 403));
        // A small program, and a large one with some assembler.
        assert!(!of(0.6, 4) && !of(0.98, 60));
    }
}
