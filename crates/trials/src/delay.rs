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
mod tests {
    use super::*;

    /// The program with work of fixed amounts; `None` without a compiler.
    fn build(folder: &Path, options: &[&str]) -> Option<PathBuf> {
        build_program(folder, "fixed_work", options)
    }

    fn build_program(folder: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
        let program = folder.join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-pthread"]).args(options).arg("-I").arg(&programs);
        let built = compiler.arg("-o").arg(&program).arg(programs.join(name).with_extension("c")).status();
        let Ok(built) = built else {
            println!("skipped: no compiler");
            return None;
        };
        assert!(built.success());
        Some(program)
    }

    /// What a delay did, and the CPU seconds that the program itself tells of its procedures.
    fn measured(
        program: &Path,
        name: &str,
        scope: DelayScope,
        factor: f64,
    ) -> Option<(DelayCounts, impl Fn(&str) -> f64 + use<>)> {
        let target = match scope {
            DelayScope::Holding => DelayTarget::lock(program.as_os_str(), name),
            _ => DelayTarget::procedure(program.as_os_str(), name),
        };
        let target = target.unwrap();
        let library = DelayLibrary::create().unwrap();
        let delay = ProcedureDelay { library, target, scope, mode: DelayMode::SlowDown, factor };
        let mut command = Command::new(program);
        let memory = delay.prepare(command.args(["8", "times"])).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stdout == b"done\n", "{output:?}");
        let counts = memory.counts();
        if counts.refusal.is_some() {
            println!("skipped: the system refuses to sample: {counts:?}");
            return None;
        }
        let told = String::from_utf8(output.stderr).unwrap();
        let seconds = move |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap().parse::<f64>().unwrap() * 1e-9
        };
        Some((counts, seconds))
    }

    /// By CPU time, which other programs on the machine do not change.
    #[test]
    fn a_procedure_takes_longer_by_the_factor_of_its_cpu_time() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = build(folder.path(), &[]) else { return };
        use DelayScope::{Exact, Folded, Holding, Inclusive};
        type Told = fn(&dyn Fn(&str) -> f64) -> f64;
        let cases: [(&str, DelayScope, Told); 10] = [
            ("prepare", Inclusive, |told| told("prepare")),
            // step_through is two units of work in prepare, two in hold_lock.
            ("prepare", Folded, |told| told("prepare") - 0.5 * told("step_through")),
            ("both_sides", Exact, |told| told("both_sides")),
            ("long_side", Inclusive, |told| told("long_side")),
            ("short_side", Inclusive, |told| told("short_side")),
            ("hold_lock", Inclusive, |told| told("hold_lock")),
            // A variable: step_through is in it half of its time.
            ("lock", Holding, |told| told("hold_lock")),
            ("step_through", Exact, |told| told("step_through")),
            ("worker", Inclusive, |told| {
                ["both_sides", "long_side", "short_side", "hold_lock"].map(told).iter().sum()
            }),
            // With the threads that it starts.
            ("main", Inclusive, |told| {
                ["prepare", "both_sides", "long_side", "short_side", "hold_lock"].map(told).iter().sum()
            }),
        ];
        for (name, scope, told) in cases {
            let mut runs = 0;
            let (counts, told) = loop {
                let Some((counts, seconds)) = measured(&program, name, scope, 0.4) else { return };
                runs += 1;
                // A host that takes the processor away makes a piece longer. The next ones make up for it; after the last there is none.
                let is_factor = (counts.added_seconds / counts.hit_seconds - 0.4).abs() < 0.02;
                if is_factor {
                    break (counts, told(&seconds));
                }
                assert!(runs < 3, "{name}: {counts:?}");
            };
            let found = counts.hit_seconds + counts.added_seconds;
            assert!((found / told - 1.0).abs() < 0.1, "{name} {scope:?}: {found} s of {told} s, {counts:?}");
            assert_eq!((counts.processes, counts.sampled_processes, counts.replaced), (1, 1, 0));
        }
    }

    /// What a virtual speed-up did.
    fn speed_up(program: &Path, name: &str, factor: f64) -> Option<DelayCounts> {
        let target = DelayTarget::procedure(program.as_os_str(), name).unwrap();
        let (library, scope, mode) =
            (DelayLibrary::create().unwrap(), DelayScope::Inclusive, DelayMode::VirtualSpeedUp);
        let delay = ProcedureDelay { library, target, scope, mode, factor };
        let mut command = Command::new(program);
        let memory = delay.prepare(&mut command).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let counts = memory.counts();
        counts.refusal.is_none().then_some(counts)
    }

    /// A virtual speed-up gains what it inserts, less what the thread on the critical path pauses. By CPU time and pauses, which other
    /// programs on the machine hardly change: program, procedure, factor, inserted for each second of the procedure, paused for each inserted.
    #[test]
    fn others_pause_for_a_virtual_speed_up_unless_they_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            // No other thread is there.
            ("fixed_work", "prepare", 0.5, 0.49..0.51, 0.0..0.01),
            // The longer of two threads pauses for the shorter one: nothing is gained.
            ("fixed_work", "short_side", 0.8, 0.79..0.81, 0.5..1.5),
            // The shorter one pauses for a part of what the longer one works, and waits for it then.
            ("fixed_work", "long_side", 0.5, 0.49..0.51, 0.0..1.4),
            // Two threads, one of which waits for the lock meanwhile.
            ("fixed_work", "hold_lock", 0.5, 0.47..0.51, 0.0..1.0),
            // What two threads do side by side is inserted once, for the thread that does more at a time.
            ("fixed_work", "both_sides", 0.5, 0.24..0.51, 0.0..1.0),
            // Each of two others would pause for all of it if their waits for the lock were not credited.
            ("lock_hog", "hog_table", 0.5, 0.49..0.51, 0.0..1.5),
            // Reader and writer work for 25 of 40 ms, and wait for the rest.
            ("condition_pipeline", "transform_stage", 0.5, 0.49..0.51, 0.0..2.2),
            // Another process, which waits for the pipe for 40 of 50 ms.
            ("two_processes_pipe", "produce_block", 0.5, 0.49..0.51, 0.0..0.85),
            // The transformer has no time to wait, so it pauses for all of it.
            ("condition_pipeline", "read_stage", 0.8, 0.79..0.81, 0.7..2.5),
        ];
        for (source, procedure, factor, inserted, paused) in cases {
            let Some(program) = build_program(folder.path(), source, &[]) else { return };
            let Some(counts) = speed_up(&program, procedure, factor) else { return };
            let ratios = [
                counts.inserted_seconds / counts.hit_seconds,
                counts.paused_seconds / counts.inserted_seconds,
            ];
            assert!(inserted.contains(&ratios[0]), "{source}, {procedure}: {ratios:?}, {counts:?}");
            assert!(paused.contains(&ratios[1]), "{source}, {procedure}: {ratios:?}, {counts:?}");
            assert_eq!((counts.processes, counts.added_seconds), (1, 0.0));
        }
    }

    /// Rust's locks wait by futexes, without the C library's.
    #[test]
    fn waits_for_a_rust_mutex_are_credited() {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rust_mutex.rs");
        let program = folder.path().join("rust_mutex");
        let Ok(built) = Command::new("rustc").arg("-O").arg("-o").arg(&program).arg(&source).status() else {
            println!("skipped: no compiler");
            return;
        };
        assert!(built.success());
        // Two clients wait for it nearly all the time: without credit they would pause for all of it each.
        let Some(counts) = speed_up(&program, "rebuild_index", 0.5) else { return };
        let paused = counts.paused_seconds / counts.inserted_seconds;
        assert!(counts.inserted_seconds > 0.3 && paused < 2.0, "{paused}: {counts:?}");
    }

    #[test]
    fn nothing_is_inserted_without_a_factor() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = build(folder.path(), &[]) else { return };
        let Some(counts) = speed_up(&program, "worker", 0.0) else { return };
        assert!(counts.hits > 0, "{counts:?}");
        assert_eq!((counts.inserted_seconds, counts.paused_seconds), (0.0, 0.0));
    }

    #[test]
    fn a_program_that_is_only_sampled_gets_no_work() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = build(folder.path(), &[]) else { return };
        let Some((counts, _)) = measured(&program, "prepare", DelayScope::Inclusive, 0.0) else { return };
        assert!(counts.hits > 0 && counts.hit_seconds > 0.0 && counts.added_seconds < 1e-3, "{counts:?}");
    }

    #[test]
    fn what_cannot_be_delayed_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let error = |program: &Path, name: &str| {
            DelayTarget::procedure(program.as_os_str(), name).unwrap_err().to_string()
        };
        let Some(program) = build(folder.path(), &["-static"]) else { return };
        assert!(error(&program, "prepare").contains("linked statically"));
        let program = build(folder.path(), &[]).unwrap();
        assert!(error(&program, "prepair").contains("inlined everywhere"));
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        assert!(error(&script, "prepare").contains("such as a script"));
        assert!(error(&folder.path().join("absent"), "prepare").contains("read "));
        // A procedure of a library that the program is linked with.
        let found = DelayTarget::procedure(program.as_os_str(), "pthread_create").unwrap();
        assert!(found.module.to_string_lossy().contains("libc.so"), "{found:?}");
    }

    #[test]
    fn ranges_of_code_that_meet_are_one() {
        assert_eq!(joined(&[(10, 5), (12, 2), (15, 5), (30, 0), (40, 1)]), [[10, 20], [40, 41]]);
    }
}
