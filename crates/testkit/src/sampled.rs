//! Programs of which every nanosecond is known, as a sampling timer sees them: the truth that the division of CPU time
//! (metrics.md §1) is held to.
//!
//! A program goes in rounds: thread 0 works alone, then all threads work side by side, the last of them lets thread 0 go on.
//! Work comes in bursts; each burst goes through the procedures of its kind and ends where the thread waits, or wakes
//! another, at a place of that kind. A timer per thread samples the path at its instants and knows nothing else.
//!
//! ```text
//!   thread 0   serial ===|.....|== ==.= ====|serial
//!   thread 1   ..........|=.===.==== ==|...........      bursts of parallel work, cut by waits
//!   timer          ↑      ↑      ↑     ↑     ↑
//! ```
//! Nothing here is shared with the analysis.

use longpole_event::{ProcessId, ThreadId, Time};
use longpole_trace::{Cause, DependenceKind, Item, ItemKind, ObservationKind, PathId, Paths, State, Thread};

use crate::memory::MemoryTimelines;

/// A program and the timer that samples it.
#[derive(Clone, Copy, Debug)]
pub struct SampledProgram {
    /// Decides everything random.
    pub seed: u64,
    /// Threads, each on a processor and with a timer of its own.
    pub threads: usize,
    /// CPU time of each thread, about so many nanoseconds.
    pub work: u64,
    /// Bursts a second of CPU time.
    pub bursts: f64,
    /// Time between two looks of a timer, nanoseconds.
    pub period: f64,
    /// By how much of the period the timer's intervals differ from it at most, 0 to 1.
    pub jitter: f64,
    /// How long the timer keeps an interval before it begins another one, nanoseconds; 0: each interval is another one.
    pub hold: f64,
    /// Waits end at the multiples of so many nanoseconds, as those of sleeping programs do; 0: at any time.
    pub ticks: u64,
}

/// A piece of work of which everything is known.
#[derive(Clone, Copy, Debug)]
pub struct WorkPiece {
    /// Who worked.
    pub thread: ThreadId,
    /// Where.
    pub path: PathId,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}

/// What a timer saw of a program, and the truth.
#[derive(Debug)]
pub struct SampledRun {
    /// What was seen.
    pub timelines: MemoryTimelines,
    /// What was, thread by thread in the order of time.
    pub pieces: Vec<WorkPiece>,
    /// Integral of 1/U up to each time at which U changed, in order.
    integral: Vec<(u64, f64, u32)>,
}

impl SampledRun {
    /// Normalised processor time of the piece.
    #[must_use]
    pub fn normalised(&self, piece: &WorkPiece) -> f64 {
        self.integral_at(piece.to.nanoseconds()) - self.integral_at(piece.from.nanoseconds())
    }

    fn integral_at(&self, time: u64) -> f64 {
        let index = self.integral.partition_point(|&(at, _, _)| at <= time);
        let Some(&(at, sum, level)) = index.checked_sub(1).and_then(|index| self.integral.get(index)) else {
            return 0.0;
        };
        if level == 0 { sum } else { sum + (time - at) as f64 / f64::from(level) }
    }
}

/// Numbers that look random.
struct SampledRandom(u64);

impl SampledRandom {
    /// The next one, of 0 to 1.
    fn roll(&mut self) -> f64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A length of this mean, distributed exponentially.
    fn length(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.roll()).ln()
    }
}

/// What bursts of a kind do: parts of the burst by procedure, then where it ends, and whether the thread waits there.
struct BurstKind {
    parts: &'static [(&'static str, f64)],
    end: &'static str,
    waits: bool,
}

const SERIAL: [BurstKind; 2] = [
    BurstKind { parts: &[("plan", 0.7), ("read", 0.3)], end: "read", waits: true },
    BurstKind { parts: &[("plan", 0.2), ("merge", 0.8)], end: "publish", waits: false },
];
const PARALLEL: [BurstKind; 4] = [
    BurstKind { parts: &[("fetch", 0.1), ("hash", 0.9)], end: "fetch", waits: true },
    BurstKind { parts: &[("look_up", 0.5), ("copy", 0.5)], end: "deliver", waits: false },
    BurstKind { parts: &[("compress", 0.6), ("hash", 0.2), ("copy", 0.2)], end: "store", waits: true },
    BurstKind { parts: &[("log", 1.0)], end: "log", waits: true },
];

/// The program under way.
struct SampledMachine {
    program: SampledProgram,
    dice: SampledRandom,
    made: MemoryTimelines,
    pieces: Vec<WorkPiece>,
    worked: u64,
}

