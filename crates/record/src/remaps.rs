//! Mappings of the recorded processes, read anew where the kernel's records of them may be lost.
//!
//! The records share their rings with what other processes of the machine do: with their mappings (`bpf`), or with all their
//! switches (`perf`). When a ring overflows, whether a mapping of the recorded processes was among what was lost cannot be
//! known. So the mappings that these have are looked up: what is lost then is only code that was mapped and gone before.

use longpole_event::{Blocking, Time};
use longpole_symbols::{Mapping, maps_of};
use rustc_hash::FxHashMap;

use crate::clock;
use crate::raw::{RawEvent, RawKind};

/// Looks take at most one part in so many of the recorder's time.
const SHARE: u64 = 20;

/// What is known of losses, and of the mappings that were looked up.
#[derive(Debug, Default)]
pub(crate) struct Remaps {
    /// What the look told of each process that has executed no other program since.
    known: FxHashMap<u32, Vec<Mapping>>,
    /// When each process last executed a program, which ends all mappings from before.
    executed: FxHashMap<u32, Time>,
    /// Records were lost in the round that began here, and no look has followed: what happened since is kept back, so
    /// that its stacks find the mappings.
    due_since: Option<Time>,
    looks: u64,
    last_look: Time,
    not_before: Time,
    last_round: Option<Time>,
    has_ended: bool,
}

impl Remaps {
    /// A process is recorded from now on.
    pub(crate) fn begin(&mut self, now: Time) {
        self.last_round.get_or_insert(now);
    }

    /// Records were lost since the beginning of the last round.
    pub(crate) fn lose(&mut self) {
        self.due_since = self.due_since.or(self.last_round);
    }

    /// Stacks from here on still lack mappings, since the next look is not due yet.
    pub(crate) fn kept_back(&self) -> Option<Time> {
        self.due_since
    }

    /// No pauses any more: the next look is the last.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Learns from an event of this round which processes have executed a program, and which have ended.
    pub(crate) fn learn(&mut self, event: &RawEvent) {
        let task = match event.kind {
            RawKind::Exec { task, .. } => task,
            RawKind::Switch { previous: Some(task), blocking: Blocking::Dead, .. }
            | RawKind::Exit { task }
                if task.pid == task.tid =>
            {
                self.executed.remove(&task.pid);
                return;
            }
            _ => return,
        };
        self.executed.insert(task.pid, event.time);
        self.known.remove(&task.pid);
        if event.time < self.last_look {
            // That look's mappings stand before the event, which ends them.
            self.due_since.get_or_insert(event.time);
        }
    }

    /// Appends the new mappings of these processes (each once or several times), if records were lost and the last look is a while ago. In every round,
    /// once its events are learnt.
    ///
    /// They count from the beginning of the round in which the first record was lost, so that its stacks find them, or
    /// from when their process executed its program.
    pub(crate) fn tell(&mut self, pids: impl Iterator<Item = u32>, now: Time, into: &mut Vec<RawEvent>) {
        self.last_round = Some(now);
        let Some(lost) = self.due_since else { return };
        if now < self.not_before && !self.has_ended {
            return;
        }
        self.due_since = None;
        self.looks += 1;
        self.last_look = clock::now();
        let mut found = FxHashMap::default();
        let mut pids: Vec<u32> = pids.collect();
        pids.sort_unstable();
        pids.dedup();
        for pid in pids {
            // A process that has ended needs no more.
            let Ok(mappings) = maps_of(pid) else { continue };
            let known = self.known.get(&pid).map(Vec::as_slice).unwrap_or_default();
            let time = self.executed.get(&pid).map_or(lost, |&executed| executed.max(lost));
            let new = mappings.iter().filter(|mapping| !known.contains(mapping)).cloned();
            into.extend(new.map(|mapping| RawEvent { time, cpu: 0, kind: RawKind::Map { pid, mapping } }));
            found.insert(pid, mappings);
        }
        self.known = found;
        self.not_before = now + SHARE * clock::now().since(self.last_look);
    }

    /// What a reader has to know.
    pub(crate) fn note(&self) -> Option<String> {
        (self.looks > 0).then(|| {
            format!(
                "records of mapped code may be among what the kernel had no room for; {} times the mappings of the \
                 recorded processes were looked up instead: code that was gone by then has no names",
                self.looks
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::raw::KernelTask;

    #[test]
    fn mappings_are_looked_up_after_a_loss_and_told_once() {
        let mut remaps = Remaps::default();
        remaps.begin(Time::from_nanoseconds(0));
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
        assert_eq!(
            remaps.kept_back(),
            Some(Time::from_nanoseconds(2)),
            "what follows the loss waits for the look"
        );
        let later = remaps.not_before.nanoseconds();
        assert!(!look(later, &mut remaps).iter().any(is_program), "it is known");
        assert_eq!(remaps.kept_back(), None);
        assert!(remaps.note().is_some_and(|note| note.contains("2 times")));
    }

    #[test]
    fn mappings_count_from_the_program_that_has_them() {
        let mut remaps = Remaps::default();
        let at = Time::from_nanoseconds;
        let pid = std::process::id();
        let task = KernelTask { pid, tid: pid };
        let kind = RawKind::Exec { task, program: "/bin/new".into(), title: None };
        let exec = |time| RawEvent { time, cpu: 0, kind: kind.clone() };
        let times = |remaps: &mut Remaps, now| {
            let mut events = Vec::new();
            remaps.tell([pid].into_iter(), now, &mut events);
            events.into_iter().map(|event| event.time).collect::<BTreeSet<_>>()
        };
        remaps.begin(at(10));
        remaps.learn(&exec(at(20)));
        remaps.lose();
        assert_eq!(times(&mut remaps, at(30)), [at(20)].into(), "not lost to the execution");
        remaps.lose();
        remaps.end();
        assert!(times(&mut remaps, at(40)).is_empty(), "they are known");
        // It is read a round after the look that found its mappings already.
        let late = remaps.last_look - 5;
        remaps.learn(&exec(late));
        assert_eq!(times(&mut remaps, late + 5), [late].into());
        remaps.learn(&RawEvent {
            time: late,
            cpu: 0,
            kind: RawKind::switch(Some(task), Blocking::Dead, None),
        });
        assert!(remaps.executed.is_empty(), "nothing is kept of a process that has ended");
    }
}
