//! How much of a stack to copy, from looking at the program.
//!
//! Frame pointers let the kernel follow a stack of any depth by itself, so that only the frames of
//! libraries without them need the copied memory. Without frame pointers the copy is all there is.

use std::path::Path;

use longpole_symbols::has_frame_pointers;

use crate::collector_choice::Settings;
use crate::session::{DEFAULT_HERTZ, RecordOptions};

/// Where the program and its libraries have frame pointers; the C library does not count.
const SMALL: u32 = 1024;
/// Where some libraries have none.
const MIDDLE: u32 = 4096;
/// Where the program has none.
const LARGE: u32 = 8192;

/// Share of a program's functions that keep frame pointers if it was compiled with them; even then the few
/// that the linker adds do not, which are many in a small program.
const MOST_FUNCTIONS: f64 = 0.5;

/// How to collect from this program.
pub(crate) fn settings(options: &RecordOptions, program: &Path) -> Settings {
    let hertz = options.hertz.unwrap_or(DEFAULT_HERTZ);
    let found = has_frame_pointers(program).ok();
    let frame_pointers =
        found.as_ref().is_none_or(|found| found.program.is_some_and(|share| share >= MOST_FUNCTIONS));
    let is_c_library = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["libc.", "ld-linux", "libm.", "libpthread.", "libgcc_s."].iter().any(|part| name.starts_with(part))
    };
    let others_have = found.is_some_and(|found| found.libraries_without().all(is_c_library));
    let chosen = match (frame_pointers, others_have) {
        (true, true) => SMALL,
        (true, false) => MIDDLE,
        (false, _) => LARGE,
    };
    let stack_bytes = options.stack_bytes.unwrap_or(chosen);
    Settings { hertz, stack_bytes, frame_pointers, calls: options.calls }
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
