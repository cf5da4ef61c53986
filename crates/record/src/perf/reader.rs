//! Open perf events and their rings, read into raw events of the recorded threads.
//!
//! ```text
//!   ring 0, ring 1, … ──► copies ──► Rounds (time order) ──► Conversion (recorded threads only) ──► raw events
//! ```
//! Which events there are is the business of the collectors; what their records say is read here. Where the kernel
//! delivers every task of the machine, which of them are recorded is known only in time order, for a thread is
//! recorded from its creation by a recorded one.

use std::io;
use std::os::fd::RawFd;

use longpole_event::{LossKind, Time};
use rustc_hash::{FxHashMap, FxHashSet};

use super::conversion::{Conversion, SampleMeaning};
use super::copies::{CopiedRings, CopiedRound, RingCopies, RingWriter};
use super::layout::{Layout, PerfRecord, kind};
use super::presence::Presence;
use super::rounds::RoundSorter;
use super::shares::EventShares;
use super::switches::Switches;
use super::threads::Threads;
use crate::process_title::title_of_running;
use crate::raw::{RawEvent, RawKind};
use crate::remaps::Remaps;
use longpole_privileged::{PerfEvent, PerfRing, records};

/// A record of a ring, undecoded.
#[derive(Debug)]
struct UndecodedRecord {
    event: usize,
    cpu: u16,
    kind: u32,
    misc: u16,
    body: Box<[u8]>,
    /// See [`RecordOrigin::interval`].
    interval: u64,
}

/// The ring of a processor.
#[derive(Debug)]
struct ProcessorRing {
    cpu: u16,
    /// When its clock looked last, nanoseconds; `None` where nothing is known since a loss.
    last_look: Option<u64>,
}

/// Reads the events of one collector.
#[derive(Debug)]
pub(crate) struct PerfReader {
    /// One of each processor.
    rings: Vec<ProcessorRing>,
    /// The rings themselves, in the same order.
    copies: RingCopies,
    /// Where the copy that was read last is not the last one: when it was made.
    behind: Option<Time>,
    /// When the copy that was read last was made.
    copied: Option<Time>,
    /// The last round told of lost records.
    is_losing: bool,
    /// What the events mean and how they are laid out; by `UndecodedRecord::event`.
    kinds: Vec<(SampleMeaning, Layout)>,
    by_id: FxHashMap<u64, usize>,
    rounds: RoundSorter<UndecodedRecord>,
    pub(crate) conversion: Conversion,
    presence: Presence,
    /// The rings hold records of tasks that are not recorded too.
    is_machine_wide: bool,
    /// Threads created in this round and the one before: recorded or not is not decided yet.
    born: [FxHashSet<u32>; 2],
    fresh: Vec<(u64, UndecodedRecord)>,
    /// Records that could not be read since the last drain.
    unreadable: u64,
    shares: EventShares,
    remaps: Remaps,
    is_stopped: bool,
}

impl PerfReader {
    /// A reader without events, of these kinds.
    pub(crate) fn new(
        kinds: Vec<(SampleMeaning, Layout)>,
        conversion: Conversion,
        presence: Presence,
        is_machine_wide: bool,
    ) -> PerfReader {
        let mut remaps = Remaps::default();
        remaps.begin(crate::clock::now());
        PerfReader {
            rings: Vec::new(),
            copies: RingCopies::new(),
            behind: None,
            copied: None,
            is_losing: false,
            kinds,
            by_id: FxHashMap::default(),
            rounds: RoundSorter::default(),
            conversion,
            presence,
            is_machine_wide,
            born: Default::default(),
            fresh: Vec::new(),
            unreadable: 0,
            shares: EventShares::default(),
            remaps,
            is_stopped: false,
        }
    }

