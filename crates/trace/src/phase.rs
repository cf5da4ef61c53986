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
//! Time: one more reading of the whole run. Items of the phase are kept from it, up to [`MOST_KEPT`], and later readings
//! take these; a longer phase is read from the whole run each time. Memory: a few numbers per thread, and what is kept.

mod survey;

use std::ops::Deref;

use longpole_event::{ProcessId, ThreadId, Time};

use crate::objects::{ObjectId, Objects};
use crate::paths::{PathId, Paths, ProcedureId};
use crate::program::{Affinity, Ownership, Process, Program, Thread};
use crate::state::State;
use crate::stops::PossibleStop;
use crate::timeline::{Item, ItemKind, ObservationKind, Placement, Timelines};
use survey::Survey;

/// Items that a phase keeps at most: some 40 MB. Reading them from a recording decodes the log from its begin to its end,
/// whatever part of it the phase is.
const MOST_KEPT: usize = 1 << 20;

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
    entering: Vec<PhasePosition>,
    /// Where each thread is seen first after the phase.
    after: Vec<Option<PathSighting>>,
    cpu_share: f64,
    /// The items within the phase as the whole run has them; `None`: too many to be kept.
    items: Option<Vec<Item>>,
}

/// Where a thread was seen.
type PathSighting = (PathId, ObservationKind);

/// Where a thread is.
#[derive(Clone, Debug)]
struct PhasePosition {
    state: State,
    since: Time,
    awaits: Option<ObjectId>,
    look: Option<PathSighting>,
    /// Who enabled it, while it has not begun.
    created: Option<ItemKind>,
}

impl PhasePosition {
    const NEW: PhasePosition =
        PhasePosition { state: State::Absent, since: Time::ZERO, awaits: None, look: None, created: None };

    fn apply(&mut self, item: &Item) {
        match item.what {
            ItemKind::State(state) => {
                self.state = state;
                self.since = item.time;
                self.created = None;
                if !matches!(state, State::Blocked(_)) {
                    self.awaits = None;
                }
            }
            ItemKind::Observe { path, kind } => self.look = Some((path, kind)),
            ItemKind::Await(object) => self.awaits = Some(object),
            ItemKind::Depend { .. } if self.state == State::Absent => self.created = Some(item.what),
            ItemKind::Depend { .. }
            | ItemKind::Held(_)
            | ItemKind::Written { .. }
            | ItemKind::Release(_)
            | ItemKind::Acquire(_) => {}
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
        Phase::keeping(MOST_KEPT, whole, from, to)
    }

    /// The same, where a phase of more than `most` items is read from the whole run each time.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn keeping(
        most: usize,
        whole: H,
        from: Time,
        to: Option<Time>,
    ) -> Result<Self, <H::Target as Timelines>::Error> {
        let elapsed = whole.program().elapsed_nanoseconds;
        let to = to.filter(|to| to.nanoseconds() < elapsed);
        let threads = whole.program().threads.len();
        let mut survey = Survey::new(threads, from, to);
        let mut items = Some(Vec::new());
        whole.for_each(&mut |item| {
            survey.visit(item);
            if is_within(item, from, to) {
                keep(&mut items, item, most);
            }
        })?;
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
            items,
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
        let owners = whole.owners.iter().filter_map(|owned| {
            let is_within = owned.time >= self.from && self.to.is_none_or(|to| owned.time < to);
            Some(Ownership {
                time: Time::from_nanoseconds(owned.time.since(self.from)),
                waiter: self.id(owned.waiter)?,
                owner: self.id(owned.owner).filter(|_| is_within)?,
            })
        });
        let owners = owners.collect();
        // What was told before holds from the begin on.
        let affinities = whole.affinities.iter().filter(|told| self.to.is_none_or(|to| told.time < to));
        let affinities = affinities.filter_map(|told| {
            let time = Time::from_nanoseconds(told.time.since(self.from));
            Some(Affinity { time, thread: self.id(told.thread)?, ..*told })
        });
        let affinities = affinities.collect();
        let ends_within = |thread: &ThreadId| {
            let end = whole.threads[thread.index()].end;
            self.to.is_none_or(|to| end.is_some_and(|end| end < to))
        };
        let killed = whole.killed_at_work.iter().filter(|thread| ends_within(thread));
        let mut killed_at_work: Vec<ThreadId> = killed.filter_map(|&thread| self.id(thread)).collect();
        killed_at_work.sort_unstable();
        let stops = whole.possible_stops.iter().filter_map(|stop| {
            let is_within = stop.told >= self.from && self.to.is_none_or(|to| stop.woken < to);
            let [told, woken] =
                [stop.told, stop.woken].map(|time| Time::from_nanoseconds(time.since(self.from)));
            let joiner = self.id(stop.joiner).filter(|_| is_within)?;
            Some(PossibleStop { thread: self.id(stop.thread)?, joiner, told, woken, ..*stop })
        });
        let possible_stops = stops.collect();
        let elapsed = self.to.map_or(whole.elapsed_nanoseconds, Time::nanoseconds);
        self.program = Program {
            command: whole.command.clone(),
            file: whole.file.clone(),
            machines: whole.machines.clone(),
            processes: kept.iter().map(process).collect(),
            threads,
            owners,
            affinities,
            killed_at_work,
            possible_stops,
            begin_nanoseconds: whole.begin_nanoseconds.saturating_add(self.from.nanoseconds()),
            elapsed_nanoseconds: elapsed.saturating_sub(self.from.nanoseconds()),
        };
    }

