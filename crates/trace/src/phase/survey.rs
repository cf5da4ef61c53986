//! The reading of a whole run that finds where its threads are at the borders of a phase, and who is there between.

use longpole_event::Time;

use super::{PathSighting, PhasePosition};
use crate::state::State;
use crate::timeline::{Item, ItemKind};

/// The reading that finds what stands at the borders of a phase.
pub(super) struct Survey {
    from: Time,
    to: Option<Time>,
    threads: Vec<PhasePosition>,
    pub(super) entering: Option<Vec<PhasePosition>>,
    pub(super) after: Vec<Option<PathSighting>>,
    pub(super) is_there: Vec<bool>,
    cpu: u64,
    cpu_within: u64,
}

impl Survey {
    pub(super) fn new(threads: usize, from: Time, to: Option<Time>) -> Survey {
        Survey {
            from,
            to,
            threads: vec![PhasePosition::NEW; threads],
            entering: None,
            after: vec![None; threads],
            is_there: vec![false; threads],
            cpu: 0,
            cpu_within: 0,
        }
    }

    pub(super) fn visit(&mut self, item: &Item) {
        let index = item.thread.index();
        if index >= self.threads.len() {
            return;
        }
        if item.time >= self.from {
            self.begin();
        }
        let is_after = self.to.is_some_and(|to| item.time >= to);
        match item.what {
            ItemKind::Observe { path, kind } if is_after => {
                self.after[index].get_or_insert((path, kind));
            }
            ItemKind::State(state) => {
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
        let PhasePosition { state, since, .. } = self.threads[index];
        if state.is_on_cpu() {
            self.cpu += now.since(since);
            let end = self.to.map_or(now, |to| to.min(now));
            self.cpu_within += end.since(since.max(self.from));
        }
    }

    pub(super) fn finish(&mut self, end: Time) {
        self.begin();
        for index in 0..self.threads.len() {
            self.charge(index, end);
        }
    }

    pub(super) fn cpu_share(&self) -> f64 {
        if self.cpu == 0 { 0.0 } else { self.cpu_within as f64 / self.cpu as f64 }
    }
}
