//! Who is on a processor, by the kernel's switch records.
//!
//! Tracepoints of a task are dropped without a word while the kernel takes the task for one that is inside
//! another event; since Linux 6.11 that mark belongs to the task, and where it sticks (the idle task of a
//! processor is known to have it), none of its tracepoints is ever delivered. Switch records do not ask for
//! the mark. So they say who runs, and the tracepoints add why and where a thread waits:
//!
//! ```text
//!   sched_switch   A blocks, its stack       dropped: why and where are unknown, and counted
//!   record         A out, not pre-empted
//!   record         B in
//!   sched_waking   A                         dropped: put at the next line, and counted
//!   record         A in
//! ```
//! An idle processor is handed over at once, so a wake from the idle task (all are by interrupts) was just
//! before its thread got the processor. A wake that is missing after records were lost, or when a recorded
//! thread's tracepoints are dropped, can have been anybody's.

use longpole_event::Blocking;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::raw::RawWaker;

/// Thread id in the records of a task that has been reaped.
const REAPED: u32 = u32::MAX;

/// A switch record: the thread that made it got its processor, or left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchRecord {
    /// It left.
    pub is_out: bool,
    /// It left but could have run on.
    pub is_preempted: bool,
}

/// What a switch record tells that no tracepoint told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedSwitch {
    /// Nothing.
    Nothing,
    /// The thread left its processor.
    Out(u32, Blocking),
    /// The thread got a processor; its wake, if that was not delivered.
    In(u32, Option<RawWaker>),
}

/// The recorded threads as switch records see them.
#[derive(Debug)]
pub struct Switches {
    /// Wakes by everybody should be there.
    is_machine_wide: bool,
    /// Threads whose tracepoint said that they leave; their record comes next.
    announced: FxHashSet<u32>,
    /// Threads that wait and were not woken yet, with `losses` at the time.
    blocked: FxHashMap<u32, u64>,
    ending: FxHashSet<u32>,
    /// The recorded thread on each processor, with `losses` when it got it.
    running: FxHashMap<u16, (u32, u64)>,
    /// How often records were lost.
    losses: u64,
    /// Some thread's tracepoints are not delivered: so may its wakes be.
    has_mute: bool,
    /// Waits whose tracepoint was not delivered.
    pub untold: u64,
    /// Wakes that were not delivered.
    pub unseen_wakes: u64,
}

impl Switches {
    /// Begins with no thread known.
    #[must_use]
    pub fn new(is_machine_wide: bool) -> Self {
        Switches {
            is_machine_wide,
            announced: FxHashSet::default(),
            blocked: FxHashMap::default(),
            ending: FxHashSet::default(),
            running: FxHashMap::default(),
            losses: 0,
            has_mute: false,
            untold: 0,
            unseen_wakes: 0,
        }
    }

    /// What a reader of the results has to know of undelivered wakes.
    pub(crate) fn note(&self) -> Option<String> {
        (self.unseen_wakes > 0).then(|| {
            format!(
                "{} wakes were not delivered by the kernel: they were put where their threads got a processor",
                self.unseen_wakes
            )
        })
    }

    /// A tracepoint said that a recorded thread is about to leave its processor.
    pub(super) fn announce(&mut self, cpu: Option<u16>, tid: u32, blocking: Blocking) {
        self.clear(cpu);
        if blocking == Blocking::Dead {
            // Its record may be without its id.
            return self.forget(tid);
        }
        self.announced.insert(tid);
        self.leave(tid, blocking);
    }

    /// A recorded thread was woken.
    pub(super) fn wake(&mut self, tid: u32) {
        self.blocked.remove(&tid);
    }

    /// Records were lost, wakes may be among them.
    pub(super) fn lose(&mut self) {
        self.losses += 1;
    }

    /// A recorded thread is about to end.
    pub(super) fn end(&mut self, tid: u32) {
        self.ending.insert(tid);
    }

    /// Takes the record of `tid`; `is_recorded` tells which threads are.
    pub(super) fn take(
        &mut self,
        record: SwitchRecord,
        cpu: Option<u16>,
        tid: u32,
        is_recorded: impl Fn(u32) -> bool,
    ) -> RecordedSwitch {
        if !record.is_out {
            return if is_recorded(tid) { self.enter(cpu, tid) } else { RecordedSwitch::Nothing };
        }
        let last = self.clear(cpu);
        let tid = if tid == REAPED { last.map_or(REAPED, |(tid, _)| tid) } else { tid };
        if self.announced.remove(&tid) || !is_recorded(tid) {
            return RecordedSwitch::Nothing;
        }
        let blocking = match record.is_preempted {
            true => Blocking::Runnable,
            false if self.ending.contains(&tid) => Blocking::Dead,
            // Of what kind the wait is only the tracepoint tells.
            false => Blocking::Interruptible,
        };
        if !record.is_preempted {
            self.untold += 1;
            // Otherwise the tracepoint may be among what was lost.
            self.has_mute |= last.is_some_and(|(_, losses)| losses == self.losses);
        }
        self.leave(tid, blocking);
        RecordedSwitch::Out(tid, blocking)
    }

    fn enter(&mut self, cpu: Option<u16>, tid: u32) -> RecordedSwitch {
        if let Some(cpu) = cpu {
            self.running.insert(cpu, (tid, self.losses));
        }
        // Here it is too late for a tracepoint of the switch before.
        self.announced.remove(&tid);
        let unseen = self.blocked.remove(&tid).filter(|_| self.is_machine_wide);
        self.unseen_wakes += u64::from(unseen.is_some());
        let waker = unseen.map(|losses| match losses == self.losses && !self.has_mute {
            true => RawWaker::Interrupt,
            false => RawWaker::Unknown,
        });
        RecordedSwitch::In(tid, waker)
    }

