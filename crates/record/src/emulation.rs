//! Programs that are not instrumented: executed by QEMU's user-mode emulator, whose plugin records their accesses.
//!
//! ```text
//! longpole ──► qemu-x86_64 -plugin longpole-emulate.so -E LD_PRELOAD=liblongpole-access.so PROGRAM …
//! ```
//! The program gets a copy of the C library. Probes of the kernel (uprobes), which recorders of other programs put into that file,
//! are breakpoints in the memory of every process that maps it; the emulator would execute them as instructions of the program.
//!
//! Before anything is recorded the program and the emulator are looked at: whether this program can be emulated with the library in it, and
//! whether the emulator loads the plugin.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use longpole_access::format::LIBRARY;
use longpole_symbols::{AccessInstrumentation, access_instrumentation, maps_of};

use crate::access_library::{access_library_folder, keep_library};
use crate::error::{Error, Result};
use crate::launch::{EnvironmentVariable, ProgramCommand, caller_s};

/// The emulator of this machine's programs, and the file of the plugin.
const EMULATOR: &str = "qemu-x86_64";
const PLUGIN: &str = "longpole-emulate.so";
const PLUGIN_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/longpole-emulate.so"));

/// The variable by which the library in the program knows that it is emulated.
const EMULATION_VARIABLE: &str = "LONGPOLE_ACCESS_EMULATED";

/// Why a program cannot be emulated with the library in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmulationObstacle {
    /// It is no ELF program, such as a script.
    NoProgram,
    /// It is for other processors.
    OtherProcessor,
    /// It is statically linked, so that no library can be loaded into it.
    Static,
    /// Its loader is not that of the GNU C library.
    OtherLoader(String),
    /// It was built by `longpole cc`.
    Instrumented,
    /// It holds the compiler's race detector.
    RaceDetector,
}

/// The program's command as the emulator's, and the file that the emulator executes.
#[derive(Debug)]
pub(crate) struct EmulatedCommand {
    /// The emulator with its arguments.
    pub(crate) command: ProgramCommand,
    /// What is to be said of the recording.
    pub(crate) note: String,
}

impl EmulatedCommand {
    /// Looks at the program and the emulator.
    pub(crate) fn of(words: &[OsString], program: &Path) -> Result<EmulatedCommand> {
        if let Some(obstacle) = obstacle(program) {
            return Err(Error::NotEmulated { program: program.to_owned(), obstacle });
        }
        let folder = access_library_folder().map_err(Error::system("keep the library of accesses"))?;
        let plugin = keep_library(&folder, PLUGIN, PLUGIN_BYTES)
            .map_err(Error::system("keep the emulator's plugin"))?;
        let library = folder.join(LIBRARY);
        if has_separator(&folder) {
            return Err(Error::EmulatorRefused {
                reason: format!("it takes no path with a comma, colon or blank, as {} is", folder.display()),
            });
        }
        let Ok(emulator) = ProgramCommand::find(&[EMULATOR.into()]) else { return Err(Error::NoEmulator) };
        let version = probe(emulator.file(), &plugin, program)?;
        let mut arguments: Vec<OsString> = vec![EMULATOR.into(), "-cpu".into(), "max".into()];
        arguments.extend(["-plugin".into(), plugin.into_os_string()]);
        arguments.extend(["-E".into(), with_callers("LD_PRELOAD", &library)]);
        if let Some(copy) = copy_of_c_library(&folder) {
            arguments.extend(["-E".into(), with_callers("LD_LIBRARY_PATH", &copy)]);
        }
        arguments.extend(["-0".into(), words.first().cloned().unwrap_or_default(), program.into()]);
        arguments.extend(words.iter().skip(1).cloned());
        Ok(EmulatedCommand { command: ProgramCommand::find(&arguments)?, note: note(&version) })
    }

    /// What the program needs to know.
    pub(crate) fn variable() -> EnvironmentVariable {
        (EMULATION_VARIABLE.into(), "1".into())
    }
}

fn note(version: &str) -> String {
    format!(
        "accesses: seen by {version}, of the code in the program's file and in its own libraries, not of that in libraries of the \
         system; a variable that threads hand data on through orders them where it is exchanged, added to or polled, not where it is \
         only loaded and stored"
    )
}

/// A list of the loader's, with this before what the caller has there.
fn with_callers(variable: &str, first: &Path) -> OsString {
    let mut value = OsString::from(variable);
    value.push("=");
    value.push(first);
    // The emulator takes a comma for the end of the value.
    let others = caller_s(variable).filter(|others| !others.is_empty() && !has_comma(others));
    if let Some(others) = others {
        value.push(":");
        value.push(others);
    }
    value
}

/// A folder with a copy of the C library that this process has; `None` where none could be made.
fn copy_of_c_library(folder: &Path) -> Option<PathBuf> {
    const NAME: &str = "libc.so.6";
    let maps = maps_of(std::process::id()).ok()?;
    let original = maps.into_iter().find(|mapping| mapping.path.ends_with(NAME))?.path;
    let folder = folder.join("c");
    keep_library(&folder, NAME, &std::fs::read(original).ok()?).ok()?;
    Some(folder)
}

fn has_comma(text: &OsStr) -> bool {
    text.as_bytes().contains(&b',')
}

