//! Waits that nothing ended: they last until the run's end, or until their thread was ended from outside.
//!
//! ```text
//!   T1  ==a=|..................|      lasts to the end of the recording
//!   T2  ==b=|..............|=×        woken to die: it ends, and was seen nowhere but where it waited
//!   T3  ==c=|......|=d=====×          no: it went on, to d
//! ```
//! A thread that is killed is woken, runs in the kernel for a moment, and ends with its process: its wait counts as
//! lasting. So does that of a thread that blocks within the kernel while it dies.
//!
//! Constant time per item but for the length of call paths after such a wake; a few words per thread.
//!
//! It cannot see that a thread went on for so short a time that nothing looked at it.

use longpole_event::{ProcessId, ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{Cause, ObjectId, ObservationKind, PathId, Paths, Procedure, Program, State, stored};
use rustc_hash::FxHashMap;

/// Threads of a process that end in one act end within this time, nanoseconds.
const ONE_ACT: u64 = 10_000_000_000;
/// CPU time after its wake from which on a thread has gone on, nanoseconds.
const GOES_ON: u64 = 100_000_000;

/// A wait that nothing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalWait {
    /// Who waits.
    pub thread: ThreadId,
    /// When it began.
    pub since: Time,
    /// When the thread was woken to end, or the recording ended.
    pub until: Time,
    /// For what kind of thing.
    pub cause: Cause,
    /// For what, where that is known.
    pub object: Option<ObjectId>,
    /// Where.
    pub path: PathId,
    /// When another thread last got what it waits for, where that was since then: it is handed on.
    pub handed_on: Option<Time>,
    /// The recording ended first.
    pub is_cut: bool,
}

stored! {
    FinalWait { thread, since, until, cause, object, path, handed_on, is_cut }
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
struct FinalWaitThread {
    path: PathId,
    state: State,
    object: Option<ObjectId>,
    wait: Option<FinalWait>,
    /// The wait before it, for the same at the same place.
    before: Option<FinalWait>,
    /// CPU time since the wait.
    ran: u64,
    on_cpu_since: Time,
    ended: Option<Time>,
}

/// The sweep that finds them.
#[derive(Debug)]
pub(crate) struct FinalWaits<'a> {
    paths: &'a Paths,
    /// By path: whether its innermost place is none of the program's, or the thread dies there.
    are_unknown: Vec<bool>,
    per_thread: Vec<FinalWaitThread>,
    /// The process of each thread.
    processes: Vec<ProcessId>,
    /// When the last thread of each ended.
    last_ends: FxHashMap<ProcessId, Time>,
    /// When a thread last got each thing that threads waited for, and went on.
    last_got: FxHashMap<ObjectId, Time>,
}

impl<'a> FinalWaits<'a> {
    pub fn new(program: &Program, paths: &'a Paths) -> Self {
        let of_thread = |path| FinalWaitThread {
            path,
            state: State::Absent,
            object: None,
            wait: None,
            before: None,
            ran: 0,
            on_cpu_since: Time::ZERO,
            ended: None,
        };
        FinalWaits {
            paths,
            are_unknown: are_unknown(paths),
            per_thread: program.threads.iter().map(|thread| of_thread(thread.prefix)).collect(),
            processes: program.threads.iter().map(|thread| thread.process).collect(),
            last_ends: FxHashMap::default(),
            last_got: FxHashMap::default(),
        }
    }

    /// The waits, by thread.
    pub fn into_waits(self) -> Vec<FinalWait> {
        let lasting = self.per_thread.iter().filter(|of_thread| of_thread.ran < GOES_ON);
        lasting.filter_map(|of_thread| of_thread.wait).collect()
    }

    /// A thread that has waited for this went on.
    fn got(&mut self, wait: FinalWait) {
        if let Some(object) = wait.object.filter(|_| wait.until > wait.since) {
            let last = self.last_got.entry(object).or_insert(wait.until);
            *last = (*last).max(wait.until);
        }
    }

    /// Those that were woken and neither blocked again nor ended.
    fn get_last(&mut self) {
        let is_left = |of_thread: &&FinalWaitThread| {
            of_thread.ended.is_none() && !matches!(of_thread.state, State::Blocked(_))
        };
        let left = self.per_thread.iter().filter(is_left);
        let waits: Vec<FinalWait> = left.filter_map(|of_thread| of_thread.wait).collect();
        waits.into_iter().for_each(|wait| self.got(wait));
    }

