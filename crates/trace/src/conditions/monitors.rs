//! The third reading, and every later one: releases and acquisitions of tokens.

use std::collections::VecDeque;
use std::rc::Rc;

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

use super::repeated_waits::RepeatedWaits;
use super::sections::{Section, SectionEvent, Sections};
use super::{ConditionRule, ConditionRules, KnownPassage, MonitorStep};
use crate::timeline::{Acquisition, DependenceKind, ItemKind, QueueId, TokenId};

/// Broadcasts whose tokens are kept.
const MOST_BROADCASTS: usize = 4096;
/// Threads whose latest signals are kept.
const MOST_SIGNALLING: usize = 256;

/// What a thread does with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorToken {
    /// It lets go on who acquires it.
    Release(TokenId),
    /// It depends on its releases; `true`: no other acquisition follows.
    Acquire(TokenId, bool),
    /// It takes an item of the queue of this number, the only acquisition of this token. One that is never released is for a thread that
    /// found no item and went on.
    Item(TokenId, usize),
}

impl MonitorToken {
    /// What a timeline has of it, where queues have these ids.
    pub fn item_kind(self, queue_id: impl FnOnce(usize) -> Option<QueueId>) -> ItemKind {
        let acquire = |token, queue, last| {
            ItemKind::Acquire(Acquisition { token, kind: DependenceKind::Signal, object: None, queue, last })
        };
        match self {
            MonitorToken::Release(token) => ItemKind::Release(token),
            MonitorToken::Acquire(token, last) => acquire(token, None, last),
            MonitorToken::Item(token, queue) => acquire(token, queue_id(queue), true),
        }
    }
}

/// Follows the conditions of a run whose rules are known.
#[derive(Debug)]
pub struct Monitors<'a> {
    rules: &'a ConditionRules,
    sections: Sections,
    passages: Vec<PassageState>,
}

#[derive(Clone, Debug, Default)]
struct PassageState {
    signals: i64,
    passes: i64,
    /// Tokens of signals that no pass has taken, by the signal's number.
    signalled: VecDeque<(i64, TokenId)>,
    broadcasts: i64,
    /// Tokens of the last broadcasts, by number.
    broadcast: VecDeque<(i64, TokenId)>,
    by_thread: FxHashMap<ThreadId, PassingThread>,
    /// Each thread's latest signal.
    latest: FxHashMap<ThreadId, TokenId>,
    /// The latest signals when threads were told last.
    told: Rc<[TokenId]>,
    /// How often they were told.
    tellings: u64,
}

#[derive(Clone, Debug, Default)]
struct PassingThread {
    passes: i64,
    /// Its section has got what it needs.
    has_passed: bool,
    /// The signals that it has last depended on.
    tellings: u64,
    /// Its sections at the site so far.
    sections: usize,
    /// How often this one will wait.
    waits_left: u32,
}

impl PassageState {
    /// The thread has acquired the mutex at the site: whether it does not wait again in this section.
    fn goes_on(&mut self, thread: ThreadId, is_after_wait: bool, repeated: Option<&RepeatedWaits>) -> bool {
        let own = self.by_thread.entry(thread).or_default();
        if is_after_wait {
            own.waits_left = own.waits_left.saturating_sub(1);
        } else {
            own.has_passed = false;
            own.waits_left = repeated.map_or(0, |repeated| repeated.of(thread, own.sections));
            own.sections += 1;
        }
        own.waits_left == 0
    }

    /// The thread's section could go on: it takes a token, if the one for its pass is there.
    fn take_token(
        &mut self,
        thread: ThreadId,
        (ahead, queue): (i64, Option<usize>),
        out: &mut Vec<MonitorToken>,
    ) {
        if self.by_thread.entry(thread).or_default().has_passed {
            return;
        }
        let wanted = self.passes + 1 - ahead;
        if wanted > self.signals {
            return;
        }
        self.passed(thread);
        while let Some(&(number, token)) = self.signalled.front()
            && number <= wanted
        {
            self.signalled.pop_front();
            if number == wanted {
                out.push(
                    queue
                        .map_or(MonitorToken::Acquire(token, true), |queue| MonitorToken::Item(token, queue)),
                );
            }
        }
    }

    fn passed(&mut self, thread: ThreadId) {
        self.passes += 1;
        let own = self.by_thread.entry(thread).or_default();
        own.passes += 1;
        own.has_passed = true;
    }

    /// The thread goes on by the broadcast of its number.
    fn take_broadcast(&mut self, thread: ThreadId, behind: i64, out: &mut Vec<MonitorToken>) {
        let own = self.by_thread.entry(thread).or_default();
        let wanted = own.passes + 1 + behind;
        if own.has_passed || wanted > self.broadcasts {
            return;
        }
        self.passed(thread);
        if let Some(first) = self.broadcast.front().map(|&(number, _)| number)
            && let Ok(index) = usize::try_from(wanted - first)
            && let Some(&(_, token)) = self.broadcast.get(index)
        {
            out.push(MonitorToken::Acquire(token, false));
        }
    }

    /// The thread goes on by the latest signals of all threads when it was told.
    fn take_latest(&mut self, thread: ThreadId, out: &mut Vec<MonitorToken>) {
        let own = self.by_thread.entry(thread).or_default();
        if std::mem::replace(&mut own.tellings, self.tellings) != self.tellings {
            out.extend(self.told.iter().map(|&token| MonitorToken::Acquire(token, false)));
        }
    }

