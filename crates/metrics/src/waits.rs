//! Every wait explained (metrics.md §6; C §2.1, §3.2).
//!
//! A wait of A that B ended is explained by the difference of their paths since they last synchronised:
//!
//! ```text
//!   A  ●WWWbbbbbbb          both ran W for 3: that is cancelled
//!   B  ●WWWWWWWXXX          positive side: W 4, X 3      negative side: none      A waited 7
//! ```
//! Waits for what somebody holds (locks, semaphores) are explained by what the holders did from the request to the
//! hand-over, one holder after the other. Waits for devices, pages and timers are their own explanation, and so are
//! waits of which nobody is known to have ended them, busy-waiting among them; but those for the lock of an interpreter, which their
//! time limit ends, are explained by its holder. A spin that a thread told of is a wait for
//! what it told, from there to where it goes on, whether it blocks in between or not. In the explanation *to the roots* the
//! waits on both paths are replaced by their own explanations, which are known, for they ended earlier; so the path of a
//! thread that waited becomes the path of those it waited for. Each explanation, the positive side less the negative one,
//! adds up to the wait.
//!
//! **Last common synchronisation** of A and B: the latest time at which one of them released (or created) the other, or
//! at which a third thread released both in one act; the latest is the one whose earlier end is the latest. Without
//! any, threads created by the same thread are compared from their creations, and others from when both were there.
//!
//! Work that nobody has looked at yet when a wait ends counts as where its thread was seen last.
//!
//! **Time.** A step of the past is looked at once for each wait that it explains. In a program that synchronises
//! round by round the stretches between synchronisations do not overlap, so each step is looked at once as the waiting
//! thread's, and once for all those that waited for its thread, however many: they share its profile. Where that is not so (a thread that waits again and again for others that it never met), each
//! step that is made lets 4 be looked at, and an explanation for which that does not suffice is made from the last 32
//! steps: so the time is linear in the items, whatever the program does. **Memory**: per live thread 1,024
//! steps (fewer if more than 1,024 threads are alive, 131,072 of all threads together if fewer than 128 are) and 64 releases; 10,000 classes of waits, and beside them one for each place and object; a million shares of steps in them, the
//! smaller ones of each put together (from 32 a class on). Waits come to their classes in a thread of its own
//! ([`merging`]): that takes as long as explaining them.
//!
//! It cannot see who held a lock between its free acquisition and its contended release (the last owner is
//! charged with all of the time), who ends a busy-wait that nobody told of, nor what a thread did before the steps that are kept.

mod class;
mod explanation;
mod forks;
mod history;
mod interpreters;
mod limits;
mod merging;
mod profile;
mod service_threads;
mod spare_waits;
mod step;
mod synchronisation;
mod verdict;

use std::collections::{BTreeSet, VecDeque};

use longpole_event::{ProcessId, ThreadId, Time};
use longpole_graph::{Dependence, Sweep};
use longpole_trace::{
    Acquisition, Cause, CodePlace, DependenceKind, Object, ObjectId, ObjectKind, Objects, ObservationKind,
    PathId, Paths, Program, State, TokenId, is_message_library,
};
use rustc_hash::FxHashMap;

use crate::analysis::By;
use crate::wait_ends::goes_on;
use class::{FinishedWait, WaitClassSubject};
pub use class::{Split, StepShare, WaitClass, WaitClassKind, WaitClassSource};
use explanation::{Explainer, WaitQuestion};
use forks::Forks;
use history::{History, OngoingWait, ReleaseAct, WaitRelease};
use interpreters::InterpreterLocks;
pub(crate) use limits::Limits;
use merging::ClassMerging;
pub use service_threads::service_threads;
use spare_waits::{SpareWaits, WaitPoint, is_for_work};
pub use step::{Category, GroupId, StepAction, StepId, StepTable, ThreadGroup, WaitStep};
pub use verdict::Unwanted;
use verdict::{is_most, unwanted};

/// All waits of a run, explained and merged.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Waits with the same explanation at the same place, in the order in which they were met.
    pub classes: Vec<WaitClass>,
    /// The steps that explanations are made of.
    pub steps: StepTable,
    /// The line of each procedure in which most of its time passed, by procedure; 0 where it is not known.
    pub lines: Vec<u32>,
    /// Explanations for which not all of the past was kept.
    pub cut: u64,
    /// Waits whose explanations are not told apart from others of their place.
    pub merged: u64,
}

