//! The state table (metrics.md §3; Q table 1): how long each procedure, thread or object was in each state, and how
//! many threads were runnable and busy meanwhile.
//!
//! ```text
//!   T1  AAAA            A: running 4, N 2 all the time, U 1, 2, 1, 1
//!   T2  -B~~            B: ready 1 (U 1), running 1 (U 2), spinning 2 (U 1), always N 2
//! ```
//! Work goes to the observation after it and waits go to the one before, as everywhere; a procedure has both what was
//! charged to it and what was charged on its behalf. Of objects see [`crate::wanted`].
//!
//! Time: per item, the number of levels that occurred since the thread's item before. Memory: levels per (path or
//! thread, state); levels per live thread.
//!
//! It cannot see more than two numbers of the others: what they were doing is in the profile.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, ParallelismLevel, Sweep};
use longpole_trace::{Cause, CodePlace, ObservationKind, PathId, Paths, Program, State, stored};
use rustc_hash::FxHashMap;

use crate::analysis::{By, Node};
use crate::levels::{LevelTimes, SeenLevels};

/// What a row of the table is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// Running.
    Running,
    /// Spinning.
    Spinning,
    /// In the collector's code.
    Overhead,
    /// Ready.
    Ready,
    /// Blocked; of an object: a thread waits for it.
    Blocked(Cause),
    /// Of an object: one thread or more wait for it.
    Wanted,
}

impl Condition {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Condition::Running => "running",
            Condition::Spinning => "spinning",
            Condition::Overhead => "overhead",
            Condition::Ready => "ready",
            Condition::Blocked(_) => "blocked",
            Condition::Wanted => "wanted",
        }
    }

    fn of(state: State) -> Option<Condition> {
        Some(match state {
            State::Absent => return None,
            State::Running => Condition::Running,
            State::Spinning => Condition::Spinning,
            State::Overhead => Condition::Overhead,
            State::Ready => Condition::Ready,
            State::Blocked(cause) => Condition::Blocked(cause),
        })
    }
}

/// Time by level of parallelism, in the order of the levels; nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread(Vec<(u32, u64)>);

stored!(ids: Spread);

impl Spread {
    pub(crate) fn add(&mut self, level: u32, time: u64) {
        match self.0.binary_search_by_key(&level, |entry| entry.0) {
            Ok(at) => self.0[at].1 += time,
            Err(at) => self.0.insert(at, (level, time)),
        }
    }

    fn merge(&mut self, other: &Spread) {
        other.0.iter().for_each(|&(level, time)| self.add(level, time));
    }

    /// Levels that occurred, with their times.
    #[must_use]
    pub fn levels(&self) -> &[(u32, u64)] {
        &self.0
    }

    /// All time together.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.0.iter().map(|entry| entry.1).sum()
    }

    /// The mean level; 0 of no time.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let area: f64 = self.0.iter().map(|&(level, time)| f64::from(level) * time as f64).sum();
        match self.time() {
            0 => 0.0,
            time => area / time as f64,
        }
    }

    /// The level that was not exceeded for `share` (0 to 1) of the time; 0 of no time.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u32 {
        let wanted = share.clamp(0.0, 1.0) * self.time() as f64;
        let mut seen = 0;
        for &(level, time) in &self.0 {
            seen += time;
            if seen as f64 >= wanted {
                return level;
            }
        }
        0
    }
}

/// Time in one condition by the parallelism meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spreads {
    /// By N, threads that could run.
    pub nominal: Spread,
    /// By U, threads that were busy.
    pub effective: Spread,
}

impl Spreads {
    /// Adds what passed since these looks.
    pub(crate) fn look(&mut self, looks: &mut LevelsSeen, levels: &BothLevels, now: Time) {
        looks.nominal.catch_up(&levels.nominal, now, |level, time| self.nominal.add(level, time));
        looks.effective.catch_up(&levels.effective, now, |level, time| self.effective.add(level, time));
    }

