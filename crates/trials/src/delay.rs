//! A program in which a procedure takes longer, or virtually less, without a rebuilt program: `longpole-delay` is preloaded into it.
//!
//! A thread that is sampled in the procedure works on for a factor of its CPU time since the last sample. In the mean each piece of the
//! procedure's work takes that much longer, on the thread that does it. A virtual speed-up delays all others by that instead, and takes what was
//! inserted off the elapsed time. With the factor 0 threads are sampled only: what sampling costs is the difference from the unchanged
//! program, and comparing with such runs takes it out.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use longpole_delay::DelayScope;
use longpole_delay::{
    DELAY_MAGIC, DELAY_MEMORY_BYTES, DELAY_VARIABLE, DelayMemory, LONGEST_MODULE_PATH, MOST_RANGES,
};
use memmap2::MmapMut;
use object::elf::{PT_INTERP, ProgramHeader64};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, SymbolKind};
use tempfile::TempDir;

use crate::procedures::{executed, is_named, symbols_of, whole_name};

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/longpole-delay.so"));
/// CPU time of a thread between two samples, nanoseconds: no multiple of what timers and programs like to take.
const PERIOD: u64 = 937_000;
const PRELOAD: &str = "LD_PRELOAD";

/// Why a procedure cannot be delayed.
#[derive(Debug, thiserror::Error)]
pub enum DelayError {
    /// A file cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Error,
    },
    /// A library cannot be loaded into the program.
    #[error("sample {}: {reason}", path.display())]
    NotLoadable {
        /// The program.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// No procedure has the name.
    #[error(
        "find `{name}` in {} or in its libraries: it is inlined everywhere, belongs to a library that is loaded later, or has no symbol", path.display()
    )]
    NoProcedure {
        /// As it was asked for.
        name: String,
        /// The program.
        path: PathBuf,
    },
    /// No variable has the name.
    #[error(
        "find the lock `{name}` in {} or in its libraries: only locks that are variables with a symbol are known by their names; --virtual PROCEDURE tests what is done under others", path.display()
    )]
    NoLock {
        /// As it was asked for.
        name: String,
        /// The program.
        path: PathBuf,
    },
    /// Threads wait in a way that is not seen.
    #[error(
        "speed up a procedure of {} virtually: threads of {library} wait by system calls of its own, so what they waited for is not known; --slow tests it", path.display()
    )]
    UnseenWaits {
        /// The program.
        path: PathBuf,
        /// The library.
        library: &'static str,
    },
    /// It has too much code.
    #[error("delay `{name}`: it has more than {MOST_RANGES} pieces of code")]
    TooManyRanges {
        /// As it was asked for.
        name: String,
    },
}

/// The code of a procedure that is to take longer, or the memory of a lock that is to be held longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayTarget {
    /// The file that has it.
    module: PathBuf,
    /// Begins and ends, in order, without overlaps.
    ranges: Vec<[u64; 2]>,
}

impl DelayTarget {
    /// The procedure of this name, plain or as C++ and Rust write it, in the program that a command executes, else in one of the libraries
    /// that it is linked with. Copies and parts that the compiler made of it belong to it.
    ///
    /// # Errors
    /// [`DelayError`].
    pub fn procedure(program: &OsStr, name: &str) -> Result<DelayTarget, DelayError> {
        let path = check_loadable(program)?;
        let no_procedure = DelayError::NoProcedure { name: name.to_owned(), path: path.clone() };
        find(&path, name, SymbolKind::Text)?.ok_or(no_procedure)
    }

    /// The lock that is a variable of this name, in the program or in one of the libraries that it is linked with; of an array or a structure,
    /// every lock in it.
    ///
    /// # Errors
    /// [`DelayError`].
    pub fn lock(program: &OsStr, name: &str) -> Result<DelayTarget, DelayError> {
        let path = check_loadable(program)?;
        let no_lock = DelayError::NoLock { name: name.to_owned(), path: path.clone() };
        find(&path, name, SymbolKind::Data)?.ok_or(no_lock)
    }

    /// Whether the waits of the program's threads for each other are seen, as a virtual speed-up needs.
    ///
    /// # Errors
    /// [`DelayError::UnseenWaits`], and those of reading the program.
    pub fn check_waits(&self, program: &OsStr) -> Result<(), DelayError> {
        let path = check_loadable(program)?;
        let names: Vec<String> = libraries(&path)
            .iter()
            .filter_map(|own| Some(own.file_name()?.to_string_lossy().into_owned()))
            .collect();
        match UNSEEN_WAITS.into_iter().find(|unseen| names.iter().any(|name| name.starts_with(unseen))) {
            Some(library) => Err(DelayError::UnseenWaits { path, library }),
            None => Ok(()),
        }
    }
}

