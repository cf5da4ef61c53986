//! Mappings of the recorded processes, read anew where the kernel's records of them may be lost.
//!
//! The records are of all processes of the machine. When others map and unmap all the time, the rings overflow with
//! theirs, and whether one of the recorded processes was among what was lost cannot be known. So the mappings
//! that these have are looked up: what is lost then is only code that was mapped and gone before.

use longpole_event::Time;
use longpole_symbols::{Mapping, maps_of};
use rustc_hash::FxHashMap;

use crate::clock;
use crate::raw::{RawEvent, RawKind};

/// Looks take at most one part in so many of the recorder's time.
const SHARE: u64 = 20;

/// What is known of losses, and of the mappings that were looked up.
#[derive(Debug, Default)]
pub(super) struct Remaps {
    known: FxHashMap<u32, Vec<Mapping>>,
    /// Records were lost since the last look.
    is_due: bool,
    looks: u64,
    not_before: Time,
    last_round: Option<Time>,
    has_ended: bool,
}

impl Remaps {
    /// Records were lost.
    pub(super) fn lose(&mut self) {
        self.is_due = true;
    }

    /// No pauses any more: the next look is the last.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Appends the new mappings of these processes, if records were lost and the last look is a while ago. In every round.
    ///
    /// They are told at the beginning of the last round, so that the stacks of this one find them; and again as of now,
    /// for processes that have executed another program in between.
    pub(super) fn tell(&mut self, pids: impl Iterator<Item = u32>, now: Time, into: &mut Vec<RawEvent>) {
        let before = self.last_round.replace(now).unwrap_or(now);
        if !self.is_due || now < self.not_before && !self.has_ended {
            return;
        }
        self.is_due = false;
        self.looks += 1;
        let begun = clock::now();
        let mut found = FxHashMap::default();
        let mut pids: Vec<u32> = pids.collect();
        pids.sort_unstable();
        for pid in pids {
            // A process that has ended needs no more.
            let Ok(mappings) = maps_of(pid) else { continue };
            let known = self.known.get(&pid).map(Vec::as_slice).unwrap_or_default();
            for mapping in mappings.iter().filter(|mapping| !known.contains(mapping)) {
                let kind = RawKind::Map { pid, mapping: mapping.clone() };
                into.extend([before, now].map(|time| RawEvent { time, cpu: 0, kind: kind.clone() }));
            }
            found.insert(pid, mappings);
        }
        self.known = found;
        self.not_before = now + SHARE * clock::now().since(begun);
    }

    /// What a reader has to know.
    pub(super) fn note(&self) -> Option<String> {
        (self.looks > 0).then(|| {
            format!(
                "programs of this machine mapped more code than the kernel's records had room for; {} times the \
                 recorded processes' own mappings were looked up instead: code that was gone by then has no names",
                self.looks
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_looked_up_after_a_loss_and_told_once() {
        let mut remaps = Remaps::default();
        let look = |nanoseconds, remaps: &mut Remaps| {
            let mut events = Vec::new();
            remaps.tell([std::process::id()].into_iter(), Time::from_nanoseconds(nanoseconds), &mut events);
            events
        };
        assert!(look(1, &mut remaps).is_empty() && remaps.note().is_none());
        remaps.lose();
        let pid = std::process::id();
        let events = look(2, &mut remaps);
        let program = std::env::current_exe().unwrap();
        let is_program = |event: &RawEvent| matches!(&event.kind, RawKind::Map { pid: of, mapping } if *of == pid && mapping.path == program);
        assert!(events.iter().any(is_program));
        remaps.lose();
        assert!(look(3, &mut remaps).is_empty(), "too early");
        let later = remaps.not_before.nanoseconds();
        assert!(!look(later, &mut remaps).iter().any(is_program), "it is known");
        assert!(remaps.note().is_some_and(|note| note.contains("2 times")));
    }
}
