//! The ids that a record names, so that a log can be written or read under other numbers.

/// Kinds of ids of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdKind {
    /// [`crate::TextId`].
    Text,
    /// [`crate::ModuleId`].
    Module,
    /// [`crate::FrameId`].
    Frame,
    /// [`crate::StackId`].
    Stack,
    /// [`crate::CallId`].
    Call,
    /// [`crate::ProcessId`].
    Process,
    /// [`crate::ThreadId`].
    Thread,
    /// [`crate::SeriesId`].
    Series,
    /// [`crate::PrimitiveId`].
    Primitive,
}

impl IdKind {
    /// Number of kinds.
    pub const COUNT: usize = 9;
}

/// Gives an id another number, or none where it has none.
pub(crate) type NewNumbers<'a> = dyn FnMut(IdKind, u32) -> Option<u32> + 'a;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{PrimitiveId, StackId, TextId, ThreadId};
    use crate::kinds::Waker;
    use crate::record::{Event, EventKind, Record};
    use crate::time::Time;

    fn event(kind: EventKind) -> Record {
        Record::Event(Event { time: Time::ZERO, cpu: 0, thread: ThreadId(1), kind })
    }

    #[test]
    fn every_id_gets_its_number_and_what_can_be_missed_is_left_out() {
        let (waker, call, stack) = (Waker::Thread(ThreadId(2)), None, Some(StackId(3)));
        let mut wake = event(EventKind::Wake { waker, call, stack });
        assert!(wake.renumber(&mut |kind, id| (kind == IdKind::Thread).then_some(id + 10)));
        let Record::Event(Event { thread, kind: EventKind::Wake { waker, stack, .. }, .. }) = wake else {
            panic!("still a wake")
        };
        assert_eq!((thread, waker, stack), (ThreadId(11), Waker::Thread(ThreadId(12)), None));
    }

    #[test]
    fn what_cannot_be_missed_makes_the_record_meaningless() {
        let only = |wanted| move |kind, id| (kind == wanted).then_some(id);
        assert!(!event(EventKind::In).renumber(&mut only(IdKind::Stack)));
        let name = EventKind::Name { name: TextId(0) };
        assert!(!event(name).renumber(&mut only(IdKind::Thread)));
        let take = EventKind::Take { primitive: PrimitiveId(0) };
        assert!(!event(take).renumber(&mut only(IdKind::Thread)));
        let lost = EventKind::Lost { kind: crate::LossKind::Events, count: 1 };
        assert!(event(lost).renumber(&mut |_, _| None), "a loss is of no thread");
    }

    #[test]
    fn a_waker_that_is_not_known_any_more_is_unknown() {
        let waker = Waker::Outside(TextId(0));
        let mut wake = event(EventKind::Wake { waker, call: None, stack: None });
        assert!(wake.renumber(&mut |kind, id| (kind == IdKind::Thread).then_some(id)));
        let Record::Event(Event { kind: EventKind::Wake { waker, .. }, .. }) = wake else { panic!("a wake") };
        assert_eq!(waker, Waker::Unknown);
    }
}