    /// Whether a thread that was seen at `path` is still in the wait at `wait`, as far as its stack tells.
    fn is_within(&self, path: PathId, wait: PathId) -> bool {
        // A path has a larger number than its caller.
        let mut outwards = std::iter::successors(Some(path), |&path| self.paths.caller(path));
        self.are_unknown[path.0 as usize] || outwards.find(|&path| path <= wait) == Some(wait)
    }
}

/// By path: whether it does not say where in the program a thread is.
fn are_unknown(paths: &Paths) -> Vec<bool> {
    let of_all =
        |is_it: fn(&Procedure) -> bool| -> Vec<bool> { paths.procedures().iter().map(is_it).collect() };
    let (unnamed, deaths) = (of_all(|procedure| procedure.name.starts_with('[')), of_all(is_death));
    let mut unknown = paths.leads_through(|procedure| deaths[procedure.0 as usize]);
    for (index, is_unknown) in unknown.iter_mut().enumerate() {
        let place = paths.innermost(PathId(index as u32));
        *is_unknown |= place.is_none_or(|place| unnamed[place.procedure.0 as usize]);
    }
    unknown
}

/// Whether a thread that executes the procedure has died. Its memory may be gone by then, and its stack with it.
fn is_death(procedure: &Procedure) -> bool {
    procedure.module == "[kernel]" && matches!(procedure.name.as_str(), "do_exit" | "do_group_exit")
}

/// Whether only other threads end such a wait.
fn is_for_threads(cause: Cause) -> bool {
    !matches!(cause, Cause::PageFault | Cause::Kernel | Cause::Io | Cause::Other)
}