    fn merge(&mut self, other: &Spreads) {
        self.nominal.merge(&other.nominal);
        self.effective.merge(&other.effective);
    }
}

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateRow {
    /// Charged to the node itself.
    pub own: BTreeMap<Condition, Spreads>,
    /// Charged on its behalf, its own included.
    pub inclusive: BTreeMap<Condition, Spreads>,
}

/// The state table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateTable {
    /// By node.
    pub rows: BTreeMap<Node, StateRow>,
}

/// Time by condition.
pub(crate) type ConditionTimes = BTreeMap<Condition, Spreads>;

fn merge(into: &mut ConditionTimes, from: &ConditionTimes) {
    for (condition, spreads) in from {
        into.entry(*condition).or_default().merge(spreads);
    }
}

/// How long the run has been at each N and at each U.
#[derive(Debug, Default)]
pub(crate) struct BothLevels {
    nominal: LevelTimes,
    effective: LevelTimes,
}

impl BothLevels {
    pub fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.nominal.pass(from, to, level.nominal);
        self.effective.pass(from, to, level.effective);
    }
}

/// What has been told of both levels.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelsSeen {
    nominal: SeenLevels,
    effective: SeenLevels,
}

impl LevelsSeen {
    /// Passes over what has been since the last look.
    pub fn skip(&mut self, levels: &BothLevels, now: Time) {
        self.nominal.catch_up(&levels.nominal, now, |_, _| {});
        self.effective.catch_up(&levels.effective, now, |_, _| {});
    }
}

/// Time by level since the last observation, of one condition.
#[derive(Clone, Debug, Default)]
struct PendingLevels {
    nominal: Vec<(u32, u64)>,
    effective: Vec<(u32, u64)>,
}

impl PendingLevels {
    fn look(&mut self, looks: &mut LevelsSeen, levels: &BothLevels, now: Time) {
        let add = |times: &mut Vec<(u32, u64)>, level, time| match times.last_mut() {
            Some((last, sum)) if *last == level => *sum += time,
            _ => times.push((level, time)),
        };
        looks.nominal.catch_up(&levels.nominal, now, |level, time| add(&mut self.nominal, level, time));
        looks.effective.catch_up(&levels.effective, now, |level, time| add(&mut self.effective, level, time));
    }

    fn settle(&mut self, account: &mut ConditionTimes, condition: Condition) {
        if self.nominal.is_empty() {
            return;
        }
        let spreads = account.entry(condition).or_default();
        self.nominal.drain(..).for_each(|(level, time)| spreads.nominal.add(level, time));
        self.effective.drain(..).for_each(|(level, time)| spreads.effective.add(level, time));
    }
}

#[derive(Clone, Debug)]
struct StateThread {
    looks: LevelsSeen,
    path: PathId,
    /// The account of the path; of the thread, process or machine, where rows are of those.
    account: Option<u32>,
    running: PendingLevels,
    spinning: PendingLevels,
    overhead: PendingLevels,
}

impl StateThread {
    fn at(path: PathId) -> StateThread {
        let (running, spinning, overhead) = Default::default();
        StateThread { looks: LevelsSeen::default(), path, account: None, running, spinning, overhead }
    }
}

/// The sweep of the state table of procedures, lines, threads, processes, machines.
#[derive(Debug)]
pub(crate) struct StateSweep {
    by: By,
    levels: BothLevels,
    per_thread: Vec<StateThread>,
    accounts: Vec<ConditionTimes>,
    /// Accounts of nodes that are not of paths.
    of_nodes: BTreeMap<Node, u32>,
    of_paths: FxHashMap<PathId, u32>,
}

