//! Which code of the process is recorded: that of the program's file, and of libraries that are not the system's.
//!
//! Inside such a file the linker's stubs are not: they jump through a table to another library, which no source says.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What code at an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOrigin {
    /// The program's own.
    Recorded,
    /// A stub of the linker in a recorded file.
    Linkage,
    /// Of the system, or made at run time.
    Other,
}

/// Folders of libraries that are not the program's.
const SYSTEM: [&str; 6] = ["/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/"];

/// Begins of the names of what longpole has loaded into the program: its library, and a copy of the C library.
const LOADED: [&str; 2] = ["liblongpole-access", "libc.so"];

/// Whether accesses by a library's code are recorded.
#[must_use]
pub fn is_recorded_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_absolute()
        && !SYSTEM.iter().any(|folder| path.starts_with(folder))
        && !LOADED.iter().any(|begin| name.starts_with(begin))
}

/// A part of a file with executable code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeSection {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// What a file says of its code.
#[derive(Clone, Debug, Default)]
pub struct CodeFile {
    /// Address before relocation, offset in the file and size of each segment with code.
    pub segments: Vec<(u64, CodeSection)>,
    /// The linker's stubs.
    pub linkage: Vec<CodeSection>,
}

impl CodeFile {
    /// Reads the headers of an ELF file of this machine; `None` where it is none.
    #[must_use]
    pub fn read(path: &Path) -> Option<CodeFile> {
        let file = File::open(path).ok()?;
        let header: [u8; 64] = bytes_at(&file, 0)?;
        if header[..5] != *b"\x7fELF\x02" {
            return None;
        }
        let mut found = CodeFile::default();
        for number in 0..u64::from(half(&header, 56)) {
            let segment: [u8; 56] = bytes_at(&file, word(&header, 32) + 56 * number)?;
            let is_loaded = segment[..4] == 1_u32.to_le_bytes();
            if is_loaded && segment[4] & 1 != 0 {
                let section = CodeSection { offset: word(&segment, 8), size: word(&segment, 32) };
                found.segments.push((word(&segment, 16), section));
            }
        }
        found.linkage = linkage(&file, &header).unwrap_or_default();
        Some(found)
    }
}

/// The sections that hold the linker's stubs and start-up code; none where the file names no sections.
fn linkage(file: &File, header: &[u8; 64]) -> Option<Vec<CodeSection>> {
    let section = |number: u16| bytes_at::<64>(file, word(header, 40) + 64 * u64::from(number));
    let names = section(half(header, 62))?;
    let mut found = Vec::new();
    for number in 0..half(header, 60) {
        let section = section(number)?;
        let at = word(&names, 24) + u64::from(u32::from_le_bytes(*section.first_chunk()?));
        let name: [u8; 6] = bytes_at(file, at)?;
        let is_code = word(&section, 8) & 4 != 0;
        if is_code && [&b".plt"[..], b".init\0", b".fini\0"].iter().any(|begin| name.starts_with(begin)) {
            found.push(CodeSection { offset: word(&section, 24), size: word(&section, 32) });
        }
    }
    Some(found)
}

fn bytes_at<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes[at..].first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

#[derive(Debug)]
struct MappedRange {
    begin: u64,
    end: u64,
    origin: CodeOrigin,
}

/// The code that the process has mapped; what was mapped last holds.
#[derive(Debug, Default)]
pub struct EmulatedCode {
    ranges: Vec<MappedRange>,
}

impl EmulatedCode {
    /// What code at this address is.
    #[must_use]
    pub fn origin(&self, address: u64) -> CodeOrigin {
        let holds = |range: &&MappedRange| (range.begin..range.end).contains(&address);
        self.ranges.iter().rev().find(holds).map_or(CodeOrigin::Other, |range| range.origin)
    }

    /// The ranges of recorded code.
    #[must_use]
    pub fn recorded(&self) -> Vec<(u64, u64)> {
        let recorded = self.ranges.iter().filter(|range| range.origin == CodeOrigin::Recorded);
        recorded.map(|range| (range.begin, range.end)).collect()
    }

    /// The process maps this part of a file as code there. Gives the range of recorded code.
    pub fn map(&mut self, path: &Path, begin: u64, part: &CodeSection) -> Option<(u64, u64)> {
        let end = begin.saturating_add(part.size);
        if !is_recorded_library(path) {
            self.ranges.push(MappedRange { begin, end, origin: CodeOrigin::Other });
            return None;
        }
        let file = CodeFile::read(path).unwrap_or_default();
        Some(self.record((begin, end), part.offset, &file.linkage))
    }

