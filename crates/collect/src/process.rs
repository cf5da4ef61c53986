//! What the program's processes and threads do: faults, times, switches, memory, I/O, from `/proc`.
//!
//! Every process below the first and every thread of them is looked at. The scheduler's counts are the cheapest file of a
//! thread, and who has not run since the look before has done nothing else either: it costs one read. New processes and
//! threads are looked for when the machine's last pid has changed.
//!
//! What a task did between the last look and its end is not seen; the faults, times and I/O of a thread that ended are
//! in its process's numbers. A task that began and ended between two looks is not seen at all.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use longpole_event::Time;
use rustc_hash::FxHashSet;

use crate::clock;
use crate::kept_file::{KeptFile, lines, number, numbers, words};
use crate::pace::Pace;
use crate::sink::Sink;
use crate::source::SeriesSource;
use crate::track::PollTime;
use task_file::OpenFileLimit;

mod member;
mod stat;
mod task_file;
mod thread;

use member::Member;

/// Shares of one processor that looking at what is known, and looking for what is new, may take.
const LOOKS: f64 = 0.003;
const SCANS: f64 = 0.0015;
/// How much the time at which a task began is coarser than other times.
const TICK: Duration = Duration::from_millis(10);

/// Reads the kernel's counts of the program's processes and threads.
pub(crate) struct ProcessSource {
    proc: PathBuf,
    room: OpenFileLimit,
    looks: Pace,
    scans: Pace,
    /// Ends with the pid that was given last.
    load: Option<KeptFile>,
    last_pid: u64,
    is_scan_due: bool,
    watch: Option<WatchedProgram>,
    members: Vec<Member>,
    known: FxHashSet<u32>,
    buffer: Vec<u8>,
    is_last: bool,
}

/// The program that is watched.
#[derive(Clone, Copy, Debug)]
struct WatchedProgram {
    first: u32,
    begin: Time,
    /// It was started by us: all its counts began at zero at `begin`.
    is_ours: bool,
}

impl ProcessSource {
    pub(crate) fn new() -> ProcessSource {
        ProcessSource::at(PathBuf::from("/proc"))
    }

    fn at(proc: PathBuf) -> ProcessSource {
        ProcessSource {
            load: KeptFile::open(proc.join("loadavg")).ok(),
            proc,
            room: OpenFileLimit::of_this_process(),
            looks: Pace::within(LOOKS),
            scans: Pace::within(SCANS),
            last_pid: 0,
            is_scan_due: true,
            watch: None,
            members: Vec::new(),
            known: FxHashSet::default(),
            buffer: Vec::new(),
            is_last: false,
        }
    }

    fn watch(&mut self, first: u32, begin: Time) {
        let stat = std::fs::read(self.proc.join(format!("{first}/stat"))).unwrap_or_default();
        let is_ours = stat::Stat::parse(&stat).is_some_and(|stat| stat.parent == std::process::id());
        self.watch = Some(WatchedProgram { first, begin, is_ours });
        (self.looks, self.scans) = (Pace::within(LOOKS), Pace::within(SCANS));
        self.members.clear();
        self.known.clear();
        self.is_scan_due = true;
    }

    /// Whether there can be tasks that are not known.
    fn has_new_tasks(&mut self) -> bool {
        let Some(load) = &self.load else { return true };
        let Ok(text) = load.read_record(&mut self.buffer) else { return true };
        let last = words(text).last().and_then(number).unwrap_or(0);
        std::mem::replace(&mut self.last_pid, last) != last
    }

    /// Looks for processes and threads that are not known.
    fn scan(&mut self, watch: WatchedProgram, sink: &mut Sink<'_>) {
        self.is_scan_due = false;
        if self.members.is_empty() && self.known.insert(watch.first) {
            self.members.push(Member::new(&self.proc, watch.first));
        }
        let mut at = 0;
        while at < self.members.len() {
            let found = children_of(&mut self.members[at], sink);
            let new: Vec<u32> = found.into_iter().filter(|&pid| self.known.insert(pid)).collect();
            self.members.extend(new.into_iter().map(|pid| Member::new(&self.proc, pid)));
            at += 1;
        }
    }
}

/// The processes that a process has started and that live; its own threads that are new are added to it.
fn children_of(member: &mut Member, sink: &mut Sink<'_>) -> Vec<u32> {
    let mut found = Vec::new();
    for tid in tasks(&member.folder.join("task")) {
        if !member.has(tid) {
            member.add(tid);
        }
        match std::fs::read(member.folder.join(format!("task/{tid}/children"))) {
            Ok(text) => found.extend(numbers(&text).filter_map(|pid| u32::try_from(pid).ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound && member.has_task(tid) => {
                sink.trouble("processes that the program starts are not found: this kernel does not list the children of a task");
            }
            Err(_) => {}
        }
    }
    found
}

/// The tids that a folder lists.
fn tasks(folder: &std::path::Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl SeriesSource for ProcessSource {
    fn program(&mut self, pid: u32) {
        self.watch(pid, clock::now());
    }

    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        let Some(watch) = self.watch else { return Ok(()) };
        if !self.is_last && !self.looks.is_due(now) {
            return Ok(());
        }
        self.is_scan_due |= self.has_new_tasks();
        if self.is_scan_due && self.scans.is_due(now) {
            let before = clock::thread_cpu();
            self.scan(watch, sink);
            self.scans.took(now, clock::thread_cpu().saturating_sub(before));
        }
        let before = clock::thread_cpu();
        let look = PollTime { now, before: self.looks.last(), is_last: self.is_last };
        self.look_at_members(watch, look, sink);
        self.looks.took(now, clock::thread_cpu().saturating_sub(before));
        Ok(())
    }

    fn used_interval(&self) -> Option<Duration> {
        self.looks.interval()
    }

    fn stop(&mut self) {
        self.is_last = true;
    }
}

impl ProcessSource {
    fn look_at_members(&mut self, watch: WatchedProgram, look: PollTime, sink: &mut Sink<'_>) {
        let mut view = ProcessPoll { watch, look, room: &self.room, buffer: &mut self.buffer, sink };
        let mut has_other_threads = false;
        self.members.retain_mut(|member| {
            let lives = member.look(&mut view);
            has_other_threads |= member.has_other_threads();
            if !lives {
                self.known.remove(&member.pid);
            }
            lives
        });
        self.is_scan_due |= has_other_threads;
    }
}

/// One look at the program.
struct ProcessPoll<'a, 'b> {
    watch: WatchedProgram,
    look: PollTime,
    room: &'a OpenFileLimit,
    buffer: &'a mut Vec<u8>,
    sink: &'a mut Sink<'b>,
}

impl ProcessPoll<'_, '_> {
    /// When the counts of a task that is looked at for the first time were zero; `None` where that was before anybody
    /// looked. Never before it began: its pid may have been another's then.
    fn zero(&self, start_ticks: u64, is_first: bool) -> Option<Time> {
        let WatchedProgram { begin, is_ours, .. } = self.watch;
        if is_first && is_ours {
            return Some(begin);
        }
        let slept = clock::slept().as_nanos() as u64;
        let started = (start_ticks * TICK.as_nanos() as u64).saturating_sub(slept) + TICK.as_nanos() as u64;
        let latest = self.look.now.nanoseconds().saturating_sub(1000);
        (is_ours || started > begin.nanoseconds())
            .then(|| Time::from_nanoseconds(started.min(latest).max(begin.nanoseconds())))
    }
}

/// The value of a line `NAME: VALUE`.
fn named(text: &[u8], name: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| words(line.strip_prefix(name)?).next().and_then(number))
}

#[cfg(test)]
mod tests;
