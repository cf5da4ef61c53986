//! Critical sections of threads, from steps.
//!
//! ```text
//!   steps      Lock  Waited  Waited  Signal  Unlock          Signal
//!   section    acquired, acquired, acquired, signalled, ended, signalled (the section just left)
//! ```

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

use super::MonitorStep;

/// A site that no step told: the mutex was acquired before the recording began.
pub(super) const UNKNOWN_SITE: u32 = u32::MAX;
/// Sections that a thread can be in at a time; further ones are not followed.
const DEEPEST: usize = 64;

/// A critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) mutex: u32,
    pub(super) site: u32,
    /// It has waited.
    pub(super) waited: bool,
    /// Its last wait ended by a time-out.
    pub(super) timed_out: bool,
}

/// What a step is to its thread's sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionEvent {
    /// The mutex was acquired: at the begin, or after a wait for this condition.
    Acquired { section: Section, waited: Option<u32> },
    /// A condition was signalled in this section, or after it; the section is not known where no mutex was ever held.
    Signalled { section: Option<Section>, condition: u32, broadcast: bool },
    /// The section is over.
    Ended { section: Section },
}

/// The sections that all threads are in.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections {
    threads: FxHashMap<ThreadId, ThreadSections>,
}

#[derive(Clone, Debug, Default)]
struct ThreadSections {
    open: Vec<Section>,
    last: Option<Section>,
}

impl Sections {
    /// Takes the next step.
    pub(super) fn take(&mut self, thread: ThreadId, step: MonitorStep) -> Option<SectionEvent> {
        let ThreadSections { open, last } = self.threads.entry(thread).or_default();
        match step {
            MonitorStep::Lock { mutex, site } => {
                let section = Section { mutex, site, waited: false, timed_out: false };
                if open.len() >= DEEPEST {
                    return None;
                }
                open.push(section);
                Some(SectionEvent::Acquired { section, waited: None })
            }
            MonitorStep::Unfollowed { .. } => None,
            MonitorStep::Unlock { mutex } => {
                let index = open.iter().rposition(|section| section.mutex == mutex)?;
                let section = open.remove(index);
                *last = Some(section);
                Some(SectionEvent::Ended { section })
            }
            MonitorStep::Waited { condition, mutex, granted } => {
                let known = open.iter().rposition(|section| section.mutex == mutex);
                let index = known.unwrap_or_else(|| {
                    open.push(Section { mutex, site: UNKNOWN_SITE, waited: false, timed_out: false });
                    open.len() - 1
                });
                open[index].waited = true;
                open[index].timed_out = !granted;
                let section = open[index];
                Some(SectionEvent::Acquired { section, waited: Some(condition) })
            }
            MonitorStep::Signal { condition, broadcast } => {
                let section = open.last().copied().or(*last);
                Some(SectionEvent::Signalled { section, condition, broadcast })
            }
        }
    }
}
