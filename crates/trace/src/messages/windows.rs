//! One-sided communication: who waits for windows to be opened, for accesses to end, and for locks of windows.

use longpole_event::{EventKind, MPI_ACCESSES, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::planner::CallPlanner;
use super::{CallIndex, ChannelEnds, MessageEnd};
use crate::objects::ObjectKind;

/// Accesses to memory of others, by the channel that stands for whose memory it is.
#[derive(Debug, Default)]
pub(super) struct LoggedAccesses {
    owners: FxHashMap<u64, ThreadId>,
    /// How many times a thread wrote, and read, and how many bytes each time in all.
    sums: FxHashMap<(u64, ThreadId), [(u64, u64); 2]>,
}

const WRITTEN: usize = 0;
const READ: usize = 1;

impl LoggedAccesses {
    /// Takes an event; `false` where it is about something else.
    pub(super) fn take(&mut self, thread: ThreadId, kind: EventKind) -> bool {
        let (message, way) = match kind {
            EventKind::MessageSend(message) => (message, Some(WRITTEN)),
            EventKind::MessageReceive { message, .. } => (message, Some(READ)),
            EventKind::MessageProbe(message) => (message, None),
            _ => return false,
        };
        if message.tag != MPI_ACCESSES {
            return false;
        }
        match way {
            None => _ = self.owners.insert(message.channel, thread),
            Some(way) => {
                let (accesses, bytes) = &mut self.sums.entry((message.channel, thread)).or_default()[way];
                *accesses += 1;
                *bytes += message.bytes;
            }
        }
        true
    }
}

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

    /// What is written into windows goes to those whose memory they are, and what is read comes from them.
    pub(super) fn flow_of(&mut self, accesses: &LoggedAccesses) {
        for (&(channel, thread), ways) in &accesses.sums {
            let Some(&owner) = accesses.owners.get(&channel) else { continue };
            for (&(count, bytes), ends) in ways.iter().zip([(thread, owner), (owner, thread)]) {
                if count > 0 {
                    let flow = self.planned.flows.entry(ends).or_default();
                    flow.messages += count;
                    flow.bytes += bytes;
                    self.planned.traffic.accesses += count;
                }
            }
        }
    }

    /// The lock of one window. Who takes it waits for the last that gives it back meanwhile, unless both share it: in the call that
    /// takes it, or, where an implementation takes it later, in the one that then waits (`probes`).
    ///
    /// ```text
    ///   first    |lock|=========|unlock|
    ///   second      |lock~~~~~~~|===========|unlock|
    ///   third          |lock~~~~~~~~~~~~~~~~|====
    ///   fourth         |lock|==|flush~~~~~~~|====
    /// ```
    pub(super) fn window_lock(
        &mut self,
        given_back: &[MessageEnd],
        taken: &[MessageEnd],
        probes: &[MessageEnd],
        ChannelEnds { communicator, sender, receiver, .. }: ChannelEnds,
    ) {
        let subject = (ObjectKind::Lock, communicator, sender.or(receiver));
        let is_exclusive = |lock: &MessageEnd| lock.bytes != 0;
        let (own, later) = (by_thread(taken), by_thread(probes));
        // The lock that is given back is the last one that its thread took.
        let was_exclusive = |end: &MessageEnd| {
            let own = own.get(&end.thread).map_or(&[][..], Vec::as_slice);
            let before = own.partition_point(|lock| lock.posted <= end.posted);
            before.checked_sub(1).is_some_and(|last| is_exclusive(own[last]))
        };
        let mut ends: Vec<(Time, ThreadId, bool)> =
            given_back.iter().map(|end| (end.posted, end.thread, was_exclusive(end))).collect();
        ends.sort_unstable();
        for (thread, locks) in &own {
            let later = later.get(thread).map_or(&[][..], Vec::as_slice);
            for (index, lock) in locks.iter().enumerate() {
                let next = locks.get(index + 1).map(|next| next.posted);
                let from = later.partition_point(|probe| probe.posted < lock.posted);
                let to = next.map_or(later.len(), |next| later.partition_point(|probe| probe.posted < next));
                let calls = later[from..to.max(from)].iter().map(|probe| probe.call);
                for call in std::iter::once(lock.call).chain(calls).flatten() {
                    let Some((since, left)) = self.span(call) else { continue };
                    let before = ends.partition_point(|&(time, ..)| time <= left);
                    let since = since.max(lock.posted);
                    let last = ends[..before].iter().rev().take_while(|&&(time, ..)| time > since).find(
                        |&&(_, other, was_exclusive)| {
                            other != *thread && (was_exclusive || is_exclusive(lock))
                        },
                    );
                    if let Some(&(time, other, _)) = last {
                        self.depend(Some(call), (time, other), subject);
                    }
                }
            }
        }
    }

    /// When a call that is over began and ended.
    fn span(&self, call: CallIndex) -> Option<(Time, Time)> {
        let &(begin, end) = self.spans.get(&call)?;
        Some((begin, end?))
    }
}

/// Ends of messages by thread, each in the order in which they were posted.
fn by_thread(ends: &[MessageEnd]) -> FxHashMap<ThreadId, Vec<&MessageEnd>> {
    let mut threads: FxHashMap<ThreadId, Vec<&MessageEnd>> = FxHashMap::default();
    for end in ends {
        threads.entry(end.thread).or_default().push(end);
    }
    threads.values_mut().for_each(|ends| ends.sort_by_key(|end| end.posted));
    threads
}