impl Sweep for FinalWaits<'_> {
    fn begin_wait(&mut self, thread: ThreadId, _time: Time, object: ObjectId) {
        if let Some(of_thread) = self.per_thread.get_mut(thread.index()) {
            of_thread.object = Some(object);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let Some(of_thread) = self.per_thread.get_mut(thread.index()) else { return };
        if before.is_on_cpu() {
            of_thread.ran += time.since(of_thread.on_cpu_since);
        }
        if state.is_on_cpu() {
            of_thread.on_cpu_since = time;
        }
        of_thread.state = state;
        match state {
            // A thread that dies may block in the kernel: that is no wait of its own.
            State::Blocked(cause) if is_for_threads(cause) || of_thread.wait.is_none() => {
                let object = of_thread.object.take();
                let (since, until, path) = (time, time, of_thread.path);
                let wait =
                    FinalWait { thread, since, until, cause, object, path, handed_on: None, is_cut: false };
                let is_same =
                    |before: &FinalWait| (before.cause, before.object, before.path) == (cause, object, path);
                of_thread.before = of_thread.wait.filter(|before| is_same(before) && of_thread.ran < GOES_ON);
                let over = of_thread.wait.replace(wait);
                of_thread.ran = 0;
                over.into_iter().for_each(|wait| self.got(wait));
                return;
            }
            State::Absent => of_thread.ended = Some(time),
            _ => {}
        }
        if let (State::Blocked(_), Some(wait)) = (before, &mut of_thread.wait)
            && wait.until == wait.since
        {
            wait.until = time;
        }
        if !matches!(state, State::Blocked(_)) {
            of_thread.object = None;
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, _: ObservationKind) {
        let Some(&FinalWaitThread { wait, state, .. }) = self.per_thread.get(thread.index()) else { return };
        let goes_on = wait.is_some_and(|wait| !self.is_within(path, wait.path));
        let of_thread = &mut self.per_thread[thread.index()];
        of_thread.path = path;
        match &mut of_thread.wait {
            // Where it waits may be seen only after it began to.
            Some(wait) if matches!(state, State::Blocked(_)) => wait.path = path,
            wait if goes_on => {
                let over = wait.take();
                over.into_iter().for_each(|wait| self.got(wait));
            }
            _ => {}
        }
    }

    fn finish(&mut self, end: Time) {
        self.get_last();
        for (of_thread, process) in self.per_thread.iter().zip(&self.processes) {
            let last = self.last_ends.entry(*process).or_insert(Time::ZERO);
            *last = (*last).max(of_thread.ended.unwrap_or(end));
        }
        for (of_thread, process) in self.per_thread.iter_mut().zip(&self.processes) {
            let is_in_act = |ended: Time| self.last_ends[process].since(ended) <= ONE_ACT;
            if let Some(wait) =
                of_thread.wait.as_mut().filter(|_| matches!(of_thread.state, State::Blocked(_)))
            {
                (wait.until, wait.is_cut) = (end, true);
            } else if !of_thread.ended.is_some_and(is_in_act) {
                of_thread.wait = None;
            }
            // A thread that dies waits where it waited before, until the memory of its process is written down.
            if let (Some(wait), Some(before)) = (&mut of_thread.wait, of_thread.before)
                && !wait.is_cut
                && wait.until.since(before.until) <= ONE_ACT
            {
                *wait = before;
            }
            if let Some(wait) = &mut of_thread.wait {
                let last = wait.object.and_then(|object| self.last_got.get(&object).copied());
                wait.handed_on = last.filter(|&time| time > wait.since && time < wait.until);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_trace::{CodePlace, Paths, Procedure};

    use super::are_unknown;
    use crate::drawn::Drawn;

    fn waiting(text: &str) -> Vec<(String, u64, bool)> {
        let drawn = Drawn::new(text);
        let name = |wait: &crate::FinalWait| {
            longpole_trace::Timelines::program(&drawn.timelines).threads[wait.thread.index()].name.clone()
        };
        let waits = drawn.analysis.final_waits.iter();
        waits.map(|wait| (name(wait), wait.since.nanoseconds(), wait.is_cut)).collect()
    }

    #[test]
    fn a_thread_that_has_died_is_nowhere_in_the_program() {
        let mut paths = Paths::default();
        let mut caller = Paths::ROOT;
        let mut path = |name: &str, module: &str| {
            let procedure = Procedure { name: name.into(), module: module.into(), file: String::new() };
            let procedure = paths.procedure(procedure);
            let place = paths.place(CodePlace { procedure, line: 0 });
            caller = paths.path(caller, place);
            caller
        };
        let worker = path("worker", "app");
        let dies = [("do_exit", "[kernel]"), ("d_walk", "[kernel]")].map(|(name, module)| path(name, module));
        let unknown = are_unknown(&paths);
        assert!(!unknown[worker.0 as usize]);
        assert!(dies.iter().all(|path| unknown[path.0 as usize]));
    }

    #[test]
    fn a_wait_that_lasts_to_the_end_of_the_recording_is_final() {
        assert_eq!(waiting("T1 AAAA\nT2 Blll"), [("T2".to_owned(), 1, true)]);
    }

    #[test]
    fn what_another_thread_got_meanwhile_is_handed_on() {
        let handed_on = |text: &str| {
            let waits = Drawn::new(&format!("1 = mutex m\n{text}")).analysis.final_waits;
            waits.iter().map(|wait| wait.handed_on.map(longpole_event::Time::nanoseconds)).collect::<Vec<_>>()
        };
        // T3 gets the lock that T2 goes on to wait for.
        assert_eq!(handed_on("T1 AAAAAA\nT2 B11111\nT3 C11DDD"), [Some(3)]);
        assert_eq!(handed_on("T1 AAAAAA\nT2 B11111\nT3 C111C1"), [Some(4), None]);
        assert_eq!(handed_on("T1 AAAAAA\nT2 B11111\nT3 CC1111"), [None, None]);
    }

    #[test]
    fn a_wait_after_which_the_thread_went_on_is_not() {
        assert_eq!(waiting("T1 AAAAAA\nT2 BllCC_"), []);
        assert_eq!(waiting("T1 AAAAAA\nT2 BllCCC"), []);
    }

    #[test]
    fn a_thread_that_is_woken_to_die_waited_to_its_end() {
        assert_eq!(waiting("T1 AAAAAA\nT2 BllBB_"), [("T2".to_owned(), 1, false)]);
    }

    #[test]
    fn a_thread_that_ends_long_before_its_process_was_not_kept_from_going_on() {
        let long = "unit 10000000000\nT1 AAAAAA\nT2 BllB__";
        assert_eq!(waiting(long), []);
    }
}
