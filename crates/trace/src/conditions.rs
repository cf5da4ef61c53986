//! Conditions as tokens (metrics.md §1, rules T1 to T4): what a thread does in a critical section lets others go on that come to
//! their condition later, whether or not they wait there.
//!
//! ```text
//!   producer   lock put unlock | lock put unlock |              the 1st signal is for the 1st pass, the 2nd for the
//!   consumer   lock wait ... get unlock | work | lock get unlock      2nd, for which the consumer need not wait
//! ```
//! A *section* is a critical section of a mutex with which threads wait; its *site* is where the mutex was acquired. A *pass*
//! is a section at a site that sometimes waits for the condition, whether or not it waited this time. A *signal* is a
//! section at a site that sometimes signals the condition, whether or not it did. A signal after the section belongs to it.
//! Where other sites signal, a site's own sections do not count.
//!
//! Passes behind the last signal that are too many for it are *ends*: workers that find their queue closed. They count for no number.
//!
//! Where no pass is ahead of its signal, several threads pass, and hardly one of them waits while there is a token, signals are *items*:
//! whoever comes next takes the next one, whichever thread that was in this run.
//!
//! A section that is woken for another's signal waits again; it passes with the last of its waits ([`RepeatedWaits`]).
//!
//! Three readings of the same steps: [`ConditionSites`] finds the sites, [`ConditionCounter`] the numbers, and
//! [`Monitors`] gives releases and acquisitions of tokens.
//!
//! | rule | signals and passes | fits where |
//! |---|---|---|
//! | tokens | the n-th signal is for the (n + k)-th pass, k the most passes ahead of signals | 4 of 5 passes that waited went on with their signal, ± 1, and had come before it |
//! | broadcasts | a thread's i-th pass is for the (i + d)-th broadcast, d its own | all signals are broadcasts, and 4 of 5 such passes came before theirs and went on after it |
//! | latest | a pass depends on each thread's latest signal up to the one that let it go | else: latches, barriers, batches |
//!
//! Constant time per step, but for the last rule, which takes a number for each thread that signals. Memory: a few numbers
//! per thread, condition and site, and the tokens that were not taken.
//!
//! What no rule mends: where the number of sections changes with time, as in batches and in attempts that may fail.
//! Such conditions are [`Signals::Irregular`].

mod counter;
mod monitors;
mod repeated_waits;
mod sections;

use longpole_event::ThreadId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::objects::Signals;
pub use counter::ConditionCounter;
pub use monitors::{MonitorToken, Monitors};
use repeated_waits::RepeatedWaits;
use sections::{SectionEvent, Sections, UNKNOWN_SITE};

/// What a thread does with a mutex or a condition; all are numbers of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorStep {
    /// It acquired the mutex at this site.
    Lock {
        /// The mutex.
        mutex: u32,
        /// Where.
        site: u32,
    },
    /// It acquired the mutex, which is acquired too often: this is the last time that is told.
    Unfollowed {
        /// The mutex.
        mutex: u32,
    },
    /// It releases the mutex.
    Unlock {
        /// The mutex.
        mutex: u32,
    },
    /// Its wait for the condition returned, and it holds the mutex again.
    Waited {
        /// The condition.
        condition: u32,
        /// The mutex.
        mutex: u32,
        /// Not by a time-out.
        granted: bool,
    },
    /// It signalled the condition.
    Signal {
        /// The condition.
        condition: u32,
        /// To all that wait.
        broadcast: bool,
    },
}

/// Passes of one condition at one site, and who lets them go.
#[derive(Clone, Debug)]
struct Passage {
    condition: u32,
    mutex: u32,
    site: u32,
    /// Sites whose sections are signals.
    signals: FxHashSet<u32>,
}

impl Passage {
    /// Only sections at its own site signal: a barrier made by hand, whose signals come before their own passes.
    fn is_its_own(&self) -> bool {
        self.signals.len() == 1 && self.signals.contains(&self.site)
    }
}

