//! Explanations of waits, slowly: tick by tick, from the items alone (metrics.md §6).
//!
//! Nothing here is shared with the sweep. Every wait looks at all items before its end again; amounts are kept per deed, with the
//! positive side less the negative one, so who did a step is not told.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{Cause, ItemKind, ObjectId, PathId, Paths, ProcedureId, State};

use crate::memory::MemoryTimelines;

/// What was done and in which procedure.
pub type ExplainedAction = (String, Option<ProcedureId>);

/// A wait with its explanation.
#[derive(Clone, Debug)]
pub struct ExplainedWait {
    /// Who waited.
    pub thread: ThreadId,
    /// From when.
    pub from: u64,
    /// To when.
    pub to: u64,
    /// What explains it, directly.
    pub direct: BTreeMap<ExplainedAction, f64>,
    /// What explains it, to the roots.
    pub roots: BTreeMap<ExplainedAction, f64>,
}

/// All waits that take any time, in the order of their ends.
#[must_use]
pub fn explained_waits(made: &MemoryTimelines) -> Vec<ExplainedWait> {
    let mut explained = Vec::new();
    for (at, item) in made.items.iter().enumerate() {
        if matches!(item.what, ItemKind::State(_)) {
            explain(made, (item.thread, at, item.time.nanoseconds()), &mut explained);
        }
    }
    for thread in 0..made.program.threads.len() {
        let end = (ThreadId::from_index(thread), made.items.len(), made.program.elapsed_nanoseconds);
        explain(made, end, &mut explained);
    }
    explained
}

/// A release of a thread.
#[derive(Clone, Copy, Debug)]
struct ExplainedRelease {
    thread: ThreadId,
    source: ThreadId,
    source_time: u64,
    time: u64,
    object: Option<ObjectId>,
}

/// The run up to an item.
struct KnownRun<'a> {
    made: &'a MemoryTimelines,
    /// Items that are known.
    items: usize,
    releases: Vec<ExplainedRelease>,
    explained: &'a [ExplainedWait],
}

fn explain(
    made: &MemoryTimelines,
    (thread, at, to): (ThreadId, usize, u64),
    explained: &mut Vec<ExplainedWait>,
) {
    let waits = WaitInterval::all(made, thread, at);
    let Some(&WaitInterval { cause, from, is_told, before, .. }) =
        waits.last().filter(|wait| wait.to.is_none())
    else {
        return;
    };
    if let (true, Some(item)) = (is_told, made.items.get(at))
        && let (ItemKind::State(state), Some(false)) = (item.what, waits.last().map(|wait| wait.awaits_next))
        && goes_on(before, state)
    {
        return;
    }
    if from == to {
        return;
    }
    let known = KnownRun { made, items: at, releases: releases(made, at), explained };
    let release = known.releases.iter().rfind(|release| release.thread == thread && release.time == to);
    let mut wait = ExplainedWait { thread, from, to, direct: BTreeMap::new(), roots: BTreeMap::new() };
    match (release, cause) {
        (None, _)
        | (
            _,
            Cause::Io
            | Cause::Delivery
            | Cause::PageFault
            | Cause::Request
            | Cause::Sleep
            | Cause::Timer
            | Cause::PollTimeout
            | Cause::PollingSleep
            | Cause::Stopped,
        ) => {
            known.by_itself(&mut wait, cause);
        }
        (Some(release), Cause::Lock | Cause::Semaphore | Cause::Kernel) => {
            known.by_holders(&mut wait, release)
        }
        (Some(release), _)
            if known.begin(release.source).is_some_and(|begin| begin <= release.source_time) =>
        {
            known.by_comparison(&mut wait, release);
            known.within_reason(&mut wait, release);
        }
        (Some(_), _) => known.by_itself(&mut wait, cause),
    }
    wait.direct.retain(|_, amount| amount.abs() > 1e-9);
    wait.roots.retain(|_, amount| amount.abs() > 1e-9);
    explained.push(wait);
}

/// A stretch of a thread in which it is blocked; or in which it waits by its own word: it spins, perhaps loses its
/// processor, and perhaps blocks then.
#[derive(Clone, Copy, Debug)]
struct WaitInterval {
    cause: Cause,
    from: u64,
    /// `None`: as far as is known it goes on.
    to: Option<u64>,
    is_told: bool,
    /// Where the thread was seen last in it, or before.
    path: PathId,
    /// Its last state.
    before: State,
    /// It is about to wait for something else.
    awaits_next: bool,
}

