//! Versions of what carries an order without counting: conditions and atomic variables.
//!
//! A table of fixed size, by address. An operation that hands something on raises the version; one that sees it notes the
//! version that it saw. So the analysis knows which operation had to come first.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const ENTRIES: usize = 1 << 15;
/// Neighbours that are looked at before an address goes without a version.
const ATTEMPTS: usize = 64;

/// A counter for one address.
pub struct VersionEntry {
    address: AtomicU64,
    version: AtomicU64,
    lock: AtomicU32,
}

/// A counter for each of many addresses.
#[repr(transparent)]
pub struct VersionTable([VersionEntry; ENTRIES]);

static TABLE: VersionTable = VersionTable(
    [const { VersionEntry { address: AtomicU64::new(0), version: AtomicU64::new(0), lock: AtomicU32::new(0) } };
        ENTRIES],
);

/// The process's table.
pub fn table() -> &'static VersionTable {
    &TABLE
}

/// The entry of an address; `None` where the table is full around its place.
#[inline]
pub fn entry(address: u64) -> Option<&'static VersionEntry> {
    TABLE.entry(address)
}

impl VersionTable {
    /// The entry of an address, where it has one already.
    pub fn known(&self, address: u64) -> Option<&VersionEntry> {
        let begin = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49) as usize;
        let near = (0..ATTEMPTS).map(|attempt| &self.0[(begin + attempt) % ENTRIES]);
        near.take_while(|entry| entry.address.load(Ordering::Relaxed) != 0)
            .find(|entry| entry.address.load(Ordering::Relaxed) == address)
    }

    /// The entry of an address; `None` where the table is full around its place.
    pub fn entry(&self, address: u64) -> Option<&VersionEntry> {
        let begin = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49) as usize;
        for attempt in 0..ATTEMPTS {
            let entry = &self.0[(begin + attempt) % ENTRIES];
            let found = entry.address.load(Ordering::Relaxed);
            if found == address {
                return Some(entry);
            }
            if found == 0 {
                match entry.address.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return Some(entry),
                    Err(other) if other == address => return Some(entry),
                    Err(_) => {}
                }
            }
        }
        None
    }
}

impl VersionEntry {
    /// The version as it is now.
    pub fn now(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Sets it.
    pub fn set(&self, version: u64) {
        self.version.store(version, Ordering::SeqCst);
    }

    /// Raises it.
    pub fn raise(&self) -> u64 {
        self.version.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Runs an atomic operation, so that no other one of this address falls between it and its version.
    #[inline(always)]
    pub fn locked<R>(&self, run: impl FnOnce() -> R) -> R {
        while self.lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            core::hint::spin_loop();
        }
        let result = run();
        self.lock.store(0, Ordering::Release);
        result
    }
}
