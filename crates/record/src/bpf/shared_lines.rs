//! Cache lines that threads on several processors access at the same time, one of them by writing: found by samples alone.
//!
//! ```text
//!   processor 0   thread 1   ──s──────s──────s──      s samples; their registers and the code around say that
//!   processor 1   thread 2   ─────s──────s──────      the line at 0x4040 is written by both, at different bytes
//! ```
//! No counter of the processor is needed. It is not known how often the line went from one to the other, nor how long that took: a
//! sample says that a thread was at code that accesses the line while another one was, elsewhere. Lines of stacks are left out, of
//! the C library (its locks have rows of their own), and what threads look at while they wait.

use std::path::PathBuf;
use std::sync::Arc;

use longpole_event::Time;
use longpole_recording::{LineUser, SharedLine, SharedLineSamples};
use longpole_symbols::{CodeModule, Mapping, PlaceWords, PolledState, Symboliser, name_variables};
use rustc_hash::FxHashMap;

use super::sampled_code::SampledPlace;
use super::wire::{STACK_POINTER, ThreadRegisters};

/// Bytes of a line.
const LINE: u64 = 64;
/// Lines that are kept in mind. Most are of data that is passed over once.
const MOST_LINES: usize = 8192;
/// Threads of a line that are told apart.
const MOST_USERS: usize = 16;
/// Places in code of a line that are told apart.
const MOST_PLACES: usize = 8;
/// Lines that are told.
const MOST_TOLD: usize = 64;
/// Mean intervals of samples within which threads are there at the same time.
const TOGETHER: u64 = 3;
/// Fewer samples of a line are told by chance.
const FEWEST_SAMPLES: u64 = 8;
/// Above the stack pointer so many bytes are taken for the thread's own stack.
const OWN_STACK: u64 = 256 << 10;

/// A line of a process.
#[derive(Debug, Default)]
struct KnownLine {
    users: Vec<KnownUser>,
    /// Samples of threads while another one was there, by the place in the code.
    places: Vec<LinePlace>,
}

/// A thread that accesses a line.
#[derive(Clone, Copy, Debug)]
struct KnownUser {
    tid: u32,
    cpu: u16,
    last: Time,
    /// When it last wrote.
    wrote: Option<Time>,
    /// Samples while another was there.
    samples: u64,
    /// The line's bytes that it reads and writes, a bit for each.
    read: u64,
    written: u64,
}

/// Where code accesses a line.
#[derive(Clone, Debug)]
struct LinePlace {
    mapping: Arc<Mapping>,
    /// The address in the file, and what it is less than in the process.
    address: u64,
    bias: u64,
    samples: u64,
}

/// Follows which lines samples show in use, and by whom.
#[derive(Debug)]
pub(super) struct LineWatch {
    together: u64,
    lines: FxHashMap<(u32, u64), KnownLine>,
    /// Those of processes that are gone.
    ended: Vec<((u32, u64), KnownLine)>,
    /// Samples of recorded threads, whatever they do.
    samples: u64,
}

/// A sample, and what is accessed there.
#[derive(Clone, Copy, Debug)]
struct LineSample<'a> {
    of: &'a ThreadRegisters,
    cpu: u16,
    words: &'a PlaceWords,
    mapping: &'a Arc<Mapping>,
}

impl LineWatch {
    /// For timers of this rate.
    pub(super) fn new(hertz: u32) -> LineWatch {
        let together = longpole_privileged::mean(hertz) * TOGETHER;
        LineWatch { together, lines: FxHashMap::default(), ended: Vec::new(), samples: 0 }
    }

    /// There was a sample, in the kernel or elsewhere.
    pub(super) fn count(&mut self) {
        self.samples += 1;
    }

    /// A sample found a thread of a program's own code.
    pub(super) fn see(&mut self, of: &ThreadRegisters, cpu: u16, place: &SampledPlace) {
        let Some(mapping) = &place.mapping else { return };
        let sample = LineSample { of, cpu, words: &place.words, mapping };
        for (line, bytes) in sample.lines() {
            self.access(line, bytes, &sample);
        }
    }