impl Waits {
    /// Those at barriers, blocked.
    pub fn at_barriers(&self) -> impl Iterator<Item = &WaitClass> {
        self.classes.iter().filter(|class| class.kind == WaitClassKind::Blocked(Cause::Barrier))
    }

    /// Whether all steps that are named are there.
    pub(crate) fn is_sound(&self) -> bool {
        let shares =
            self.classes.iter().flat_map(|class| [&class.direct, &class.roots, &class.difference]).flatten();
        shares.into_iter().all(|share| self.steps.has(share.step))
    }
}

/// The sweep that explains.
pub(crate) struct Explanations<'a> {
    program: &'a Program,
    paths: &'a Paths,
    by: By,
    limits: Limits,
    steps: StepTable,
    threads: Vec<History>,
    alive: usize,
    ended: VecDeque<ThreadId>,
    explainer: Explainer,
    company: SpareWaits<FinishedWait>,
    forks: Forks,
    classes: ClassMerging,
    /// The first object of the same kind and name.
    names: Vec<ObjectId>,
    /// What threads wait for.
    kinds: Vec<ObjectKind>,
    interpreter_locks: InterpreterLocks,
    /// Processes that only start ranks.
    launchers: BTreeSet<ProcessId>,
    /// Whether each thread is one that a runtime has for itself.
    services: Vec<bool>,
    /// Time by place.
    place_times: Vec<u64>,
    #[cfg(test)]
    log: Vec<tests::Logged>,
}

impl<'a> Explanations<'a> {
    pub(crate) fn new(
        program: &'a Program,
        paths: &'a Paths,
        objects: &Objects,
        (by, limits): (By, Limits),
    ) -> Self {
        let mut first: FxHashMap<&Object, ObjectId> = FxHashMap::default();
        let name = |(index, object)| *first.entry(object).or_insert(ObjectId(index as u32));
        Explanations {
            program,
            paths,
            by,
            limits,
            steps: StepTable::default(),
            threads: Vec::new(),
            alive: 0,
            ended: VecDeque::new(),
            explainer: Explainer::new(limits),
            company: SpareWaits::default(),
            forks: Forks::default(),
            classes: ClassMerging::new(limits),
            names: objects.all().iter().enumerate().map(name).collect(),
            kinds: objects.all().iter().map(|object| object.kind).collect(),
            interpreter_locks: InterpreterLocks::default(),
            launchers: program.launchers(),
            services: service_threads(program, paths),
            place_times: vec![0; paths.all_places().len()],
            #[cfg(test)]
            log: Vec::new(),
        }
    }

    /// All waits, once the sweep is finished.
    pub(crate) fn into_waits(mut self) -> Waits {
        let mut most: Vec<(u64, u32)> = vec![(0, 0); self.paths.procedures().len()];
        for (&time, place) in self.place_times.iter().zip(self.paths.all_places()) {
            let best = &mut most[place.procedure.0 as usize];
            if time > best.0 {
                *best = (time, place.line);
            }
        }
        let classes = self.classes.into_classes(&mut self.steps);
        Waits {
            lines: most.into_iter().map(|(_, line)| line).collect(),
            cut: classes.cut,
            merged: classes.merged,
            classes: classes.into_classes(),
            steps: self.steps,
        }
    }

    fn scope(&self, path: PathId) -> Option<CodePlace> {
        let place = self.paths.innermost(path)?;
        Some(if self.by == By::Line { place } else { CodePlace { line: 0, ..place } })
    }

    /// The thread's history.
    fn know(&mut self, thread: ThreadId) {
        for index in self.threads.len()..=thread.index() {
            let prefix = self.program.threads.get(index).map_or(Paths::ROOT, |thread| thread.prefix);
            let scope = self.scope(prefix);
            self.threads.push(History::new(prefix, scope));
        }
    }

    fn steps_kept(&self) -> usize {
        self.limits.steps_of(self.alive)
    }

