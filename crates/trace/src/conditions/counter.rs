//! The second reading: how many passes came with how many signals, and which rule that fits.
//!
//! ```text
//!   signals so far    0     1      2   3          passes less signals: 1, 1 and 0; k = 1
//!   passes               1     2           3      the 2nd waited, and came with its signal: 1 = 2 - k
//! ```

use std::collections::VecDeque;

use longpole_event::ThreadId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::repeated_waits::RepeatedWaits;
use super::sections::{Section, SectionEvent, Sections, UNKNOWN_SITE};
use super::{ConditionRule, ConditionRules, KnownPassage, MonitorStep, Passage};

/// The part of passes that waited which has to fit.
const FIT: f64 = 0.8;
/// The part of passes that waited which came when there was no token, where any thread takes any token.
const TAKEN: f64 = 0.95;
/// Times that threads were told that are kept.
const MOST_TOLD: usize = 1024;
/// By how many a pass that waited may be off.
const SLACK: i64 = 1;

/// Counts signals and passes.
#[derive(Clone, Debug)]
pub struct ConditionCounter {
    sections: Sections,
    passages: Vec<(Passage, Tally)>,
    by_mutex: FxHashMap<u32, Vec<usize>>,
    /// Conditions that are signalled to one thread.
    single: FxHashSet<u32>,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    signals: i64,
    passes: i64,
    /// Most passes less signals, up to the last signal.
    ahead: Option<i64>,
    /// Passes less signals of passes that waited, likewise.
    waited: FxHashMap<i64, u64>,
    /// What passes since the last signal add to these, if another one comes.
    since: PassesSinceSignal,
    broadcasts: i64,
    by_thread: FxHashMap<ThreadId, ThreadTally>,
    /// Signals between passes that waited.
    groups: FxHashMap<i64, u64>,
    /// Signals at the last pass that waited.
    grouped: i64,
    /// Passes of threads that waited when the recording began.
    unknown: i64,
    /// Sections at sites of signals that told nobody.
    silent: u64,
    /// Silent sections up to each of the last times that threads were told, and how many times were before these.
    told: VecDeque<u64>,
    told_before: u64,
    /// Passes that waited while a section was silent.
    passed_over: u64,
    /// Threads that came to the site and did not pass yet.
    waiting: i64,
    /// Passes less signals when they came, of passes that waited: those that waited before them pass first.
    arrived: FxHashMap<i64, u64>,
    repeated: RepeatedWaits,
}

/// Passes since the last signal: a queue's last ones find it closed, and no signal is theirs.
#[derive(Clone, Debug, Default)]
struct PassesSinceSignal {
    ahead: Option<i64>,
    waited: FxHashMap<i64, u64>,
}

#[derive(Clone, Debug, Default)]
struct ThreadTally {
    passes: i64,
    /// Signals and broadcasts that there were when its section acquired the mutex last.
    signals_before: i64,
    broadcasts_before: i64,
    /// While it did not pass.
    arrived: Option<PassArrival>,
    /// Silent sections and times that threads were told, likewise.
    silent_before: u64,
    told_before: u64,
    /// Its last section at a site of signals told threads, or was counted as silent.
    tells: bool,
    is_silent: bool,
    /// Fewest broadcasts less passes.
    behind: Option<i64>,
    /// Broadcasts when it came less passes, of passes that waited.
    waited: FxHashMap<i64, u64>,
}

/// A thread came to the site.
#[derive(Clone, Copy, Debug)]
struct PassArrival {
    /// Its pass's number less signals.
    ahead: i64,
    broadcasts: i64,
}

/// How many there are in all.
fn total(of: &FxHashMap<i64, u64>) -> f64 {
    of.values().sum::<u64>() as f64
}

/// How many are above `value`.
fn above(of: &FxHashMap<i64, u64>, value: i64) -> f64 {
    of.iter().filter(|&(&found, _)| found > value).map(|(_, times)| times).sum::<u64>() as f64
}

/// How many are no more than `slack` from `value`.
fn near(of: &FxHashMap<i64, u64>, value: i64, slack: i64) -> f64 {
    (value - slack..=value + slack).filter_map(|value| of.get(&value)).sum::<u64>() as f64
}