    fn access(&mut self, line: u64, (read, written): (u64, u64), sample: &LineSample<'_>) {
        if self.lines.len() >= MOST_LINES {
            self.lines.retain(|_, line| line.users.len() > 1);
            if self.lines.len() >= MOST_LINES {
                return;
            }
        }
        let known = self.lines.entry((sample.of.task.pid, line)).or_default();
        let (tid, now) = (sample.of.task.tid, sample.of.time);
        let is_recent = |time: Time| now.since(time) <= self.together;
        let conflicts = |user: &KnownUser| {
            let is_there = user.tid != tid && user.cpu != sample.cpu && is_recent(user.last);
            is_there && (written != 0 || user.wrote.is_some_and(is_recent))
        };
        let is_shared = known.users.iter().any(conflicts);
        let index = known.users.iter().position(|user| user.tid == tid);
        if index.is_none() && known.users.len() >= MOST_USERS {
            return;
        }
        let index = index.unwrap_or_else(|| {
            known.users.push(KnownUser {
                tid,
                cpu: 0,
                last: now,
                wrote: None,
                samples: 0,
                read: 0,
                written: 0,
            });
            known.users.len() - 1
        });
        let user = &mut known.users[index];
        (user.cpu, user.last) = (sample.cpu, now);
        if written != 0 {
            user.wrote = Some(now);
        }
        user.read |= read;
        user.written |= written;
        if is_shared {
            user.samples += 1;
            known.count_place(sample);
        }
    }

    /// A process is gone, or runs another program: what its threads shared is told at the end.
    pub(super) fn end_process(&mut self, pid: u32) {
        let of_it = |key: &(u32, u64), _: &mut KnownLine| key.0 == pid;
        let ended = self.lines.extract_if(of_it).filter(|(_, line)| line.is_worth_telling());
        self.ended.extend(ended.take(MOST_TOLD));
    }

    /// The lines with most samples, named.
    pub(super) fn told(&self) -> SharedLineSamples {
        let alive = self.lines.iter().filter(|(_, line)| line.is_worth_telling());
        let ended = self.ended.iter().map(|(key, line)| (key, line));
        let mut lines: Vec<(&(u32, u64), &KnownLine)> = alive.chain(ended).collect();
        lines.sort_by_key(|&(key, line)| (std::cmp::Reverse(line.samples()), *key));
        lines.truncate(MOST_TOLD);
        let mut names = LineNames::default();
        let lines = lines.into_iter().map(|(&key, line)| line.told(key, &mut names)).collect();
        SharedLineSamples { samples: self.samples, lines }
    }
}

impl LineSample<'_> {
    /// The lines that are accessed, with the bytes that are read and written.
    fn lines(&self) -> Vec<(u64, (u64, u64))> {
        let general = &self.of.general;
        let state = PolledState { registers: general, bias: self.words.bias, read: &|_| None };
        let stack = general[STACK_POINTER];
        let mut lines: Vec<(u64, (u64, u64))> = Vec::new();
        for access in &self.words.accessed {
            let Some(address) = access.word.address(&state) else { continue };
            if address < LINE || address.wrapping_sub(stack) < OWN_STACK {
                continue;
            }
            // What begins in the line counts, as far as it is in there.
            let (line, at) = (address / LINE, address % LINE);
            let width = access.word.bytes.min(LINE - at);
            let mask = (u64::MAX >> (LINE - width)) << at;
            let bytes = if access.is_written { (0, mask) } else { (mask, 0) };
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, known)) => *known = (known.0 | bytes.0, known.1 | bytes.1),
                None => lines.push((line, bytes)),
            }
        }
        lines
    }
}