    fn subject(
        &self,
        thread: ThreadId,
        path: PathId,
        object: Option<ObjectId>,
        kind: WaitClassKind,
    ) -> WaitClassSubject {
        let program = self.program;
        let is_alike = |other: usize| {
            let other = ThreadId::from_index(other);
            match self.by {
                By::Process => {
                    program.threads[other.index()].process == program.threads[thread.index()].process
                }
                By::Machine => program.machine_of(other) == program.machine_of(thread),
                _ => true,
            }
        };
        let of = match self.by {
            By::Thread => Some(thread),
            By::Process | By::Machine => {
                (0..program.threads.len()).find(|&other| is_alike(other)).map(ThreadId::from_index)
            }
            _ => None,
        };
        let object = object.and_then(|object| self.names.get(object.index()).copied());
        WaitClassSubject {
            source: WaitClassSource { thread: of, place: self.paths.innermost_id(path), object },
            kind,
        }
    }

    /// The state as waits have it: who spins for an object by its own word waits as if it was blocked for that, up to
    /// where it runs or is woken. `None`: it waits on.
    fn told(&mut self, thread: ThreadId, before: State, state: State) -> Option<State> {
        let history = &mut self.threads[thread.index()];
        if history.is_told && history.object.is_none() && goes_on(before, state) {
            return None;
        }
        let object = history.object.filter(|_| state == State::Spinning);
        history.is_told = object.is_some();
        let cause = object.and_then(|object| self.kinds.get(object.index()).map(|kind| kind.cause()));
        Some(cause.map_or(state, State::Blocked))
    }

    /// A wait is over.
    fn finish_wait(&mut self, thread: ThreadId, now: u64, is_end: bool) {
        let history = &mut self.threads[thread.index()];
        let Some(pending) = history.pending.take() else { return };
        let OngoingWait { since, cause, object, .. } = pending;
        // Where it waits may have been seen after it began to.
        let path = history.path;
        let release = history.released.filter(|release| release.time == now);
        let by = release.or_else(|| self.held_by(thread, object, now));
        let question = WaitQuestion { thread, from: since, to: now, cause, release: by };
        let context = (&mut self.steps, self.program);
        let explained = self.explainer.explain(&question, &self.threads, context);
        // What others wait for is the request, not the write behind it, which was before.
        let roots = explained.roots.clone();
        let writers = std::mem::take(&mut self.threads[thread.index()].writers);
        let explained = if writers.is_empty() { explained } else { explained.by_writers(&writers) };
        #[cfg(test)]
        self.log.push(tests::Logged::new(&question, &explained, &self.steps));
        let subject = self.subject(thread, path, object, WaitClassKind::Blocked(cause));
        let is_over = !is_end || release.is_some();
        let surely = match is_over {
            true => unwanted(cause, release.is_some()),
            // Whoever wants a lock wants it: that nobody gave it back is what there is to say.
            false => Some(Unwanted::End).filter(|_| cause != Cause::Lock),
        };
        let surely = surely.or_else(|| self.serves_messages(thread).then_some(Unwanted::Outside));
        let is_service = self.services.get(thread.index()) == Some(&true) && cause != Cause::Lock;
        let surely = surely.or_else(|| is_service.then_some(Unwanted::Runtime));
        let time = now - since;
        let is_most_of_run = is_most(time, self.program.elapsed_nanoseconds);
        let finished = FinishedWait { thread, subject, count: 1, time, explained, surely, is_most_of_run };
        if let Some(lock) = self.interpreter_lock(object) {
            self.interpreter_locks.end_wait(lock, thread, release.is_some());
        }
        let post = self.post(thread, &pending);
        let decided = match post {
            Some(post) => self.company.leave(post, since, release.map(|release| release.act), finished),
            None => vec![(finished, false)],
        };
        self.add(decided);
        if now > since {
            self.threads[thread.index()].explain_last(roots);
        }
    }

    /// The object, if it is the lock of an interpreter.
    fn interpreter_lock(&self, object: Option<ObjectId>) -> Option<ObjectId> {
        object.filter(|object| self.kinds.get(object.index()) == Some(&ObjectKind::InterpreterLock))
    }

    /// The holder of an interpreter's lock, as if it had let the thread go on now: it has the lock, or had it until then.
    fn held_by(&self, thread: ThreadId, object: Option<ObjectId>, now: u64) -> Option<WaitRelease> {
        let lock = self.interpreter_lock(object)?;
        let source = self.interpreter_locks.holder(lock).filter(|&holder| holder != thread)?;
        self.threads[source.index()].pending.is_none().then_some(())?;
        let act = ReleaseAct { begin: now, source };
        Some(WaitRelease { act, source, source_time: now, time: now, object: None })
    }