impl SampledProgram {
    /// Runs it.
    #[must_use]
    pub fn run(self) -> SampledRun {
        let mut made = MemoryTimelines::default();
        let machine = made.machine("sampled", self.threads as u32);
        let process = made.process(machine, "sampled");
        let main = made.call(Paths::ROOT, "main", 1);
        for index in 0..self.threads {
            made.program.threads.push(thread_of(process, index, main));
        }
        let mut run = SampledMachine {
            program: self,
            dice: SampledRandom(self.seed),
            made,
            pieces: Vec::new(),
            worked: 0,
        };
        run.rounds(main);
        run.finish()
    }
}

fn thread_of(process: ProcessId, index: usize, main: PathId) -> Thread {
    Thread {
        process,
        tid: 100 + index as u32,
        name: format!("T{index}"),
        start: Time::ZERO,
        end: None,
        creator: (index > 0).then_some(ThreadId(0)),
        prefix: if index == 0 { Paths::ROOT } else { main },
    }
}

impl SampledMachine {
    fn push(&mut self, time: u64, thread: usize, what: ItemKind) {
        let thread = ThreadId::from_index(thread);
        self.made.items.push(Item { time: Time::from_nanoseconds(time), thread, what });
    }

    fn rounds(&mut self, main: PathId) {
        let all = self.program.work * self.program.threads as u64;
        // A round is long enough for a few bursts, and short enough for many rounds.
        let stage = (4e9 / self.program.bursts).max(self.program.work as f64 / 60.0);
        let mut now = 0;
        for thread in 0..self.program.threads {
            self.push(now, thread, ItemKind::State(State::Blocked(Cause::Barrier)));
        }
        while self.worked < all {
            self.push(now, 0, ItemKind::State(State::Running));
            let length = self.dice.length(stage * 0.5);
            now = self.stage(0, now, (length, &SERIAL, main));
            let (mut last, mut end) = (0, now);
            for thread in 0..self.program.threads {
                if thread > 0 {
                    let (source, source_time) = (ThreadId(0), Time::from_nanoseconds(now));
                    let kind = DependenceKind::Signal;
                    self.push(now, thread, ItemKind::Depend { source, source_time, kind });
                    self.push(now, thread, ItemKind::State(State::Running));
                }
                let length = self.dice.length(stage * (0.5 + 0.5 * (thread % 3) as f64));
                let until = self.stage(thread, now, (length, &PARALLEL, main));
                let join = self.path(main, "work", "join");
                self.push(until, thread, ItemKind::Observe { path: join, kind: ObservationKind::Site });
                self.push(until, thread, ItemKind::State(State::Blocked(Cause::Barrier)));
                if until > end {
                    (last, end) = (thread, until);
                }
            }
            // Whoever is last lets the first go on a moment later, which nothing is charged for.
            now = end + 1;
            if last > 0 {
                let (source, source_time) = (ThreadId::from_index(last), Time::from_nanoseconds(end));
                self.push(now, 0, ItemKind::Depend { source, source_time, kind: DependenceKind::Barrier });
            }
        }
        self.made.program.elapsed_nanoseconds = now;
    }

    fn path(&mut self, main: PathId, stage: &str, procedure: &str) -> PathId {
        let stage = self.made.call(main, stage, 2);
        self.made.call(stage, procedure, 3)
    }

