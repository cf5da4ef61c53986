//! Of which processes the collector `perf` keeps no places: those into which the recorder's caller may not look.
//!
//! ```text
//!   records   ... │ lost: `su` is executed? │ ...        │ ...
//!                                 noticed, and looked at ↑
//!   places    kept │ of nobody ──────────────────────────┤ of those who have no other rights
//! ```
//! That a process gains rights is told by its mappings. Where records may have been lost nobody is trusted until all have been looked
//! at: who gained rights has them still, or had them before that moment only.

use std::path::Path;

use longpole_event::Time;
use longpole_privileged::Privacy;
use rustc_hash::FxHashSet;

use crate::clock;

/// The private processes, and since when they are known.
#[derive(Debug)]
pub(crate) struct PrivatePlaces {
    privacy: Privacy,
    known_since: Time,
}

impl PrivatePlaces {
    /// Of this process's caller; `None` where that is root, who may look into everything.
    pub(crate) fn of_caller() -> Option<PrivatePlaces> {
        Privacy::of_caller().map(PrivatePlaces::of)
    }

    fn of(privacy: Privacy) -> PrivatePlaces {
        PrivatePlaces { privacy, known_since: Time::default() }
    }

    /// The process has mapped the code of a file.
    pub(super) fn map(&mut self, pid: u32, file: &Path) {
        self.privacy.map(pid, file);
    }

    /// A process was created.
    pub(super) fn fork(&mut self, parent: u32, child: u32) {
        self.privacy.fork(parent, child);
    }

    /// Records were lost, perhaps of these processes, which are all that are recorded; each is named once or several times.
    pub(super) fn lose(&mut self, pids: impl Iterator<Item = u32>) {
        let pids: FxHashSet<u32> = pids.collect();
        pids.into_iter().for_each(|pid| self.privacy.look_at(pid));
        self.known_since = clock::now();
    }

    /// Whether nothing is kept of where the process was then.
    pub(super) fn is_private(&self, pid: u32, time: Time) -> bool {
        time < self.known_since || self.privacy.is_private(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_loss_nobody_is_trusted_until_all_have_been_looked_at() {
        // SAFETY: no arguments.
        let own_user = unsafe { libc::getuid() };
        let mut places = PrivatePlaces::of(Privacy::of(own_user + 1, 1));
        // This process is another user's for it; no process has the other number.
        let (another, own) = (std::process::id(), 0x4000_0001);
        let before = clock::now();
        assert_eq!([another, own].map(|pid| places.is_private(pid, before)), [false; 2]);
        places.lose([another, own].into_iter());
        assert_eq!([another, own].map(|pid| places.is_private(pid, before)), [true; 2]);
        let after = clock::now();
        assert_eq!([another, own].map(|pid| places.is_private(pid, after)), [true, false]);
    }
}