/// Whether the emulator or the loader would take a path for several.
fn has_separator(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().any(|byte| b",: ".contains(byte))
}

/// Has the emulator load the plugin, which ends it. Gives the emulator's version.
fn probe(emulator: &Path, plugin: &Path, program: &Path) -> Result<String> {
    let run = |arguments: &[&OsStr]| {
        let mut command = Command::new(emulator);
        command.args(arguments).stdin(Stdio::null());
        command.output().map_err(Error::system("run the emulator"))
    };
    let said = run(&["-version".as_ref()])?;
    let said = String::from_utf8_lossy(&said.stdout);
    let version = said.lines().next().unwrap_or("of no version").replace("version ", "");
    let mut argument = plugin.as_os_str().to_owned();
    argument.push(",probe=on");
    let tried = run(&["-plugin".as_ref(), &argument, program.as_os_str()])?;
    if tried.status.success() {
        return Ok(version);
    }
    let refusal = String::from_utf8_lossy(&tried.stderr);
    let refusal = refusal.trim().lines().last().unwrap_or("it says nothing of the reason").to_owned();
    Err(Error::EmulatorRefused { reason: format!("{version} does not load longpole's plugin: {refusal}") })
}

/// What keeps a program from being emulated with the library in it.
fn obstacle(program: &Path) -> Option<EmulationObstacle> {
    match loader(program) {
        Ok(ProgramLoader::Named(name)) if name.contains("ld-linux-x86-64") => {}
        Ok(ProgramLoader::Named(name)) => return Some(EmulationObstacle::OtherLoader(name)),
        Ok(ProgramLoader::OfOtherProcessor) => return Some(EmulationObstacle::OtherProcessor),
        Ok(ProgramLoader::Absent) => return Some(EmulationObstacle::Static),
        Err(_) => return Some(EmulationObstacle::NoProgram),
    }
    match access_instrumentation(program, LIBRARY) {
        AccessInstrumentation::NoProgram => Some(EmulationObstacle::NoProgram),
        AccessInstrumentation::Ours => Some(EmulationObstacle::Instrumented),
        AccessInstrumentation::RaceDetector => Some(EmulationObstacle::RaceDetector),
        AccessInstrumentation::Absent => None,
    }
}

/// What loads a program's libraries.
#[derive(Debug, PartialEq, Eq)]
enum ProgramLoader {
    /// Nothing.
    Absent,
    /// This file.
    Named(String),
    /// What is no program of this machine.
    OfOtherProcessor,
}

/// Reads from the headers of an ELF file what loads its libraries.
fn loader(program: &Path) -> io::Result<ProgramLoader> {
    const INTERPRETER: u32 = 3;
    const MACHINE: u16 = 62;
    let file = File::open(program)?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0)?;
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if header[..4] != *b"\x7fELF" {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    if header[4] != 2 || half(18) != MACHINE {
        return Ok(ProgramLoader::OfOtherProcessor);
    }
    let word =
        |bytes: &[u8], at: usize| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    for number in 0..u64::from(half(56)) {
        let mut segment = [0; 56];
        file.read_exact_at(&mut segment, word(&header, 32) + 56 * number)?;
        if segment[..4] == INTERPRETER.to_le_bytes() {
            let length = word(&segment, 32).min(4096) as usize;
            let mut name = vec![0; length];
            file.read_exact_at(&mut name, word(&segment, 8))?;
            let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
            return Ok(ProgramLoader::Named(name));
        }
    }
    Ok(ProgramLoader::Absent)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn emulator(script: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("emulator");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path)
    }

    #[test]
    fn an_emulator_that_does_not_load_the_plugin_is_refused_with_its_words() {
        let script =
            "[ $1 = -version ] && echo 'qemu-x86_64 version 99' && exit; echo no such version >&2; exit 1";
        let (_folder, path) = emulator(script);
        let refused = probe(&path, Path::new("/plugin.so"), Path::new("/program")).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("qemu-x86_64 99 does not load longpole's plugin: no such version"), "{text}");
        let (_folder, path) = emulator("echo qemu-x86_64 version 7; exit 0");
        assert_eq!(probe(&path, Path::new("/plugin.so"), Path::new("/p")).unwrap(), "qemu-x86_64 7");
    }

    #[test]
    fn the_loader_of_a_program_is_read_from_its_file() {
        let own = loader(&std::env::current_exe().unwrap()).unwrap();
        assert!(matches!(own, ProgramLoader::Named(name) if name.contains("ld-linux-x86-64")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mut bytes = vec![0; 64];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        bytes[18] = 62;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(loader(&path).unwrap(), ProgramLoader::Absent);
        bytes[18] = 183;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(loader(&path).unwrap(), ProgramLoader::OfOtherProcessor);
        std::fs::write(&path, "#!/bin/sh").unwrap();
        assert!(loader(&path).is_err());
        assert_eq!(obstacle(&path), Some(EmulationObstacle::NoProgram));
    }

    #[test]
    fn paths_that_would_be_taken_for_several_are_known() {
        assert!(has_separator(Path::new("/home/a,b")));
        assert!(has_separator(Path::new("/home/a b")));
        assert!(!has_separator(Path::new("/home/user/.local/share")));
    }
}
