//! Where the functions of debug information begin, for code that no symbol and no range covers.
//!
//! ```text
//!   symbols            frame_dummy (no size) ─────────────────────────────────────► main
//!   debug information                            hashLoop: its first block only
//!   code               8 bytes             gap   hashLoop …………………………………
//! ```
//! GHC gives a function the range of its first block and no symbol. What a symbol without a size seems to name is then code of
//! the function whose beginning is nearest.

use crate::image::Image;
use crate::subprograms::each_subprogram;

/// Functions of the files that every C program begins and ends with, which have no sizes there.
const START_FILES: [&str; 7] = [
    "frame_dummy",
    "register_tm_clones",
    "deregister_tm_clones",
    "__do_global_dtors_aux",
    "_start",
    "_init",
    "_fini",
];
/// No function of these is longer, bytes.
const LONGEST: u64 = 128;

/// Whether a symbol without a size cannot name an address so far behind it.
pub(crate) fn is_too_far(symbol: &str, distance: u64) -> bool {
    distance >= LONGEST && START_FILES.contains(&symbol)
}

/// The functions of a file's debug information.
#[derive(Debug, Default)]
pub(crate) struct DebugFunctions {
    /// Beginnings and names in the source, by beginnings.
    starts: Vec<(u64, String)>,
}

impl DebugFunctions {
    /// Reads the debug information of a file; none without it.
    pub fn of(image: &Image) -> Self {
        let mut functions = DebugFunctions::default();
        each_subprogram(image, |subprogram| {
            // Linkers leave what they dropped at 0.
            if let (Some(start @ 1..), Some(name)) = (subprogram.start, subprogram.name) {
                functions.starts.push((start, String::from_utf8_lossy(name).into_owned()));
            }
        });
        functions.starts.sort_unstable();
        functions
    }

    /// The last function that begins up to this address: its beginning and its name.
    pub fn last_before(&self, address: u64) -> Option<(u64, &str)> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.starts[..after].last()?;
        Some((*start, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_files_name_only_what_is_near() {
        assert!(!is_too_far("frame_dummy", 8) && is_too_far("frame_dummy", 0xd2));
        assert!(!is_too_far("memcpy_body", 0xd2), "assembly may have no sizes");
    }

    #[test]
    fn functions_of_this_program_are_found_by_their_beginnings() {
        let image = Image::open(&std::env::current_exe().unwrap()).unwrap();
        let functions = DebugFunctions::of(&image);
        let (start, name) = functions.starts[functions.starts.len() / 2].clone();
        let next = functions.starts.iter().find(|(other, _)| *other > start).unwrap().0;
        assert!(!name.is_empty());
        assert_eq!(functions.last_before(next - 1).map(|(start, _)| start), Some(start));
        assert_eq!(functions.last_before(0), None);
    }
}
