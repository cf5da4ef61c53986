//! Who ends busy-waits: hardware breakpoints on the words that spinning threads look at (metrics.md §1).
//!
//! ```text
//!   spinner   ~s~~~~~~s~~~~~~s~~~|====w=====     s samples in the loop, w the first one elsewhere
//!   writer    ===================!==========     ! writes the word
//!   told                          ^ freed by the writer, which was there
//! ```
//! A sample in a loop that only waits tells, with the thread's registers, which word the loop looks at. Each processor then watches that word
//! for stores. The store that ends a busy-wait is the last one of another thread between the spinner's last sample in the
//! loop and the first thing that shows it elsewhere. Until that is known, what came after the sample is kept back.
//!
//! A store into a watched word takes 17 to 40 µs. So a processor only tells [`MOST_STORES`] of each word in a round of the recorder, and a
//! word that is written more often is left alone. What is not seen: the first busy-wait for a word, busy-waits shorter than the
//! interval of samples, and those that end with a wait.

use std::io;
use std::sync::{Arc, Mutex};

use longpole_event::{Blocking, PrimitiveKind, Time};
use longpole_privileged::{KernelAccess, MOST_STORES, WatchedMemory};
use longpole_symbols::{PolledState, PolledWord};
use rustc_hash::{FxHashMap, FxHashSet};

use super::sampled_code::SampledPlace;
use super::wire::{STACK_POINTER, ThreadRegisters, WatchedStore};
use crate::raw::{KernelTask, RawEvent, RawKind, RawMark, RawPrimitive, RawStack};

/// Rounds in which a processor may see that many, before the word is left alone.
const MOST_FULL_ROUNDS: u32 = 3;
/// A word for which nobody has spun for so long gives way to others.
const IDLE_NANOSECONDS: u64 = 1_000_000_000;
/// Mean intervals of samples after which the next look at a spinning thread is no longer waited for.
const LONGEST_WAIT: u64 = 8;

/// A word of a process.
type WatchKey = (u32, WatchedMemory);

/// A word, as it is being watched.
#[derive(Clone, Copy, Debug)]
struct WatchedWord {
    key: WatchKey,
    full_rounds: u32,
    /// Stores from then on may be missing.
    blind_since: Option<Time>,
    wanted: Time,
}

/// What each processor's breakpoint for one word at a time is used for.
#[derive(Debug)]
pub(crate) struct WordWatch {
    /// Where the breakpoints are, and their number there; none in tests.
    access: Option<(Arc<Mutex<KernelAccess>>, u32)>,
    /// Stores that each processor will tell.
    left: Vec<u32>,
    word: Option<WatchedWord>,
}

/// A thread that was last found spinning.
#[derive(Debug)]
struct BusyWait {
    task: KernelTask,
    cpu: u16,
    /// The sample's time.
    last: Time,
    words: Vec<WatchedMemory>,
    /// It wrote one of them itself just before: it waits until all have come.
    has_arrived: bool,
    /// The last store of another thread since then.
    store: Option<WatchedStore>,
    /// Stores may be missing.
    is_blind: bool,
}

/// The watches, and who spins.
#[derive(Debug)]
pub(crate) struct BusyWaits {
    processors: Vec<u16>,
    longest_wait: u64,
    waiting: FxHashMap<u32, BusyWait>,
    /// By thread, since it was last found elsewhere.
    own_stores: FxHashMap<u32, OwnStore>,
    /// The last store that ended a meeting, by the word's process and address.
    met: FxHashMap<(u32, u64), Time>,
    watches: Vec<WordWatch>,
    left_alone: FxHashSet<WatchKey>,
    is_stopped: bool,
}

/// Where a thread was when it wrote a watched word itself.
#[derive(Clone, Copy, Debug)]
struct OwnStore {
    pid: u32,
    address: u64,
    ip: u64,
    sp: u64,
}

