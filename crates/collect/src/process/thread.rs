//! A thread of the program.

use std::path::Path;
use std::time::Duration;

use longpole_event::{SeriesNode, Time};

use super::stat::Stat;
use super::task_file::TaskFile;
use super::{ProcessPoll, TICK, named};
use crate::kept_file::numbers;
use crate::known::{self, KnownMetric};
use crate::track::{PollTime, Track, TrackSubject};

/// The kinds of switches stand in a file that is dear to read: at most this often.
const SWITCHES_EVERY: Duration = Duration::from_millis(100);

/// What the scheduler counts of every look.
const SCHEDULER: [&KnownMetric; 3] = [known::RUN_TIME, known::RUN_QUEUE_TIME, known::CONTEXT_SWITCHES];
const SWITCHES: [(&KnownMetric, &[u8]); 2] = [
    (known::VOLUNTARY_SWITCHES, b"voluntary_ctxt_switches:"),
    (known::INVOLUNTARY_SWITCHES, b"nonvoluntary_ctxt_switches:"),
];
/// What a process and a thread have in common.
pub(super) const COMMON: [&KnownMetric; 4] =
    [known::PAGE_FAULTS, known::MAJOR_PAGE_FAULTS, known::USER_TIME, known::SYSTEM_TIME];

/// The values of [`COMMON`].
pub(super) fn common(stat: &Stat) -> [f64; 4] {
    let seconds = |ticks: u64| ticks as f64 * TICK.as_secs_f64();
    let faults = stat.minor_faults + stat.major_faults;
    [faults as f64, stat.major_faults as f64, seconds(stat.user), seconds(stat.system)]
}

/// Tracks of counters that began at zero, where it is known when.
pub(super) fn tracks<const N: usize>(zero: Option<Time>) -> [Track; N] {
    std::array::from_fn(|_| zero.map_or_else(Track::default, Track::from_zero))
}

/// What is remembered of a thread.
#[derive(Debug)]
pub(super) struct MemberThread {
    pub(super) tid: u32,
    schedstat: TaskFile,
    stat: TaskFile,
    status: TaskFile,
    /// The scheduler's counts at the last look: time on a processor, time ready, switches.
    seen: Option<[u64; 3]>,
    scheduler: [Track; SCHEDULER.len()],
    common: [Track; COMMON.len()],
    switches: [Track; SWITCHES.len()],
    /// Until when the kinds of switches are known: the last reading, or later where it did not run since then.
    switches_known: Option<Time>,
    has_run_since: bool,
    switches_read: Option<Time>,
}

/// What a look at the scheduler's counts of a thread told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchedulerReading {
    /// It has not run since the last look.
    Same,
    /// It has, and these are the counts.
    Ran([u64; 3]),
    /// It is gone.
    Ended,
}

impl MemberThread {
    pub(super) fn new(task: &Path, tid: u32) -> MemberThread {
        let file = |name: &str| TaskFile::new(task.join(format!("{tid}/{name}")));
        MemberThread {
            tid,
            schedstat: file("schedstat"),
            stat: file("stat"),
            status: file("status"),
            seen: None,
            scheduler: tracks(None),
            common: tracks(None),
            switches: tracks(None),
            switches_known: None,
            has_run_since: true,
            switches_read: None,
        }
    }

    /// Whether it has run.
    pub(super) fn glance(&mut self, view: &mut ProcessPoll<'_, '_>) -> SchedulerReading {
        let Ok(text) = self.schedstat.read(view.room, view.buffer) else { return SchedulerReading::Ended };
        let mut counts = [0; 3];
        counts.iter_mut().zip(numbers(text)).for_each(|(count, value)| *count = value);
        match self.seen {
            Some(seen) if seen == counts && !view.look.is_last => SchedulerReading::Same,
            _ => SchedulerReading::Ran(counts),
        }
    }

    /// The thread's own file.
    pub(super) fn stat(&mut self, view: &mut ProcessPoll<'_, '_>) -> Option<Stat> {
        Stat::parse(self.stat.read(view.room, view.buffer).ok()?)
    }

    /// It did not run: what was known is known until now.
    pub(super) fn rested(&mut self, now: Time) {
        if !self.has_run_since {
            self.switches_known = Some(now);
        }
    }

    /// Takes the counts of a look at which it had run.
    pub(super) fn take(
        &mut self,
        counts: [u64; 3],
        stat: &Stat,
        is_first: bool,
        view: &mut ProcessPoll<'_, '_>,
    ) {
        if self.seen.is_none() {
            let zero = view.zero(stat.start, is_first);
            (self.scheduler, self.common, self.switches) = (tracks(zero), tracks(zero), tracks(zero));
        }
        self.seen = Some(counts);
        let node = SeriesNode::Thread { tid: self.tid };
        let [run, ready, switches] = counts.map(|count| count as f64);
        let values = [run / 1e9, ready / 1e9, switches];
        for ((track, known), value) in self.scheduler.iter_mut().zip(SCHEDULER).zip(values) {
            track.put(TrackSubject { known, node, label: "" }, view.look, value, view.sink);
        }
        for ((track, known), value) in self.common.iter_mut().zip(COMMON).zip(common(stat)) {
            track.put(TrackSubject { known, node, label: "" }, view.look, value, view.sink);
        }
        self.take_switches(view);
    }

    fn take_switches(&mut self, view: &mut ProcessPoll<'_, '_>) {
        let now = view.look.now;
        let since = |time: Time| now.nanoseconds().saturating_sub(time.nanoseconds());
        let is_due = self.switches_read.is_none_or(|read| since(read) >= SWITCHES_EVERY.as_nanos() as u64);
        if !is_due && !view.look.is_last {
            self.has_run_since = true;
            return;
        }
        let Ok(text) = self.status.read(view.room, view.buffer) else { return };
        let values = SWITCHES.map(|(_, name)| named(text, name));
        let look = PollTime { before: self.switches_known, ..view.look };
        let node = SeriesNode::Thread { tid: self.tid };
        for ((track, (known, _)), value) in self.switches.iter_mut().zip(SWITCHES).zip(values) {
            if let Some(value) = value {
                track.put(TrackSubject { known, node, label: "" }, look, value as f64, view.sink);
            }
        }
        (self.switches_known, self.switches_read) = (Some(now), Some(now));
        self.has_run_since = false;
    }

    /// It has ended: what was seen last is written.
    pub(super) fn end(&mut self, view: &mut ProcessPoll<'_, '_>) {
        let node = SeriesNode::Thread { tid: self.tid };
        let own = self.scheduler.iter_mut().zip(SCHEDULER).chain(self.common.iter_mut().zip(COMMON));
        for (track, known) in own {
            track.end(TrackSubject { known, node, label: "" }, view.look.before, view.sink);
        }
        for (track, (known, _)) in self.switches.iter_mut().zip(SWITCHES) {
            track.end(TrackSubject { known, node, label: "" }, self.switches_known, view.sink);
        }
    }
}