    /// Adds the ring of a processor with its event, which is of the first kind; `has_build_ids` tells whether its
    /// mappings carry them.
    pub(crate) fn add_ring(&mut self, cpu: u16, ring: PerfRing, has_build_ids: bool) -> io::Result<()> {
        self.kinds[0].1.has_build_ids &= has_build_ids;
        self.by_id.insert(ring.event().id()?, 0);
        self.rings.push(ProcessorRing { cpu, last_look: None });
        self.copies.lock().rings.push(ring);
        Ok(())
    }

    /// Adds an event of kind `kind` that writes into the ring number `ring`.
    pub(crate) fn add_event(&mut self, event: PerfEvent, kind: usize, ring: usize) -> io::Result<()> {
        let mut shared = self.copies.lock();
        event.write_into(&shared.rings[ring])?;
        self.by_id.insert(event.id()?, kind);
        shared.writers.push(RingWriter { event, kind, ring });
        Ok(())
    }

    /// Events so far.
    pub(crate) fn event_count(&self) -> usize {
        self.copies.lock().writers.len()
    }

    /// Opens the events from number `first` on once more, with short stacks and not started, as far as `open` does that for their kind and
    /// ring.
    pub(crate) fn add_short_stacks(
        &mut self,
        first: usize,
        open: impl Fn(usize, usize) -> Option<PerfEvent>,
    ) {
        let CopiedRings { rings, writers, short_stacks, .. } = &mut *self.copies.lock();
        for (number, &RingWriter { kind, ring, .. }) in writers.iter().enumerate().skip(first) {
            let Some(event) = open(kind, ring) else { continue };
            // Without its id, its records would be taken for others.
            if let (Ok(()), Ok(id)) = (event.write_into(&rings[ring]), event.id()) {
                self.by_id.insert(id, kind);
                short_stacks.add(number, event);
            }
        }
    }

    /// Rings so far.
    pub(crate) fn ring_count(&self) -> usize {
        self.rings.len()
    }

    /// Whether a record of the last rounds tells of this thread's creation: it has what its creator has.
    pub(crate) fn has_seen_birth(&mut self, tid: u32) -> bool {
        self.read_rings();
        self.born.iter().any(|born| born.contains(&tid)) || self.conversion.threads.recorded(tid).is_some()
    }

    /// Starts all events.
    pub(crate) fn enable(&self) -> io::Result<()> {
        let shared = self.copies.lock();
        shared.rings.iter().try_for_each(|ring| ring.event().enable())?;
        shared.writers.iter().try_for_each(|writer| writer.event.enable())
    }

    /// Stops all events; what is in the rings can still be read.
    pub(crate) fn stop(&mut self) {
        self.copies.stop();
        self.remaps.end();
        self.is_stopped = true;
    }

    /// A descriptor that becomes readable when much was copied.
    pub(crate) fn alarms(&self) -> Vec<RawFd> {
        self.copies.alarm().into_iter().collect()
    }

    /// Where the last drain left copies: the time up to which it came.
    pub(crate) fn behind(&self) -> Option<Time> {
        self.behind
    }

    /// The time up to which the last drain told all: that of its copy of the rings, or of a loss whose mappings are not looked
    /// up yet.
    pub(crate) fn kept_back(&self) -> Option<Time> {
        self.copied.into_iter().chain(self.remaps.kept_back()).min()
    }

