//! What the program itself marked: regions, tasks, instrumented procedures.
//!
//! ```text
//!   events   Enter(r) at main → foo        Leave         a region's paths go on from where it was entered,
//!   paths    main → foo | … → r | … → r → bar | main → foo
//!
//!   events   Spawn(7) at main → plan       on another thread: Enter(task) at run_pool → next_job, task 7
//!   paths    main → plan                   main → plan → task → work       a task's from where it was made
//! ```
//! Where a thread is when it enters or leaves is known exactly, and is an observation. A task that makes others of its
//! own name has their work too, so that chains of tasks have no end of paths.

use longpole_event::{FrameId, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::{StackReason, Transitions};
use crate::observer::{Observer, ReplayAnomaly};
use crate::path_cache::{OuterPart, Prefix, PrefixId};
use crate::paths::{PathId, Paths, PlaceId};
use crate::timeline::{DependenceKind, ItemKind, ObservationKind};

/// Marks that a thread can be in at a time; further ones are passed over.
const DEEPEST: usize = 4096;
/// Tasks that are remembered; those that nothing was heard of for so many others are forgotten.
const MOST_TASKS: usize = 1 << 19;

/// What a thread has entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    /// The thread's prefix before.
    outer: PrefixId,
    /// Where it was entered, where that is known.
    at: Option<PathId>,
    /// Its own path.
    path: PathId,
    /// In the place of what part of stacks its path stands.
    beneath: OuterPart,
    /// Entered while there was no room for more, and not left: so many.
    passed_over: u32,
}

/// Where a task was made.
#[derive(Clone, Copy, Debug)]
struct TaskCreation {
    path: PathId,
    thread: ThreadId,
    time: Time,
    has_begun: bool,
}

/// Tasks by key, in two generations.
#[derive(Debug, Default)]
pub(super) struct Spawned {
    young: FxHashMap<u64, TaskCreation>,
    old: FxHashMap<u64, TaskCreation>,
}

impl Spawned {
    fn insert(&mut self, task: u64, making: TaskCreation) {
        if self.young.len() >= MOST_TASKS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(task, making);
    }

    /// Where the task was made, and whether it begins for the first time.
    fn begin(&mut self, task: u64) -> Option<TaskCreation> {
        let making = self.young.remove(&task).or_else(|| self.old.remove(&task))?;
        self.insert(task, TaskCreation { has_begun: true, ..making });
        Some(making)
    }
}

