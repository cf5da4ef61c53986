//! One-sided communication: who waits for windows to be opened, for accesses to end, and for locks of windows.

use longpole_event::{ThreadId, Time};

use super::planner::CallPlanner;
use super::{ChannelEnds, MessageEnd};
use crate::objects::ObjectKind;

impl CallPlanner {
    /// What orders accesses to one window: who opened it, or ended its accesses, and who waited for that.
    ///
    /// ```text
    ///   origin   |start~~~~~~|====|complete      the origin waits for the post in either, as the implementation has it
    ///   target   ============|post    |wait~~~|
    /// ```
    pub(super) fn accesses(
        &mut self,
        sends: &[MessageEnd],
        mut receives: Vec<MessageEnd>,
        probes: &[MessageEnd],
        ChannelEnds { communicator, sender, .. }: ChannelEnds,
    ) {
        receives.sort_by_key(|receive| receive.posted);
        let subject = (ObjectKind::Sender, communicator, sender);
        for probe in probes {
            let next = receives.partition_point(|receive| receive.posted < probe.posted);
            let Some(send) = sends.get(next) else { continue };
            // A start that was over before the post did not wait for it.
            let ended = probe.call.and_then(|call| self.spans.get(&call)).and_then(|span| span.1);
            if ended.is_none_or(|ended| send.posted <= ended) {
                self.depend(probe.call, (send.posted, send.thread), subject);
            }
        }
        for (send, receive) in sends.iter().zip(&receives) {
            self.depend(receive.call, (send.posted, send.thread), subject);
        }
    }

    /// The lock of one window. Who takes it waits for the last that gives it back meanwhile, unless both share it.
    ///
    /// ```text
    ///   first    |lock|=========|unlock|
    ///   second      |lock~~~~~~~|===========|unlock|
    ///   third          |lock~~~~~~~~~~~~~~~~|====
    /// ```
    pub(super) fn window_lock(
        &mut self,
        given_back: &[MessageEnd],
        taken: &[MessageEnd],
        ChannelEnds { communicator, sender, receiver, .. }: ChannelEnds,
    ) {
        let subject = (ObjectKind::Lock, communicator, sender.or(receiver));
        let is_exclusive = |lock: &MessageEnd| lock.bytes != 0;
        // The lock that is given back is the last one that its thread took.
        let was_exclusive = |end: &MessageEnd| {
            let own = taken.iter().filter(|lock| lock.thread == end.thread && lock.posted <= end.posted);
            own.max_by_key(|lock| lock.posted).is_some_and(is_exclusive)
        };
        let mut ends: Vec<(Time, ThreadId, bool)> =
            given_back.iter().map(|end| (end.posted, end.thread, was_exclusive(end))).collect();
        ends.sort_unstable();
        for lock in taken {
            let Some(left) = lock.call.and_then(|call| self.spans.get(&call)).and_then(|span| span.1) else {
                continue;
            };
            let before = ends.partition_point(|&(time, ..)| time <= left);
            let last = ends[..before].iter().rev().take_while(|&&(time, ..)| time > lock.posted).find(
                |&&(_, thread, was_exclusive)| thread != lock.thread && (was_exclusive || is_exclusive(lock)),
            );
            if let Some(&(time, thread, _)) = last {
                self.depend(lock.call, (time, thread), subject);
            }
        }
    }
}