impl KnownLine {
    fn count_place(&mut self, sample: &LineSample<'_>) {
        let bias = sample.words.bias;
        let address = sample.of.ip.wrapping_sub(bias);
        let same =
            |place: &&mut LinePlace| place.address == address && place.mapping.path == sample.mapping.path;
        if let Some(place) = self.places.iter_mut().find(same) {
            place.samples += 1;
        } else if self.places.len() < MOST_PLACES {
            self.places.push(LinePlace { mapping: sample.mapping.clone(), address, bias, samples: 1 });
        }
    }

    fn samples(&self) -> u64 {
        self.users.iter().map(|user| user.samples).sum()
    }

    /// Whether several threads were there too often for chance, and wrote.
    fn is_worth_telling(&self) -> bool {
        let there = self.users.iter().filter(|user| user.samples > 0);
        let is_written = self.users.iter().any(|user| user.written != 0);
        is_written && there.count() > 1 && self.samples() >= FEWEST_SAMPLES
    }

    fn told(&self, (process, line): (u32, u64), names: &mut LineNames) -> SharedLine {
        let mut users: Vec<KnownUser> = self.users.iter().filter(|user| user.samples > 0).copied().collect();
        users.sort_by_key(|user| (std::cmp::Reverse(user.samples), user.tid));
        let address = line * LINE;
        let place = self.places.iter().max_by_key(|place| place.samples);
        let first = address + u64::from(contended(&users).trailing_zeros());
        let (variable, procedure) = place.map(|place| names.of(place, first)).unwrap_or_default();
        let user = |user: KnownUser| LineUser {
            thread: user.tid,
            samples: user.samples,
            read: user.read,
            written: user.written,
        };
        let users = users.into_iter().map(user).collect();
        SharedLine { process, address, variable, procedure, samples: self.samples(), users }
    }
}

/// The bytes of a line that give it its name: those that one thread writes and another uses, else all that are written.
fn contended(users: &[KnownUser]) -> u64 {
    let mut contended = 0;
    for (index, user) in users.iter().enumerate() {
        let others = users.iter().enumerate().filter(|&(other, _)| other != index);
        contended |= others.fold(0, |bytes, (_, other)| bytes | user.written & (other.read | other.written));
    }
    let written = users.iter().fold(0, |bytes, user| bytes | user.written);
    if contended != 0 { contended } else { written }
}

/// Names of variables and procedures, with each file read once.
#[derive(Default)]
struct LineNames {
    modules: FxHashMap<PathBuf, Option<CodeModule>>,
    symboliser: Symboliser,
}

