//! Names of objects, the same in the next run: no address, pid or number of an inode is part of one.
//!
//! ```text
//!   table                                     what the program itself calls it
//!   cache_lock, pool+0x28                     the variable that holds it
//!   mutex in Cache::get (cache.rs:88)         the place where it is waited for most often
//!   mutex at cache.cpp:88                     the same, in a closure of which debug information gives no more
//!   pipe sort → uniq, socket pgbench ↔ postgres   who uses it
//!   socket of shop to 192.0.2.7:5432          the same, where the other end is not in the recording
//!   end of thread reader, file journal.log    what it is
//! ```

use std::cmp::Reverse;

use longpole_event::{ProcessId, ThreadId};
use longpole_recording::DefinitionTables;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::census::{Identity, ObjectFindings};
use crate::fold::{enclosing_procedure, is_nameless_closure};
use crate::naming::VariableNames;
use crate::objects::ObjectKind;
use crate::paths::{CodePlace, Paths, PlaceId};
use crate::primitives::LogPrimitives;
use crate::program::Program;
use crate::waiting_frames::hint_of;

/// Processes that one name lists at most.
const MOST_ENDS: usize = 3;
/// Size of a futex.
const WORD_BYTES: u64 = 4;

/// Where names come from.
#[derive(Clone, Copy)]
pub(crate) struct NameSources<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) program: &'a Program,
    pub(crate) words: &'a WordNames,
    pub(crate) files: &'a FileNames,
    /// Pids of the run.
    pub(crate) pids: &'a FxHashSet<u32>,
    pub(crate) primitives: &'a LogPrimitives,
    /// Names of communicators.
    pub(crate) communicators: &'a FxHashMap<u64, String>,
}

/// Files by the numbers that stand for them in calls.
pub(crate) type FileNames = FxHashMap<u64, String>;

/// Variables that hold words of memory.
#[derive(Debug, Default)]
pub(crate) struct WordNames {
    /// By process of the recording and address.
    pub(crate) variables: FxHashMap<(ProcessId, u64), ObjectVariable>,
}

/// A variable, as far as it concerns one word in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectVariable {
    pub(crate) name: String,
    /// Where in it the word is, bytes.
    pub(crate) offset: u64,
}

impl WordNames {
    /// The words of one machine's log, whose first process is `base` in the recording.
    pub(crate) fn of(tables: &DefinitionTables, variables: &VariableNames, base: u32) -> Self {
        let mut names = WordNames::default();
        for word in &tables.words {
            let key = (ProcessId(base + word.process.0), word.address);
            match variables.get(&(word.module, word.file_address)) {
                Some(variable) => names.variables.insert(key, variable.clone()),
                // The process has become another program since the address last had a name.
                None => names.variables.remove(&key),
            };
        }
        names
    }
}

/// The files of one machine's log.
pub(crate) fn file_names(tables: &DefinitionTables) -> FileNames {
    tables.files.iter().map(|file| (file.number, tables.text(file.name).to_owned())).collect()
}

/// The name of an object.
pub(crate) fn name(found: &ObjectFindings, names: &NameSources<'_>) -> String {
    let kind = found.key.kind;
    match found.key.identity {
        Identity::Word(process, address) => match names.primitives.name(process, address) {
            Some(given) => given.to_owned(),
            None => variable(kind, process, address, names.words)
                .unwrap_or_else(|| by_site(kind, found.uses(), names.paths)),
        },
        Identity::Messages(_, Some(rank)) if kind == ObjectKind::Lock => format!("window of rank {rank}"),
        Identity::Messages(_, Some(rank)) => format!("rank {rank}"),
        Identity::Messages(communicator, None) => {
            names.communicators.get(&communicator).cloned().unwrap_or_else(|| kind.name().to_owned())
        }
        Identity::Thread(thread) => format!("end of thread {}", thread_name(thread, names.program)),
        Identity::Process(process) => format!("end of process {}", process_name(process, names.program)),
        Identity::Memory(process) => format!("memory map of {}", process_name(process, names.program)),
        Identity::File(number)
            if matches!(kind, ObjectKind::File | ObjectKind::FileLock | ObjectKind::KernelLock) =>
        {
            match names.files.get(&number) {
                Some(file) => {
                    let of = match kind {
                        ObjectKind::FileLock => "lock of file",
                        ObjectKind::KernelLock => "kernel lock of file",
                        _ => "file",
                    };
                    format!("{of} {}", without_pids(file, names.pids))
                }
                None => by_site(kind, found.uses(), names.paths),
            }
        }
        Identity::File(number) => {
            by_ends(found, names.program)
                + &names.files.get(&number).map_or_else(String::new, |peer| to_peer(found, peer))
        }
        Identity::Place(process, _) => match kind {
            ObjectKind::Pipe | ObjectKind::Socket => by_ends(found, names.program),
            ObjectKind::Terminal => "terminal".to_owned(),
            ObjectKind::ProcessEnd => format!("end of a child of {}", process_name(process, names.program)),
            ObjectKind::AnyProcessEnd => {
                format!("end of any child of {}", process_name(process, names.program))
            }
            _ => by_site(kind, found.uses(), names.paths),
        },
        // A queue of POSIX has a name.
        Identity::Queue(number) => match names.files.get(&number) {
            Some(queue) => format!("{} {queue}", kind.name()),
            None => by_site(kind, found.uses(), names.paths),
        },
    }
}

