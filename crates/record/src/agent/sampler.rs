//! The sampling thread (Quartz §4): looks at what every thread of the program publishes, without stopping any.
//!
//! A thread that works is found with its profile stack: the instrumented procedures it is in. From the kernel's
//! accounts of the thread come how long it was ready without a processor.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use longpole_event::Time;
use longpole_ring::{Area, AreaStatus, Owner};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::agent_event::AgentEvent;
use super::memory::AgentMemory;
use crate::clock::now;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, TakenStack};
use longpole_privileged::Intervals;

/// Time between two looks at the kernel's accounts of a thread.
const ACCOUNT_NANOSECONDS: u64 = 10_000_000;
/// A thread that was ready for less than this ran.
const SHORTEST_READY_NANOSECONDS: u64 = 500_000;
/// Accounts that are kept open.
const MOST_ACCOUNTS: usize = 512;
/// Keys of stacks that are remembered as told.
const MOST_TOLD: usize = 100_000;
/// Tells keys of profile stacks from those of other stacks.
const SALT: u64 = u64::from_le_bytes(*b"profiles");
/// Samples that wait to be taken; further ones are counted as lost by being absent.
const MOST_WAITING: usize = 1 << 20;

/// How to sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampling {
    /// Looks a second.
    pub(crate) hertz: u32,
    /// Processors, one sampling thread for each; one thread on any processor where there are none.
    pub(crate) cpus: Vec<u32>,
}