/// What has this name in the program's file, else in one of its libraries.
fn find(path: &Path, name: &str, kind: SymbolKind) -> Result<Option<DelayTarget>, DelayError> {
    // Recordings name a Rust program's own procedures without the name of its crate.
    let own_crate = path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    let names = [name.to_owned(), format!("{own_crate}::{name}")];
    let is_wanted =
        |symbol: &str| names.iter().any(|name| is_named(whole_name(symbol), name) || is_named(symbol, name));
    for module in std::iter::once(path.to_owned()).chain(libraries(path)) {
        let Ok(bytes) = fs::read(&module) else { continue };
        let Ok(file) = object::File::parse(bytes.as_slice()) else { continue };
        let ranges = joined(&symbols_of(&file, kind, is_wanted));
        match ranges.len() {
            0 => {}
            1..=MOST_RANGES => return Ok(Some(DelayTarget { module, ranges })),
            _ => return Err(DelayError::TooManyRanges { name: name.to_owned() }),
        }
    }
    Ok(None)
}

/// Libraries whose threads wait by system calls that do not pass the C library.
const UNSEEN_WAITS: [&str; 1] = ["libgomp.so"];

/// Ranges without overlaps; symbols without a size have no code.
fn joined(found: &[(u64, u64)]) -> Vec<[u64; 2]> {
    let mut code: Vec<[u64; 2]> = Vec::new();
    for &(begin, size) in found.iter().filter(|own| own.1 > 0) {
        match code.last_mut() {
            Some(last) if begin <= last[1] => last[1] = last[1].max(begin + size),
            _ => code.push([begin, begin + size]),
        }
    }
    code
}

/// The program's file, if a library can be preloaded into it.
fn check_loadable(program: &OsStr) -> Result<PathBuf, DelayError> {
    let path = executed(program);
    let unreadable = |source| DelayError::Unreadable { path: path.clone(), source };
    let path = fs::canonicalize(&path).map_err(unreadable)?;
    let bytes = fs::read(&path).map_err(|source| DelayError::Unreadable { path: path.clone(), source })?;
    let refused = |reason| Err(DelayError::NotLoadable { path: path.clone(), reason });
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes.as_slice()) else {
        return refused("it is no 64-bit program, such as a script; name the program that runs it");
    };
    if file.section_by_name(".go.buildinfo").is_some() {
        return refused(
            "it is a Go program, whose runtime samples by signals of its own; only --variant tests it",
        );
    }
    let loader = file
        .elf_program_headers()
        .iter()
        .find(|header: &&ProgramHeader64<Endianness>| header.p_type(file.endian()) == PT_INTERP)
        .and_then(|header| header.data(file.endian(), bytes.as_slice()).ok());
    match loader {
        None => refused("it is linked statically; only --variant and --skip test it"),
        Some(loader) if loader.windows(4).any(|part| part == b"musl") => refused(
            "it is linked with musl, and the library that is preloaded with glibc; only --variant and --skip test it",
        ),
        Some(_) if cfg!(not(target_arch = "x86_64")) => refused("this processor is not supported"),
        Some(_) => Ok(path),
    }
}

/// The libraries that the loader loads with the program, as it names them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    // The loader lists them, and does not run the program.
    let Ok(listed) = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    text.lines().filter_map(path).collect()
}

/// The library as a file that programs can load; it goes with its last user.
#[derive(Clone, Debug)]
pub struct DelayLibrary {
    folder: Arc<TempDir>,
}

impl DelayLibrary {
    /// Writes it into a new temporary folder.
    ///
    /// # Errors
    /// Of the folder and the file.
    pub fn create() -> io::Result<DelayLibrary> {
        let folder = tempfile::Builder::new().prefix("longpole-delay-").tempdir()?;
        fs::write(folder.path().join("longpole-delay.so"), LIBRARY)?;
        Ok(DelayLibrary { folder: Arc::new(folder) })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("longpole-delay.so")
    }

    /// What the library and this process share.
    fn memory(&self) -> PathBuf {
        self.folder.path().join("memory")
    }
}

/// What is delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayMode {
    /// The procedure itself.
    SlowDown,
    /// All others, in place of making the procedure faster.
    VirtualSpeedUp,
}