impl Tally {
    fn arrive(&mut self, thread: ThreadId) {
        self.waiting += 1;
        let ahead = self.passes + self.waiting - self.signals;
        let arrival = PassArrival { ahead, broadcasts: self.broadcasts };
        self.by_thread.entry(thread).or_default().arrived = Some(arrival);
    }

    /// The thread leaves the site.
    fn leave(&mut self, thread: ThreadId) -> Option<PassArrival> {
        let arrived = self.by_thread.get_mut(&thread).and_then(|own| own.arrived.take());
        self.waiting -= i64::from(arrived.is_some());
        arrived
    }

    fn pass(&mut self, thread: ThreadId, section: Section, arrived: Option<PassArrival>) {
        let own = self.by_thread.entry(thread).or_default();
        self.passes += 1;
        own.passes += 1;
        let (ahead, behind) = (self.passes - own.signals_before, own.broadcasts_before - own.passes);
        self.since.ahead = self.since.ahead.max(Some(ahead));
        own.behind = Some(own.behind.map_or(behind, |least| least.min(behind)));
        if section.waited {
            let first = own.told_before.saturating_sub(self.told_before) as usize;
            self.passed_over +=
                u64::from(self.told.get(first).is_some_and(|&silent| silent > own.silent_before));
            *self.since.waited.entry(ahead).or_default() += 1;
            if let Some(arrived) = arrived {
                *self.arrived.entry(arrived.ahead).or_default() += 1;
                *own.waited.entry(arrived.broadcasts - own.passes).or_default() += 1;
            }
            let group = own.signals_before - self.grouped;
            if group > 0 {
                *self.groups.entry(group).or_default() += 1;
                self.grouped = own.signals_before;
            }
        }
    }

    /// The thread signals, in its last section or after it.
    fn tell(&mut self, thread: ThreadId) {
        let own = self.by_thread.entry(thread).or_default();
        own.tells = true;
        if std::mem::take(&mut own.is_silent) {
            self.silent = self.silent.saturating_sub(1);
        }
        if self.told.len() == MOST_TOLD {
            self.told.pop_front();
            self.told_before += 1;
        }
        self.told.push_back(self.silent);
    }

    /// Passes up to now count: another signal has come, or there was none.
    fn count_passes(&mut self) {
        let since = std::mem::take(&mut self.since);
        self.ahead = self.ahead.max(since.ahead);
        for (ahead, times) in since.waited {
            *self.waited.entry(ahead).or_default() += times;
        }
    }

    /// The thread's section at a site of signals is over.
    fn signal(&mut self, thread: ThreadId) {
        self.count_passes();
        self.signals += 1;
        let own = self.by_thread.entry(thread).or_default();
        own.is_silent = !own.tells;
        self.silent += u64::from(own.is_silent);
    }

    /// The rule that fits; `only_own`: no other sites signal than that of the passes.
    fn rule(&mut self, only_own: bool, has_broadcasts_only: bool) -> ConditionRule {
        if self.waited.is_empty() {
            self.count_passes();
            // All passes came after all signals, those that found the queue closed too: who waited had found nothing there.
            let least = self.arrived.keys().min().map(|least| least - 1);
            self.ahead = self.ahead.zip(least).map(|(ahead, least)| ahead.min(least)).or(self.ahead);
        }
        let usual = self.groups.values().max().copied().unwrap_or(0) as f64;
        let latest = ConditionRule::Latest { is_regular: usual >= FIT * total(&self.groups) };
        if only_own {
            return latest;
        }
        let ahead = self.ahead.unwrap_or(0);
        // The first pass of a latch needs many signals, that of a queue one.
        let is_early = ahead >= -self.unknown;
        // An item that is put while a thread waits for one lets it go; the first steps of a latch do not.
        let is_heard = self.passed_over as f64 <= (1.0 - FIT) * total(&self.waited);
        // Whose item is there does not wait, but who comes to a latch between two of its steps does.
        let awaited = above(&self.arrived, ahead);
        let is_awaited = awaited >= FIT * total(&self.arrived);
        let is_near = near(&self.waited, ahead, SLACK) >= FIT * total(&self.waited);
        // Items that are put at once are more than one before the first thread that waited for them is awake.
        let are_all_taken = awaited >= TAKEN * total(&self.arrived)
            && (self.passes - ahead) as f64 >= TAKEN * self.signals as f64;
        let fits_tokens = is_early && is_heard && is_awaited && (is_near || are_all_taken);
        let behind = |tally: &ThreadTally| tally.behind.unwrap_or(0);
        let not_yet = |tally: &ThreadTally| total(&tally.waited) - above(&tally.waited, behind(tally) - 1);
        let broadcasts: f64 = self.by_thread.values().map(not_yet).sum();
        let always_broadcasts = has_broadcasts_only && self.broadcasts as f64 >= FIT * self.signals as f64;
        let fits_broadcasts = always_broadcasts && broadcasts >= FIT * total(&self.arrived);
        if fits_broadcasts && (!fits_tokens || broadcasts > awaited) {
            let offsets = self.by_thread.iter().map(|(&thread, tally)| (thread, behind(tally)));
            return ConditionRule::Broadcasts(offsets.collect());
        }
        if fits_tokens {
            return ConditionRule::Tokens { ahead, has_items: self.has_items(ahead) };
        }
        latest
    }

