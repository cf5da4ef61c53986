//! Reader of `/proc/PID/maps`.

use std::io;
use std::path::PathBuf;

use crate::Mapping;

/// The executable mappings of a process that runs on this machine now.
///
/// # Errors
/// Those of reading `/proc/PID/maps`.
pub fn maps_of(pid: u32) -> io::Result<Vec<Mapping>> {
    read(&pid.to_string())
}

/// The executable mappings of a process; `process` is its pid or `self`.
pub(crate) fn read(process: &str) -> io::Result<Vec<Mapping>> {
    let text = std::fs::read(format!("/proc/{process}/maps"))?;
    Ok(lines(&text).filter_map(executable).collect())
}

/// All mappings that a text of `/proc/PID/maps` tells of, whether or not they are executable.
pub fn mappings_in(text: &[u8]) -> impl Iterator<Item = Mapping> {
    lines(text).filter_map(|line| Some(mapping(line)?.0))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

/// The mapping that a line tells of, if it is executable.
fn executable(line: &[u8]) -> Option<Mapping> {
    mapping(line).and_then(|(mapping, is_executable)| is_executable.then_some(mapping))
}

/// The mapping that a line tells of, and whether it is executable.
fn mapping(line: &[u8]) -> Option<(Mapping, bool)> {
    use std::os::unix::ffi::OsStrExt;
    // 55d0c0a00000-55d0c0a21000 r-xp 00002000 fe:01 1234       /usr/bin/a program
    let mut rest = line;
    let range = std::str::from_utf8(word(&mut rest)).ok()?;
    let permissions = word(&mut rest);
    let offset = std::str::from_utf8(word(&mut rest)).ok()?;
    let _device = word(&mut rest);
    let _inode = word(&mut rest);
    let (start, end) = range.split_once('-')?;
    let path = rest.trim_ascii_start();
    let mapping = Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        file_offset: u64::from_str_radix(offset, 16).ok()?,
        path: PathBuf::from(std::ffi::OsStr::from_bytes(path)),
        build_id: Vec::new(),
    };
    Some((mapping, permissions.get(2) == Some(&b'x')))
}

fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let length = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let (word, after) = text.split_at(length);
    *rest = after;
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_mappings_are_read_and_paths_keep_their_blanks() {
        let line = b"7f00-8f00 r-xp 00002000 fe:01 77       /opt/my program (deleted)";
        let mapping = executable(line).expect("executable");
        assert_eq!((mapping.start, mapping.end, mapping.file_offset), (0x7f00, 0x8f00, 0x2000));
        assert_eq!(mapping.path, PathBuf::from("/opt/my program (deleted)"));
        assert_eq!(executable(b"7f00-8f00 rw-p 00002000 fe:01 77 /opt/x"), None);
        assert_eq!(executable(b"7f00-8f00 rwxp 00000000 00:00 0 ").expect("anonymous").path, PathBuf::new());
        assert_eq!(executable(b""), None);
        assert_eq!(executable(b"zz r-xp"), None);
    }

    #[test]
    fn the_own_program_is_among_the_own_mappings() {
        let program = std::env::current_exe().expect("program path");
        let mappings = read("self").expect("own maps");
        let here = the_own_program_is_among_the_own_mappings as *const () as u64;
        assert!(
            mappings
                .iter()
                .any(|mapping| mapping.path == program && (mapping.start..mapping.end).contains(&here))
        );
    }
}