impl OwnStore {
    /// Whether it is in the code before a loop, so that the thread came to what it waits at by it. The end of a turn with a lock is behind the loop
    /// in which that turn was waited for.
    fn leads_to(&self, of: &ThreadRegisters, words: &[WatchedMemory]) -> bool {
        /// Bytes of code.
        const NEAR: u64 = 512;
        words.iter().any(|word| word.address == self.address)
            && self.sp == of.general[STACK_POINTER]
            && of.ip.checked_sub(self.ip).is_some_and(|distance| distance < NEAR)
    }
}

impl WordWatch {
    fn has(&self, address: u64) -> bool {
        self.word.is_some_and(|word| word.key.1.address == address)
    }

    fn begin(&mut self, key: WatchKey, wanted: Time) -> io::Result<()> {
        self.word = None;
        self.ask(|access, index| access.watch(index, key.1))?;
        self.word = Some(WatchedWord { key, full_rounds: 0, blind_since: None, wanted });
        self.renew()
    }

    fn ask(&self, request: impl FnOnce(&mut KernelAccess, u32) -> io::Result<()>) -> io::Result<()> {
        self.access.as_ref().map_or(Ok(()), |(access, index)| request(&mut super::lock(access), *index))
    }

    /// A processor told a store.
    fn count(&mut self, index: usize, time: Time) {
        self.left[index] = self.left[index].saturating_sub(1);
        if let (0, Some(word)) = (self.left[index], &mut self.word) {
            word.blind_since.get_or_insert(time);
        }
    }

    /// Lets all processors tell as many again.
    fn renew(&mut self) -> io::Result<()> {
        let more: Vec<u32> =
            self.left.iter_mut().map(|left| MOST_STORES - std::mem::replace(left, MOST_STORES)).collect();
        if more.iter().all(|&more| more == 0) {
            return Ok(());
        }
        self.ask(|access, index| access.allow(index, more))
    }

    fn end(&mut self) {
        if self.word.take().is_some() {
            let _ = self.ask(|access, index| {
                access.pause(index);
                Ok(())
            });
        }
    }

    /// A round is over; whether the word is worth watching.
    fn end_round(&mut self) -> bool {
        let Some(word) = &mut self.word else { return true };
        let is_full = word.blind_since.take().is_some();
        word.full_rounds = if is_full { word.full_rounds + 1 } else { 0 };
        let goes_on = word.full_rounds < MOST_FULL_ROUNDS;
        goes_on && (self.left.iter().all(|&left| left == MOST_STORES) || self.renew().is_ok())
    }
}

impl BusyWaits {
    /// With so many words that can be watched, and timers of this rate.
    pub(crate) fn new(
        access: &Arc<Mutex<KernelAccess>>,
        words: u32,
        processors: Vec<u16>,
        hertz: u32,
    ) -> BusyWaits {
        let left = vec![0; processors.len()];
        let watch =
            |index| WordWatch { access: Some((access.clone(), index)), left: left.clone(), word: None };
        BusyWaits::with((0..words).map(watch).collect(), processors, hertz)
    }

    fn with(watches: Vec<WordWatch>, processors: Vec<u16>, hertz: u32) -> BusyWaits {
        BusyWaits {
            processors,
            longest_wait: longpole_privileged::mean(hertz) * LONGEST_WAIT,
            waiting: FxHashMap::default(),
            own_stores: FxHashMap::default(),
            met: FxHashMap::default(),
            watches,
            left_alone: FxHashSet::default(),
            is_stopped: false,
        }
    }

