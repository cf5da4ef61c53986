//! Programs that the agent cannot be in, known before they run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why the agent cannot be in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentBlocker {
    /// It loads no library.
    Static,
    /// It is a program of another kind of processor: of 32 bits, mostly.
    OtherProcessor,
    /// It has another C library, whose loader would refuse the agent.
    OtherLibrary,
    /// It runs with rights that its caller does not have: the loader takes no library from the caller.
    OtherRights,
}

impl AgentBlocker {
    /// Whether the loader would complain, or fail, if it was asked to load the agent.
    pub(crate) fn is_heard(self) -> bool {
        matches!(self, AgentBlocker::OtherProcessor | AgentBlocker::OtherLibrary)
    }

    /// What a reader has to know.
    pub(crate) fn finding(self, program: &Path) -> String {
        let reason = match self {
            AgentBlocker::Static => "is statically linked, as Go programs are, and loads no library",
            AgentBlocker::OtherProcessor => "is no 64-bit x86 program",
            AgentBlocker::OtherLibrary => "does not use the GNU C library",
            AgentBlocker::OtherRights => "runs with rights that its caller does not have (setuid)",
        };
        let program = program.display();
        format!(
            "the agent is not in {program}: it {reason}; what the kernel sees of it can be recorded (as root: \
             --collector bpf or perf; without privileges: --collector process)"
        )
    }
}

/// Why the agent cannot be in this program; `None` where nothing speaks against it.
pub(crate) fn obstacle(program: &Path) -> Option<AgentBlocker> {
    /// Interpreters that are themselves interpreted.
    const DEEPEST: usize = 4;
    let mut program = program.to_owned();
    for _ in 0..DEEPEST {
        match interpreter(&program) {
            Some(interpreter) => program = interpreter,
            None => break,
        }
    }
    if has_other_rights(&program) {
        return Some(AgentBlocker::OtherRights);
    }
    let mut bytes = Vec::new();
    /// The program headers lie within these bytes.
    const BEGINNING: u64 = 64 * 1024;
    File::open(&program).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    of_elf(&bytes)
}

/// The program that runs a script.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    const LONGEST: u64 = 256;
    BufReader::new(File::open(program).ok()?.take(LONGEST)).read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?.trim_ascii();
    let path = words.split(|byte| byte.is_ascii_whitespace()).next()?;
    (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

fn has_other_rights(program: &Path) -> bool {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2010;
    let Ok(status) = fs::metadata(program) else { return false };
    // SAFETY: no arguments.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let sets_group = status.mode() & SET_GROUP == SET_GROUP && status.gid() != group;
    status.mode() & SET_USER != 0 && status.uid() != user
        || sets_group
        || user != 0 && has_capabilities(program)
}

fn has_capabilities(program: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(program.as_os_str().as_bytes()) else { return false };
    // SAFETY: both texts end with a zero; with a size of 0 nothing is written.
    let size =
        unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) };
    size > 0
}

fn of_elf(bytes: &[u8]) -> Option<AgentBlocker> {
    const CLASS_64: u8 = 2;
    const X86_64: usize = 62;
    const INTERPRETER: usize = 3;
    const HEADER: usize = 56;
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    if bytes.get(4) != Some(&CLASS_64) || number::<2>(bytes, 18) != Some(X86_64) {
        return Some(AgentBlocker::OtherProcessor);
    }
    let (offset, count) = (number::<8>(bytes, 32)?, number::<2>(bytes, 56)?);
    for index in 0..count {
        let at = offset.checked_add(index * HEADER)?;
        if number::<4>(bytes, at)? == INTERPRETER {
            let (from, length) = (number::<8>(bytes, at + 8)?, number::<8>(bytes, at + 32)?);
            let path = bytes.get(from..from.checked_add(length)?)?;
            let is_gnu = path.windows(8).any(|part| part == b"ld-linux");
            return (!is_gnu).then_some(AgentBlocker::OtherLibrary);
        }
    }
    Some(AgentBlocker::Static)
}

fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(BYTES)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file's beginning with one program header.
    fn elf(class: u8, machine: u8, kind: u8, path: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1]);
        (bytes[18], bytes[32], bytes[56]) = (machine, 64, 1);
        (bytes[64], bytes[64 + 8], bytes[64 + 32]) = (kind, 120, path.len() as u8);
        bytes.extend(path);
        bytes
    }

    #[test]
    fn what_the_agent_cannot_be_in_is_known_by_the_files_beginning() {
        let gnu = b"/lib64/ld-linux-x86-64.so.2\0";
        assert_eq!(of_elf(&elf(2, 62, 3, gnu)), None);
        assert_eq!(of_elf(&elf(2, 62, 1, b"")), Some(AgentBlocker::Static));
        assert_eq!(of_elf(&elf(2, 62, 3, b"/lib/ld-musl-x86_64.so.1\0")), Some(AgentBlocker::OtherLibrary));
        assert_eq!(of_elf(&elf(1, 3, 3, gnu)), Some(AgentBlocker::OtherProcessor));
        assert_eq!(of_elf(&elf(2, 183, 3, gnu)), Some(AgentBlocker::OtherProcessor));
        assert_eq!(of_elf(b"\x7fELF\x02"), Some(AgentBlocker::OtherProcessor));
        assert_eq!(of_elf(b"text"), None);
    }

    #[test]
    fn scripts_are_judged_by_what_runs_them() {
        let folder = tempfile::tempdir().unwrap();
        let (program, script) = (folder.path().join("program"), folder.path().join("script"));
        fs::write(&program, elf(2, 62, 1, b"")).unwrap();
        fs::write(&script, format!("#! {} -x\nrest", program.display())).unwrap();
        assert_eq!(obstacle(&script), Some(AgentBlocker::Static));
        assert_eq!(obstacle(&std::env::current_exe().unwrap()), None);
    }
}
