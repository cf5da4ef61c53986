//! A process of the program.

use std::path::{Path, PathBuf};

use longpole_event::{SeriesNode, Time};

use super::stat::Stat;
use super::task_file::TaskFile;
use super::thread::{COMMON, MemberThread, SchedulerReading, common, tracks};
use super::{ProcessPoll, named};
use crate::clock;
use crate::known::{self, KnownMetric};
use crate::track::{PollTime, Track, TrackSubject};

const LEVELS: [&KnownMetric; 2] = [known::RESIDENT_MEMORY, known::PROCESS_THREADS];
const IO: [(&KnownMetric, &[u8]); 6] = [
    (known::READ_BYTES, b"rchar:"),
    (known::WRITTEN_BYTES, b"wchar:"),
    (known::READ_CALLS, b"syscr:"),
    (known::WRITE_CALLS, b"syscw:"),
    (known::STORAGE_READ_BYTES, b"read_bytes:"),
    (known::STORAGE_WRITTEN_BYTES, b"write_bytes:"),
];

/// What is remembered of a process.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) pid: u32,
    pub(super) folder: PathBuf,
    stat: TaskFile,
    io: TaskFile,
    threads: Vec<MemberThread>,
    /// As the kernel counted them at the last look.
    thread_count: Option<u64>,
    /// It never had more than its first thread, so that its counts are that thread's.
    is_single: bool,
    common: [Track; COMMON.len()],
    levels: [Track; LEVELS.len()],
    io_tracks: [Track; IO.len()],
    page_bytes: f64,
}

impl Member {
    pub(super) fn new(proc: &Path, pid: u32) -> Member {
        let folder = proc.join(pid.to_string());
        Member {
            pid,
            stat: TaskFile::new(folder.join("stat")),
            io: TaskFile::new(folder.join("io")),
            folder,
            threads: Vec::new(),
            thread_count: None,
            is_single: true,
            common: tracks(None),
            levels: tracks(None),
            io_tracks: tracks(None),
            page_bytes: clock::page_bytes(),
        }
    }

    pub(super) fn has(&self, tid: u32) -> bool {
        self.threads.iter().any(|thread| thread.tid == tid)
    }

    /// Whether the task is there just now.
    pub(super) fn has_task(&self, tid: u32) -> bool {
        self.folder.join(format!("task/{tid}")).exists()
    }

    pub(super) fn add(&mut self, tid: u32) {
        self.is_single &= tid == self.pid;
        self.threads.push(MemberThread::new(&self.folder.join("task"), tid));
    }

    /// Whether it has other threads than those that are known.
    pub(super) fn has_other_threads(&self) -> bool {
        self.thread_count.is_some_and(|count| count != self.threads.len() as u64)
    }

    /// Looks at it and its threads; `false` when it has ended.
    pub(super) fn look(&mut self, view: &mut ProcessPoll<'_, '_>) -> bool {
        let mut ran = Vec::new();
        self.threads.retain_mut(|thread| match thread.glance(view) {
            SchedulerReading::Same => {
                thread.rested(view.look.now);
                true
            }
            SchedulerReading::Ran(counts) => {
                ran.push((thread.tid, counts));
                true
            }
            SchedulerReading::Ended => {
                thread.end(view);
                false
            }
        });
        if ran.is_empty() && self.thread_count == Some(self.threads.len() as u64) && !view.look.is_last {
            return true;
        }
        let text = self.stat.read(view.room, view.buffer);
        let Some(stat) = text.ok().and_then(Stat::parse) else {
            self.end(view);
            return false;
        };
        let is_first = self.pid == view.watch.first;
        for (tid, counts) in ran {
            let Some(thread) = self.threads.iter_mut().find(|thread| thread.tid == tid) else { continue };
            let own = if self.is_single { Some(stat) } else { thread.stat(view) };
            if let Some(own) = own {
                thread.take(counts, &own, is_first && tid == self.pid, view);
            }
        }
        self.take(&stat, is_first, view);
        true
    }

    fn take(&mut self, stat: &Stat, is_first: bool, view: &mut ProcessPoll<'_, '_>) {
        let node = SeriesNode::Process { pid: self.pid };
        if self.thread_count.is_none() {
            let zero = view.zero(stat.start, is_first);
            (self.common, self.io_tracks) = (tracks(zero), tracks(zero));
            if let Some(zero) = zero.filter(|_| is_first) {
                self.begin(zero, view);
            }
        }
        self.thread_count = Some(stat.threads);
        for ((track, known), value) in self.common.iter_mut().zip(COMMON).zip(common(stat)) {
            track.put(TrackSubject { known, node, label: "" }, view.look, value, view.sink);
        }
        let levels = [stat.resident_pages as f64 * self.page_bytes, stat.threads as f64];
        for ((track, known), value) in self.levels.iter_mut().zip(LEVELS).zip(levels) {
            track.put(TrackSubject { known, node, label: "" }, view.look, value, view.sink);
        }
        // Another user's program may be looked at, but not at its I/O.
        let Ok(text) = self.io.read(view.room, view.buffer) else { return };
        let values = IO.map(|(_, name)| named(text, name));
        for ((track, (known, _)), value) in self.io_tracks.iter_mut().zip(IO).zip(values) {
            if let Some(value) = value {
                track.put(TrackSubject { known, node, label: "" }, view.look, value as f64, view.sink);
            }
        }
    }

    /// The first process has a number of every metric, if it is 0.
    fn begin(&mut self, zero: Time, view: &mut ProcessPoll<'_, '_>) {
        let look = PollTime { now: zero, before: None, is_last: false };
        let node = SeriesNode::Process { pid: self.pid };
        (self.common, self.io_tracks) = (tracks(None), tracks(None));
        let io = self.io_tracks.iter_mut().zip(IO.map(|(known, _)| known));
        for (track, known) in self.common.iter_mut().zip(COMMON).chain(io) {
            track.put(TrackSubject { known, node, label: "" }, look, 0.0, view.sink);
        }
    }

    /// It has ended: what was seen last is written.
    fn end(&mut self, view: &mut ProcessPoll<'_, '_>) {
        let node = SeriesNode::Process { pid: self.pid };
        let io = self.io_tracks.iter_mut().zip(IO.map(|(known, _)| known));
        let levels = self.levels.iter_mut().zip(LEVELS);
        for (track, known) in self.common.iter_mut().zip(COMMON).chain(levels).chain(io) {
            track.end(TrackSubject { known, node, label: "" }, view.look.before, view.sink);
        }
        for thread in &mut self.threads {
            thread.end(view);
        }
    }
}
