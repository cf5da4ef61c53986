//! Words of memory through which threads hand on what they did: plain loads and stores of them are taken for atomic ones.
//!
//! On this processor a load that acquires and a store that releases are plain moves, which say nothing of it. Two things do: that
//! the word is also exchanged or added to in one step, and that a thread polls it, loading it again and again with no other access
//! in between. A filter says quickly that an address is none of them.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::{ptr, sync::atomic::AtomicBool};

use longpole_access::writer::versions::{VersionEntry, VersionTable};

const BITS: u64 = 1 << 16;

static FILTER: [AtomicU64; BITS as usize / 64] = [const { AtomicU64::new(0) }; BITS as usize / 64];
static IS_USED: AtomicBool = AtomicBool::new(false);
static VERSIONS: AtomicPtr<VersionTable> = AtomicPtr::new(ptr::null_mut());

/// The versions are in the program, where the library has its own too.
pub fn set_versions(versions: *const VersionTable) {
    VERSIONS.store(versions.cast_mut(), Ordering::Release);
}

#[inline(always)]
const fn bit_of(address: u64) -> (usize, u64) {
    let bit = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (bit as usize / 64, 1 << (bit % 64))
}

/// The version of a word that a plain instruction accesses; `None`: it is no atomic one.
#[inline(always)]
pub fn known(address: u64) -> Option<&'static VersionEntry> {
    if !IS_USED.load(Ordering::Relaxed) {
        return None;
    }
    let (word, bit) = bit_of(address);
    if FILTER[word].load(Ordering::Relaxed) & bit == 0 {
        return None;
    }
    versions()?.known(address)
}

/// The version of a word that an atomic operation accesses.
pub fn of(address: u64) -> Option<&'static VersionEntry> {
    let entry = versions()?.entry(address)?;
    let (word, bit) = bit_of(address);
    if FILTER[word].load(Ordering::Relaxed) & bit == 0 {
        FILTER[word].fetch_or(bit, Ordering::Relaxed);
        IS_USED.store(true, Ordering::Relaxed);
    }
    Some(entry)
}

fn versions() -> Option<&'static VersionTable> {
    // SAFETY: null, or the table of the library, which stays as long as the process does.
    unsafe { VERSIONS.load(Ordering::Acquire).as_ref() }
}