    /// Whether threads take whatever item is there.
    fn has_items(&self, ahead: i64) -> bool {
        let takers = self.by_thread.values().filter(|tally| tally.passes > 1).count();
        takers > 1 && ahead <= 0 && above(&self.arrived, ahead) >= TAKEN * total(&self.arrived)
    }
}

impl ConditionCounter {
    pub(super) fn new(passages: Vec<Passage>, single: FxHashSet<u32>) -> Self {
        let mut by_mutex: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (index, passage) in passages.iter().enumerate() {
            by_mutex.entry(passage.mutex).or_default().push(index);
        }
        let passages = passages.into_iter().map(|passage| (passage, Tally::default())).collect();
        ConditionCounter { sections: Sections::default(), passages, by_mutex, single }
    }

    /// Takes the next step.
    pub fn take(&mut self, thread: ThreadId, step: MonitorStep) {
        let Some(event) = self.sections.take(thread, step) else { return };
        let mutex = match event {
            SectionEvent::Acquired { section, .. } | SectionEvent::Ended { section } => Some(section.mutex),
            SectionEvent::Signalled { section, .. } => section.map(|section| section.mutex),
        };
        let Some(indices) = mutex.and_then(|mutex| self.by_mutex.get(&mutex)) else { return };
        for &index in indices {
            let (passage, tally) = &mut self.passages[index];
            if let SectionEvent::Acquired { waited: None, .. } = event {
                let own = tally.by_thread.entry(thread).or_default();
                (own.tells, own.is_silent) = (false, false);
                (own.silent_before, own.told_before) =
                    (tally.silent, tally.told_before + tally.told.len() as u64);
            }
            match event {
                SectionEvent::Acquired { section, waited } if section.site == passage.site => {
                    tally.repeated.acquired(thread, waited.is_some());
                    if waited.is_none() {
                        tally.arrive(thread);
                    }
                    tally.signals += i64::from(passage.is_its_own() && waited.is_none());
                    let (signals, broadcasts) = (tally.signals, tally.broadcasts);
                    let own = tally.by_thread.entry(thread).or_default();
                    (own.signals_before, own.broadcasts_before) = (signals, broadcasts);
                }
                SectionEvent::Acquired { .. } => {}
                SectionEvent::Signalled { condition, broadcast, .. } if condition == passage.condition => {
                    tally.broadcasts += i64::from(broadcast);
                    tally.tell(thread);
                }
                SectionEvent::Signalled { .. } => {}
                SectionEvent::Ended { section } => {
                    if section.site == passage.site {
                        let arrived = tally.leave(thread);
                        if !section.timed_out {
                            tally.pass(thread, section, arrived);
                        }
                    }
                    tally.unknown += i64::from(section.site == UNKNOWN_SITE && section.waited);
                    if passage.signals.contains(&section.site) && !passage.is_its_own() {
                        tally.signal(thread);
                    }
                }
            }
        }
    }

    /// The rules that fit.
    #[must_use]
    pub fn into_rules(self) -> ConditionRules {
        let single = self.single;
        let rule = |(passage, mut tally): (Passage, Tally)| {
            let rule = tally.rule(passage.is_its_own(), !single.contains(&passage.condition));
            KnownPassage { passage, rule, repeated: tally.repeated.if_needed() }
        };
        ConditionRules::new(self.passages.into_iter().map(rule).collect())
    }
}