impl StateSweep {
    pub fn new(program: &Program, by: By) -> Self {
        let mut watch = StateSweep {
            by,
            levels: BothLevels::default(),
            per_thread: program.threads.iter().map(|thread| StateThread::at(thread.prefix)).collect(),
            accounts: Vec::new(),
            of_nodes: BTreeMap::new(),
            of_paths: FxHashMap::default(),
        };
        for thread in (0..program.threads.len()).map(ThreadId::from_index) {
            let node = match by {
                By::Thread => Node::Thread(thread),
                By::Process => Node::Process(program.threads[thread.index()].process),
                By::Machine => Node::Machine(program.machine_of(thread)),
                By::Procedure | By::Line | By::Object | By::ProcessProcedure => continue,
            };
            let next = watch.accounts.len() as u32;
            let account = *watch.of_nodes.entry(node).or_insert(next);
            if account == next {
                watch.accounts.push(ConditionTimes::default());
            }
            watch.per_thread[thread.index()].account = Some(account);
        }
        watch
    }

    fn is_by_path(&self) -> bool {
        matches!(self.by, By::Procedure | By::Line)
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut StateThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, StateThread::at(Paths::ROOT));
        }
        &mut self.per_thread[thread.index()]
    }

    /// The account of where the thread is.
    fn account(&mut self, thread: ThreadId) -> usize {
        let StateThread { path, account, .. } = *self.of_thread(thread);
        if let Some(account) = account {
            return account as usize;
        }
        let next = self.accounts.len() as u32;
        let account = *self.of_paths.entry(path).or_insert(next);
        if account == next {
            self.accounts.push(ConditionTimes::default());
        }
        self.per_thread[thread.index()].account = Some(account);
        account as usize
    }

    fn settle(&mut self, thread: ThreadId) {
        let of_thread = self.of_thread(thread);
        let pending = [&of_thread.running, &of_thread.spinning, &of_thread.overhead];
        if pending.iter().all(|pending| pending.nominal.is_empty()) {
            return;
        }
        let account = self.account(thread);
        let (of_thread, account) = (&mut self.per_thread[thread.index()], &mut self.accounts[account]);
        of_thread.running.settle(account, Condition::Running);
        of_thread.spinning.settle(account, Condition::Spinning);
        of_thread.overhead.settle(account, Condition::Overhead);
    }

    /// The table, once the sweep is finished.
    pub fn into_states(mut self, paths: &Paths) -> StateTable {
        for thread in (0..self.per_thread.len()).map(ThreadId::from_index) {
            self.settle(thread);
        }
        let mut states = StateTable::default();
        for (node, account) in self.of_nodes {
            let own = std::mem::take(&mut self.accounts[account as usize]);
            states.rows.insert(node, StateRow { inclusive: own.clone(), own });
        }
        let by = self.by;
        let node = |place: CodePlace| match by {
            By::Line => Node::Line(place.procedure, place.line),
            _ => Node::Procedure(place.procedure),
        };
        let accounts = &mut self.accounts;
        let mut by_path: BTreeMap<PathId, ConditionTimes> = self
            .of_paths
            .into_iter()
            .map(|(path, account)| (path, std::mem::take(&mut accounts[account as usize])))
            .collect();
        for (path, account) in &by_path {
            if let Some(place) = paths.innermost(*path) {
                merge(&mut states.rows.entry(node(place)).or_default().own, account);
            }
        }
        // From the ends of the paths inwards: a path's number is larger than its caller's.
        while let Some((path, account)) = by_path.pop_last() {
            let (Some(place), Some(caller)) = (paths.innermost(path), paths.caller(path)) else { continue };
            if !paths.places_of(caller).any(|outer| node(outer) == node(place)) {
                merge(&mut states.rows.entry(node(place)).or_default().inclusive, &account);
            }
            merge(by_path.entry(caller).or_default(), &account);
        }
        states
    }
}

