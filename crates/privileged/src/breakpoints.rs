//! Hardware breakpoints on all processors, each for stores into one word of user memory at a time.
//!
//! They are opened before the recorded program runs: later the kernel would first have to wait for what threads with precedence keep
//! from running. To move one to another word needs no capability, but it is hit by every process that has memory there.

use std::io;
use std::os::fd::RawFd;

use perf_event_open_sys::bindings as perf;

use crate::ring::PerfEvent;

/// Words that are watched at a time: a processor can watch four, and debuggers may want one.
pub const MOST_WATCHED: usize = 3;
/// Stores of each word that a processor may be asked to tell at once.
pub const MOST_STORES: u32 = 24;

/// A word of user memory: its address and its size, as breakpoints take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchedMemory {
    /// A multiple of the size.
    pub address: u64,
    /// 1, 2, 4 or 8.
    pub bytes: u64,
}

impl WatchedMemory {
    /// The word in which an address lies.
    #[must_use]
    pub fn around(address: u64, bytes: u64) -> WatchedMemory {
        WatchedMemory { address: address & !(bytes - 1), bytes }
    }

    /// Whether a breakpoint may be for it: user memory, in one piece.
    pub(crate) fn is_allowed(self) -> bool {
        /// User memory lies below, also with five levels of page tables.
        const KERNEL: u64 = 1 << 56;
        matches!(self.bytes, 1 | 2 | 4 | 8)
            && self.address.is_multiple_of(self.bytes)
            && self.address < KERNEL
    }
}

/// The breakpoints of one word, one for each processor.
#[derive(Debug)]
struct WordBreakpoints(Vec<PerfEvent>);

/// All breakpoints.
#[derive(Debug)]
pub(crate) struct Breakpoints(Vec<WordBreakpoints>);

impl Breakpoints {
    /// Opens them for a word of this process; none where the kernel refuses them.
    pub(crate) fn open(processors: &[u16]) -> Breakpoints {
        let open = |_| {
            let word = 0_u64;
            let attribute = breakpoint(WatchedMemory::around((&raw const word) as u64, 8));
            let open = |&processor: &u16| PerfEvent::open(&mut attribute.clone(), -1, processor.into());
            Ok(WordBreakpoints(processors.iter().map(open).collect::<io::Result<_>>()?))
        };
        Breakpoints((0..MOST_WATCHED).map(open).collect::<io::Result<_>>().unwrap_or_default())
    }

    /// How many words can be watched.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Runs the program at each store.
    pub(crate) fn run_program(&self, program: RawFd) -> io::Result<()> {
        self.0.iter().flat_map(|word| &word.0).try_for_each(|event| event.run_program(program))
    }

    /// Moves those of one word to another one, and lets each tell a first store.
    pub(crate) fn watch(&self, index: usize, word: WatchedMemory) -> io::Result<()> {
        if !word.is_allowed() {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let events = self.events(index)?;
        events.iter().try_for_each(|event| event.modify(&mut breakpoint(word)))?;
        // An event that is merely enabled when its count is down fires for ever, and stores may be told that nobody has read yet.
        events.iter().try_for_each(|event| allow_stores(event, 1))
    }

    /// Lets each processor tell so many more stores.
    pub(crate) fn allow(&self, index: usize, stores: &[u32]) -> io::Result<()> {
        if stores.iter().any(|&stores| stores > MOST_STORES) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let more = self.events(index)?.iter().zip(stores).filter(|(_, stores)| **stores > 0);
        more.into_iter().try_for_each(|(event, &stores)| allow_stores(event, stores))
    }

    /// Nobody spins on the word any more.
    pub(crate) fn pause(&self, index: usize) -> io::Result<()> {
        self.events(index)?.iter().for_each(|event| _ = event.disable());
        Ok(())
    }

    fn events(&self, index: usize) -> io::Result<&[PerfEvent]> {
        let word = self.0.get(index).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(&word.0)
    }
}

/// Lets a breakpoint tell so many more stores. Linux 6.18 stops an event whose count is down, and enabling it again does not start it: each
/// store then takes its time, and neither tells anything nor counts. A period that is set starts it.
fn allow_stores(event: &PerfEvent, stores: u32) -> io::Result<()> {
    event.allow(stores.cast_signed())?;
    event.set_period(1)
}

/// A breakpoint for stores into a word.
fn breakpoint(word: WatchedMemory) -> perf::perf_event_attr {
    let mut attribute = perf::perf_event_attr { type_: perf::PERF_TYPE_BREAKPOINT, ..Default::default() };
    attribute.bp_type = perf::HW_BREAKPOINT_W;
    attribute.__bindgen_anon_3.bp_addr = word.address;
    attribute.__bindgen_anon_4.bp_len = word.bytes;
    attribute.__bindgen_anon_1.sample_period = 1;
    attribute.set_disabled(1);
    attribute.set_exclude_kernel(1);
    attribute.set_exclude_hv(1);
    attribute
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn words_lie_at_multiples_of_their_size() {
        let word = |address, bytes| WatchedMemory { address, bytes };
        assert_eq!(WatchedMemory::around(0x4013, 4), word(0x4010, 4));
        assert_eq!(WatchedMemory::around(0x4013, 1), word(0x4013, 1));
    }

    #[test]
    fn only_words_of_user_memory_are_allowed() {
        let is_allowed = |address, bytes| WatchedMemory { address, bytes }.is_allowed();
        assert!(is_allowed(0x7fff_0000_0008, 8) && is_allowed(0x4013, 1));
        assert!(!is_allowed(0x4013, 4), "in two pieces");
        assert!(!is_allowed(0x4010, 3) && !is_allowed(0x4010, 0) && !is_allowed(0x4010, 16));
        assert!(!is_allowed(0xffff_8880_0000_0000, 8), "memory of the kernel");
    }

    /// What was told of a word that this thread writes, before and after its count was down.
    #[test]
    fn a_breakpoint_goes_on_after_its_count_was_down() {
        let word = AtomicU64::new(0);
        let mut attribute = breakpoint(WatchedMemory::around((&raw const word) as u64, 8));
        let Ok(event) = PerfEvent::open(&mut attribute, 0, -1) else {
            return longpole_testkit::skipped("breakpoints are not permitted here");
        };
        let told = || {
            let mut count = [0; 8];
            // SAFETY: the kernel writes at most eight bytes into `count`.
            let read = unsafe { libc::read(event.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
            assert_eq!(read, 8);
            u64::from_ne_bytes(count)
        };
        let write = || (0..10).for_each(|value| word.store(value, Ordering::SeqCst));
        let mut before = 0;
        for _ in 0..3 {
            allow_stores(&event, 3).unwrap();
            write();
            assert!((before + 3..before + 10).contains(&told()), "{} after {before}", told());
            before = told();
        }
    }
}