    /// Looks at an event before it is handed over, and tells the end of a busy-wait that it shows. Of a sample: the thread's registers
    /// and what it does there, where that is known.
    pub(crate) fn see(
        &mut self,
        event: &RawEvent,
        found: Option<(&ThreadRegisters, &SampledPlace)>,
        into: &mut Vec<RawEvent>,
    ) {
        match &event.kind {
            RawKind::Sample { task, .. } => {
                match found.and_then(|(of, place)| Some((of, self.words(of, place)?))) {
                    // Where it is in the kernel, nothing is known.
                    None => _ = self.waiting.remove(&task.tid),
                    Some((_, words)) if words.is_empty() => {
                        self.goes_on(*task, event.time, into);
                        self.own_stores.remove(&task.tid);
                    }
                    Some((of, words)) => self.spins(event, of, words),
                }
            }
            // It spins on when it has its processor again, and a store meanwhile ends that.
            RawKind::Switch { previous: Some(_), blocking: Blocking::Runnable, .. } => {}
            // After it saw what it spun for, or because it did not.
            RawKind::Switch { previous: Some(task), .. } => {
                self.waiting.remove(&task.tid);
            }
            RawKind::Exit { task } if task.tid != task.pid => {
                self.waiting.remove(&task.tid);
                self.own_stores.remove(&task.tid);
            }
            RawKind::Exit { task } | RawKind::Exec { task, .. } => self.forget(task.pid),
            _ => {}
        }
    }

    /// A thread wrote a watched word.
    pub(crate) fn store(&mut self, store: WatchedStore, into: &mut Vec<RawEvent>) {
        let address = store.address;
        let index = self.processors.iter().position(|&processor| processor == store.cpu);
        for watch in self.watches.iter_mut().filter(|watch| watch.has(address)) {
            if let Some(index) = index {
                watch.count(index, store.time);
            }
        }
        // Whoever writes it itself has left its loop.
        self.goes_on(store.task, store.time, into);
        let same = |wait: &&mut BusyWait| {
            wait.task.pid == store.task.pid
                && wait.last < store.time
                && wait.words.iter().any(|word| word.address == address)
        };
        if let Some(at) = store.stack.registers {
            let own = OwnStore { pid: store.task.pid, address, ip: at.ip, sp: at.sp };
            self.own_stores.insert(store.task.tid, own);
        }
        for wait in self.waiting.values_mut().filter(same) {
            wait.store = Some(store.clone());
        }
    }

    /// It was found in its loop: no store until now ended the wait.
    fn spins(&mut self, event: &RawEvent, of: &ThreadRegisters, words: Vec<WatchedMemory>) {
        let task = of.task;
        let watched = words.iter().filter(|&&word| self.watch((task.pid, word), event.time)).count();
        if watched == 0 {
            self.waiting.remove(&task.tid);
            return;
        }
        let goes_on = self.waiting.get(&task.tid).is_some_and(|wait| wait.has_arrived && wait.words == words);
        let arrives = self.own_stores.remove(&task.tid).is_some_and(|store| store.leads_to(of, &words));
        let has_arrived = goes_on || arrives;
        let (cpu, last) = (event.cpu, event.time);
        let wait = BusyWait { task, cpu, last, words, has_arrived, store: None, is_blind: false };
        self.waiting.insert(task.tid, wait);
    }

    /// It was found elsewhere, or has acted.
    fn goes_on(&mut self, task: KernelTask, time: Time, into: &mut Vec<RawEvent>) {
        let Some(wait) = self.waiting.remove(&task.tid) else { return };
        let Some(store) = wait.store.filter(|store| store.time <= time) else { return };
        if wait.is_blind {
            return;
        }
        let flag = RawPrimitive { kind: PrimitiveKind::Futex, address: store.address };
        let mut tell = |task, mark| {
            into.push(RawEvent { time: store.time, cpu: wait.cpu, kind: RawKind::Inside { task, mark } });
        };
        // Whoever comes last waits for nobody, and needs all others as they need it.
        if wait.has_arrived && self.met.insert((task.pid, flag.address), store.time) != Some(store.time) {
            let same = |other: &&BusyWait| {
                let of_same = other.store.as_ref().is_some_and(|other| other.time == store.time);
                other.has_arrived && of_same
            };
            tell(task, RawMark::Arrive(flag));
            self.waiting.values().filter(same).for_each(|other| tell(other.task, RawMark::Arrive(flag)));
            tell(store.task, RawMark::Arrive(flag));
        }
        let by = store.task;
        tell(task, RawMark::Freed { by, flag, stack: RawStack::Taken(store.stack) });
        if wait.has_arrived {
            tell(by, RawMark::Depart(flag));
        }
    }

