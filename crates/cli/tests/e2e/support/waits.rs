//! The waits of a recording: who, why, where, how long, and who ended them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use longpole_trace::{Cause, Item, ItemKind, PathId, Paths, Program, State, Timelines, Trace};

use super::answer::is;

/// One wait.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The waiting thread's name.
    pub thread: String,
    /// Its process's name.
    pub process: String,
    pub cause: Cause,
    /// The procedures on the path where it waited, innermost first.
    pub path: Vec<String>,
    pub seconds: f64,
    /// The names of the thread and the process that ended it.
    pub ended_by: Option<(String, String)>,
}

impl Wait {
    /// Whether `procedure` is on the path where it waited.
    pub fn is_in(&self, procedure: &str) -> bool {
        self.path.iter().any(|name| is(name, procedure))
    }

    /// Whether a thread of this name ended it.
    pub fn is_ended_by(&self, thread: &str) -> bool {
        self.ended_by.as_ref().is_some_and(|(name, _)| name == thread)
    }
}

/// All waits of a recording.
#[derive(Default)]
pub struct Waits {
    all: Vec<Wait>,
    /// Seconds that threads were ready and had no processor, by name.
    ready: BTreeMap<String, f64>,
    /// Length of the run, seconds.
    pub elapsed: f64,
}

#[derive(Clone)]
struct Thread {
    state: State,
    since: u64,
    path: PathId,
    source: Option<(String, String)>,
}

impl Waits {
    /// Reads them from a recording.
    pub fn of(recording: &Path) -> Waits {
        let trace = Trace::open(recording).unwrap();
        let (program, paths) = (trace.program(), trace.paths());
        let start = Thread { state: State::Absent, since: 0, path: Paths::ROOT, source: None };
        let mut threads = vec![start; program.threads.len()];
        let elapsed = program.elapsed_nanoseconds as f64 / 1e9;
        let mut waits = Waits { elapsed, ..Waits::default() };
        trace.for_each(&mut |item| follow(item, program, paths, &mut threads, &mut waits)).unwrap();
        waits
    }

    /// Seconds of all waits that `is_meant` chooses.
    pub fn seconds(&self, is_meant: impl Fn(&Wait) -> bool) -> f64 {
        self.all.iter().filter(|wait| is_meant(wait)).map(|wait| wait.seconds).sum()
    }

    /// Asserts that the chosen waits last at least so many seconds in all, and no longer than `threads`
    /// threads can have waited. What a busy machine takes from a thread while it could run, it need not
    /// wait for others: of the least, up to three quarters may have passed without a processor instead.
    pub fn assert_seconds(&self, what: &str, least: f64, threads: f64, is_meant: impl Fn(&Wait) -> bool) {
        let seconds = self.seconds(&is_meant);
        let most = 1.001 * threads * self.elapsed;
        let chosen: BTreeSet<&str> =
            self.all.iter().filter(|wait| is_meant(wait)).map(|wait| wait.thread.as_str()).collect();
        let ready: f64 = chosen.iter().filter_map(|&thread| self.ready.get(thread)).sum();
        let fits = seconds >= least - ready.min(0.75 * least) && seconds <= most;
        assert!(
            fits,
            "{}\n{what}: {seconds:.3} s, not within {least:.3}..={most:.3}, {ready:.3} s ready",
            self.table()
        );
    }

    /// The longest waits, for messages.
    fn table(&self) -> String {
        let mut waits: Vec<&Wait> = self.all.iter().collect();
        waits.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        waits.iter().take(25).fold(String::new(), |mut text, wait| {
            let path = wait.path.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(" < ");
            let Wait { thread, cause, seconds, ended_by, .. } = wait;
            writeln!(text, "{seconds:.4} s {cause} of {thread} in {path}, ended by {ended_by:?}").unwrap();
            text
        })
    }
}

fn follow(item: &Item, program: &Program, paths: &Paths, threads: &mut [Thread], waits: &mut Waits) {
    let name = |thread: longpole_event::ThreadId| {
        let thread_name = program.threads[thread.index()].name.clone();
        (thread_name, program.process_of(thread).name.clone())
    };
    let thread = &mut threads[item.thread.index()];
    match item.what {
        ItemKind::Observe { path, .. } => thread.path = path,
        ItemKind::Await(_)
        | ItemKind::Held(_)
        | ItemKind::Written { .. }
        | ItemKind::Release(_)
        | ItemKind::Acquire(_) => {}
        ItemKind::Depend { source, .. } => thread.source = Some(name(source)),
        ItemKind::State(state) => {
            let now = item.time.nanoseconds();
            if let State::Blocked(cause) = thread.state {
                let (thread_name, process) = name(item.thread);
                let procedure =
                    |place: longpole_trace::CodePlace| paths.procedure_named_by(place.procedure).name.clone();
                waits.all.push(Wait {
                    thread: thread_name,
                    process,
                    cause,
                    path: paths.places_of(thread.path).map(procedure).collect(),
                    seconds: (now - thread.since) as f64 / 1e9,
                    ended_by: thread.source.take(),
                });
            }
            if thread.state == State::Ready {
                *waits.ready.entry(name(item.thread).0).or_default() += (now - thread.since) as f64 / 1e9;
            }
            thread.source = None;
            (thread.state, thread.since) = (state, now);
        }
    }
}
