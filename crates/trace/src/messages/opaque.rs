//! Calls of which it is not known for whom they wait: all of their time is waiting of which the end is not known, and counted by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::CallIndex;
use super::planned::MessageWait;
use super::planner::CallPlanner;
use crate::message_traffic::NotUnderstoodCalls;
use crate::objects::ObjectKind;

impl CallPlanner {
    /// Plans such calls, each with what names its function. What is known of a call that it waits for goes before.
    pub(super) fn opaque(&mut self, calls: &[(CallIndex, u64)]) {
        let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut last = None;
        for &(call, function) in calls {
            let found = self.found.entry(call).or_default();
            // A call may complete several requests.
            if last.replace(call) == Some(call) || found.wait.is_some() {
                continue;
            }
            let (kind, communicator) = (ObjectKind::MessageCall, function);
            found.wait = Some(MessageWait { kind, communicator, peer: None, release: None });
            let name = self.planned.names.get(&function).map_or("a call of MPI", String::as_str);
            let span = self.spans.get(&call).and_then(|&(begin, end)| Some(end?.since(begin)));
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + span.unwrap_or(0));
        }
        let mut found: Vec<NotUnderstoodCalls> = sums
            .into_iter()
            .map(|(name, (calls, nanoseconds))| NotUnderstoodCalls {
                name: name.to_owned(),
                calls,
                nanoseconds,
            })
            .collect();
        found.sort_by_key(|function| Reverse(function.nanoseconds));
        self.planned.traffic.not_understood = found;
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{EventKind, MPI_NOT_UNDERSTOOD, MessageEnvelope, ThreadId, Time};
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::messages::LoggedMessages;

    #[test]
    fn a_call_that_is_not_understood_waits_for_nobody_that_is_known_and_is_counted_by_name() {
        let enters = EventKind::Communicate { communicator: 0, peer: None, stack: None };
        let opaque =
            MessageEnvelope { channel: 9, communicator: 9, peer: 0, tag: MPI_NOT_UNDERSTOOD, bytes: 0 };
        let mut logged = LoggedMessages::default();
        for (time, kind) in [
            (10, enters),
            (10, EventKind::MessageProbe(opaque)),
            (10, EventKind::MessageProbe(opaque)),
            (50, EventKind::Communicated),
            (60, enters),
            (65, EventKind::Communicated),
        ] {
            logged.take(ThreadId(0), Time::from_nanoseconds(time), kind);
        }
        let names = FxHashMap::from_iter([(9, "MPI_File_open".to_owned())]);
        let planned = logged.plan(names);
        let [call] = planned.of(ThreadId(0)) else { panic!("one call waits") };
        let expected =
            MessageWait { kind: ObjectKind::MessageCall, communicator: 9, peer: None, release: None };
        assert_eq!((call.ordinal, call.wait), (0, Some(expected)));
        let counted = NotUnderstoodCalls { name: "MPI_File_open".to_owned(), calls: 1, nanoseconds: 40 };
        assert_eq!(planned.traffic.not_understood, [counted]);
    }
}
