//! A part of a run as a run of its own (metrics.md §8).
//!
//! ```text
//!              A          B            threads that are alive at A begin there, in the state they are in, at the
//!   T1  ====|==o==o====|==o==         path at which they were seen last; dependences from before A leave at A
//!   T2  ....|....===o==|.....
//!            0      …   B − A         times count from A; what ran up to B is seen at B where it is seen next
//! ```
//! So the CPU time, the blocked time and the normalised processor time of a (thread, call path) in the phases
//! [0, t) and [t, end] add up to those of the whole run, whatever t is. A wait that goes on across t is one wait in
//! each. Threads and processes that are not there during the phase are left out of its program.
//!
//! Time: one more reading, and every later reading is of the whole run. Memory: a few numbers per thread.

use std::ops::Deref;

use longpole_event::{ProcessId, ThreadId, Time};

use crate::objects::{ObjectId, Objects};
use crate::paths::{PathId, Paths, ProcedureId};
use crate::program::{Process, Program, Thread};
use crate::state::State;
use crate::timeline::{Item, Timelines, What};

/// Timelines of a part of a run; `H` holds the timelines of the whole run: a reference, or a share of them.
#[derive(Debug)]
pub struct Phase<H> {
    whole: H,
    from: Time,
    /// `None`: to the end of the run.
    to: Option<Time>,
    program: Program,
    /// Ids within the phase, by the whole run's ids; `None`: not there.
    ids: Vec<Option<ThreadId>>,
    /// By the whole run's ids.
    entering: Vec<Position>,
    /// Where each thread is seen first after the phase.
    after: Vec<Option<PathId>>,
    cpu_share: f64,
}

/// Where a thread is.
#[derive(Clone, Debug)]
struct Position {
    state: State,
    since: Time,
    awaits: Option<ObjectId>,
    path: Option<PathId>,
    /// Who enabled it, while it has not begun.
    created: Option<What>,
}

impl Position {
    const NEW: Position =
        Position { state: State::Absent, since: Time::ZERO, awaits: None, path: None, created: None };

    fn apply(&mut self, item: &Item) {
        match item.what {
            What::State(state) => {
                self.state = state;
                self.since = item.time;
                self.created = None;
                if !matches!(state, State::Blocked(_)) {
                    self.awaits = None;
                }
            }
            What::Observe(path) => self.path = Some(path),
            What::Await(object) => self.awaits = Some(object),
            What::Depend { .. } if self.state == State::Absent => self.created = Some(item.what),
            What::Depend { .. } | What::Held(_) => {}
        }
    }
}

