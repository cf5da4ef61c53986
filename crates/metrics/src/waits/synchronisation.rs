//! The last common synchronisation of two threads before a wait.

use super::explanation::WaitQuestion;
use super::history::{History, WaitRelease};

/// The begins of both paths after the last common synchronisation: the one whose earlier end is the latest.
///
/// ```text
///   one released the other          a third released both in one act
///   A ────●──── W                   A ────●──── W
///         │                               │
///   B ────●──────                   D ────●  ●         (the act may take a while)
///                                            │
///                                   B ───────●─────
/// ```
pub(super) fn last_common(
    question: &WaitQuestion,
    release: &WaitRelease,
    (own, other): (&History, &History),
) -> Option<(u64, u64)> {
    let mut best: Option<(u64, u64)> = None;
    let mut offer = |own_time: u64, other_time: u64| {
        let fits = own_time <= question.from && other_time <= release.source_time;
        let order = |(own, other): (u64, u64)| (own.min(other), own.max(other), own);
        if fits && best.is_none_or(|best| order((own_time, other_time)) > order(best)) {
            best = Some((own_time, other_time));
        }
    };
    for mine in own.releases().iter().filter(|mine| mine.source == release.source) {
        offer(mine.time, mine.source_time);
    }
    for theirs in other.releases().iter().filter(|theirs| theirs.source == question.thread) {
        offer(theirs.source_time, theirs.time);
    }
    let (mut mine, mut theirs) =
        (own.releases().iter().rev().peekable(), other.releases().iter().rev().peekable());
    while let (Some(one), Some(two)) = (mine.peek(), theirs.peek()) {
        match one.act.cmp(&two.act) {
            std::cmp::Ordering::Greater => drop(mine.next()),
            std::cmp::Ordering::Less => drop(theirs.next()),
            std::cmp::Ordering::Equal => {
                for two in theirs.clone().take_while(|two| two.act == one.act) {
                    offer(one.time, two.time);
                }
                mine.next();
            }
        }
    }
    best
}
