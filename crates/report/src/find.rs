//! Finds what a user names: a procedure, a line, an object, a thread, a process.
//!
//! ```text
//!   update                       whatever has that name, if only one thing has
//!   procedure:update             a procedure; `procedure:inflate (libz.so.1)` tells two of one name apart
//!   region:load tables           what the program marked so
//!   line:server.c:88             what was inlined there included
//!   file:server.c                all lines of the file
//!   object:cache_lock            all objects of that name
//!   thread:worker   thread:#812  all threads of that name; the one of that tid
//!   process:cc1     process:#811
//! ```
//! A name is first taken as it stands, then without the path before it (`push` for `queue::push`), its arguments
//! and its case, then as a part of a name. The first of these that anything answers to decides: one thing is
//! found, several are an error that lists them.

mod candidate;
mod likeness;

use std::fmt;

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{ObjectId, Objects, Paths, ProcedureId, Program};

use crate::error::{Error, Result};
use candidate::{NameCandidate, candidates};
pub(crate) use likeness::alike;
use likeness::{Likeness, nearest};

/// Names that an error lists at most.
const LISTED: usize = 8;

/// Kinds of thing that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// A procedure.
    Procedure,
    /// A region or task that the program marked.
    Region,
    /// A line of a source file.
    Line,
    /// A source file.
    File,
    /// A synchronisation object, a file, a socket.
    Object,
    /// A thread.
    Thread,
    /// A process.
    Process,
}

impl NameKind {
    /// Every kind.
    pub const ALL: &'static [NameKind] = &[
        NameKind::Procedure,
        NameKind::Region,
        NameKind::Line,
        NameKind::File,
        NameKind::Object,
        NameKind::Thread,
        NameKind::Process,
    ];

    /// The kind's word before a colon.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NameKind::Procedure => "procedure",
            NameKind::Region => "region",
            NameKind::Line => "line",
            NameKind::File => "file",
            NameKind::Object => "object",
            NameKind::Thread => "thread",
            NameKind::Process => "process",
        }
    }
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a name stands for. Lines, objects, threads and processes of one name are meant together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundNodes {
    /// A procedure, or a region.
    Procedure(ProcedureId),
    /// A source line, in every procedure that has it.
    Lines(Vec<(ProcedureId, u32)>),
    /// A source file, by its whole path.
    File(String),
    /// Objects.
    Objects(Vec<ObjectId>),
    /// Threads.
    Threads(Vec<ThreadId>),
    /// Processes.
    Processes(Vec<ProcessId>),
}

/// The names of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordingNames<'a> {
    /// The program's tree.
    pub program: &'a Program,
    /// The call paths.
    pub paths: &'a Paths,
    /// What threads waited for.
    pub objects: &'a Objects,
}

impl RecordingNames<'_> {
    /// What the user means by `wanted`, which may begin with a kind and a colon; one of `kinds`.
    ///
    /// # Errors
    /// [`Error::NoSuchName`] with the nearest names, [`Error::AmbiguousName`] with all that it could mean,
    /// [`Error::WrongKind`] for a kind that is not among `kinds`.
    pub fn find(&self, wanted: &str, kinds: &[NameKind]) -> Result<FoundNodes> {
        let (kind, name) = split(wanted);
        if let Some(kind) = kind.filter(|kind| !kinds.contains(kind)) {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            return Err(Error::WrongKind { name: wanted.to_owned(), kind, kinds: kinds.join(", ") });
        }
        let kinds = kind.map_or_else(|| kinds.to_vec(), |kind| vec![kind]);
        let candidates = candidates(self, &kinds);
        choose((wanted, name), &words_of(&kinds), &candidates, |found| {
            matches!(found, FoundNodes::Procedure(_))
        })
        .cloned()
    }

    /// The text by which [`find`](Self::find) finds a procedure or region: `procedure:update`.
    pub(crate) fn label(&self, procedure: ProcedureId) -> Option<String> {
        let wanted = FoundNodes::Procedure(procedure);
        let candidates = candidates(self, &[NameKind::Procedure, NameKind::Region]);
        candidates.into_iter().find(|candidate| candidate.found == wanted).map(|candidate| candidate.label)
    }
}

/// The index of the data that a user names: of a variable, or of what a place allocated. Each is given with its kind, its name, and
/// whether the program uses it; what it uses is meant before what it does not.
///
/// # Errors
/// [`Error::NoSuchName`] with the nearest names, [`Error::AmbiguousName`] with all that it could mean.
pub(crate) fn find_data<'a>(
    wanted: &str,
    data: impl Iterator<Item = (&'static str, &'a str, bool)>,
) -> Result<usize> {
    let candidate = |(index, (kind, name, is_own)): (usize, (&'static str, &'a str, bool))| NameCandidate {
        name: name.to_owned(),
        others: vec![format!("{kind}:{name}")],
        label: format!("{kind}:{name}"),
        is_special: false,
        is_own,
        found: index,
    };
    let candidates: Vec<NameCandidate<usize>> = data.enumerate().map(candidate).collect();
    choose((wanted, wanted), "data object", &candidates, |_| true).copied()
}

