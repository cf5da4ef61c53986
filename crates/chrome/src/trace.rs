//! A whole trace, read.

use std::io::{BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use rustc_hash::FxHashMap;

use crate::document::read_events;
use crate::error::{ChromeError, ChromeResult};
use crate::event::ChromeEvent;
use crate::lane::{ChromeLane, ChromeSlice};
use crate::names::Names;
use crate::scalar::Scalar;

/// Slices that are read; further ones are counted.
const MOST_SLICES: u64 = 10_000_000;
/// Collective operations that are told apart; slices of further ones are none.
const MOST_COLLECTIVES: usize = 1 << 16;
/// Lanes that are read; slices of further ones are counted.
const MOST_LANES: usize = 1 << 16;
/// Begins of slices that can be open in a lane.
const DEEPEST: usize = 4096;
/// Times from here on are none, nanoseconds.
const LATEST: f64 = 9e18;
/// What a GPU does, as PyTorch tells it.
const DEVICE_CATEGORIES: [&str; 3] = ["kernel", "gpu_memcpy", "gpu_memset"];
/// Slices of PyTorch that are no activity of a thread or a GPU: its own spans, and the annotations of the host drawn above streams.
const DRAWN_CATEGORIES: [&str; 2] = ["Trace", "gpu_user_annotation"];
/// What clang calls the sums at the end of its traces.
const SUM: &str = "Total ";

/// What a trace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChromeContents {
    /// Slices of threads.
    pub slices: u64,
    /// Slices of streams of a GPU.
    pub device_slices: u64,
    /// Which process of a distributed job it is of, and how many there are.
    pub rank: Option<(u32, u32)>,
}

/// What could not be used of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChromeDamage {
    /// The file ends early, or goes on with what is no JSON.
    pub is_cut: bool,
    /// Events that lack their time, their thread or their kind.
    pub incomplete: u64,
    /// Ends of slices that had not begun.
    pub unmatched_ends: u64,
    /// Slices that do not end.
    pub unended: u64,
    /// Slices that begin in one slice of their thread and end after it.
    pub crossing: u64,
    /// Slices beyond the number that is read.
    pub beyond: u64,
    /// Slices that are no activity: sums, and spans of the profiler itself.
    pub drawn: u64,
    /// Events of other kinds: asynchronous slices, flows, counters, marks, objects.
    pub other: u64,
}

/// A collective operation of a process group, as a slice tells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// What it does, such as `allreduce`.
    pub operation: String,
    /// Its process group; empty where that is not said.
    pub group: String,
    /// The ranks of the group; empty where they are not said.
    pub ranks: Vec<u32>,
}

/// A process of a trace.
#[derive(Clone, Debug, Default)]
struct ChromeProcess {
    pid: Scalar,
    name: String,
}

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct ChromeTrace {
    lanes: Vec<ChromeLane>,
    by_key: FxHashMap<(u32, String), usize>,
    processes: Vec<ChromeProcess>,
    by_pid: FxHashMap<String, u32>,
    names: Names,
    collectives: Vec<Collective>,
    by_collective: FxHashMap<Collective, u32>,
    correlations: FxHashMap<u64, u32>,
    contents: ChromeContents,
    damage: ChromeDamage,
}

impl ChromeTrace {
    /// Whether a file that begins so may be such a trace; the rest of it decides.
    #[must_use]
    pub fn begins(begin: &[u8]) -> bool {
        let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        begin.starts_with(&[0x1f, 0x8b]) || matches!(first, Some(b'{' | b'['))
    }