    /// Whether the thread does nothing of the program: it is of a launcher of ranks, or one that a rank's library of messages has
    /// made for itself, in which no procedure of the program was ever seen.
    fn serves_messages(&self, thread: ThreadId) -> bool {
        let known = &self.program.threads[thread.index()];
        let process = self.program.process_of(thread);
        if process.rank.is_some() {
            let group = self.threads[thread.index()].group.map(|group| self.steps.group(group));
            return process.pid != known.tid
                && group.is_none_or(|group| {
                    is_message_library(&self.paths.procedure_named_by(group.start).module)
                });
        }
        self.launchers.contains(&known.process)
    }

    fn add(&mut self, decided: spare_waits::Decided<FinishedWait>) {
        for (mut finished, is_spare) in decided {
            if is_spare {
                finished.surely.get_or_insert(Unwanted::Spare);
            }
            let history = &mut self.threads[finished.thread.index()];
            let may_be_last = finished.is_most_of_run && history.pending.is_none() && !history.has_ended;
            if may_be_last && finished.surely.is_none() && history.last_wait.is_none() {
                history.last_wait = Some(Box::new(finished));
                continue;
            }
            let unwanted = finished.surely;
            self.classes.add(&finished, unwanted, &mut self.steps);
        }
    }

    /// The thread that waited for most of the run ends, or the run does.
    fn decide_last(&mut self, thread: ThreadId, unwanted: Option<Unwanted>) {
        if let Some(finished) = self.threads[thread.index()].last_wait.take() {
            self.classes.add(&finished, unwanted, &mut self.steps);
        }
    }

    /// Where the thread waits for work, if it may be that.
    fn post(&self, thread: ThreadId, pending: &OngoingWait) -> Option<WaitPoint> {
        let OngoingWait { cause, object, path, is_told, .. } = *pending;
        let process = self.program.threads.get(thread.index())?.process;
        // Where a told wait is may be seen only after it began; that it is for the same object has to do.
        let place = if is_told { None } else { Some(self.paths.innermost_id(path)?) };
        let group = self.threads[thread.index()].group?;
        // Threads that park, or wait at a channel, do so on an object of their own each.
        let object = object.filter(|_| !matches!(cause, Cause::Park | Cause::Message));
        let is_known = object.is_some() || matches!(cause, Cause::Park | Cause::Message);
        (is_known && is_for_work(cause)).then_some(WaitPoint { process, group, place, cause, object })
    }

    /// What the thread worked since the last look was on this path.
    fn see(&mut self, thread: ThreadId, now: u64, path: PathId) {
        let (ran, spun) = self.threads[thread.index()].unseen(now);
        if let Some(place) = self.paths.innermost_id(path) {
            self.place_times[place.0 as usize] += ran;
        }
        if spun == 0 {
            return;
        }
        let (group, scope) = (self.threads[thread.index()].group, self.scope(path));
        let step = self.steps.intern(group, Category::Spinning, scope);
        let length = spun as f64;
        let roots = history::Roots { entries: Box::new([(step, length)]), split: Split::unexplained(length) };
        let direct = vec![(step, length, 0.0)];
        let explained = explanation::Explained { direct, roots, is_cut: false, difference: None };
        let subject = self.subject(thread, path, None, WaitClassKind::Spinning);
        let count = std::mem::take(&mut self.threads[thread.index()].spins);
        let (surely, is_most_of_run) = (None, false);
        let finished = FinishedWait { thread, subject, count, time: spun, explained, surely, is_most_of_run };
        self.add(vec![(finished, false)]);
    }

    /// The thread has ended: its past is still needed for a while, by those who waited for that.
    fn bury(&mut self, thread: ThreadId) {
        self.ended.push_back(thread);
        if self.ended.len() > self.limits.ended
            && let Some(oldest) = self.ended.pop_front()
            && self.threads[oldest.index()].has_ended
        {
            self.threads[oldest.index()].forget();
        }
    }
}

fn category(state: State) -> Category {
    match state {
        State::Absent => Category::Absent,
        State::Running => Category::Running,
        State::Spinning => Category::Spinning,
        State::Overhead => Category::Overhead,
        State::Ready => Category::Ready,
        State::Blocked(cause) => Category::Blocked(cause),
    }
}