/// What is meant by `wanted`, of which `name` is the name: what is most like it. Where the program's own are among several, others
/// that are `rivals` of them are not meant.
fn choose<'a, F>(
    (wanted, name): (&str, &str),
    kinds: &str,
    candidates: &'a [NameCandidate<F>],
    is_rival: impl Fn(&F) -> bool,
) -> Result<&'a F> {
    for likeness in Likeness::ALL {
        let mut like: Vec<&NameCandidate<F>> =
            candidates.iter().filter(|candidate| likeness.holds(candidate, name)).collect();
        // A procedure of the program itself is meant before one of the same name in a library.
        if like.iter().any(|candidate| candidate.is_own) {
            like.retain(|candidate| candidate.is_own || !is_rival(&candidate.found));
        }
        match like.as_slice() {
            [] => {}
            [one] => return Ok(&one.found),
            several => return Err(ambiguous(wanted, several)),
        }
    }
    let nearest = nearest(name, candidates).iter().map(|candidate| candidate.label.clone()).collect();
    Err(Error::NoSuchName { name: name.to_owned(), kinds: kinds.to_owned(), nearest })
}

/// The kind that a name begins with, and the rest. `thread::spawn` begins with none.
fn split(wanted: &str) -> (Option<NameKind>, &str) {
    let wanted = wanted.trim();
    let kind = wanted.split_once(':').filter(|(_, rest)| !rest.starts_with(':')).and_then(|(word, rest)| {
        let kind = NameKind::ALL.iter().find(|kind| kind.name() == word.trim())?;
        Some((Some(*kind), rest.trim()))
    });
    kind.unwrap_or((None, wanted))
}

fn ambiguous<F>(wanted: &str, several: &[&NameCandidate<F>]) -> Error {
    let count = several.len();
    let mut candidates: Vec<String> =
        several.iter().take(LISTED).map(|candidate| candidate.label.clone()).collect();
    if count > LISTED {
        candidates.push(format!("… and {} more", count - LISTED));
    }
    Error::AmbiguousName { name: wanted.to_owned(), count, candidates }
}