    /// Appends what can be told by now, in time order, and what was lost.
    pub(crate) fn drain(&mut self, into: &mut Vec<RawEvent>) {
        self.born.swap(0, 1);
        self.born[0].clear();
        // Without the thread, this one copies.
        let _ = self.copies.start();
        self.read_rings();
        let complete = self.rounds.end_round();
        let first_told = into.len();
        let is_last = self.is_stopped && self.behind.is_none();
        let limit = if is_last { u64::MAX } else { complete };
        while let Some((time, held)) = self.rounds.pop(limit) {
            let (meaning, layout) = &self.kinds[held.event];
            let time = Time::from_nanoseconds(time);
            if let Some((mut origin, record)) = layout.decode(held.kind, held.misc, &held.body) {
                origin.cpu = origin.cpu.or(Some(held.cpu.into()));
                origin.interval = held.interval;
                self.conversion.convert(meaning, time, origin, record);
            }
            for event in self.conversion.take() {
                self.presence.push(with_path(event));
            }
            let told = std::iter::from_fn(|| self.presence.pop(true));
            // What the kernel had no room for it counts in records; see below.
            let told = told.filter(|event| {
                !matches!(event.kind, RawKind::Lost { kind: LossKind::Events | LossKind::Samples, .. })
            });
            let first = into.len();
            into.extend(told);
            let (shares, threads) = (&mut self.shares, &self.conversion.threads);
            into[first..].iter().for_each(|event| shares.tell(events_of(&event.kind, threads)));
        }
        into[first_told..].iter().for_each(|event| self.remaps.learn(event));
        let copied = self.copied.unwrap_or_else(crate::clock::now);
        self.remaps.tell(self.conversion.threads.recorded_pids(), copied, into);
        let mut count = self.shares.take();
        count += std::mem::take(&mut self.unreadable) + std::mem::take(&mut self.conversion.damaged);
        count += std::mem::take(&mut self.presence.missing);
        if let Some(switches) = self.conversion.switches.as_mut().filter(|_| self.is_machine_wide) {
            count += std::mem::take(&mut switches.untold);
        }
        if count > 0 {
            let kind = RawKind::Lost { kind: LossKind::Events, count };
            into.push(RawEvent { time: crate::clock::now(), cpu: 0, kind });
        }
    }

    /// What a reader of the results has to know of this run.
    pub(crate) fn findings(&self) -> Vec<String> {
        let switches = self.conversion.switches.iter().filter_map(Switches::note);
        let short_stacks = self.copies.lock().short_stacks.finding();
        switches.chain(short_stacks).chain(self.remaps.note()).collect()
    }

    /// Takes everything out of the rings, keeping what may concern recorded threads.
    fn read_rings(&mut self) {
        let (CopiedRound { begun, copies, is_full }, is_behind) = self.copies.take(self.is_losing);
        (self.copied, self.behind) = (Some(begun), is_behind.then_some(begun));
        let PerfReader { rings, kinds, by_id, born, fresh, unreadable, is_machine_wide, .. } = self;
        for (ProcessorRing { cpu, last_look }, copy) in rings.iter_mut().zip(&copies) {
            for record in records(copy) {
                let event = kinds[0].1.identifier(record.kind, record.body).and_then(|id| by_id.get(&id));
                let event = event.copied().unwrap_or(0);
                let (meaning, layout) = &kinds[event];
                match layout.decode(record.kind, record.misc, record.body) {
                    Some((origin, decoded)) => {
                        if let PerfRecord::Fork { child, .. } = decoded {
                            born[0].insert(child.1);
                        }
                        let body = record.body.into();
                        let (kind, misc) = (record.kind, record.misc);
                        let mut interval = 0;
                        match decoded {
                            PerfRecord::Sample(_)
                                if *is_machine_wide && matches!(meaning, SampleMeaning::Clock) =>
                            {
                                let before = last_look.replace(origin.time);
                                interval = before.map_or(0, |before| origin.time.saturating_sub(before));
                            }
                            PerfRecord::Lost { .. } | PerfRecord::LostSamples { .. } => *last_look = None,
                            _ => {}
                        }
                        let held = UndecodedRecord { event, cpu: *cpu, kind, misc, body, interval };
                        fresh.push((origin.time, held));
                    }
                    None => *unreadable += 1,
                }
            }
        }
        let (mut records, mut own, mut lost) = (0, 0, 0);
        for (time, held) in std::mem::take(&mut self.fresh) {
            if let Some(count) = self.lost_by(&held) {
                lost += count;
            } else {
                records += 1;
                own += u64::from(!self.is_machine_wide || self.is_about_recorded(&held));
            }
            if !self.is_machine_wide || self.may_concern(&held) {
                self.rounds.push(time, held);
            }
        }
        self.is_losing = lost > 0;
        if self.is_losing || is_full {
            self.remaps.lose();
            self.conversion.lose();
        }
        self.shares.end_round(records, own, lost);
    }