/// `pool+0x28`: the variable, and where in it the object begins.
fn variable(kind: ObjectKind, process: ProcessId, address: u64, words: &WordNames) -> Option<String> {
    // libstdc++ waits for objects without a futex of their own on a table of futexes for all of them.
    const POOL: &str = "std::__detail::__waiter_pool_base::";
    const GUARD: &str = "guard variable for ";
    // Go's mutexes and semaphores wait in buckets of one table for all of them, each time in another one.
    const BUCKETS: &str = "runtime.semtable";
    let at = |skipped: u64| Some((words.variables.get(&(process, address + skipped))?, skipped));
    // Of a pair of futexes perhaps only the second was ever waited on.
    let is_pair = matches!(kind, ObjectKind::Condition | ObjectKind::RwLock);
    let second = || at(WORD_BYTES).filter(|(variable, _)| is_pair && variable.offset >= WORD_BYTES);
    let (ObjectVariable { name, offset }, skipped) = at(0).or_else(second)?;
    if name.starts_with(POOL) || name == BUCKETS {
        return None;
    }
    let name = name.strip_prefix(GUARD).unwrap_or(name);
    let offset = offset.saturating_sub(first_word(kind) + skipped);
    Some(if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") })
}

/// Where the futex lies in glibc's objects, bytes.
fn first_word(kind: ObjectKind) -> u64 {
    match kind {
        ObjectKind::Condition => 40,
        ObjectKind::RwLock => 8,
        ObjectKind::Barrier => 4,
        _ => 0,
    }
}

/// Part of the waits that the places of the program have at least, for them to name the object.
const KNOWN_PLACES: f64 = 0.05;

/// `mutex in Cache::get (cache.rs:88)`, by the place where it was waited for most often; of equal ones the
/// first by name. Places in libraries stand back, unless nearly all waits are there: memory may have been something else before.
fn by_site(kind: ObjectKind, sites: &FxHashMap<PlaceId, u64>, paths: &Paths) -> String {
    let text = |place: PlaceId| {
        let CodePlace { procedure, line } = paths.all_places()[place.0 as usize];
        let procedure = paths.procedure_named_by(procedure);
        if procedure.name.starts_with('[') {
            return (Rank::Unnamed, what(kind).to_owned());
        }
        if procedure.name.starts_with("runtime.") {
            return (Rank::Library, format!("{} of Go's runtime", what(kind)));
        }
        if hint_of(procedure).is_some() {
            return (Rank::Library, format!("{} of {}", what(kind), procedure.module));
        }
        let file = procedure.file.rsplit('/').next().unwrap_or_default();
        let name = enclosing_procedure(&procedure.name);
        let text = match (file, line) {
            ("", _) | (_, 0) => format!("{} in {name}", what(kind)),
            _ if is_nameless_closure(name) => format!("{} at {file}:{line}", what(kind)),
            // A function of Python has it in its name.
            (file, line) if name.ends_with(file) => format!("{} in {name}:{line}", what(kind)),
            (file, line) => format!("{} in {name} ({file}:{line})", what(kind)),
        };
        (Rank::Program, text)
    };
    let named = sites.iter().map(|(&place, &count)| {
        let (rank, text) = text(place);
        (rank, Reverse(count), text)
    });
    let (of_program, mut of_others): (Vec<_>, Vec<_>) = named.partition(|(rank, ..)| *rank == Rank::Program);
    let all: u64 = sites.values().sum();
    let in_program: u64 = of_program.iter().map(|(_, Reverse(count), _)| count).sum();
    if in_program as f64 >= KNOWN_PLACES * all as f64 {
        of_others.extend(of_program);
    }
    of_others.into_iter().min().map_or_else(|| what(kind).to_owned(), |(_, _, text)| text)
}

/// How much the code at a place tells of the program, most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Program,
    Library,
    Unnamed,
}