    fn leave(&mut self, tid: u32, blocking: Blocking) {
        match blocking {
            Blocking::Runnable => {}
            Blocking::Dead => self.forget(tid),
            _ => {
                self.blocked.insert(tid, self.losses);
            }
        }
    }

    /// Nobody known is on the processor any more; returns who was.
    fn clear(&mut self, cpu: Option<u16>) -> Option<(u32, u64)> {
        self.running.remove(&cpu?)
    }

    fn forget(&mut self, tid: u32) {
        self.announced.remove(&tid);
        self.blocked.remove(&tid);
        self.ending.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: SwitchRecord = SwitchRecord { is_out: true, is_preempted: false };
    const IN: SwitchRecord = SwitchRecord { is_out: false, is_preempted: false };
    const PREEMPTED: SwitchRecord = SwitchRecord { is_preempted: true, ..OUT };

    fn take(switches: &mut Switches, record: SwitchRecord, tid: u32) -> RecordedSwitch {
        switches.take(record, Some(0), tid, |tid| tid < 100)
    }

    #[test]
    fn a_switch_that_its_tracepoint_told_is_not_told_again() {
        let mut switches = Switches::new(true);
        switches.announce(Some(0), 7, Blocking::Uninterruptible);
        assert_eq!(take(&mut switches, OUT, 7), RecordedSwitch::Nothing);
        switches.wake(7);
        assert_eq!(take(&mut switches, IN, 7), RecordedSwitch::In(7, None));
        assert_eq!((switches.untold, switches.unseen_wakes), (0, 0));
    }

    #[test]
    fn a_preempted_thread_leaves_runnable_and_nothing_is_missing() {
        let mut switches = Switches::new(true);
        assert_eq!(take(&mut switches, PREEMPTED, 7), RecordedSwitch::Out(7, Blocking::Runnable));
        assert_eq!(take(&mut switches, IN, 7), RecordedSwitch::In(7, None));
        assert_eq!((switches.untold, switches.unseen_wakes), (0, 0));
    }

    #[test]
    fn a_wait_without_a_tracepoint_is_told_and_counted() {
        let mut switches = Switches::new(true);
        assert_eq!(take(&mut switches, OUT, 7), RecordedSwitch::Out(7, Blocking::Interruptible));
        assert_eq!(switches.untold, 1);
    }

    /// The waker of a thread that waited while this happened.
    fn waker_after(happened: impl FnOnce(&mut Switches)) -> RecordedSwitch {
        let mut switches = Switches::new(true);
        switches.announce(Some(0), 7, Blocking::Interruptible);
        take(&mut switches, OUT, 7);
        happened(&mut switches);
        let told = take(&mut switches, IN, 7);
        assert_eq!(switches.unseen_wakes, 1);
        told
    }

    #[test]
    fn an_undelivered_wake_was_an_interrupt_s() {
        assert_eq!(waker_after(|_| ()), RecordedSwitch::In(7, Some(RawWaker::Interrupt)));
    }

    #[test]
    fn it_may_be_anybody_s_where_records_or_a_thread_s_tracepoints_are_missing() {
        let unknown = RecordedSwitch::In(7, Some(RawWaker::Unknown));
        assert_eq!(waker_after(Switches::lose), unknown);
        let is_untold = |switches: &mut Switches| {
            take(switches, IN, 8);
            take(switches, OUT, 8);
        };
        assert_eq!(waker_after(is_untold), unknown);
    }

    #[test]
    fn a_tracepoint_that_was_lost_with_other_records_says_nothing_of_later_wakes() {
        let mut switches = Switches::new(true);
        take(&mut switches, IN, 8);
        switches.lose();
        take(&mut switches, OUT, 8);
        assert_eq!(switches.untold, 1);
        switches.announce(Some(0), 7, Blocking::Interruptible);
        take(&mut switches, OUT, 7);
        assert_eq!(take(&mut switches, IN, 7), RecordedSwitch::In(7, Some(RawWaker::Interrupt)));
    }

    #[test]
    fn where_the_wakes_of_others_are_not_recorded_none_is_missing() {
        let mut switches = Switches::new(false);
        switches.announce(Some(0), 7, Blocking::Interruptible);
        take(&mut switches, OUT, 7);
        assert_eq!(take(&mut switches, IN, 7), RecordedSwitch::In(7, None));
        assert_eq!(switches.unseen_wakes, 0);
    }

    #[test]
    fn a_reaped_thread_is_the_one_that_had_the_processor() {
        let mut switches = Switches::new(true);
        take(&mut switches, IN, 7);
        switches.end(7);
        assert_eq!(take(&mut switches, OUT, REAPED), RecordedSwitch::Out(7, Blocking::Dead));
        // With its tracepoint there is nothing left to tell.
        take(&mut switches, IN, 8);
        switches.end(8);
        switches.announce(Some(0), 8, Blocking::Dead);
        assert_eq!(take(&mut switches, OUT, REAPED), RecordedSwitch::Nothing);
    }

    #[test]
    fn other_threads_are_of_no_interest() {
        let mut switches = Switches::new(true);
        assert_eq!(take(&mut switches, IN, 200), RecordedSwitch::Nothing);
        assert_eq!(take(&mut switches, OUT, 200), RecordedSwitch::Nothing);
        assert_eq!((switches.untold, switches.unseen_wakes), (0, 0));
    }
}
