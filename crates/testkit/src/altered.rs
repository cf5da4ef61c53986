//! Longest paths with altered weights, slowly: all threads step by step through time, one set of weights at a time.
//!
//! Nothing here is shared with the sweeps, which carry many sets of weights at once and know of work only when it is
//! observed. Here the weight of a tick is asked for as the tick passes, and the whole past is kept.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{Acquisition, Item, ItemKind, ObjectId, PathId, State, TokenId};

use crate::memory::MemoryTimelines;
use crate::oracle::{path_of_work, state_in};

/// What part of work and of waits stays.
pub struct Altered<'a> {
    /// Ready time, busy-waiting and unexplained waits have weight too.
    pub elapsed: bool,
    /// Factor of the work in a tick of a thread that is charged to a path.
    pub work: &'a dyn Fn(ThreadId, PathId, u64) -> f64,
    /// Factor of waits for an object.
    pub object: &'a dyn Fn(ObjectId) -> f64,
}

/// A thread at the end of an instant: as recorded, and altered.
#[derive(Clone, Copy, Default)]
struct Reached {
    begun: bool,
    base: f64,
    altered: f64,
}

struct AlteredReplay<'a> {
    made: &'a MemoryTimelines,
    altered: &'a Altered<'a>,
    now: Vec<Reached>,
    states: Vec<State>,
    /// Who is about to wait for an object, who spins by its own word, and who spins.
    awaits: Vec<bool>,
    told: Vec<bool>,
    spins: Vec<bool>,
    ended: Vec<bool>,
    objects: Vec<Option<ObjectId>>,
    /// The furthest of all releases of each token.
    tokens: BTreeMap<TokenId, Reached>,
    /// Of all instants before.
    past: Vec<Vec<Reached>>,
    /// Longest at any end of a thread.
    best: (f64, f64),
}

/// By how much the longest path becomes shorter.
#[must_use]
pub fn gain(made: &MemoryTimelines, altered: &Altered<'_>) -> f64 {
    let threads = made.program.threads.len();
    let mut clock = AlteredReplay {
        made,
        altered,
        now: vec![Reached::default(); threads],
        states: vec![State::Absent; threads],
        awaits: vec![false; threads],
        told: vec![false; threads],
        spins: vec![false; threads],
        ended: vec![false; threads],
        objects: vec![None; threads],
        tokens: BTreeMap::new(),
        past: Vec::new(),
        best: (0.0, 0.0),
    };
    let end = made.program.elapsed_nanoseconds;
    for tick in 0..=end {
        for item in made.items.iter().filter(|item| item.time.nanoseconds() == tick) {
            clock.step(item);
        }
        clock.past.push(clock.now.clone());
        if tick < end {
            clock.pass(tick);
        }
    }
    for thread in 0..threads {
        if clock.now[thread].begun && !clock.ended[thread] {
            clock.end(thread);
        }
    }
    clock.best.0 - clock.best.1
}