    /// Bursts of a thread, which runs, for so much CPU time; gives when it has done them.
    fn stage(
        &mut self,
        thread: usize,
        begin: u64,
        (length, kinds, main): (f64, &'static [BurstKind], PathId),
    ) -> u64 {
        let stage = if kinds.len() == SERIAL.len() { "serial" } else { "work" };
        let (mut now, mut done) = (begin, 0.0);
        while done < length {
            // Threads prefer kinds of their own.
            let choice = (self.dice.roll() + 0.17 * thread as f64).fract();
            let kind = &kinds[(choice * kinds.len() as f64) as usize];
            let burst = self.dice.length(1e9 / self.program.bursts);
            let until = self.burst(thread, now, (burst, kind), (main, stage));
            done += (until - now) as f64;
            let path = self.path(main, stage, kind.end);
            self.push(until, thread, ItemKind::Observe { path, kind: ObservationKind::Site });
            now = until;
            if kind.waits && done < length {
                self.push(now, thread, ItemKind::State(State::Blocked(Cause::Condition)));
                now = self.woken(now);
                self.push(now, thread, ItemKind::State(State::Running));
            }
        }
        now
    }

    /// When a wait that begins now ends.
    fn woken(&mut self, now: u64) -> u64 {
        let ticks = self.program.ticks;
        match now.checked_div(ticks) {
            Some(passed) => (passed + 1) * ticks,
            None => now + 1 + self.dice.length(0.5e9 / self.program.bursts) as u64,
        }
    }

    fn burst(
        &mut self,
        thread: usize,
        begin: u64,
        (length, kind): (f64, &BurstKind),
        (main, stage): (PathId, &str),
    ) -> u64 {
        // A long burst goes through its procedures many times, in turns of some milliseconds.
        let turns = (length / 7e6).ceil().max(1.0);
        let mut now = begin;
        for _ in 0..turns as u64 {
            for &(procedure, part) in kind.parts {
                let piece = (length / turns * part * (0.2 + 1.6 * self.dice.roll())) as u64 + 1;
                let path = self.path(main, stage, procedure);
                let (from, to) = (Time::from_nanoseconds(now), Time::from_nanoseconds(now + piece));
                self.pieces.push(WorkPiece { thread: ThreadId::from_index(thread), path, from, to });
                self.worked += piece;
                now += piece;
            }
        }
        now
    }

    /// Adds what the timers saw, and brings all into the order of time.
    fn finish(mut self) -> SampledRun {
        self.pieces.sort_by_key(|piece| (piece.thread, piece.from));
        let pieces = std::mem::take(&mut self.pieces);
        for of_thread in pieces.chunk_by(|one, other| one.thread == other.thread) {
            self.sample(of_thread);
        }
        // Samples were added last; the sort is stable, and at one time the sites come before the states.
        self.made.items.sort_by_key(|item| item.time);
        let integral = integral(&pieces);
        SampledRun { timelines: self.made, pieces, integral }
    }

    fn sample(&mut self, pieces: &[WorkPiece]) {
        let end = pieces.last().map_or(0, |piece| piece.to.nanoseconds());
        let looks = self.looks(end as f64);
        let mut next = 0;
        for around in looks.windows(3) {
            let time = around[1] as u64;
            if time >= end {
                break;
            }
            while pieces[next].to.nanoseconds() <= time {
                next += 1;
            }
            let WorkPiece { thread, path, from, .. } = pieces[next];
            // At the very begin of a burst the state changes at the same time.
            if from.nanoseconds() < time {
                let kind = ObservationKind::Sample { gap: ((around[2] - around[0]) / 2.0) as u32 };
                self.push(time, thread.index(), ItemKind::Observe { path, kind });
            }
        }
    }

    /// When a timer looks: once before the begin, and until it was beyond the end.
    fn looks(&mut self, end: f64) -> Vec<f64> {
        let SampledProgram { period, jitter, hold, .. } = self.program;
        let first = if jitter > 0.0 { period * self.dice.roll() } else { period };
        let mut looks = vec![first - period, first];
        let (mut interval, mut change) = (self.interval(), hold * self.dice.roll());
        while looks[looks.len() - 2] <= end {
            let last = looks[looks.len() - 1];
            if hold == 0.0 {
                interval = self.interval();
            }
            let mut next = last + interval;
            // Another interval begins where the one before is under way.
            while hold > 0.0 && change < next {
                interval = self.interval();
                next = change.max(last) + interval;
                change += hold;
            }
            looks.push(next);
        }
        looks
    }

    fn interval(&mut self) -> f64 {
        let SampledProgram { period, jitter, .. } = self.program;
        period * (1.0 + jitter * (2.0 * self.dice.roll() - 1.0))
    }
}

/// The integral of 1/U, with U, from each change of U on.
fn integral(pieces: &[WorkPiece]) -> Vec<(u64, f64, u32)> {
    let ends = |piece: &WorkPiece| [(piece.from.nanoseconds(), 1_i64), (piece.to.nanoseconds(), -1)];
    let mut changes: Vec<(u64, i64)> = pieces.iter().flat_map(ends).collect();
    changes.sort_unstable();
    let (mut level, mut sum, mut before) = (0_i64, 0.0, 0);
    let mut integral = Vec::new();
    for at_once in changes.chunk_by(|one, other| one.0 == other.0) {
        let time = at_once[0].0;
        if level > 0 {
            sum += (time - before) as f64 / level as f64;
        }
        level += at_once.iter().map(|&(_, step)| step).sum::<i64>();
        before = time;
        integral.push((time, sum, level as u32));
    }
    integral
}