    /// The words that a thread with these registers looks at; none where it does not spin, and `None` where that is not known.
    fn words(&self, of: &ThreadRegisters, place: &SampledPlace) -> Option<Vec<WatchedMemory>> {
        if self.watches.is_empty() || self.is_stopped {
            return None;
        }
        let read = |address| read_pointer(of.task.pid, address);
        let state = PolledState { registers: &of.general, bias: place.words.bias, read: &read };
        let word = |word: &PolledWord| Some(WatchedMemory::around(word.address(&state)?, word.bytes));
        place.words.polled.iter().map(word).collect()
    }

    /// A process is gone, or runs another program.
    fn forget(&mut self, pid: u32) {
        self.waiting.retain(|_, wait| wait.task.pid != pid);
        self.own_stores.retain(|_, store| store.pid != pid);
        self.met.retain(|(of, _), _| *of != pid);
        let is_of = |watch: &&mut WordWatch| watch.word.is_some_and(|word| word.key.0 == pid);
        self.watches.iter_mut().filter(is_of).for_each(WordWatch::end);
        self.left_alone.retain(|(of, _)| *of != pid);
    }

    /// Whether the word is being watched now.
    fn watch(&mut self, key: WatchKey, time: Time) -> bool {
        let mut words = self.watches.iter_mut().filter_map(|watch| watch.word.as_mut());
        if let Some(word) = words.find(|word| word.key == key) {
            word.wanted = time;
            return true;
        }
        if self.left_alone.contains(&key) {
            return false;
        }
        let is_free =
            |watch: &&mut WordWatch| watch.word.is_none_or(|word| time.since(word.wanted) > IDLE_NANOSECONDS);
        let Some(watch) = self.watches.iter_mut().find(is_free) else { return false };
        if watch.begin(key, time).is_err() {
            watch.end();
            self.left_alone.insert(key);
            return false;
        }
        true
    }

    /// Everything up to now was looked at.
    pub(crate) fn end_round(&mut self, time: Time) {
        for watch in &mut self.watches {
            let Some(word) = watch.word else { continue };
            let is_of = |wait: &&mut BusyWait| wait.words.contains(&word.key.1);
            if let Some(since) = word.blind_since {
                for wait in self.waiting.values_mut().filter(is_of) {
                    wait.is_blind |= wait.store.as_ref().is_none_or(|store| store.time >= since);
                }
            }
            if !watch.end_round() {
                watch.end();
                self.left_alone.insert(word.key);
            }
        }
        let (longest, is_stopped) = (self.longest_wait, self.is_stopped);
        self.waiting.retain(|_, wait| !is_stopped && time.since(wait.last) <= longest);
    }

    /// The time of the earliest sample after which something may still be told.
    pub(crate) fn kept_back(&self) -> Option<Time> {
        self.waiting.values().map(|wait| wait.last).min()
    }

    /// Nothing is watched any more.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
        self.watches.iter_mut().for_each(WordWatch::end);
    }
}

/// A pointer in a process's memory.
fn read_pointer(pid: u32, address: u64) -> Option<u64> {
    let mut value = [0_u8; 8];
    let local = libc::iovec { iov_base: value.as_mut_ptr().cast(), iov_len: value.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: value.len() };
    // SAFETY: the kernel writes at most eight bytes into `value`, and checks the other address itself.
    let read =
        unsafe { libc::process_vm_readv(pid.cast_signed(), &raw const local, 1, &raw const remote, 1, 0) };
    (read == 8).then(|| u64::from_ne_bytes(value))
}

#[cfg(test)]
mod tests;