impl WaitInterval {
    /// Those of a thread up to an item.
    fn all(made: &MemoryTimelines, thread: ThreadId, items: usize) -> Vec<WaitInterval> {
        let mut path = made.program.threads[thread.index()].prefix;
        let (mut all, mut open): (Vec<WaitInterval>, Option<WaitInterval>) = (Vec::new(), None);
        let mut object = None;
        for item in made.items[..items].iter().filter(|item| item.thread == thread) {
            match item.what {
                ItemKind::Observe { path: seen, .. } => {
                    path = seen;
                    open.iter_mut().filter(|open| open.is_told).for_each(|open| open.path = seen);
                }
                ItemKind::Await(awaited) => {
                    object = Some(awaited);
                    open.iter_mut().for_each(|open| open.awaits_next = true);
                }
                ItemKind::State(state) => {
                    let now = item.time.nanoseconds();
                    if let Some(open) = &mut open
                        && open.is_told
                        && object.is_none()
                        && goes_on(open.before, state)
                    {
                        open.before = state;
                        continue;
                    }
                    all.extend(open.take().map(|open| WaitInterval { to: Some(now), ..open }));
                    let cause = match (state, object.take()) {
                        (State::Blocked(cause), _) => Some((cause, false)),
                        (State::Spinning, Some(object)) => {
                            Some((made.objects.get(object).kind.cause(), true))
                        }
                        _ => None,
                    };
                    open = cause.map(|(cause, is_told)| WaitInterval {
                        cause,
                        from: now,
                        to: None,
                        is_told,
                        path,
                        before: state,
                        awaits_next: false,
                    });
                }
                ItemKind::Held(_)
                | ItemKind::Written { .. }
                | ItemKind::Depend { .. }
                | ItemKind::Release(_)
                | ItemKind::Acquire(_) => {}
            }
        }
        all.extend(open);
        all
    }
}

/// Whether a wait by the thread's own word is not over in its new state.
fn goes_on(before: State, state: State) -> bool {
    matches!(before, State::Spinning | State::Ready)
        && matches!(state, State::Spinning | State::Ready | State::Blocked(_))
}

fn releases(made: &MemoryTimelines, items: usize) -> Vec<ExplainedRelease> {
    let mut objects: BTreeMap<ThreadId, ObjectId> = BTreeMap::new();
    let mut states: BTreeMap<ThreadId, State> = BTreeMap::new();
    let mut all = Vec::new();
    for item in &made.items[..items] {
        match item.what {
            ItemKind::Await(object) => drop(objects.insert(item.thread, object)),
            ItemKind::State(state) => {
                let before = states.insert(item.thread, state).unwrap_or(State::Absent);
                let keeps = match state {
                    State::Blocked(_) => true,
                    State::Spinning => !matches!(before, State::Blocked(_)),
                    State::Ready => before == State::Spinning,
                    _ => false,
                };
                if !keeps {
                    objects.remove(&item.thread);
                }
            }
            ItemKind::Depend { source, source_time, .. } if source != item.thread => {
                all.push(ExplainedRelease {
                    thread: item.thread,
                    source,
                    source_time: source_time.nanoseconds().min(item.time.nanoseconds()),
                    time: item.time.nanoseconds(),
                    object: objects.get(&item.thread).copied(),
                })
            }
            ItemKind::Depend { .. }
            | ItemKind::Observe { .. }
            | ItemKind::Held(_)
            | ItemKind::Written { .. }
            | ItemKind::Release(_)
            | ItemKind::Acquire(_) => {}
        }
    }
    all
}