    /// Reads a trace, which may be compressed by gzip.
    ///
    /// # Errors
    /// [`ChromeError`].
    pub fn read(reader: impl Read) -> ChromeResult<ChromeTrace> {
        let mut reader = BufReader::with_capacity(1 << 16, reader);
        let mut trace = ChromeTrace::default();
        let take = |event| trace.take(event);
        let end = if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
            read_events(MultiGzDecoder::new(reader), take)?
        } else {
            if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
                reader.consume(3);
            }
            read_events(reader, take)?
        };
        trace.contents.rank = end.rank;
        trace.damage.is_cut = end.is_cut;
        trace.settle();
        if trace.lanes.is_empty() { Err(ChromeError::Nothing) } else { Ok(trace) }
    }

    /// What it holds.
    #[must_use]
    pub fn contents(&self) -> ChromeContents {
        self.contents
    }

    /// What could not be used of it.
    #[must_use]
    pub fn damage(&self) -> ChromeDamage {
        self.damage
    }

    /// Its lanes, those with slices.
    #[must_use]
    pub fn lanes(&self) -> &[ChromeLane] {
        &self.lanes
    }

    /// The name of a slice.
    #[must_use]
    pub fn name(&self, slice: &ChromeSlice) -> &str {
        self.names.text(slice.name)
    }

    /// The pid and the name of a process; a process without a number has one that is not used.
    #[must_use]
    pub fn process(&self, process: u32) -> (u32, &str) {
        let Some(found) = self.processes.get(process as usize) else { return (0, "") };
        let said = found.pid.count().and_then(|pid| u32::try_from(pid).ok());
        let name = if found.name.is_empty() { found.pid.text().unwrap_or("") } else { &found.name };
        (said.unwrap_or(u32::MAX - process), name)
    }

    /// The collective operation that a slice is.
    #[must_use]
    pub fn collective(&self, slice: &ChromeSlice) -> Option<&Collective> {
        self.collectives.get((slice.collective as usize).checked_sub(1)?)
    }

    /// The slice that launched each of a GPU's, by lane and place; those of the GPU name it by [`ChromeTrace::correlation`].
    #[must_use]
    pub fn launches(&self) -> FxHashMap<u32, (usize, usize)> {
        let mut found = FxHashMap::default();
        for (lane, of_host) in self.lanes.iter().enumerate().filter(|(_, lane)| !lane.is_device) {
            for (place, slice) in
                of_host.slices.iter().enumerate().filter(|(_, slice)| slice.correlation != 0)
            {
                // The innermost: the call of the runtime.
                found.insert(slice.correlation, (lane, place));
            }
        }
        found
    }

    /// What ties a slice to its launch.
    #[must_use]
    pub fn correlation(&self, slice: &ChromeSlice) -> Option<u32> {
        Some(slice.correlation).filter(|&correlation| correlation != 0)
    }

    fn take(&mut self, event: ChromeEvent) {
        let phase = event.phase.text().and_then(|phase| phase.chars().next()).unwrap_or('\0');
        match phase {
            'X' | 'B' => self.take_begin(event, phase == 'B'),
            'E' => self.take_end(&event),
            'M' => self.take_name(event),
            '\0' => self.damage.incomplete += 1,
            _ => self.damage.other += 1,
        }
    }

    fn take_begin(&mut self, event: ChromeEvent, is_open: bool) {
        let category = event.category.text().unwrap_or("");
        let is_sum = event.name.text().is_some_and(|name| name.starts_with(SUM))
            && event.arguments.name == Scalar::Absent;
        if DRAWN_CATEGORIES.contains(&category) || (is_sum && event.time.number() == Some(0.0)) {
            self.damage.drawn += 1;
            return;
        }
        let is_device = DEVICE_CATEGORIES.contains(&category);
        let begin = nanoseconds(&event.time);
        let end = if is_open {
            begin
        } else {
            begin.zip(event.duration.number()).and_then(|(begin, length)| after(begin, length))
        };
        let (Some(begin), Some(end), Some(lane)) = (begin, end, self.lane(&event)) else {
            self.damage.incomplete += 1;
            return;
        };
        if self.contents.slices + self.contents.device_slices >= MOST_SLICES {
            self.damage.beyond += 1;
            return;
        }
        let slice = ChromeSlice {
            begin,
            end,
            name: self.slice_name(&event),
            correlation: self.correlation_number(&event.arguments.correlation),
            collective: self.collective_number(&event, is_device),
        };
        let found = &mut self.lanes[lane];
        found.is_device |= is_device;
        if is_open {
            if found.open.len() < DEEPEST {
                found.open.push(slice);
            } else {
                self.damage.beyond += 1;
            }
            return;
        }
        if end > begin {
            found.slices.push(slice);
            *(if is_device { &mut self.contents.device_slices } else { &mut self.contents.slices }) += 1;
        }
    }

    fn take_end(&mut self, event: &ChromeEvent) {
        let (Some(end), Some(lane)) = (nanoseconds(&event.time), self.lane(event)) else {
            self.damage.incomplete += 1;
            return;
        };
        match self.lanes[lane].open.pop() {
            Some(begun) if end > begun.begin => {
                self.lanes[lane].slices.push(ChromeSlice { end, ..begun });
                self.contents.slices += 1;
            }
            Some(_) => {}
            None => self.damage.unmatched_ends += 1,
        }
    }

    fn take_name(&mut self, event: ChromeEvent) {
        let kind = event.name.text().unwrap_or("").to_owned();
        match kind.as_str() {
            "process_name" => {
                if let (Some(process), Some(name)) =
                    (self.process_of(&event.pid), event.arguments.name.into_text())
                {
                    self.processes[process as usize].name = name;
                }
            }
            "thread_name" => {
                if let (Some(lane), Some(name)) = (self.lane(&event), event.arguments.name.text()) {
                    name.clone_into(&mut self.lanes[lane].name);
                }
            }
            _ => {}
        }
    }

    fn slice_name(&mut self, event: &ChromeEvent) -> u32 {
        let name = event.name.to_string();
        let name = if name.is_empty() { "unnamed slice" } else { &name };
        match event.arguments.detail.text() {
            Some(detail) if !detail.is_empty() => self.names.number(&format!("{name} {detail}")),
            _ => self.names.number(name),
        }
    }

    fn correlation_number(&mut self, correlation: &Scalar) -> u32 {
        let Some(said) = correlation.count().filter(|&said| said != 0) else { return 0 };
        let next = self.correlations.len() as u32 + 1;
        *self.correlations.entry(said).or_insert(next)
    }

    /// Which collective operation a slice is: work of a GPU that PyTorch describes so, or a thread of one of its libraries for processors.
    fn collective_number(&mut self, event: &ChromeEvent, is_device: bool) -> u32 {
        let arguments = &event.arguments;
        let name = event.name.text().unwrap_or("");
        let operation = match arguments.collective.text() {
            Some(operation) if is_device => operation,
            _ if is_device => return 0,
            _ => match name.split_once(':') {
                Some(("gloo" | "mpi" | "ucc", operation)) => operation,
                _ => return 0,
            },
        };
        let found = Collective {
            operation: operation.to_owned(),
            group: arguments.group.to_string(),
            ranks: arguments.ranks.text().map(ranks).unwrap_or_default(),
        };
        if self.collectives.len() >= MOST_COLLECTIVES || found.ranks.len() > MOST_LANES {
            return self.by_collective.get(&found).copied().unwrap_or(0);
        }
        let next = self.collectives.len() as u32 + 1;
        let number = *self.by_collective.entry(found.clone()).or_insert(next);
        if number == next {
            self.collectives.push(found);
        }
        number
    }

    fn process_of(&mut self, pid: &Scalar) -> Option<u32> {
        let key = pid.to_string();
        if key.is_empty() || self.processes.len() >= MOST_LANES {
            return self.by_pid.get(&key).copied();
        }
        let next = self.processes.len() as u32;
        let process = *self.by_pid.entry(key).or_insert(next);
        if process == next {
            self.processes.push(ChromeProcess { pid: pid.clone(), name: String::new() });
        }
        Some(process)
    }

    fn lane(&mut self, event: &ChromeEvent) -> Option<usize> {
        let process = self.process_of(&event.pid)?;
        let key = (process, event.tid.to_string());
        if let Some(&known) = self.by_key.get(&key) {
            return Some(known);
        }
        if self.lanes.len() >= MOST_LANES {
            return None;
        }
        let tid = event.tid.count().and_then(|tid| u32::try_from(tid).ok()).unwrap_or(0);
        let name = event.tid.text().unwrap_or("").to_owned();
        self.lanes.push(ChromeLane { process, tid, name, ..ChromeLane::default() });
        self.by_key.insert(key, self.lanes.len() - 1);
        Some(self.lanes.len() - 1)
    }

    /// After the last event.
    fn settle(&mut self) {
        let all = self.lanes.iter().flat_map(|lane| lane.slices.iter().chain(&lane.open));
        let (first, last) =
            all.fold((u64::MAX, 0), |(first, last), slice| (first.min(slice.begin), last.max(slice.end)));
        for lane in &mut self.lanes {
            for open in lane.open.drain(..) {
                self.damage.unended += 1;
                if last > open.begin {
                    lane.slices.push(ChromeSlice { end: last, ..open });
                }
            }
            for slice in &mut lane.slices {
                (slice.begin, slice.end) = (slice.begin - first, slice.end - first);
            }
            self.damage.crossing += lane.arrange();
        }
        self.lanes.retain(|lane| !lane.slices.is_empty());
        self.by_key.clear();
        self.by_collective.clear();
    }
}

/// Times count from far below 0, so that those below it, which some writers have, are times too.
const ZERO: f64 = 1e18;

fn nanoseconds(microseconds: &Scalar) -> Option<u64> {
    let time = (microseconds.number()? * 1_000.0).round();
    (time.abs() < ZERO).then(|| (time as i64 + ZERO as i64).cast_unsigned())
}

fn after(begin: u64, microseconds: f64) -> Option<u64> {
    let length = (microseconds * 1_000.0).round();
    (0.0..LATEST).contains(&length).then(|| begin.saturating_add(length as u64))
}

/// The numbers in a list such as `[0, 1, 2]`.
fn ranks(text: &str) -> Vec<u32> {
    text.split(|character: char| !character.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}