impl<H> Phase<H>
where
    H: Deref<Target: Timelines>,
{
    /// The part of the run from `from` to `to`, or to its end. Its end has to be after its begin.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn new(whole: H, from: Time, to: Option<Time>) -> Result<Self, <H::Target as Timelines>::Error> {
        let elapsed = whole.program().elapsed_nanoseconds;
        let to = to.filter(|to| to.nanoseconds() < elapsed);
        let threads = whole.program().threads.len();
        let mut survey = Survey::new(threads, from, to);
        whole.for_each(&mut |item| survey.visit(item))?;
        survey.finish(Time::from_nanoseconds(elapsed));
        let mut phase = Phase {
            whole,
            from,
            to,
            program: Program::default(),
            ids: Vec::new(),
            cpu_share: survey.cpu_share(),
            entering: survey.entering.unwrap_or_default(),
            after: survey.after,
        };
        phase.populate(&survey.is_there);
        Ok(phase)
    }

    /// The run that this is a part of.
    #[must_use]
    pub fn whole(&self) -> &H::Target {
        &self.whole
    }

    /// Share of the run's CPU time that lies in the phase, 0 to 1.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        self.cpu_share
    }

    /// Makes the program of the threads that are there.
    fn populate(&mut self, is_there: &[bool]) {
        let whole = self.whole.program();
        let mut processes: Vec<Option<ProcessId>> = vec![None; whole.processes.len()];
        let mut next = 0;
        self.ids = is_there
            .iter()
            .map(|&is_there| {
                next += usize::from(is_there);
                is_there.then(|| ThreadId::from_index(next - 1))
            })
            .collect();
        let here = |thread: &Thread, ids: &[Option<ThreadId>]| Thread {
            start: Time::from_nanoseconds(thread.start.since(self.from)),
            end: thread
                .end
                .filter(|&end| self.to.is_none_or(|to| end < to))
                .map(|end| Time::from_nanoseconds(end.since(self.from))),
            creator: thread.creator.and_then(|creator| ids.get(creator.index()).copied().flatten()),
            ..thread.clone()
        };
        let mut threads: Vec<Thread> = Vec::new();
        for (thread, _) in whole.threads.iter().zip(is_there).filter(|&(_, &is_there)| is_there) {
            threads.push(here(thread, &self.ids));
            processes[thread.process.index()] = Some(thread.process);
        }
        let kept: Vec<ProcessId> = processes.iter().flatten().copied().collect();
        let place = |id: ProcessId| kept.binary_search(&id).ok().map(ProcessId::from_index);
        for thread in &mut threads {
            thread.process = place(thread.process).expect("processes of kept threads are kept");
        }
        let process = |&id: &ProcessId| {
            let process = &whole.processes[id.index()];
            Process { parent: process.parent.and_then(place), ..process.clone() }
        };
        let elapsed = self.to.map_or(whole.elapsed_nanoseconds, Time::nanoseconds);
        self.program = Program {
            command: whole.command.clone(),
            machines: whole.machines.clone(),
            processes: kept.iter().map(process).collect(),
            threads,
            begin_nanoseconds: whole.begin_nanoseconds.saturating_add(self.from.nanoseconds()),
            elapsed_nanoseconds: elapsed.saturating_sub(self.from.nanoseconds()),
        };
    }

    /// What an item says within the phase; `None` where it is about a thread that is not there.
    fn translated(&self, item: &Item) -> Option<Item> {
        let thread = self.id(item.thread)?;
        let what = match item.what {
            What::Depend { source, source_time, kind } => What::Depend {
                source: self.id(source)?,
                source_time: Time::from_nanoseconds(source_time.since(self.from)),
                kind,
            },
            what => what,
        };
        Some(Item { time: Time::from_nanoseconds(item.time.since(self.from)), thread, what })
    }

    fn id(&self, thread: ThreadId) -> Option<ThreadId> {
        self.ids.get(thread.index()).copied().flatten()
    }

    /// The threads that are alive at the begin, as items: first where they were seen, then what enabled
    /// those that have not begun, then their states.
    fn enter(&self, visit: &mut dyn FnMut(&Item)) {
        let mut show = |thread: usize, what: Option<What>| {
            let item = |what| Item { time: self.from, thread: ThreadId::from_index(thread), what };
            if let Some(item) = what.and_then(|what| self.translated(&item(what))) {
                visit(&item);
            }
        };
        for (thread, position) in self.entering.iter().enumerate() {
            show(thread, position.path.filter(|_| position.state != State::Absent).map(What::Observe));
        }
        for (thread, position) in self.entering.iter().enumerate() {
            show(thread, position.created);
        }
        for (thread, position) in self.entering.iter().enumerate() {
            show(thread, position.awaits.map(What::Await));
            show(thread, Some(position.state).filter(|&state| state != State::Absent).map(What::State));
        }
    }

    /// Where threads that ran since they were seen last are seen next, at the end of the phase.
    fn leave(&self, has_work: &[bool], visit: &mut dyn FnMut(&Item)) {
        let Some(to) = self.to else { return };
        for (index, _) in has_work.iter().enumerate().filter(|&(_, &has_work)| has_work) {
            let Some(path) = self.after.get(index).copied().flatten() else { continue };
            let item = Item { time: to, thread: ThreadId::from_index(index), what: What::Observe(path) };
            if let Some(item) = self.translated(&item) {
                visit(&item);
            }
        }
    }
}

