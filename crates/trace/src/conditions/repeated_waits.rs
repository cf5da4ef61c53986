//! How often sections wait before they pass: whoever is woken by a broadcast that is not for it waits again.
//!
//! ```text
//!   waiting for 2    Lock .......... Waited .......... Waited  Unlock      it passes with its second wait
//!   announcing           | 1 |              | 2 |
//! ```

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

/// Sections of a site that are kept; later ones are taken to pass with their first wait.
const MOST_SECTIONS: usize = 1 << 20;

/// The waits of all sections at a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RepeatedWaits {
    /// Of each thread's sections, in their order.
    by_thread: FxHashMap<ThreadId, Vec<u32>>,
    sections: usize,
    /// Some section waited twice.
    is_needed: bool,
}

impl RepeatedWaits {
    /// The thread acquired the mutex at the site, at a section's begin or after a wait.
    pub(super) fn acquired(&mut self, thread: ThreadId, is_after_wait: bool) {
        let sections = self.by_thread.entry(thread).or_default();
        if !is_after_wait {
            if self.sections < MOST_SECTIONS {
                sections.push(0);
                self.sections += 1;
            }
        } else if let Some(waits) = sections.last_mut() {
            *waits += 1;
            self.is_needed |= *waits > 1;
        }
    }

    /// `None` where each section passes with its first wait.
    pub(super) fn if_needed(self) -> Option<RepeatedWaits> {
        self.is_needed.then_some(self)
    }

    /// How often the thread's section of this number, from 0, waits.
    pub(super) fn of(&self, thread: ThreadId, section: usize) -> u32 {
        self.by_thread.get(&thread).and_then(|sections| sections.get(section)).copied().unwrap_or(0)
    }
}