impl LineNames {
    /// The variable of the place's file that holds an address, and the procedure that the place is in.
    fn of(&mut self, place: &LinePlace, address: u64) -> (Option<String>, Option<String>) {
        let path = &place.mapping.path;
        let module = self.modules.entry(path.clone()).or_insert_with(|| CodeModule::of_file(path).ok());
        let Some(module) = module else { return (None, None) };
        let found = name_variables(module, &[address.wrapping_sub(place.bias)]).pop().flatten();
        let variable = found.map(|found| match found.offset {
            0 => found.name,
            offset => format!("{}+{offset:#x}", found.name),
        });
        let named = self.symboliser.symbolise(module, &[place.address]).pop();
        let procedure = named.and_then(|named| named.places.into_iter().next_back());
        (variable, procedure.map(|place| place.procedure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::KernelTask;

    const MILLISECOND: u64 = 1_000_000;

    struct Drawn(LineWatch);

    impl Drawn {
        /// Timers of 500 Hz, so that threads are there together within 6 ms.
        fn new() -> Drawn {
            Drawn(LineWatch::new(500))
        }

        /// A thread is found on a processor at a time in milliseconds, and accesses the line at 0x4000.
        fn sample(&mut self, (tid, cpu): (u32, u16), time: u64, bytes: (u64, u64)) {
            let time = Time::from_nanoseconds(time * MILLISECOND);
            let of = ThreadRegisters { time, task: KernelTask { pid: 1, tid }, ip: 0x1000, general: [0; 16] };
            let mapping = Arc::new(Mapping {
                start: 0,
                end: 0x2000,
                file_offset: 0,
                path: "/nowhere".into(),
                build_id: Vec::new(),
            });
            let sample = LineSample { of: &of, cpu, words: &PlaceWords::default(), mapping: &mapping };
            self.0.count();
            self.0.access(0x4000 / LINE, bytes, &sample);
        }

        /// Two threads in turn, 2 ms apart.
        fn alternate(&mut self, cpus: [u16; 2], bytes: [(u64, u64); 2]) {
            for round in 0..10 {
                self.sample((11, cpus[0]), 4 * round, bytes[0]);
                self.sample((12, cpus[1]), 4 * round + 2, bytes[1]);
            }
        }
    }

    #[test]
    fn threads_that_write_beside_each_other_on_two_processors_share_a_line() {
        let mut drawn = Drawn::new();
        drawn.alternate([0, 1], [(0xff, 0xff), (0xff00, 0xff00)]);
        let told = drawn.0.told();
        assert_eq!(told.samples, 20);
        let [line] = &told.lines[..] else { panic!("{told:?}") };
        // The first sample had nobody beside it.
        assert_eq!((line.process, line.address, line.samples), (1, 0x4000, 19));
        let users = [(12, 10, 0xff00, 0xff00), (11, 9, 0xff, 0xff)];
        let found: Vec<(u32, u64, u64, u64)> =
            line.users.iter().map(|user| (user.thread, user.samples, user.read, user.written)).collect();
        assert_eq!(found, users);
    }

    #[test]
    fn a_line_is_called_by_what_one_thread_writes_and_another_uses() {
        let user = |tid, read, written| KnownUser {
            tid,
            cpu: 0,
            last: Time::ZERO,
            wrote: None,
            samples: 9,
            read,
            written,
        };
        // A pointer that all read, and behind it the counter to which all add.
        assert_eq!(contended(&[user(1, 0xffff, 0xff00), user(2, 0xffff, 0xff00)]), 0xff00);
        // Counters beside each other: the first of them.
        assert_eq!(contended(&[user(1, 0xff, 0xff00), user(2, 0xff, 0xff0000)]), 0xffff00);
        // One that another reads goes before one that its thread alone writes.
        assert_eq!(contended(&[user(1, 0, 0xffff), user(2, 0xff00, 0)]), 0xff00);
    }

    #[test]
    fn what_is_only_read_or_used_in_turns_is_not_shared() {
        let mut read = Drawn::new();
        read.alternate([0, 1], [(0xff, 0), (0xff, 0)]);
        assert_eq!(read.0.told().lines, []);
        // It was written at first only.
        read.sample((11, 0), 100, (0, 0xff));
        for time in 0..20 {
            read.sample((11, 0), 200 + time, (0xff, 0));
            read.sample((12, 1), 200 + time, (0xff, 0));
        }
        assert_eq!(read.0.told().lines, []);
        let mut one_processor = Drawn::new();
        one_processor.alternate([0, 0], [(0, 0xff), (0, 0xff)]);
        assert_eq!(one_processor.0.told().lines, []);
        let mut later = Drawn::new();
        for time in 0..20 {
            later.sample((11, 0), time, (0, 0xff));
            later.sample((12, 1), 100 + time, (0, 0xff));
        }
        assert_eq!(later.0.told().lines, []);
    }

    #[test]
    fn few_samples_may_be_chance_and_those_of_a_program_that_is_gone_stay() {
        let mut drawn = Drawn::new();
        for time in 0..3 {
            drawn.sample((11, 0), time, (0, 1));
            drawn.sample((12, 1), time, (0, 2));
        }
        assert_eq!(drawn.0.told().lines, []);
        drawn.alternate([0, 1], [(0, 1), (0, 2)]);
        drawn.0.end_process(1);
        drawn.sample((11, 0), 50, (0, 4));
        let told = drawn.0.told();
        assert_eq!(told.lines.len(), 1);
        assert_eq!(told.lines[0].users.iter().map(|user| user.written).sum::<u64>(), 3);
    }
}