/// Finds the sites of a run.
#[derive(Clone, Debug, Default)]
pub struct ConditionSites {
    sections: Sections,
    /// Where threads wait: condition, mutex, site.
    waits: FxHashSet<(u32, u32, u32)>,
    /// Where they signal: condition, mutex, site.
    signals: FxHashSet<(u32, u32, u32)>,
    /// Conditions that are signalled to one thread.
    single: FxHashSet<u32>,
    /// Mutexes whose sections are known in part only.
    unfollowed: FxHashSet<u32>,
}

impl ConditionSites {
    /// Takes the next step.
    pub fn take(&mut self, thread: ThreadId, step: MonitorStep) {
        if let MonitorStep::Unfollowed { mutex } = step {
            self.unfollowed.insert(mutex);
        }
        match self.sections.take(thread, step) {
            Some(SectionEvent::Acquired { section, waited: Some(condition) }) => {
                self.waits.insert((condition, section.mutex, section.site));
            }
            Some(SectionEvent::Signalled { section, condition, broadcast }) => {
                if !broadcast {
                    self.single.insert(condition);
                }
                self.signals.extend(section.map(|section| (condition, section.mutex, section.site)));
            }
            _ => {}
        }
    }

    /// Whether no thread waited for a condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// What counts signals and passes in the next reading.
    #[must_use]
    pub fn into_counter(self) -> ConditionCounter {
        // Who waited before the recording began passes at no known site: nothing can be counted there, nor where sections
        // are missing.
        let is_counted =
            |&(_, mutex, site): &(u32, u32, u32)| site != UNKNOWN_SITE && !self.unfollowed.contains(&mutex);
        let mut waits: Vec<_> = self.waits.into_iter().filter(is_counted).collect();
        waits.sort_unstable();
        let passage = |(condition, mutex, site): (u32, u32, u32)| {
            let of = |&&(signalled, of, _): &&(u32, u32, u32)| (signalled, of) == (condition, mutex);
            let mut signals: FxHashSet<u32> = self.signals.iter().filter(of).map(|signal| signal.2).collect();
            // Sections that wait at the site signal, too: those of a barrier made by hand. Others' are what it waits for.
            if signals.len() > 1 {
                signals.remove(&site);
            }
            Passage { condition, mutex, site, signals }
        };
        ConditionCounter::new(waits.into_iter().map(passage).collect(), self.single)
    }
}

/// How passes of one condition at one site depend on signals.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ConditionRule {
    /// The n-th signal is for the (n + `ahead`)-th pass. Whether signals are items, and threads take any of them.
    Tokens { ahead: i64, has_items: bool },
    /// A thread's i-th pass is for the broadcast of the number i + this.
    Broadcasts(FxHashMap<ThreadId, i64>),
    /// A pass depends on each thread's latest signal. Whether signals come in groups of the same size.
    Latest { is_regular: bool },
}

/// Passages of which it is known how they depend on signals.
#[derive(Clone, Debug)]
struct KnownPassage {
    passage: Passage,
    rule: ConditionRule,
    /// `None` where each section passes with its first wait.
    repeated: Option<RepeatedWaits>,
}

/// What is known of all conditions of a run.
#[derive(Clone, Debug, Default)]
pub struct ConditionRules {
    passages: Vec<KnownPassage>,
    /// Positions of those that sections of a mutex are passes or signals of.
    by_mutex: FxHashMap<u32, Vec<usize>>,
}

impl ConditionRules {
    fn new(passages: Vec<KnownPassage>) -> Self {
        let mut by_mutex: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (index, known) in passages.iter().enumerate() {
            by_mutex.entry(known.passage.mutex).or_default().push(index);
        }
        ConditionRules { passages, by_mutex }
    }

    /// Whether no thread waited for a condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }

    /// What is known of the signals of this condition.
    #[must_use]
    pub fn signals(&self, condition: u32) -> Signals {
        let of = self.passages.iter().filter(|known| known.passage.condition == condition);
        let known = |known: &KnownPassage| match known.rule {
            ConditionRule::Tokens { .. } | ConditionRule::Broadcasts(_) => Signals::Numbered,
            ConditionRule::Latest { is_regular: true } => Signals::Latest,
            ConditionRule::Latest { is_regular: false } => Signals::Irregular,
        };
        of.map(known).min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