/// `procedure, object or thread`.
fn words_of(kinds: &[NameKind]) -> String {
    let words: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, draw};
    use longpole_trace::{CodePlace, Procedure};

    use super::*;

    const DRAWING: &str = "\
1 = mutex cache_lock
2 = mutex rows
3 = condition rows
A = main:3 > net::Server::accept:10
B = main:4 > queue::push(int, char const*):20
C = main:4 > Log::push:30
web/worker A1AA
web/logger BB2B
db/flusher CC3C";

    fn scene() -> MemoryTimelines {
        draw(DRAWING)
    }

    fn find(made: &MemoryTimelines, wanted: &str) -> Result<FoundNodes> {
        RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects }
            .find(wanted, NameKind::ALL)
    }

    /// Adds a procedure of its own.
    fn add(made: &mut MemoryTimelines, name: &str, module: &str, file: &str) -> ProcedureId {
        let procedure = Procedure { name: name.into(), module: module.into(), file: file.into() };
        let id = made.paths.procedure(procedure);
        made.paths.place(CodePlace { procedure: id, line: 5 });
        id
    }

    #[test]
    fn a_procedure_is_found_by_its_name_its_last_part_or_any_part() {
        let made = scene();
        let accept = FoundNodes::Procedure(made.procedure("net::Server::accept"));
        for wanted in ["net::Server::accept", "procedure:net::Server::accept", "accept", "ACCEPT", "ver::acc"]
        {
            assert_eq!(find(&made, wanted).unwrap(), accept, "{wanted}");
        }
        let push = FoundNodes::Procedure(made.procedure("queue::push(int, char const*)"));
        assert_eq!(find(&made, "queue::push").unwrap(), push, "without its arguments");
    }

    #[test]
    fn several_are_listed() {
        let error = find(&scene(), "push").unwrap_err();
        let Error::AmbiguousName { count: 2, candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(candidates, &["procedure:queue::push(int, char const*)", "procedure:Log::push"]);
    }

    #[test]
    fn the_module_or_the_file_tells_procedures_of_one_name_apart() {
        let mut made = scene();
        let z = add(&mut made, "inflate", "libz.so.1", "src/inflate.c");
        let b = add(&mut made, "inflate", "libb.so", "src/b.c");
        let b2 = add(&mut made, "inflate", "libb.so", "src/c.c");
        let error = find(&made, "inflate").unwrap_err();
        let Error::AmbiguousName { candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(
            candidates,
            &["procedure:inflate (libz.so.1)", "procedure:inflate (b.c)", "procedure:inflate (c.c)"]
        );
        assert_eq!(find(&made, "inflate (libz.so.1)").unwrap(), FoundNodes::Procedure(z));
        assert_eq!(find(&made, "procedure:inflate (b.c)").unwrap(), FoundNodes::Procedure(b));
        assert_eq!(find(&made, "procedure:inflate (c.c)").unwrap(), FoundNodes::Procedure(b2));
    }

    #[test]
    fn the_program_s_own_procedure_comes_before_a_library_s() {
        let mut made = scene();
        made.program.command = vec!["/opt/app".into()];
        add(&mut made, "main_loop", "libev.so", "");
        let own = add(&mut made, "main_loop", "app", "");
        assert_eq!(find(&made, "main_loop").unwrap(), FoundNodes::Procedure(own));
    }

    #[test]
    fn objects_and_threads_of_one_name_are_meant_together() {
        let made = draw("1 = mutex rows\nweb/worker A1AA");
        assert_eq!(find(&made, "object:rows").unwrap(), FoundNodes::Objects(vec![made.object("rows")]));
        let made = draw("a/worker AA\nb/other BB");
        let mut made = made;
        made.program.threads[1].name = "worker".into();
        assert_eq!(
            find(&made, "thread:worker").unwrap(),
            FoundNodes::Threads(vec![ThreadId(0), ThreadId(1)])
        );
        let tid = made.program.threads[1].tid;
        for wanted in [format!("thread:#{tid}"), format!("thread:worker #{tid}"), format!("thread:{tid}")] {
            assert_eq!(find(&made, &wanted).unwrap(), FoundNodes::Threads(vec![ThreadId(1)]), "{wanted}");
        }
    }

    #[test]
    fn a_name_of_two_kinds_asks_for_the_kind() {
        let made = draw("A = worker\nweb/worker AA");
        let error = find(&made, "worker").unwrap_err();
        let Error::AmbiguousName { candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(candidates, &["procedure:worker", "thread:worker"]);
        assert!(matches!(find(&made, "thread:worker"), Ok(FoundNodes::Threads(_))));
    }

    #[test]
    fn a_line_is_found_by_the_end_of_its_file_s_path() {
        let mut made = scene();
        let id = add(&mut made, "serve", "app", "/src/net/server.c");
        for wanted in ["line:server.c:5", "line:net/server.c:5", "line:/src/net/server.c:5"] {
            assert_eq!(find(&made, wanted).unwrap(), FoundNodes::Lines(vec![(id, 5)]), "{wanted}");
        }
        let other = add(&mut made, "answer", "app", "/src/web/server.c");
        let error = find(&made, "line:server.c:5").unwrap_err();
        let Error::AmbiguousName { candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(candidates, &["line:/src/net/server.c:5", "line:/src/web/server.c:5"]);
        assert_eq!(find(&made, &candidates[1]).unwrap(), FoundNodes::Lines(vec![(other, 5)]));
        let error = find(&made, "line:server.c:7").unwrap_err();
        let Error::NoSuchName { nearest, .. } = &error else { panic!("{error}") };
        assert!(nearest[0].ends_with("server.c:5"), "{nearest:?}");
        assert!(find(&made, "line:erver.c:5").is_err(), "a part of a file's name is none");
    }

    #[test]
    fn a_file_is_found_by_the_end_of_its_path() {
        let mut made = scene();
        add(&mut made, "serve", "app", "/src/net/server.c");
        let file = |path: &str| FoundNodes::File(path.to_owned());
        for wanted in ["file:server.c", "net/server.c", "file:/src/net/server.c"] {
            assert_eq!(find(&made, wanted).unwrap(), file("/src/net/server.c"), "{wanted}");
        }
        assert!(find(&made, "file:erver.c").is_err(), "a part of a file's name is none");
        add(&mut made, "answer", "app", "/src/web/server.c");
        let error = find(&made, "file:server.c").unwrap_err();
        let Error::AmbiguousName { candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(candidates, &["file:/src/net/server.c", "file:/src/web/server.c"]);
        assert_eq!(find(&made, "file:web/server.c").unwrap(), file("/src/web/server.c"));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = find(&scene(), "procedure:net::Server::acept").unwrap_err();
        let Error::NoSuchName { nearest, .. } = &error else { panic!("{error}") };
        assert_eq!(nearest[0], "procedure:net::Server::accept");
        let error = find(&scene(), "chache_lok").unwrap_err();
        let Error::NoSuchName { nearest, .. } = &error else { panic!("{error}") };
        assert_eq!(nearest[0], "object:cache_lock");
        let text = error.to_string();
        assert!(
            text.starts_with(
                "find a procedure, region, line, file, object, thread or process named `chache_lok`"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_kind_that_does_not_apply_is_refused() {
        let made = scene();
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        let error = names.find("thread:worker", &[NameKind::Procedure]).unwrap_err().to_string();
        assert!(error.contains("a procedure is needed here, not a thread"), "{error}");
    }

    #[test]
    fn nothing_is_found_among_nothing() {
        let made = draw("# nobody");
        assert!(matches!(find(&made, "x"), Err(Error::NoSuchName { nearest, .. }) if nearest.is_empty()));
        assert!(find(&scene(), "").is_err() && find(&scene(), "procedure:").is_err());
    }
}