    /// A section that is a signal begins: what was done before it counts from now on.
    fn begin_signal(
        &mut self,
        thread: ThreadId,
        make: &mut impl FnMut() -> TokenId,
        out: &mut Vec<MonitorToken>,
    ) {
        if self.latest.len() < MOST_SIGNALLING || self.latest.contains_key(&thread) {
            let token = make();
            self.latest.insert(thread, token);
            out.push(MonitorToken::Release(token));
        }
    }

    fn tell(&mut self, thread: ThreadId, out: &mut Vec<MonitorToken>) {
        out.extend(self.latest.get(&thread).map(|&token| MonitorToken::Release(token)));
        let mut latest: Vec<TokenId> = self.latest.values().copied().collect();
        latest.sort_unstable();
        self.told = latest.into();
        self.tellings += 1;
    }
}

impl<'a> Monitors<'a> {
    /// Of a run with these rules.
    #[must_use]
    pub fn new(rules: &'a ConditionRules) -> Self {
        let passages = vec![PassageState::default(); rules.passages.len()];
        Monitors { rules, sections: Sections::default(), passages }
    }

    /// Takes the thread's next step; `out` gets what the thread does with tokens, which `make` makes.
    pub fn take(
        &mut self,
        thread: ThreadId,
        step: MonitorStep,
        make: &mut impl FnMut() -> TokenId,
        out: &mut Vec<MonitorToken>,
    ) {
        if self.rules.is_empty() {
            return;
        }
        let Some(event) = self.sections.take(thread, step) else { return };
        let mutex = match event {
            SectionEvent::Acquired { section, .. } | SectionEvent::Ended { section } => Some(section.mutex),
            SectionEvent::Signalled { section, .. } => section.map(|section| section.mutex),
        };
        let rules = self.rules;
        for &index in mutex.and_then(|mutex| rules.by_mutex.get(&mutex)).into_iter().flatten() {
            match event {
                SectionEvent::Acquired { section, waited } => {
                    self.acquired(index, thread, (section, waited.is_some()), make, out);
                }
                SectionEvent::Signalled { section, condition, broadcast } => {
                    if condition == rules.passages[index].passage.condition {
                        self.signalled(index, thread, (section, broadcast), make, out);
                    }
                }
                SectionEvent::Ended { section } => self.ended(index, thread, section, make, out),
            }
        }
    }

    fn acquired(
        &mut self,
        index: usize,
        thread: ThreadId,
        (section, is_after_wait): (Section, bool),
        make: &mut impl FnMut() -> TokenId,
        out: &mut Vec<MonitorToken>,
    ) {
        let KnownPassage { passage, rule, repeated } = &self.rules.passages[index];
        let state = &mut self.passages[index];
        let is_pass = section.site == passage.site;
        let goes_on = is_pass && state.goes_on(thread, is_after_wait, repeated.as_ref());
        match rule {
            ConditionRule::Tokens { ahead, has_items } if goes_on && !section.timed_out => {
                let queue = has_items.then_some(index);
                state.take_token(thread, (*ahead, queue), out);
            }
            ConditionRule::Broadcasts(behind) if goes_on && !section.timed_out => {
                state.take_broadcast(thread, behind.get(&thread).copied().unwrap_or(0), out);
            }
            ConditionRule::Latest { .. } => {
                if is_pass {
                    state.take_latest(thread, out);
                }
                if passage.signals.contains(&section.site) && !is_after_wait {
                    state.begin_signal(thread, make, out);
                }
            }
            _ => {}
        }
    }

    fn signalled(
        &mut self,
        index: usize,
        thread: ThreadId,
        (section, broadcast): (Option<Section>, bool),
        make: &mut impl FnMut() -> TokenId,
        out: &mut Vec<MonitorToken>,
    ) {
        let KnownPassage { passage, rule, .. } = &self.rules.passages[index];
        let state = &mut self.passages[index];
        match rule {
            ConditionRule::Broadcasts(_) if broadcast => {
                state.broadcasts += 1;
                let token = make();
                state.broadcast.push_back((state.broadcasts, token));
                if state.broadcast.len() > MOST_BROADCASTS {
                    state.broadcast.pop_front();
                }
                out.push(MonitorToken::Release(token));
            }
            ConditionRule::Latest { .. } => {
                state.tell(thread, out);
                // The last one to come to a barrier made by hand lets itself go.
                if section.is_some_and(|section| section.site == passage.site) {
                    state.take_latest(thread, out);
                }
            }
            _ => {}
        }
    }

    fn ended(
        &mut self,
        index: usize,
        thread: ThreadId,
        section: Section,
        make: &mut impl FnMut() -> TokenId,
        out: &mut Vec<MonitorToken>,
    ) {
        let KnownPassage { passage, rule, .. } = &self.rules.passages[index];
        let state = &mut self.passages[index];
        let is_pass = section.site == passage.site && !section.timed_out;
        if is_pass && !state.by_thread.entry(thread).or_default().has_passed {
            // It went on though its signal was not there: the count is off by one here, or it found its queue closed.
            state.passed(thread);
            if let ConditionRule::Tokens { has_items: true, .. } = rule {
                out.push(MonitorToken::Item(make(), index));
            }
        }
        if !passage.signals.contains(&section.site) {
            return;
        }
        state.signals += 1;
        match rule {
            // A pass that came before its signal needs none.
            ConditionRule::Tokens { ahead, .. } if state.signals + ahead > state.passes => {
                let token = make();
                state.signalled.push_back((state.signals, token));
                out.push(MonitorToken::Release(token));
            }
            ConditionRule::Latest { .. } if !section.waited => {
                out.extend(state.latest.get(&thread).map(|&token| MonitorToken::Release(token)));
            }
            _ => {}
        }
    }
}