impl AlteredReplay<'_> {
    fn end(&mut self, thread: usize) {
        let Reached { base, altered, .. } = self.now[thread];
        self.best = (self.best.0.max(base), self.best.1.max(altered));
    }

    fn pass(&mut self, tick: u64) {
        for (index, reached) in self.now.iter_mut().enumerate() {
            let thread = ThreadId::from_index(index);
            if self.spins[index] {
                continue;
            }
            match state_in(self.made, thread, tick) {
                State::Running => {
                    let path = path_of_work(self.made, thread, tick);
                    reached.base += 1.0;
                    reached.altered += (self.altered.work)(thread, path, tick);
                }
                State::Ready | State::Spinning | State::Overhead if self.altered.elapsed => {
                    reached.base += 1.0;
                    reached.altered += 1.0;
                }
                _ => {}
            }
        }
    }

    fn step(&mut self, item: &Item) {
        let index = item.thread.index();
        match item.what {
            ItemKind::Observe { .. } | ItemKind::Held(_) | ItemKind::Written { .. } => {}
            ItemKind::Release(token) => self.release(index, token),
            ItemKind::Acquire(acquisition) => self.acquire(index, acquisition),
            ItemKind::Await(object) => {
                self.objects[index] = Some(object);
                self.awaits[index] = true;
            }
            ItemKind::State(state) => {
                let before = std::mem::replace(&mut self.states[index], state);
                let awaits = std::mem::take(&mut self.awaits[index]);
                // It waits by its own word, and nothing has ended that.
                let waits_on = self.told[index]
                    && !awaits
                    && matches!(before, State::Spinning | State::Ready)
                    && matches!(state, State::Spinning | State::Ready | State::Blocked(_));
                self.told[index] = waits_on || (awaits && state == State::Spinning);
                let spun = std::mem::replace(&mut self.spins[index], waits_on || state == State::Spinning);
                let is_over = match before {
                    _ if waits_on => false,
                    _ if spun => state != State::Absent,
                    State::Absent => true,
                    State::Blocked(_) => state != State::Absent,
                    _ => false,
                };
                let reached = &mut self.now[index];
                reached.begun = true;
                if self.altered.elapsed && is_over {
                    reached.altered += item.time.nanoseconds() as f64 - reached.base;
                    reached.base = item.time.nanoseconds() as f64;
                }
                let goes_on = match state {
                    State::Blocked(_) => true,
                    State::Spinning => !matches!(before, State::Blocked(_)),
                    State::Ready => before == State::Spinning,
                    State::Running | State::Overhead | State::Absent => false,
                };
                if !goes_on {
                    self.objects[index] = None;
                }
                self.ended[index] = state == State::Absent;
                if state == State::Absent {
                    self.end(index);
                }
            }
            ItemKind::Depend { source, source_time, .. } => {
                let (left, now) = (source_time.nanoseconds(), item.time.nanoseconds());
                let from = if left < now {
                    self.past[left as usize][source.index()]
                } else {
                    self.now[source.index()]
                };
                if source == item.thread || !from.begun || self.ended[index] {
                    return;
                }
                self.depend(index, from, (now - left) as f64, now as f64);
            }
        }
    }

    fn release(&mut self, index: usize, token: TokenId) {
        let Reached { base, altered, .. } = self.now[index];
        let released = self.tokens.entry(token).or_default();
        released.base = released.base.max(base);
        released.altered = released.altered.max(altered);
    }

    fn acquire(&mut self, index: usize, acquisition: Acquisition) {
        let Some(&from) = self.tokens.get(&acquisition.token).filter(|_| !self.ended[index]) else { return };
        let factor = acquisition.object.map_or(1.0, |object| (self.altered.object)(object));
        let reached = &mut self.now[index];
        reached.altered += factor * (from.altered - reached.altered).max(0.0);
        if !self.altered.elapsed {
            reached.base = reached.base.max(from.base);
        }
    }

    fn depend(&mut self, index: usize, from: Reached, way: f64, now: f64) {
        let factor = self.objects[index].map_or(1.0, |object| (self.altered.object)(object));
        let reached = &mut self.now[index];
        let stays = |own: f64, offered: f64| own + factor * (offered - own).max(0.0);
        if !self.altered.elapsed {
            reached.altered = stays(reached.altered, from.altered);
            reached.base = reached.base.max(from.base);
            return;
        }
        let waits = self.spins[index]
            || matches!(self.states[index], State::Absent | State::Blocked(_) | State::Spinning);
        if waits && from.base + way >= now {
            reached.altered = stays(reached.altered, from.altered + way);
            reached.base = from.base + way;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::draw;
    use crate::oracle::{critical_path_length, longest_path};
    use crate::random_timelines;
    use proptest::prelude::*;

    #[test]
    fn half_the_work_of_one_thread_shortens_the_path_to_the_other_s() {
        // Work 8 at half is 4; then the longest path is T2's 6.
        let made = draw("T1 AAAAAAAA\nT2 BBBBBB");
        let first = made.thread("T1");
        let work = |thread, _, _| if thread == first { 0.5 } else { 1.0 };
        assert_eq!(gain(&made, &Altered { elapsed: false, work: &work, object: &|_| 1.0 }), 2.0);
    }

    proptest! {
        #[test]
        fn it_finds_what_following_every_path_finds(made in random_timelines(4, 30), left_out in 0..4_u32) {
            let stays = |_: ThreadId, path: PathId| path.0 % 4 != left_out;
            let altered = Altered {
                elapsed: false,
                work: &|thread, path, _| if stays(thread, path) { 1.0 } else { 0.0 },
                object: &|_| 1.0,
            };
            let shorter = longest_path(&made, &|thread, tick| stays(thread, path_of_work(&made, thread, tick)));
            prop_assert_eq!(gain(&made, &altered), (critical_path_length(&made) - shorter) as f64);
        }
    }
}