/// Sampling threads; they end with this value.
#[derive(Debug)]
pub(super) struct Samplers {
    stop: Arc<AtomicBool>,
    found: Arc<Mutex<Vec<RawEvent>>>,
    /// CPU time of those that have ended, nanoseconds.
    cpu: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Samplers {
    pub(super) fn start(memory: &Arc<AgentMemory>, sampling: &Sampling) -> io::Result<Samplers> {
        let mut samplers = Samplers {
            stop: Arc::default(),
            found: Arc::default(),
            cpu: Arc::default(),
            threads: Vec::new(),
        };
        let cpus: Vec<_> = sampling.cpus.iter().copied().map(Some).collect();
        let cpus = if cpus.is_empty() { vec![None] } else { cpus };
        let count = cpus.len();
        for (number, cpu) in cpus.into_iter().enumerate() {
            let mut sampler = Sampler {
                memory: Arc::clone(memory),
                stop: Arc::clone(&samplers.stop),
                found: Arc::clone(&samplers.found),
                accounts: FxHashMap::default(),
                stacks: ProfileStacks::default(),
                share: (number, count),
            };
            let intervals = Intervals::new(sampling.hertz);
            let cpu_time = Arc::clone(&samplers.cpu);
            let work = move || {
                if let Some(cpu) = cpu {
                    stay_on(cpu);
                }
                sampler.run(intervals);
                cpu_time.fetch_add(thread_cpu_nanoseconds(), Ordering::Relaxed);
            };
            samplers.threads.push(thread::Builder::new().name("sampler".into()).spawn(work)?);
        }
        Ok(samplers)
    }

    /// Appends what was found since the last call.
    pub(super) fn take(&self, into: &mut Vec<RawEvent>) {
        into.append(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// CPU time of the threads, when they were stopped.
    pub(super) fn cpu_time(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    /// No more looks.
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A sampler that has failed has found what it has found.
            let _ = thread.join();
        }
    }
}

impl Drop for Samplers {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Sampler {
    memory: Arc<AgentMemory>,
    stop: Arc<AtomicBool>,
    found: Arc<Mutex<Vec<RawEvent>>>,
    accounts: FxHashMap<usize, SchedulerAccount>,
    stacks: ProfileStacks,
    /// Which of how many samplers this is: each looks at its own areas.
    share: (usize, usize),
}

/// What the kernel says of a thread's time.
struct SchedulerAccount {
    owner: Owner,
    file: Option<File>,
    last: Time,
    ready: u64,
    /// The thread ended without a word.
    is_gone: bool,
}

impl Sampler {
    fn run(&mut self, mut intervals: Intervals) {
        let mut last = now();
        let mut next = last + intervals.draw();
        let mut events = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            sleep_until(next);
            let time = now();
            // A look that comes too late is left out, not made up for.
            next = (next + intervals.draw()).max(time);
            let gap = (time.since(last) + next.since(time)) / 2;
            last = time;
            self.look(time, gap, &mut events);
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            if found.len() < MOST_WAITING {
                found.append(&mut events);
            } else {
                // What was to be told of stacks is gone too.
                self.stacks = ProfileStacks::default();
            }
            events.clear();
        }
    }

    /// Looks at all threads; the look stands for so many nanoseconds of each.
    fn look(&mut self, time: Time, gap: u64, events: &mut Vec<RawEvent>) {
        let memory = Arc::clone(&self.memory);
        let (number, count) = self.share;
        for (index, area) in memory.areas().skip(number).step_by(count) {
            let AreaStatus::Live(owner) = area.status() else {
                self.accounts.remove(&index);
                continue;
            };
            if area.state.read().is_some() || self.is_gone(index, owner) {
                continue;
            }
            let task = KernelTask { pid: owner.pid, tid: owner.tid };
            let mut push = |kind| events.push(RawEvent { time, cpu: 0, kind });
            if let Some(stack) = self.stacks.find(index, owner.pid, area) {
                // Apart from the sample, which may come to nothing.
                if let Some(taken) = self.stacks.new.take() {
                    push(RawKind::Stack { pid: owner.pid, taken });
                }
                push(RawKind::Sample { task, kernel: false, stack, gap });
            }
            if let Some(told) = self.account(index, owner, time) {
                push(RawKind::Told { task, told: Box::new(told) });
            }
        }
    }

    /// What the kernel's account of the thread has to say since the last look.
    fn account(&mut self, index: usize, owner: Owner, time: Time) -> Option<AgentEvent> {
        if self.accounts.len() >= MOST_ACCOUNTS && !self.accounts.contains_key(&index) {
            return None;
        }
        let account = self.accounts.entry(index).or_insert_with(|| SchedulerAccount::open(owner, time));
        if account.owner != owner {
            *account = SchedulerAccount::open(owner, time);
        }
        if account.is_gone || account.file.is_none() || time.since(account.last) < ACCOUNT_NANOSECONDS {
            return None;
        }
        account.last = time;
        let Some(ready) = account.read() else {
            account.is_gone = true;
            return Some(AgentEvent::Ended);
        };
        let nanoseconds = ready.saturating_sub(account.ready);
        if nanoseconds < SHORTEST_READY_NANOSECONDS {
            return None;
        }
        account.ready = ready;
        Some(AgentEvent::WasReady { nanoseconds })
    }

    /// Whether the thread ended without a word.
    fn is_gone(&self, index: usize, owner: Owner) -> bool {
        self.accounts.get(&index).is_some_and(|account| account.owner == owner && account.is_gone)
    }
}

impl SchedulerAccount {
    fn open(owner: Owner, time: Time) -> SchedulerAccount {
        let file = File::open(format!("/proc/{}/task/{}/schedstat", owner.pid, owner.tid)).ok();
        let mut account = SchedulerAccount { owner, file, last: time, ready: 0, is_gone: false };
        account.ready = account.read().unwrap_or(0);
        account
    }

    /// Nanoseconds that the thread has been ready so far.
    fn read(&self) -> Option<u64> {
        let mut buffer = [0; 96];
        let count = self.file.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..count]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

/// The profile stacks that were seen.
#[derive(Default)]
struct ProfileStacks {
    /// Of each area: the process, the stack's changes so far, and the key.
    last: FxHashMap<usize, (u32, u64, Option<u64>)>,
    told: FxHashSet<u64>,
    /// The one that was found last, if it is to be told.
    new: Option<Box<TakenStack>>,
    entries: Vec<(u64, bool)>,
}

impl ProfileStacks {
    /// The thread's profile stack; `None` where it has none, or changed it under our eyes.
    fn find(&mut self, index: usize, pid: u32, area: &Area) -> Option<RawStack> {
        if area.profile.depth() == 0 {
            return None;
        }
        let changes = area.profile.changes();
        match self.last.get(&index) {
            Some(&(process, before, key)) if (process, before) == (pid, changes) => Some(named(key)),
            _ => {
                let stack = self.read(pid, area)?;
                let key = if let RawStack::Known(key) = stack { Some(key) } else { None };
                self.last.insert(index, (pid, changes, key));
                Some(stack)
            }
        }
    }

    fn read(&mut self, pid: u32, area: &Area) -> Option<RawStack> {
        self.entries.clear();
        if !area.profile.copy(&mut self.entries) {
            return None;
        }
        // Regions are told as events of their own.
        self.entries.retain(|(_, is_region)| !is_region);
        if self.entries.is_empty() {
            return Some(RawStack::None);
        }
        let mut hasher = FxHasher::default();
        (SALT, pid, &self.entries).hash(&mut hasher);
        let key = hasher.finish();
        if self.told.len() >= MOST_TOLD {
            self.told.clear();
        }
        if self.told.insert(key) {
            self.new = Some(Box::new(self.taken(key)));
        }
        Some(RawStack::Known(key))
    }

    fn taken(&self, key: u64) -> TakenStack {
        let procedures = self.entries.iter().rev().map(|&(address, _)| address).collect();
        TakenStack { key: Some(key), procedures, ..TakenStack::default() }
    }
}

fn named(key: Option<u64>) -> RawStack {
    key.map_or(RawStack::None, RawStack::Known)
}

fn thread_cpu_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn sleep_until(time: Time) {
    let nanoseconds = time.nanoseconds();
    let until = libc::timespec {
        tv_sec: i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanoseconds % 1_000_000_000).unwrap_or(0),
    };
    // SAFETY: `until` is a valid time; an interrupted sleep only makes an early look.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const until,
            std::ptr::null_mut(),
        );
    }
}

/// Keeps the calling thread on one processor; where that is not permitted it goes where it likes.
fn stay_on(cpu: u32) {
    // SAFETY: an all-zero set is an empty one; the set outlives the call.
    unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}
