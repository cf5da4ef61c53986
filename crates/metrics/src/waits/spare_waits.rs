//! Who waits where beside whom: tells threads that were spare from those that were wanted.
//!
//! ```text
//!   1 = condition work
//!   main  AAAAAAAAAAAAA      first: waits from 0 to 4 beside the others, who are still there: spare
//!   first 1111BBBBBBBBB      second: waits from 0 to 8 beside the third, who is still there: spare
//!   other 11111111BBBBB
//!   third 111111111111B      third: alone from 8 on: not spare
//! ```
//! A wait for work is *spare* if at each moment of it, and when it ended, another thread that was started alike waited at the same place for the
//! same object: work that came could as well have gone there. If all that waited there were released by one act, nobody
//! was spare.

use longpole_event::ProcessId;
use longpole_trace::{Cause, ObjectId, PlaceId};
use rustc_hash::FxHashMap;

use super::history::ReleaseAct;
use super::step::GroupId;

/// Where threads wait for the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WaitPoint {
    pub process: ProcessId,
    /// The threads that can do it: those that were started for it alike.
    pub group: GroupId,
    /// None where threads told of their waits: then the object alone says it.
    pub place: Option<PlaceId>,
    pub cause: Cause,
    /// None where each thread waits for an object of its own.
    pub object: Option<ObjectId>,
}

/// Waits of which it is not known yet whether they were spare, of type `W`.
#[derive(Debug)]
pub(super) struct SpareWaits<W> {
    posts: FxHashMap<WaitPoint, JointWait<W>>,
}

#[derive(Debug)]
struct JointWait<W> {
    waiting: u32,
    /// Since when there have been two or more.
    together_since: u64,
    releases: Option<ActReleases<W>>,
}

/// The threads that one act released here.
#[derive(Debug)]
struct ActReleases<W> {
    act: ReleaseAct,
    /// Who waited when the first was released.
    waiting: u32,
    released: u32,
    undecided: Vec<W>,
}

/// Waits that are decided now.
pub(super) type Decided<W> = Vec<(W, bool)>;

/// Whether a wait for this can be one for work that any of several threads would do.
pub(super) fn is_for_work(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Condition
            | Cause::Park
            | Cause::Semaphore
            | Cause::Message
            | Cause::Pipe
            | Cause::Socket
            | Cause::Poll
            | Cause::Futex
    )
}

impl<W> Default for SpareWaits<W> {
    fn default() -> Self {
        SpareWaits { posts: FxHashMap::default() }
    }
}

impl<W> SpareWaits<W> {
    /// A thread begins to wait.
    pub(super) fn join(&mut self, post: WaitPoint, time: u64) {
        let watch =
            self.posts.entry(post).or_insert(JointWait { waiting: 0, together_since: time, releases: None });
        watch.waiting += 1;
        if watch.waiting == 2 {
            watch.together_since = time;
        }
    }

    /// A thread's wait since `since` is over. The waits that this decides, with whether they were spare.
    pub(super) fn leave(
        &mut self,
        post: WaitPoint,
        since: u64,
        act: Option<ReleaseAct>,
        wait: W,
    ) -> Decided<W> {
        let mut decided = Vec::new();
        let Some(watch) = self.posts.get_mut(&post) else { return vec![(wait, false)] };
        if watch.releases.as_ref().is_some_and(|releases| Some(releases.act) != act) {
            decided.extend(watch.decide());
        }
        let was_together = watch.waiting >= 2 && watch.together_since <= since;
        if let Some(act) = act {
            let waiting = watch.waiting;
            let new = || ActReleases { act, waiting, released: 0, undecided: Vec::new() };
            let releases = watch.releases.get_or_insert_with(new);
            releases.released += 1;
            if was_together {
                releases.undecided.push(wait);
            } else {
                decided.push((wait, false));
            }
        } else {
            decided.push((wait, was_together));
        }
        watch.waiting = watch.waiting.saturating_sub(1);
        if watch.waiting == 0 {
            decided.extend(watch.decide());
            self.posts.remove(&post);
        }
        decided
    }

    /// The run is over.
    pub(super) fn finish(&mut self) -> Decided<W> {
        let mut watches: Vec<(WaitPoint, JointWait<W>)> = self.posts.drain().collect();
        watches.sort_by_key(|(post, _)| (post.process, post.group, post.place, post.cause, post.object));
        watches.iter_mut().flat_map(|(_, watch)| watch.decide()).collect()
    }
}

impl<W> JointWait<W> {
    fn decide(&mut self) -> Decided<W> {
        let Some(releases) = self.releases.take() else { return Vec::new() };
        let is_spare = releases.released < releases.waiting;
        releases.undecided.into_iter().map(|wait| (wait, is_spare)).collect()
    }
}