impl Sweep for Explanations<'_> {
    fn begin_wait(&mut self, thread: ThreadId, _time: Time, object: ObjectId) {
        self.know(thread);
        self.threads[thread.index()].object = Some(object);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        self.know(thread);
        if state == State::Absent {
            self.settle(thread);
        }
        let Some(state) = self.told(thread, before, state) else { return };
        let now = time.nanoseconds();
        self.finish_wait(thread, now, state == State::Absent);
        if state == State::Absent {
            self.decide_last(thread, Some(Unwanted::End));
        }
        self.explainer.earn();
        let kept = self.steps_kept();
        let history = &mut self.threads[thread.index()];
        history.begin_piece(time, category(state), &mut self.steps, kept);
        history.end_act();
        history.spins += u64::from(state == State::Spinning);
        history.has_ended = state == State::Absent;
        let object = history.object.take();
        if let State::Blocked(cause) = state {
            let (path, is_told) = (history.path, history.is_told);
            let pending = OngoingWait { since: now, cause, object, path, is_told };
            history.pending = Some(pending);
            if let Some(lock) = self.interpreter_lock(object) {
                let is_waiting = |other: ThreadId| self.threads[other.index()].pending.is_some();
                self.interpreter_locks.begin_wait(lock, thread, is_waiting);
            }
            if let Some(post) = self.post(thread, &pending) {
                self.company.join(post, now);
            }
        }
        match (before, state) {
            (State::Absent, _) => self.alive += 1,
            (_, State::Absent) => {
                self.alive = self.alive.saturating_sub(1);
                self.bury(thread);
            }
            _ => {}
        }
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, kind: ObservationKind) {
        self.know(thread);
        // An estimate is where other threads were seen: it does not tell how this one starts.
        if self.threads[thread.index()].group.is_none() && kind != ObservationKind::Estimate {
            let group = self.steps.group_at(thread, path, (self.program, self.paths));
            self.threads[thread.index()].group = group;
        }
        let now = time.nanoseconds();
        self.see(thread, now, path);
        let (scope, kept) = (self.scope(path), self.steps_kept());
        let history = &mut self.threads[thread.index()];
        if history.path != path {
            history.path = path;
            history.end_act();
        }
        history.look(now, scope, &mut self.steps, kept);
        if history.is_told {
            history.rescope(&mut self.steps);
        }
        self.explainer.earn();
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, object, .. } = dependence;
        if source == thread {
            return;
        }
        self.know(source.max(thread));
        if dependence.kind == DependenceKind::Create {
            self.fork(source, thread);
        }
        if dependence.kind == DependenceKind::Join {
            self.join_ended(thread, source, source_time.nanoseconds());
        }
        let source_time = source_time.nanoseconds();
        let act = self.threads[source.index()].release(source, source_time, self.limits.tolerance);
        let release = WaitRelease { act, source, source_time, time: time.nanoseconds(), object };
        self.threads[thread.index()].receive(release, self.limits.releases);
    }

    fn written(&mut self, thread: ThreadId, _time: Time, writer: ThreadId, path: PathId) {
        self.know(writer.max(thread));
        let (group, scope) = (self.threads[writer.index()].group, self.scope(path));
        let step = self.steps.intern(group, Category::Written, scope);
        self.threads[thread.index()].writers.push(step);
    }

    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        self.know(thread);
        self.may_end(thread, time, token);
    }

    fn acquire(&mut self, thread: ThreadId, _time: Time, acquisition: Acquisition) {
        self.know(thread);
        self.join(thread, acquisition);
    }

    fn finish(&mut self, end: Time) {
        let now = end.nanoseconds();
        for index in 0..self.threads.len() {
            self.settle(ThreadId::from_index(index));
        }
        for index in 0..self.threads.len() {
            let thread = ThreadId::from_index(index);
            self.finish_wait(thread, now, true);
            let path = self.threads[index].path;
            self.see(thread, now, path);
        }
        let undecided = self.company.finish();
        self.add(undecided);
        for index in 0..self.threads.len() {
            self.decide_last(ThreadId::from_index(index), None);
        }
    }
}

#[cfg(test)]
mod tests;
