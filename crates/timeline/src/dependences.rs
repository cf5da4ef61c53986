//! Who enabled whom, in the order of time.
//!
//! Memory: 17 bytes per dependence, and 12 for each that was under way.

use longpole_event::ThreadId;
use longpole_graph::Dependence;
use longpole_trace::DependenceKind;

/// Dependences as columns, sorted by when they arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct DependenceColumns {
    times: Vec<u64>,
    sources: Vec<u32>,
    threads: Vec<u32>,
    kinds: Vec<DependenceKind>,
    /// When those left that did not arrive at once, with their numbers.
    left: Vec<(u32, u64)>,
}

/// One thread enabled another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DependenceLink {
    pub source: ThreadId,
    pub source_time: u64,
    pub thread: ThreadId,
    pub time: u64,
    pub kind: DependenceKind,
}

impl DependenceColumns {
    /// Adds one that does not arrive before those that are there.
    pub fn push(&mut self, dependence: &Dependence) {
        let (left, arrived) = (dependence.source_time.nanoseconds(), dependence.time.nanoseconds());
        if left < arrived {
            self.left.push((self.times.len() as u32, left));
        }
        self.times.push(arrived);
        self.sources.push(dependence.source.0);
        self.threads.push(dependence.thread.0);
        self.kinds.push(dependence.kind);
    }

    /// Gives back the memory that is not needed, once all are there.
    pub fn finish(&mut self) {
        self.times.shrink_to_fit();
        self.sources.shrink_to_fit();
        self.threads.shrink_to_fit();
        self.kinds.shrink_to_fit();
        self.left.shrink_to_fit();
    }

    /// The dependence of this number.
    pub fn get(&self, number: usize) -> DependenceLink {
        let time = self.times[number];
        let left = self.left.binary_search_by_key(&(number as u32), |entry| entry.0);
        DependenceLink {
            source: ThreadId(self.sources[number]),
            source_time: left.map_or(time, |place| self.left[place].1),
            thread: ThreadId(self.threads[number]),
            time,
            kind: self.kinds[number],
        }
    }

    /// Numbers of those that arrive between `from` and `to`, both included.
    pub fn arriving(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        let first = self.times.partition_point(|&time| time < from);
        first..self.times.partition_point(|&time| time <= to).max(first)
    }

    /// What enabled the thread at this time; of several the last.
    pub fn enabling(&self, thread: ThreadId, time: u64) -> Option<DependenceLink> {
        let number = self
            .arriving(time, time)
            .rev()
            .find(|&number| self.threads[number] == thread.0 && self.sources[number] != thread.0)?;
        Some(self.get(number))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.times.capacity() * 17 + self.left.capacity() * size_of::<(u32, u64)>()
    }
}

/// The kind's name.
#[must_use]
pub fn kind_name(kind: DependenceKind) -> &'static str {
    match kind {
        DependenceKind::Create => "create",
        DependenceKind::Spawn => "spawn",
        DependenceKind::Join => "join",
        DependenceKind::Unlock => "unlock",
        DependenceKind::Signal => "signal",
        DependenceKind::Barrier => "barrier",
        DependenceKind::Post => "post",
        DependenceKind::Message => "message",
        DependenceKind::Stop => "stop",
        DependenceKind::Wake => "wake",
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::Time;

    use super::*;

    fn dependences() -> DependenceColumns {
        let mut all = DependenceColumns::default();
        for (source, left, thread, time, kind) in [
            (0, 3, 1, 3, DependenceKind::Wake),
            (2, 3, 1, 3, DependenceKind::Unlock),
            (1, 3, 1, 3, DependenceKind::Wake),
            (0, 2, 3, 7, DependenceKind::Message),
        ] {
            let (source_time, time) = (Time::from_nanoseconds(left), Time::from_nanoseconds(time));
            let (source, thread) = (ThreadId(source), ThreadId(thread));
            all.push(&Dependence { source, source_time, thread, time, kind, object: None });
        }
        all
    }

    #[test]
    fn the_last_that_arrives_from_another_thread_enabled() {
        let all = dependences();
        let link = all.enabling(ThreadId(1), 3).unwrap();
        assert_eq!((link.source, link.kind), (ThreadId(2), DependenceKind::Unlock));
        assert_eq!(all.enabling(ThreadId(1), 4), None);
    }

    #[test]
    fn what_was_under_way_has_the_time_at_which_it_left() {
        let all = dependences();
        assert_eq!(all.arriving(4, 7), 3..4);
        assert_eq!((all.get(3).source_time, all.get(3).time), (2, 7));
        assert_eq!(all.get(0).source_time, 3);
        assert!(all.arriving(8, 3).is_empty());
    }
}
