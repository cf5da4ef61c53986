//! A thread's states over time, as columns, and the walk along them.
//!
//! ```text
//!   starts   0       5        9    12    …       the first state is absent, the last one goes on for ever
//!   states   absent  running  lock running
//!   sums     ·                                    after every 64 states: how long the thread has been in each
//! ```
//! Time: a walk over a stretch takes at most 64 steps at each of its ends and a search between them; constant
//! amortised time for each stretch where stretches are walked one after the other. Memory: 12 bytes per state, 12 per
//! observation, 3 per state for the sums.

use longpole_trace::{ObjectId, PathId, State};

use crate::code::{ABSENT, CODE_BITS, STATES, code, state};
use crate::search::last_from;

/// States between two sums.
const EVERY: usize = 64;

/// No object.
const NO_OBJECT: u32 = u32::MAX >> CODE_BITS;

/// A thread's states and observations.
#[derive(Clone, Debug)]
pub(crate) struct ThreadLane {
    starts: Vec<u64>,
    /// A state's number in the low bits, the object that is waited for above it.
    states: Vec<u32>,
    sums: Vec<[u64; STATES]>,
    /// Times of the observations.
    seen: Vec<u64>,
    paths: Vec<u32>,
}

impl Default for ThreadLane {
    fn default() -> Self {
        ThreadLane {
            starts: vec![0],
            states: vec![pack(ABSENT, NO_OBJECT)],
            sums: Vec::new(),
            seen: Vec::new(),
            paths: Vec::new(),
        }
    }
}

fn pack(code: usize, object: u32) -> u32 {
    object << CODE_BITS | code as u32
}

impl ThreadLane {
    /// The thread enters a state.
    pub fn enter(&mut self, time: u64, entered: State) {
        let packed = pack(code(entered), NO_OBJECT);
        match (self.starts.last(), self.states.last_mut()) {
            (Some(&start), Some(last)) if start == time => *last = packed,
            _ => {
                self.starts.push(time);
                self.states.push(packed);
            }
        }
    }

    /// What the thread waits for in the state that it is in; an object whose number is too large to keep is none.
    pub fn wait_for(&mut self, object: ObjectId) {
        if let Some(last) = self.states.last_mut().filter(|_| object.0 < NO_OBJECT) {
            *last = pack(*last as usize & ((1 << CODE_BITS) - 1), object.0);
        }
    }

    /// The thread is observed.
    pub fn observe(&mut self, time: u64, path: PathId) {
        self.seen.push(time);
        self.paths.push(path.0);
    }

    /// Makes the sums, once all states are there.
    pub fn finish(&mut self) {
        self.starts.shrink_to_fit();
        self.states.shrink_to_fit();
        self.seen.shrink_to_fit();
        self.paths.shrink_to_fit();
        self.sums.reserve_exact(self.starts.len().div_ceil(EVERY));
        let mut sums = [0; STATES];
        for at in 0..self.starts.len() {
            if at % EVERY == 0 {
                self.sums.push(sums);
            }
            if let Some(next) = self.starts.get(at + 1) {
                sums[self.code(at)] += next - self.starts[at];
            }
        }
    }

    fn code(&self, at: usize) -> usize {
        self.states[at] as usize & ((1 << CODE_BITS) - 1)
    }

    /// A walk that begins at this time.
    pub fn walk(&self, time: u64) -> LaneWalk<'_> {
        LaneWalk { lane: self, at: self.starts.partition_point(|&start| start <= time) - 1 }
    }

    /// Times of the observations, and their paths.
    pub fn observations(&self) -> (&[u64], &[u32]) {
        (&self.seen, &self.paths)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of::<ThreadLane>()
            + self.starts.capacity() * 8
            + self.states.capacity() * 4
            + self.sums.capacity() * size_of::<[u64; STATES]>()
            + self.seen.capacity() * 8
            + self.paths.capacity() * 4
    }
}

/// A stretch of a thread's time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateInterval {
    pub from: u64,
    /// `None`: it lasts to the end of the run.
    pub to: Option<u64>,
    pub state: State,
    pub object: Option<ObjectId>,
}

/// A walk along a thread's states, forward in time.
#[derive(Clone, Debug)]
pub(crate) struct LaneWalk<'a> {
    lane: &'a ThreadLane,
    /// The state that holds at the time reached.
    at: usize,
}