impl KnownRun<'_> {
    fn begin(&self, thread: ThreadId) -> Option<u64> {
        let states = |what: &ItemKind| matches!(what, ItemKind::State(_));
        let first =
            self.made.items[..self.items].iter().find(|item| item.thread == thread && states(&item.what));
        first.map(|item| item.time.nanoseconds())
    }

    fn paths_seen(&self, thread: ThreadId) -> Vec<(u64, PathId)> {
        let mut seen = Vec::new();
        for item in self.made.items[..self.items].iter().filter(|item| item.thread == thread) {
            if let ItemKind::Observe { path, .. } = item.what {
                seen.push((item.time.nanoseconds(), path));
            }
        }
        seen
    }

    fn scope(&self, path: PathId) -> Option<ProcedureId> {
        (path != Paths::ROOT).then(|| self.made.paths.innermost(path).expect("not the root").procedure)
    }

    /// What the thread does in a tick, as far as is known.
    fn deed(&self, thread: ThreadId, tick: u64) -> ExplainedAction {
        let is_then =
            |wait: &&WaitInterval| wait.is_told && wait.from <= tick && wait.to.is_none_or(|to| tick < to);
        if let Some(wait) = WaitInterval::all(self.made, thread, self.items).iter().rev().find(is_then) {
            return (format!("{:?}", State::Blocked(wait.cause)), self.scope(wait.path));
        }
        let state = crate::oracle::state_in(self.made, thread, tick);
        let seen = self.paths_seen(thread);
        let last = seen.iter().rfind(|(time, _)| *time <= tick).map(|&(_, path)| path);
        let last = last.unwrap_or(self.made.program.threads[thread.index()].prefix);
        let path = match state {
            State::Running | State::Spinning | State::Overhead => {
                seen.iter().find(|(time, _)| *time > tick).map_or(last, |&(_, path)| path)
            }
            _ => last,
        };
        let what = if self.begin(thread).is_none_or(|begin| begin > tick) {
            "Rest".to_owned()
        } else {
            format!("{state:?}")
        };
        let has_scope = what != "Rest" && !matches!(state, State::Ready | State::Overhead);
        let scope = if has_scope { self.scope(path) } else { None };
        (what, scope)
    }

    /// Adds a part of a tick to the roots: what explains it, if it lies in a wait that is over.
    fn add_root(&self, wait: &mut ExplainedWait, (thread, tick): (ThreadId, u64), part: f64) {
        let over =
            self.explained.iter().find(|over| over.thread == thread && (over.from..over.to).contains(&tick));
        let Some(over) = over else {
            *wait.roots.entry(self.deed(thread, tick)).or_default() += part;
            return;
        };
        for (deed, amount) in &over.roots {
            *wait.roots.entry(deed.clone()).or_default() += part * amount / (over.to - over.from) as f64;
        }
    }

    fn add(&self, wait: &mut ExplainedWait, what: &str, amount: f64) {
        *wait.direct.entry((what.to_owned(), None)).or_default() += amount;
        *wait.roots.entry((what.to_owned(), None)).or_default() += amount;
    }

    fn by_itself(&self, wait: &mut ExplainedWait, cause: Cause) {
        let (_, scope) = self.deed(wait.thread, wait.from);
        let deed = (format!("{:?}", State::Blocked(cause)), scope);
        wait.direct.insert(deed.clone(), (wait.to - wait.from) as f64);
        wait.roots.insert(deed, (wait.to - wait.from) as f64);
    }

    fn by_comparison(&self, wait: &mut ExplainedWait, release: &ExplainedRelease) {
        let (own_from, other_from) = self.common(wait, release);
        let mut sides: BTreeMap<ExplainedAction, (f64, f64)> = BTreeMap::new();
        for tick in other_from..release.source_time {
            sides.entry(self.deed(release.source, tick)).or_default().0 += 1.0;
        }
        for tick in own_from..wait.from {
            sides.entry(self.deed(wait.thread, tick)).or_default().1 += 1.0;
        }
        for (deed, (positive, negative)) in sides {
            *wait.direct.entry(deed).or_default() += positive - negative;
        }
        for tick in other_from..release.source_time {
            self.add_root(wait, (release.source, tick), 1.0);
        }
        for tick in own_from..wait.from {
            self.add_root(wait, (wait.thread, tick), -1.0);
        }
        self.add(wait, "UnderWay", wait.to as f64 - release.source_time as f64);
        let explained: f64 = wait.direct.values().sum();
        self.add(wait, "Released", (wait.to - wait.from) as f64 - explained);
    }

    /// Sides of more than eight times the wait say nothing: then what the other did during the wait stands in their place.
    fn within_reason(&self, wait: &mut ExplainedWait, release: &ExplainedRelease) {
        let length = (wait.to - wait.from) as f64;
        let is_far = |side: &BTreeMap<ExplainedAction, f64>| {
            side.values().filter(|amount| **amount > 0.0).sum::<f64>() > 8.000_001 * length
        };
        let mut during = ExplainedWait { direct: BTreeMap::new(), roots: BTreeMap::new(), ..wait.clone() };
        self.by_holders(&mut during, &ExplainedRelease { object: None, ..*release });
        if is_far(&wait.direct) {
            wait.direct = during.direct;
        }
        if is_far(&wait.roots) {
            wait.roots = during.roots;
        }
        if is_far(&wait.roots) {
            wait.roots = wait.direct.clone();
        }
    }

    /// Where the compared paths begin: the last common synchronisation, else the creations, else the later begin.
    fn common(&self, wait: &ExplainedWait, release: &ExplainedRelease) -> (u64, u64) {
        let of = |thread: ThreadId| self.releases.iter().filter(move |release| release.thread == thread);
        let mut pairs: Vec<(u64, u64)> = Vec::new();
        for mine in of(wait.thread) {
            if mine.source == release.source {
                pairs.push((mine.time, mine.source_time));
            }
            for theirs in of(release.source) {
                if (mine.source, mine.source_time) == (theirs.source, theirs.source_time) {
                    pairs.push((mine.time, theirs.time));
                }
            }
        }
        for theirs in of(release.source).filter(|theirs| theirs.source == wait.thread) {
            pairs.push((theirs.source_time, theirs.time));
        }
        pairs.retain(|&(own, other)| own <= wait.from && other <= release.source_time);
        let latest = pairs.into_iter().max_by_key(|&(own, other)| (own.min(other), own.max(other), own));
        let creator = |thread: ThreadId| self.made.program.threads[thread.index()].creator;
        let begin = |thread: ThreadId| self.begin(thread).expect("a thread that did something began");
        let (own, other) = latest.unwrap_or_else(|| {
            let begins = (begin(wait.thread), begin(release.source));
            if creator(wait.thread).is_some() && creator(wait.thread) == creator(release.source) {
                begins
            } else {
                (begins.0.max(begins.1), begins.0.max(begins.1))
            }
        });
        (own.min(wait.from), other.min(release.source_time))
    }

    fn by_holders(&self, wait: &mut ExplainedWait, release: &ExplainedRelease) {
        let (mut holder, mut upper) = (release.source, release.source_time.max(wait.from));
        self.add(wait, "UnderWay", (wait.to - upper) as f64);
        while upper > wait.from {
            let handed = self.releases.iter().filter(|handed| {
                handed.thread == holder
                    && handed.object.is_some()
                    && handed.object == release.object
                    && handed.time < upper
            });
            let handed = handed.max_by_key(|handed| (handed.time, handed.source_time, handed.source));
            let since = handed.map_or(wait.from, |handed| handed.time.max(wait.from));
            for tick in since..upper {
                *wait.direct.entry(self.deed(holder, tick)).or_default() += 1.0;
                self.add_root(wait, (holder, tick), 1.0);
            }
            upper = since;
            if let Some(handed) = handed.filter(|handed| handed.time > wait.from) {
                upper = handed.source_time.max(wait.from);
                self.add(wait, "UnderWay", (since - upper) as f64);
                holder = handed.source;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::draw;

    #[test]
    fn a_wait_is_what_the_other_did_less_what_both_did() {
        let made = draw("T1 AAABBB\nT2 AACccc\nT1@6 -> T2 signal");
        let waits = explained_waits(&made);
        let shown: Vec<(String, f64)> = waits[0]
            .direct
            .iter()
            .map(|((_, procedure), &amount)| {
                (made.paths.procedure_named_by(procedure.expect("drawn")).name.clone(), amount)
            })
            .collect();
        // T1: A 3, B 3; T2: A 2, C 1.
        assert_eq!(shown, [("A".to_owned(), 1.0), ("C".to_owned(), -1.0), ("B".to_owned(), 3.0)]);
    }

    #[test]
    fn a_lock_is_explained_by_its_holders() {
        let made = draw("1 = mutex m\nT1 AA___\nT2 11B__\nT3 111C\nT1@2 -> T2 unlock\nT2@3 -> T3 unlock");
        let of_third = explained_waits(&made).pop().expect("two waits");
        assert_eq!(of_third.direct.values().copied().collect::<Vec<_>>(), [2.0, 1.0]);
    }
}
