//! Semaphores as tokens: the n-th that was posted is the (n + k)-th that is taken, where k were there before.
//!
//! ```text
//!   A  post ==== post ===                 k = 1: the first take needs no post, the second needs the first post
//!   B  ======= take ======= take ===
//! ```
//! A semaphore that only threads post which took it before is a pool: it excludes, and exclusion is not order.

use std::collections::VecDeque;

use longpole_event::{PrimitiveId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::Transitions;
use crate::observer::Observer;
use crate::timeline::{Acquisition, DependenceKind, ItemKind, TokenId};

/// What the first reading says of a semaphore, from one initialisation to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownCount {
    posts: u64,
    pub(crate) takes: u64,
    /// What it was initialised with.
    initial: u64,
    /// What was there before.
    pub(crate) before: u64,
    /// Takes less posts of each thread.
    balance: FxHashMap<ThreadId, u64>,
    /// How often each thread took it.
    takers: FxHashMap<ThreadId, u64>,
    early: Posts,
    late: Posts,
}

/// Posts before the first take, or after it.
#[derive(Clone, Copy, Debug, Default)]
struct Posts {
    any: bool,
    /// A thread posted more than it had taken.
    without_take: bool,
}

impl KnownCount {
    /// Follows an initialisation, which is no thread's post.
    pub(crate) fn of_initial(count: u64) -> Self {
        KnownCount { posts: count, initial: count, ..KnownCount::default() }
    }

    /// Follows a post in the first reading.
    pub(crate) fn post(&mut self, thread: ThreadId, count: u64) {
        self.posts = self.posts.saturating_add(count);
        let balance = self.balance.entry(thread).or_default();
        let posts = if self.takes == 0 { &mut self.early } else { &mut self.late };
        posts.any = true;
        posts.without_take |= *balance < count;
        *balance = balance.saturating_sub(count);
    }

    /// Follows a take in the first reading. Posts are told before they are done, takes after.
    pub(crate) fn take(&mut self, thread: ThreadId) {
        self.takes += 1;
        self.before = self.before.max(self.takes.saturating_sub(self.posts));
        *self.balance.entry(thread).or_default() += 1;
        *self.takers.entry(thread).or_default() += 1;
    }

    /// Whether posts let others go on, and do not only give back what was taken: posts before the first take may be what
    /// a pool begins with.
    pub(crate) fn is_order(&self) -> bool {
        if self.late.any { self.late.without_take } else { self.early.without_take }
    }

    /// Whether posts are items that several threads take as they come: nothing was there before.
    fn has_items(&self) -> bool {
        self.initial == 0 && self.before == 0 && self.takers.values().filter(|&&takes| takes > 1).count() > 1
    }
}

/// Posts of one semaphore that were not taken.
#[derive(Debug, Default)]
pub(super) struct UntakenPosts {
    /// Which of its [`KnownCount`]s it is in.
    epoch: usize,
    posts: u64,
    takes: u64,
    /// Tokens and how often each can be taken.
    posted: VecDeque<(TokenId, u64)>,
}

/// Posts that were not taken, by semaphore.
#[derive(Debug, Default)]
pub(super) struct SemaphorePosts(FxHashMap<PrimitiveId, UntakenPosts>);

impl Transitions<'_> {
    /// The semaphore begins anew.
    pub(super) fn initialise(
        &mut self,
        thread: ThreadId,
        time: Time,
        (semaphore, initial): (PrimitiveId, u64),
        observer: &mut impl Observer,
    ) {
        let count = self.counts.0.entry(semaphore).or_default();
        *count = UntakenPosts { epoch: count.epoch + 1, ..UntakenPosts::default() };
        self.post(thread, time, (semaphore, initial), observer);
    }

    /// The thread adds to a semaphore.
    pub(super) fn post(
        &mut self,
        thread: ThreadId,
        time: Time,
        (semaphore, added): (PrimitiveId, u64),
        observer: &mut impl Observer,
    ) {
        let count = self.counts.0.entry(semaphore).or_default();
        let Some(known) = self.sources.dependences.count(semaphore, count.epoch) else { return };
        let first = count.posts + known.before;
        count.posts = count.posts.saturating_add(added);
        let taken = added.min(known.takes.saturating_sub(first));
        if taken > 0 && known.is_order() {
            let token = self.tokens.make();
            count.posted.push_back((token, taken));
            self.emit(thread, time, ItemKind::Release(token), observer);
        }
    }

    /// The thread has taken one from a semaphore.
    pub(super) fn take(
        &mut self,
        thread: ThreadId,
        time: Time,
        semaphore: PrimitiveId,
        observer: &mut impl Observer,
    ) {
        let count = self.counts.0.entry(semaphore).or_default();
        let Some(known) = self.sources.dependences.count(semaphore, count.epoch) else { return };
        count.takes += 1;
        if count.takes <= known.before {
            return;
        }
        let Some((token, left)) = count.posted.front_mut() else { return };
        *left -= 1;
        let (token, last) = (*token, *left == 0);
        if last {
            count.posted.pop_front();
        }
        let queue = (last && known.has_items()).then(|| self.tokens.queue(2 * semaphore.0 as usize + 1));
        let acquisition = Acquisition { token, kind: DependenceKind::Post, object: None, queue, last };
        self.emit(thread, time, ItemKind::Acquire(acquisition), observer);
    }
}