    /// What an item says within the phase; `None` where it is about a thread that is not there.
    fn translated(&self, item: &Item) -> Option<Item> {
        let thread = self.id(item.thread)?;
        let what = match item.what {
            ItemKind::Depend { source, source_time, kind } => ItemKind::Depend {
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
        let mut show = |thread: usize, what: Option<ItemKind>| {
            let item = |what| Item { time: self.from, thread: ThreadId::from_index(thread), what };
            if let Some(item) = what.and_then(|what| self.translated(&item(what))) {
                visit(&item);
            }
        };
        for (thread, position) in self.entering.iter().enumerate() {
            show(thread, position.look.filter(|_| position.state != State::Absent).map(entering));
        }
        for (thread, position) in self.entering.iter().enumerate() {
            show(thread, position.created);
        }
        for (thread, position) in self.entering.iter().enumerate() {
            show(thread, position.awaits.map(ItemKind::Await));
            show(thread, Some(position.state).filter(|&state| state != State::Absent).map(ItemKind::State));
        }
    }

    /// Where threads that ran since they were seen last are seen next, at the end of the phase.
    fn leave(&self, has_work: &[bool], visit: &mut dyn FnMut(&Item)) {
        let Some(to) = self.to else { return };
        for (index, _) in has_work.iter().enumerate().filter(|&(_, &has_work)| has_work) {
            let Some(look) = self.after.get(index).copied().flatten() else { continue };
            let item = Item { time: to, thread: ThreadId::from_index(index), what: leaving(look) };
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
        let mut take = |item: &Item| {
            let Some(translated) = self.translated(item) else { return };
            let index = item.thread.index();
            match item.what {
                ItemKind::State(state) => {
                    is_on_cpu[index] = state.is_on_cpu();
                    has_work[index] |= state.is_on_cpu();
                }
                ItemKind::Observe { .. } => has_work[index] = is_on_cpu[index],
                ItemKind::Await(_)
                | ItemKind::Held(_)
                | ItemKind::Written { .. }
                | ItemKind::Depend { .. }
                | ItemKind::Release(_)
                | ItemKind::Acquire(_) => {}
            }
            visit(&translated);
        };
        match &self.items {
            Some(items) => items.iter().for_each(take),
            None => self.whole.for_each(&mut |item| {
                if is_within(item, self.from, self.to) {
                    take(item);
                }
            })?,
        }
        self.leave(&has_work, visit);
        Ok(())
    }

    fn placements(&self) -> Result<Vec<Placement>, Self::Error> {
        let mut placements = self.whole.placements()?;
        placements.retain_mut(|placement| {
            let is_before_end = self.to.is_none_or(|to| placement.time < to);
            let Some(thread) = self.id(placement.thread).filter(|_| is_before_end) else { return false };
            placement.thread = thread;
            placement.time = Time::from_nanoseconds(placement.time.since(self.from));
            true
        });
        Ok(placements)
    }
}

/// Where a thread was seen before the phase, as the phase's begin has it.
fn entering((path, kind): PathSighting) -> ItemKind {
    let kind =
        if kind == ObservationKind::Boundary { ObservationKind::Boundary } else { ObservationKind::Site };
    ItemKind::Observe { path, kind }
}

/// Where a thread is seen after the phase, as the phase's end has it: only a boundary says something of the time before.
fn leaving((path, kind): PathSighting) -> ItemKind {
    let kind =
        if kind == ObservationKind::Boundary { ObservationKind::Boundary } else { ObservationKind::Estimate };
    ItemKind::Observe { path, kind }
}

/// Whether the item is of the part of the run from `from` to `to`.
fn is_within(item: &Item, from: Time, to: Option<Time>) -> bool {
    item.time >= from && to.is_none_or(|to| item.time < to)
}

/// Keeps one item more; none of them where that would be more than `most`.
fn keep(items: &mut Option<Vec<Item>>, item: &Item, most: usize) {
    if items.as_ref().is_some_and(|items| items.len() >= most) {
        *items = None;
    }
    if let Some(items) = items {
        items.push(*item);
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
    let passes = timelines.paths().leads_through(|of_path| of_path == procedure);
    let mut span: Option<(Time, Time)> = None;
    timelines.for_each(&mut |item| {
        if let ItemKind::Observe { path, .. } = item.what
            && passes.get(path.0 as usize) == Some(&true)
        {
            span = Some((span.map_or(item.time, |(first, _)| first), item.time));
        }
    })?;
    Ok(span)
}