/// A procedure, or holds of a lock, and by how much that takes longer, or virtually less.
#[derive(Clone, Debug)]
pub struct ProcedureDelay {
    /// The library.
    pub library: DelayLibrary,
    /// Which procedure, or which lock.
    pub target: DelayTarget,
    /// What of it.
    pub scope: DelayScope,
    /// Which threads are delayed.
    pub mode: DelayMode,
    /// 0.25: a quarter longer, or less; 0: threads are sampled only.
    pub factor: f64,
}

/// What the delay of one run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelayCounts {
    /// Processes that loaded the library.
    pub processes: u64,
    /// Processes that hold the procedure, and were sampled.
    pub sampled_processes: u64,
    /// Error number with which the system refused to sample.
    pub refusal: Option<i32>,
    /// The system let only the program's own code be sampled.
    pub is_user_only: bool,
    /// Processes that took the signal for themselves.
    pub replaced: u64,
    /// Samples in the procedure.
    pub hits: u64,
    /// CPU time that all samples cover.
    pub sampled_seconds: f64,
    /// CPU time of the procedure, by its samples.
    pub hit_seconds: f64,
    /// CPU time that was added.
    pub added_seconds: f64,
    /// Delay that was inserted until the program ended, which its elapsed time has too much.
    pub inserted_seconds: f64,
    /// Time that all threads paused.
    pub paused_seconds: f64,
}

/// The memory of one run.
pub(crate) struct PreparedDelay {
    memory: MmapMut,
}

impl ProcedureDelay {
    /// Makes the memory of a run, and tells the command of it and of the library.
    pub(crate) fn prepare(&self, command: &mut Command) -> io::Result<PreparedDelay> {
        let path = self.library.memory();
        // A new file: a process that outlived its run keeps the old one.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        file.set_len(DELAY_MEMORY_BYTES as u64)?;
        // SAFETY: the file is this process's and the program's, which changes its counters alone; they are atomic.
        let mut memory = unsafe { MmapMut::map_mut(&file)? };
        let module = self.target.module.as_os_str().as_bytes();
        if module.len() >= LONGEST_MODULE_PATH {
            return Err(Error::from(ErrorKind::InvalidFilename));
        }
        // SAFETY: the mapping is large enough and aligned to pages, zeroes are valid, and no process has it yet.
        let shared = unsafe { &mut *memory.as_mut_ptr().cast::<DelayMemory>() };
        shared.magic = DELAY_MAGIC;
        shared.factor = (self.factor * 1e6).round() as u64;
        shared.mode = u64::from(self.mode == DelayMode::VirtualSpeedUp);
        shared.period = PERIOD;
        shared.scope = self.scope.word();
        shared.ranges = self.target.ranges.len() as u64;
        shared.module[..module.len()].copy_from_slice(module);
        shared.code[..self.target.ranges.len()].copy_from_slice(&self.target.ranges);
        let mut preload: OsString = self.library.path().into();
        if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        command.env(PRELOAD, preload);
        command.env(OsStr::from_bytes(DELAY_VARIABLE.to_bytes()), path);
        Ok(PreparedDelay { memory })
    }
}

impl PreparedDelay {
    pub(crate) fn counts(&self) -> DelayCounts {
        // SAFETY: as in `prepare`; what the program's processes change is atomic.
        let shared = unsafe { &*self.memory.as_ptr().cast::<DelayMemory>() };
        let seconds = |count: u64| count as f64 * 1e-9;
        let inserted = match shared.ended.load(Ordering::Relaxed) {
            0 => shared.inserted.load(Ordering::Relaxed),
            ended => ended - 1,
        };
        let refusal = shared.refusal.load(Ordering::Relaxed);
        DelayCounts {
            processes: shared.processes.load(Ordering::Relaxed),
            sampled_processes: shared.sampled_processes.load(Ordering::Relaxed),
            refusal: i32::try_from(refusal).ok().filter(|&error| error != 0),
            is_user_only: shared.is_user_only.load(Ordering::Relaxed) != 0,
            replaced: shared.replaced.load(Ordering::Relaxed),
            hits: shared.hits.load(Ordering::Relaxed),
            sampled_seconds: seconds(shared.sampled.load(Ordering::Relaxed)),
            hit_seconds: seconds(shared.hit.load(Ordering::Relaxed)),
            added_seconds: seconds(shared.added.load(Ordering::Relaxed)),
            inserted_seconds: seconds(inserted),
            paused_seconds: seconds(shared.paused.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests;