impl Sweep for StateSweep {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.levels.pass(from, to, level);
    }

    fn arc(&mut self, arc: Arc) {
        self.of_thread(arc.thread);
        let Some(condition) = Condition::of(arc.state) else { return };
        if arc.state.is_on_cpu() {
            let of_thread = &mut self.per_thread[arc.thread.index()];
            let pending = match condition {
                Condition::Running => &mut of_thread.running,
                Condition::Overhead => &mut of_thread.overhead,
                _ => &mut of_thread.spinning,
            };
            pending.look(&mut of_thread.looks, &self.levels, arc.to);
        } else {
            let account = self.account(arc.thread);
            let spreads = self.accounts[account].entry(condition).or_default();
            spreads.look(&mut self.per_thread[arc.thread.index()].looks, &self.levels, arc.to);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, _state: State) {
        if before == State::Absent {
            self.of_thread(thread);
            let looks = &mut self.per_thread[thread.index()].looks;
            *looks = LevelsSeen::default();
            looks.skip(&self.levels, time);
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, _: ObservationKind) {
        if !self.is_by_path() {
            return;
        }
        let of_thread = self.of_thread(thread);
        if of_thread.path != path {
            of_thread.path = path;
            of_thread.account = None;
        }
        self.settle(thread);
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, draw};

    use super::*;

    fn states(made: &MemoryTimelines, by: By) -> StateTable {
        let mut watch = StateSweep::new(&made.program, by);
        let Ok(()) = longpole_graph::sweep(made, false, &mut watch);
        watch.into_states(&made.paths)
    }

    fn of(text: &str, name: &str) -> StateRow {
        let made = draw(text);
        let rows = states(&made, By::Procedure).rows;
        rows.get(&Node::Procedure(made.procedure(name))).cloned().unwrap_or_default()
    }

    #[test]
    fn each_state_has_its_time_and_the_parallelism_meanwhile() {
        let text = "T1 AAAA\nT2 -B~~";
        let a = of(text, "A").own;
        assert_eq!(a[&Condition::Running].nominal.levels(), [(2, 4)]);
        assert_eq!(a[&Condition::Running].effective.levels(), [(1, 3), (2, 1)]);
        let b = of(text, "B").own;
        assert_eq!(b[&Condition::Running].effective.levels(), [(2, 1)]);
        assert_eq!(b[&Condition::Spinning].effective.levels(), [(1, 2)]);
        // It was ready before it was seen anywhere, so that belongs to no procedure.
        assert!(!b.contains_key(&Condition::Ready));
    }

    /// A is blocked for a lock for 3: beside nobody, then T2 alone, then T2 and T3.
    #[test]
    fn a_blocked_procedure_sees_how_many_others_run() {
        let a = of("T1 AlllA\nT2 __BBB\nT3 ___CC", "A").own;
        let blocked = &a[&Condition::Blocked(Cause::Lock)];
        assert_eq!(blocked.nominal.levels(), [(0, 1), (1, 1), (2, 1)]);
        assert!((blocked.nominal.mean() - 1.0).abs() < 1e-9);
        let quantiles = [0.1, 0.5, 0.9].map(|share| blocked.nominal.quantile(share));
        assert_eq!(quantiles, [0, 1, 2]);
    }

    #[test]
    fn what_is_done_on_behalf_is_inclusive() {
        let text = "A = main\nB = main > work\nT1 ABBl";
        let main = of(text, "main");
        assert_eq!(main.own[&Condition::Running].nominal.time(), 1);
        assert_eq!(main.inclusive[&Condition::Running].nominal.time(), 3);
        assert_eq!(main.inclusive[&Condition::Blocked(Cause::Lock)].nominal.levels(), [(0, 1)]);
    }

    #[test]
    fn a_thread_that_comes_back_is_not_charged_its_absence() {
        let made = draw("T1 AA__AA\nT2 BBBBBB");
        let rows = states(&made, By::Thread).rows;
        let first = &rows[&Node::Thread(made.thread("T1"))].own;
        assert_eq!(first[&Condition::Running].effective.levels(), [(2, 4)]);
    }
}