    /// The program's file, whose first code is there. Gives its ranges of recorded code.
    pub fn map_program(&mut self, path: &Path, first_code: u64) -> Vec<(u64, u64)> {
        let file = CodeFile::read(path).unwrap_or_default();
        let Some(lowest) = file.segments.iter().map(|(address, _)| *address).min() else { return Vec::new() };
        let shift = first_code.wrapping_sub(lowest);
        let of = |(address, part): &(u64, CodeSection)| {
            let begin = address.wrapping_add(shift);
            self.record((begin, begin.saturating_add(part.size)), part.offset, &file.linkage)
        };
        file.segments.iter().map(of).collect()
    }

    fn record(&mut self, (begin, end): (u64, u64), offset: u64, linkage: &[CodeSection]) -> (u64, u64) {
        self.ranges.push(MappedRange { begin, end, origin: CodeOrigin::Recorded });
        for stubs in linkage {
            let begins = stubs.offset.checked_sub(offset).map(|distance| begin + distance);
            if let Some(begin) = begins.filter(|begin| *begin < end) {
                let range = MappedRange { begin, end: begin + stubs.size, origin: CodeOrigin::Linkage };
                self.ranges.push(range);
            }
        }
        (begin, end)
    }
}

/// The file behind a descriptor of this process.
#[must_use]
pub fn path_of_descriptor(descriptor: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_system_and_longpole_s_are_not_recorded() {
        for path in [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/usr/lib/libm.so",
            "/home/u/liblongpole-access.so",
            "/home/u/libc.so.6",
        ] {
            assert!(!is_recorded_library(Path::new(path)), "{path}");
        }
        assert!(!is_recorded_library(Path::new("[vdso]")));
        for path in ["/home/u/libown.so", "/library/libown.so", "/usr/local/lib/libown.so"] {
            assert!(is_recorded_library(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_program_s_code_is_recorded_but_for_its_stubs() {
        // This test's own program.
        let path = std::env::current_exe().unwrap();
        let file = CodeFile::read(&path).unwrap();
        assert!(!file.segments.is_empty());
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line =
            maps.lines().find(|line| line.ends_with(path.to_str().unwrap()) && line.contains(" r-xp "));
        let begin = u64::from_str_radix(line.unwrap().split('-').next().unwrap(), 16).unwrap();
        let (address, part) = &file.segments[0];
        let first_code = begin + address % 4096;
        let mut code = EmulatedCode::default();
        let ranges = code.map_program(&path, first_code);
        assert_eq!(ranges, [(first_code, first_code + part.size)]);
        let own = a_program_s_code_is_recorded_but_for_its_stubs as *const () as u64;
        assert_eq!(code.origin(own), CodeOrigin::Recorded);
        assert_eq!(code.origin(libc_address()), CodeOrigin::Other);
        let init = file.linkage.iter().find(|one| one.offset >= part.offset).unwrap();
        assert_eq!(code.origin(first_code + init.offset - part.offset), CodeOrigin::Linkage);
    }

    fn libc_address() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc = maps.lines().find(|line| line.contains("/libc.so.6") && line.contains(" r-xp ")).unwrap();
        u64::from_str_radix(libc.split('-').next().unwrap(), 16).unwrap()
    }

    #[test]
    fn what_is_mapped_last_holds() {
        let mut code = EmulatedCode::default();
        let part = CodeSection { offset: 0, size: 0x1000 };
        assert_eq!(code.map(Path::new("/no/such/libown.so"), 0x5000, &part), Some((0x5000, 0x6000)));
        assert_eq!(code.origin(0x5800), CodeOrigin::Recorded);
        assert_eq!(code.map(Path::new("/usr/lib/libother.so"), 0x5800, &part), None);
        assert_eq!(code.origin(0x5800), CodeOrigin::Other);
        assert_eq!(code.origin(0x57ff), CodeOrigin::Recorded);
    }

    #[test]
    fn files_that_are_no_programs_have_no_code() {
        assert!(CodeFile::read(Path::new("/etc/passwd")).is_none());
        assert!(CodeFile::read(Path::new("/no/such/file")).is_none());
    }
}