impl LaneWalk<'_> {
    /// When the state that the walk has come to ends; `None`: with the run.
    pub fn end(&self) -> Option<u64> {
        self.lane.starts.get(self.at + 1).copied()
    }

    /// The number of the state that the walk has come to.
    pub fn code(&self) -> usize {
        self.lane.code(self.at)
    }

    /// What is waited for in the state that the walk has come to.
    pub fn object(&self) -> Option<ObjectId> {
        let object = self.lane.states[self.at] >> CODE_BITS;
        (object != NO_OBJECT).then_some(ObjectId(object))
    }

    /// The state that the walk has come to.
    pub fn stay(&self) -> StateInterval {
        StateInterval {
            from: self.lane.starts[self.at],
            to: self.end(),
            state: state(self.code()),
            object: self.object(),
        }
    }

    /// Goes on from `from`, which the walk has reached, to `to`, and tells the time in each state meanwhile; parts of
    /// one state may come in several calls. Of a stretch without length: the state at that time, and 0.
    pub fn go(&mut self, from: u64, to: u64, mut add: impl FnMut(usize, u64)) {
        let starts = &self.lane.starts;
        let mut now = from;
        while let Some(&next) = starts.get(self.at + 1).filter(|&&next| next < to) {
            add(self.lane.code(self.at), next - now);
            self.at += 1;
            now = next;
            if self.at.is_multiple_of(EVERY) {
                now = self.leap(to, &mut add);
            }
        }
        add(self.lane.code(self.at), to - now);
        if starts.get(self.at + 1) == Some(&to) {
            self.at += 1;
        }
    }

    /// Goes on to the state that holds at this time, which is not before the time reached.
    pub fn seek(&mut self, time: u64) {
        let starts = &self.lane.starts;
        self.at = last_from(self.at, |at| starts.get(at).is_some_and(|&start| start <= time));
    }

    /// Goes on to the next state; false, and stays, if there is none.
    pub fn next(&mut self) -> bool {
        let has_next = self.at + 1 < self.lane.starts.len();
        self.at += usize::from(has_next);
        has_next
    }

    /// From a state with sums to the last such state that begins before `to`; returns its begin.
    fn leap(&mut self, to: u64, add: &mut impl FnMut(usize, u64)) -> u64 {
        let starts = &self.lane.starts;
        let first = self.at / EVERY;
        let last = last_from(first, |block| starts.get(block * EVERY).is_some_and(|&start| start < to));
        if last > first {
            let (before, after) = (&self.lane.sums[first], &self.lane.sums[last]);
            for code in 0..STATES {
                if after[code] > before[code] {
                    add(code, after[code] - before[code]);
                }
            }
            self.at = last * EVERY;
        }
        starts[self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that runs for 1, is ready for 2, runs for 3, is ready for 4, runs for 1, …
    fn lane(states: u64) -> (ThreadLane, Vec<State>) {
        let (mut lane, mut ticks) = (ThreadLane::default(), Vec::new());
        for number in 0..states {
            let state = if number % 2 == 0 { State::Running } else { State::Ready };
            lane.enter(ticks.len() as u64, state);
            ticks.extend(std::iter::repeat_n(state, 1 + number as usize % 4));
        }
        lane.finish();
        (lane, ticks)
    }

    fn told(walk: &mut LaneWalk<'_>, from: usize, to: usize) -> [u64; STATES] {
        let mut times = [0; STATES];
        walk.go(from as u64, to as u64, |code, time| times[code] += time);
        times
    }

    #[test]
    fn a_walk_tells_the_time_in_each_state_whatever_the_stretches() {
        let (lane, ticks) = lane(1000);
        for width in [1, 3, 10, 127, 333, 1200, ticks.len()] {
            let mut walk = lane.walk(0);
            for from in (0..ticks.len()).step_by(width) {
                let to = (from + width).min(ticks.len());
                let mut expected = [0; STATES];
                ticks[from..to].iter().for_each(|&state| expected[code(state)] += 1);
                assert_eq!(told(&mut walk, from, to), expected, "{from}..{to}");
                assert_eq!(told(&mut lane.walk(from as u64), from, to), expected, "{from}..{to}, alone");
            }
        }
    }

    #[test]
    fn before_its_first_state_a_thread_is_absent_and_its_last_goes_on() {
        let mut lane = ThreadLane::default();
        lane.enter(5, State::Running);
        lane.finish();
        let mut walk = lane.walk(2);
        let times = told(&mut walk, 2, 9);
        assert_eq!((times[ABSENT], times[code(State::Running)]), (3, 4));
        assert_eq!(walk.stay(), StateInterval { from: 5, to: None, state: State::Running, object: None });
    }

    #[test]
    fn of_several_states_at_one_time_the_last_holds() {
        let mut lane = ThreadLane::default();
        lane.enter(0, State::Ready);
        lane.enter(0, State::Running);
        lane.enter(4, State::Ready);
        lane.enter(4, State::Spinning);
        lane.wait_for(ObjectId(3));
        lane.finish();
        assert_eq!(lane.walk(0).stay().state, State::Running);
        let stay = lane.walk(4).stay();
        assert_eq!((stay.state, stay.object), (State::Spinning, Some(ObjectId(3))));
    }

    #[test]
    fn a_stretch_without_length_tells_the_state_at_its_time() {
        let (lane, ticks) = lane(6);
        for (at, &state) in ticks.iter().enumerate() {
            let mut found = Vec::new();
            lane.walk(at as u64).go(at as u64, at as u64, |code, time| found.push((code, time)));
            assert_eq!(found, [(code(state), 0)]);
        }
    }
}