impl<H> Timelines for Phase<H>
where
    H: Deref<Target: Timelines>,
{
    type Error = <H::Target as Timelines>::Error;

    fn program(&self) -> &Program {
        &self.program
    }

    fn paths(&self) -> &Paths {
        self.whole.paths()
    }

    fn objects(&self) -> &Objects {
        self.whole.objects()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Self::Error> {
        self.enter(visit);
        let mut is_on_cpu: Vec<bool> =
            self.entering.iter().map(|position| position.state.is_on_cpu()).collect();
        let mut has_work = is_on_cpu.clone();
        let mut is_over = false;
        self.whole.for_each(&mut |item| {
            if item.time < self.from || is_over {
                return;
            }
            if self.to.is_some_and(|to| item.time >= to) {
                is_over = true;
                return;
            }
            let Some(translated) = self.translated(item) else { return };
            let index = item.thread.index();
            match item.what {
                What::State(state) => {
                    is_on_cpu[index] = state.is_on_cpu();
                    has_work[index] |= state.is_on_cpu();
                }
                What::Observe(_) => has_work[index] = is_on_cpu[index],
                What::Await(_) | What::Held(_) | What::Depend { .. } => {}
            }
            visit(&translated);
        })?;
        self.leave(&has_work, visit);
        Ok(())
    }
}

/// The reading that finds what stands at the borders of a phase.
struct Survey {
    from: Time,
    to: Option<Time>,
    threads: Vec<Position>,
    entering: Option<Vec<Position>>,
    after: Vec<Option<PathId>>,
    is_there: Vec<bool>,
    cpu: u64,
    cpu_within: u64,
}

impl Survey {
    fn new(threads: usize, from: Time, to: Option<Time>) -> Survey {
        Survey {
            from,
            to,
            threads: vec![Position::NEW; threads],
            entering: None,
            after: vec![None; threads],
            is_there: vec![false; threads],
            cpu: 0,
            cpu_within: 0,
        }
    }

    fn visit(&mut self, item: &Item) {
        let index = item.thread.index();
        if index >= self.threads.len() {
            return;
        }
        if item.time >= self.from {
            self.begin();
        }
        let is_after = self.to.is_some_and(|to| item.time >= to);
        match item.what {
            What::Observe(path) if is_after => _ = self.after[index].get_or_insert(path),
            What::State(state) => {
                self.charge(index, item.time);
                let is_within = item.time >= self.from && !is_after;
                self.is_there[index] |= is_within && state != State::Absent;
            }
            _ => {}
        }
        self.threads[index].apply(item);
    }

    /// Keeps where the threads are when the phase begins, once.
    fn begin(&mut self) {
        if self.entering.is_none() {
            for (position, is_there) in self.threads.iter().zip(&mut self.is_there) {
                *is_there |= position.state != State::Absent;
            }
            self.entering = Some(self.threads.clone());
        }
    }

    fn charge(&mut self, index: usize, now: Time) {
        let Position { state, since, .. } = self.threads[index];
        if state.is_on_cpu() {
            self.cpu += now.since(since);
            let end = self.to.map_or(now, |to| to.min(now));
            self.cpu_within += end.since(since.max(self.from));
        }
    }

    fn finish(&mut self, end: Time) {
        self.begin();
        for index in 0..self.threads.len() {
            self.charge(index, end);
        }
    }

    fn cpu_share(&self) -> f64 {
        if self.cpu == 0 { 0.0 } else { self.cpu_within as f64 / self.cpu as f64 }
    }
}

/// When the procedure was seen first and last on the path of any thread; `None` when it was not.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn span_of<T: Timelines>(
    timelines: &T,
    procedure: ProcedureId,
) -> Result<Option<(Time, Time)>, T::Error> {
    let paths = timelines.paths();
    // A path leads on from its caller, which has the smaller id.
    let mut passes = vec![false; paths.len()];
    for index in 1..passes.len() {
        let path = PathId(u32::try_from(index).expect("fewer than 2^32 paths"));
        let is_own = paths.innermost(path).is_some_and(|place| place.procedure == procedure);
        passes[index] = is_own || paths.caller(path).is_some_and(|caller| passes[caller.0 as usize]);
    }
    let mut span: Option<(Time, Time)> = None;
    timelines.for_each(&mut |item| {
        if let What::Observe(path) = item.what
            && passes.get(path.0 as usize) == Some(&true)
        {
            span = Some((span.map_or(item.time, |(first, _)| first), item.time));
        }
    })?;
    Ok(span)
}