impl Transitions<'_> {
    /// The thread enters a region, a task or an instrumented procedure.
    pub(super) fn enter_mark(
        &mut self,
        thread: ThreadId,
        time: Time,
        (frame, stack, task): (FrameId, Option<StackId>, Option<u64>),
        observer: &mut impl Observer,
    ) {
        let Some(place) = self.sources.stacks.names().outermost(frame) else {
            observer.count(ReplayAnomaly::Contradiction);
            return;
        };
        self.speak(thread, time, observer);
        let live = &mut self.threads[thread.index()];
        if live.entered.len() >= DEEPEST {
            let last = live.entered.last_mut().expect("there are so many");
            last.passed_over += 1;
            return;
        }
        let (outer, before) = (live.prefix, live.entered.last().copied());
        let stack = self.sources.stacks.checked(stack);
        let at = match (stack, before) {
            (Some(_), _) => Some(self.observe(thread, time, (stack, StackReason::Acting), observer)),
            (None, Some(before)) => Some(self.known(thread, time, before.path, observer)),
            (None, None) => None,
        };
        let caller = at.unwrap_or_else(|| observer.prefix_path(outer));
        let making = task.and_then(|task| self.spawned.begin(task));
        let path = match (making, task) {
            (Some(making), _) => task_path(making.path, place, observer),
            (None, Some(_)) => task_path(caller, place, observer),
            (None, None) => called(caller, place, observer),
        };
        let beneath = self.beneath((place, stack, before), observer);
        let prefix = observer.prefix(Prefix { path, outer: Some(outer), beneath });
        let live = &mut self.threads[thread.index()];
        live.prefix = prefix;
        live.entered.push(Entered { outer, at, path, beneath, passed_over: 0 });
        self.begun(thread, time, making, observer);
        self.known(thread, time, path, observer);
    }

    /// In the place of what part of stacks the path stands of what was entered there, after what was entered before.
    fn beneath(
        &self,
        (place, stack, before): (PlaceId, Option<StackId>, Option<Entered>),
        observer: &impl Observer,
    ) -> OuterPart {
        let procedure = observer.paths().all_places()[place.0 as usize].procedure;
        let is_region = observer.paths().procedure_named_by(procedure).is_region();
        match stack {
            _ if !is_region => OuterPart::Procedure(procedure),
            Some(stack) => {
                let (node, dropped) = self.sources.stacks.own_part(stack);
                OuterPart::Stack(node, dropped)
            }
            None => before.map_or(OuterPart::Nothing, |before| before.beneath),
        }
    }

    /// The thread leaves what it entered last.
    pub(super) fn leave_mark(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let live = &mut self.threads[thread.index()];
        // What was entered before the recording began is left unseen.
        let Some(last) = live.entered.last_mut() else { return };
        if last.passed_over > 0 {
            last.passed_over -= 1;
            return;
        }
        let Entered { outer, at, path, .. } = *last;
        self.speak(thread, time, observer);
        self.known(thread, time, path, observer);
        at.map(|at| self.known(thread, time, at, observer));
        let live = &mut self.threads[thread.index()];
        live.entered.pop();
        live.prefix = outer;
    }

    /// The thread makes a task.
    pub(super) fn spawn(
        &mut self,
        thread: ThreadId,
        time: Time,
        (task, stack): (u64, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        let live = &self.threads[thread.index()];
        let path = match (stack, live.entered.last()) {
            (Some(_), _) if live.state.is_on_cpu() => {
                self.observe(thread, time, (stack, StackReason::Acting), observer)
            }
            (_, Some(entered)) => entered.path,
            _ => live.path,
        };
        self.spawned.insert(task, TaskCreation { path, thread, time, has_begun: false });
    }

    /// A task that runs for the first time was enabled by the thread that made it.
    fn begun(
        &mut self,
        thread: ThreadId,
        time: Time,
        making: Option<TaskCreation>,
        observer: &mut impl Observer,
    ) {
        let Some(TaskCreation { thread: maker, time: made, has_begun: false, .. }) = making else { return };
        if maker != thread {
            let (source, kind) = (self.global(maker), DependenceKind::Spawn);
            self.emit(thread, time, ItemKind::Depend { source, source_time: made, kind }, observer);
        }
    }

    /// The thread is at this path now, by its own word.
    fn known(&mut self, thread: ThreadId, time: Time, path: PathId, observer: &mut impl Observer) -> PathId {
        observer.accounted(thread, time);
        observer.told();
        let live = &mut self.threads[thread.index()];
        live.observed = true;
        live.path = path;
        self.show_worked(thread, time, path, observer);
        self.look(thread, time, (path, ObservationKind::Boundary), observer);
        path
    }
}

/// The path of what was entered at `caller`; a procedure that calls itself stays where it is.
fn called(caller: PathId, place: PlaceId, observer: &mut impl Observer) -> PathId {
    let is_recursion = observer.paths().innermost_id(caller) == Some(place);
    if is_recursion { caller } else { observer.call(caller, place) }
}

/// The path of a task that was made at `maker`: where a task of the name is on that path already, it is that one's.
fn task_path(maker: PathId, place: PlaceId, observer: &mut impl Observer) -> PathId {
    let paths = observer.paths();
    let mut outwards = std::iter::successors(Some(maker), |&path| paths.caller(path));
    let known = outwards.find(|&path| path != Paths::ROOT && paths.innermost_id(path) == Some(place));
    known.unwrap_or_else(|| observer.call(maker, place))
}