/// What a name by place begins with.
fn what(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::ThreadEnd => "end of threads",
        kind => kind.name(),
    }
}

/// `pipe sort → uniq`, `socket pgbench ↔ postgres`.
fn by_ends(found: &ObjectFindings, program: &Program) -> String {
    let kind = found.key.kind.name();
    let names = |ends: &FxHashSet<ProcessId>| {
        let mut names: Vec<_> = ends.iter().map(|&process| process_name(process, program)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if found.key.kind == ObjectKind::Socket {
        let processes: FxHashSet<ProcessId> = found.readers.union(&found.writers).copied().collect();
        let ends = names(&processes);
        return match ends[..] {
            [only] if processes.len() == 1 => format!("{kind} of {only}"),
            [only] => format!("{kind} {only} ↔ {only}"),
            _ => format!("{kind} {}", list(&ends, " ↔ ")),
        };
    }
    let (writers, readers) = (names(&found.writers), names(&found.readers));
    match (writers.is_empty(), readers.is_empty()) {
        _ if found.writers == found.readers => format!("{kind} within {}", list(&writers, ", ")),
        (true, _) => format!("{kind} to {}", list(&readers, ", ")),
        (_, true) => format!("{kind} from {}", list(&writers, ", ")),
        _ => format!("{kind} {} → {}", list(&writers, ", "), list(&readers, ", ")),
    }
}

/// ` to 192.0.2.7:5432`: the other end of a connection that is not in the recording.
fn to_peer(found: &ObjectFindings, peer: &str) -> String {
    let has_one_end = found.readers.union(&found.writers).count() < 2;
    if has_one_end { format!(" to {peer}") } else { String::new() }
}

/// The name of a file with `*` for each number that is a pid of the run: the next run has others.
fn without_pids(file: &str, pids: &FxHashSet<u32>) -> String {
    let is_pid = |digits: &str| digits.len() > 1 && digits.parse().is_ok_and(|pid| pids.contains(&pid));
    let mut name = String::with_capacity(file.len());
    let mut rest = file;
    while !rest.is_empty() {
        let is_digit = rest.starts_with(|first: char| first.is_ascii_digit());
        let end = rest.find(|next: char| next.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        name.push_str(if is_digit && is_pid(part) { "*" } else { part });
        rest = after;
    }
    name
}

fn list(names: &[&str], separator: &str) -> String {
    let mut text = names[..names.len().min(MOST_ENDS)].join(separator);
    if names.len() > MOST_ENDS {
        text.push_str(separator);
        text.push('…');
    }
    text
}

fn process_name(process: ProcessId, program: &Program) -> &str {
    program.processes.get(process.index()).map_or("[unknown]", |process| process.name.as_str())
}

fn thread_name(thread: ThreadId, program: &Program) -> &str {
    program.threads.get(thread.index()).map_or("[unknown]", |thread| thread.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Procedure;

    /// The name of a mutex that was waited for so often in the C library and in the program.
    fn named(in_library: u64, in_program: u64) -> String {
        let mut paths = Paths::default();
        let mut place = |name: &str, module: &str| {
            let procedure = Procedure { name: name.into(), module: module.into(), file: String::new() };
            let procedure = paths.procedure(procedure);
            paths.place(CodePlace { procedure, line: 0 })
        };
        let library = place("__futex_abstimed_wait", "libc.so.6");
        let program = place("create_thread", "libjvm.so");
        let sites = FxHashMap::from_iter([(library, in_library), (program, in_program)]);
        by_site(ObjectKind::Mutex, &sites, &paths)
    }

    #[test]
    fn places_of_the_program_name_an_object_unless_hardly_any_wait_is_there() {
        assert_eq!(named(95, 5), "mutex in create_thread");
        assert_eq!(named(96, 4), "mutex of libc.so.6");
    }
}