    /// Records that found no room, if this one says how many.
    fn lost_by(&self, held: &UndecodedRecord) -> Option<u64> {
        if !matches!(held.kind, kind::LOST | kind::LOST_SAMPLES) {
            return None;
        }
        match self.kinds[held.event].1.decode(held.kind, held.misc, &held.body)? {
            (_, PerfRecord::Lost { count } | PerfRecord::LostSamples { count }) => Some(count),
            _ => None,
        }
    }

    /// Whether a record of a machine-wide ring is about a recorded thread.
    fn is_about_recorded(&self, held: &UndecodedRecord) -> bool {
        if matches!(held.kind, kind::SAMPLE | kind::SWITCH_CPU_WIDE) {
            return self.may_concern(held);
        }
        let decoded = self.kinds[held.event].1.decode(held.kind, held.misc, &held.body);
        decoded.is_some_and(|(origin, _)| self.conversion.threads.recorded(origin.tid).is_some())
    }

    /// Whether a sample or switch is about a thread that is recorded, or was created so recently that it may be.
    fn may_concern(&self, held: &UndecodedRecord) -> bool {
        if !matches!(held.kind, kind::SAMPLE | kind::SWITCH_CPU_WIDE) {
            return true;
        }
        let (meaning, layout) = &self.kinds[held.event];
        let Some((origin, record)) = layout.decode(held.kind, held.misc, &held.body) else {
            return true;
        };
        let may = |tid: u32| {
            self.conversion.threads.recorded(tid).is_some()
                || self.born.iter().any(|born| born.contains(&tid))
        };
        match (meaning, record) {
            (SampleMeaning::Wake(waking), PerfRecord::Sample(sample)) => {
                waking.read(sample.raw).is_none_or(|wake| may(wake.wakee))
            }
            (SampleMeaning::Switch(switching), PerfRecord::Sample(sample)) => {
                switching.read(sample.raw).is_none_or(|switch| may(switch.previous))
            }
            // The switch from a task that has been reaped has no thread id.
            (_, PerfRecord::Switch(_)) => may(origin.tid) || origin.tid == u32::MAX,
            _ => may(origin.tid),
        }
    }
}

/// Events of the log that come of this one.
fn events_of(kind: &RawKind, threads: &Threads) -> u64 {
    match kind {
        RawKind::Switch { previous, next, .. } => {
            let tasks = previous.iter().chain(next);
            tasks.filter(|task| threads.recorded(task.tid).is_some()).count() as u64
        }
        RawKind::Wake { .. } | RawKind::Sample { .. } | RawKind::Fork { .. } | RawKind::Exec { .. } => 1,
        _ => 0,
    }
}

/// The kernel tells only the name of an executed program; while it runs, its path and its arguments can be looked up.
fn with_path(mut event: RawEvent) -> RawEvent {
    if let RawKind::Exec { task, program, title } = &mut event.kind
        && let Ok(path) = std::fs::read_link(format!("/proc/{}/exe", task.pid))
        && is_named(&path, program)
    {
        *program = path.to_string_lossy().into_owned();
        *title = title_of_running(task.pid, program);
    }
    event
}

/// Whether the kernel names a process of that file so; it may be another program by now.
fn is_named(path: &std::path::Path, name: &str) -> bool {
    path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_only_from_the_program_that_was_executed() {
        assert!(is_named("/usr/bin/a-very-long-program".as_ref(), "a-very-long-pro"));
        assert!(!is_named("/usr/bin/cat".as_ref(), "sleep"));
    }
}
