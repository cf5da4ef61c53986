//! The ids that a record names, so that a log can be written or read under other numbers.

use crate::record::{Event, EventKind, Record, Waker};

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

    /// The kind of id that a record defines; `None` for what has no id.
    #[must_use]
    pub fn defined_by(record: &Record) -> Option<IdKind> {
        Some(match record {
            Record::Text(_) => IdKind::Text,
            Record::Module(_) => IdKind::Module,
            Record::Frame(_) => IdKind::Frame,
            Record::Stack(_) => IdKind::Stack,
            Record::Call(_) => IdKind::Call,
            Record::Process(_) => IdKind::Process,
            Record::Thread(_) => IdKind::Thread,
            Record::Series(_) => IdKind::Series,
            Record::Primitive(_) => IdKind::Primitive,
            Record::Symbol(_)
            | Record::Word(_)
            | Record::Variable(_)
            | Record::File(_)
            | Record::Callee(_)
            | Record::Number(_)
            | Record::Event(_) => return None,
        })
    }
}

/// Gives an id another number, or none where it has none.
type NewNumbers<'a> = dyn FnMut(IdKind, u32) -> Option<u32> + 'a;

/// Gives an id that a record cannot do without its number; tells whether it has one.
macro_rules! needed {
    ($numbers:expr, $($kind:ident $id:expr),+) => {
        $($numbers(IdKind::$kind, $id.0).map(|number| $id.0 = number).is_some())&&+
    };
}

/// Gives an id that a record can do without its number, or takes it out.
macro_rules! optional {
    ($numbers:expr, $($kind:ident $id:expr),+) => {
        $(if let Some(mut id) = $id.take() {
            $id = $numbers(IdKind::$kind, id.0).map(|number| { id.0 = number; id });
        })+
    };
}

impl Record {
    /// Gives every id that the record names the number that `numbers` has for it. An id that has none is left out; false
    /// where the record means nothing without it.
    pub fn renumber(&mut self, numbers: &mut NewNumbers<'_>) -> bool {
        match self {
            Record::Text(_) | Record::Call(_) | Record::Number(_) => true,
            Record::Module(module) => {
                optional!(numbers, Process module.process);
                needed!(numbers, Text module.path)
            }
            Record::Frame(frame) => needed!(numbers, Module frame.module),
            Record::Stack(stack) => {
                optional!(numbers, Stack stack.caller);
                needed!(numbers, Frame stack.frame)
            }
            Record::Process(process) => {
                optional!(numbers, Process process.parent);
                true
            }
            Record::Thread(thread) => needed!(numbers, Process thread.process),
            Record::Series(series) => {
                needed!(numbers, Text series.name, Text series.unit, Text series.label, Text series.collector)
            }
            Record::Symbol(symbol) => {
                for place in &mut symbol.places {
                    optional!(numbers, Text place.file);
                    if !needed!(numbers, Text place.procedure) {
                        return false;
                    }
                }
                needed!(numbers, Frame symbol.frame)
            }
            Record::Word(word) => needed!(numbers, Process word.process, Module word.module),
            Record::Variable(variable) => needed!(numbers, Module variable.module, Text variable.name),
            Record::File(file) => needed!(numbers, Text file.name),
            Record::Callee(callee) => needed!(numbers, Frame callee.frame, Text callee.procedure),
            Record::Primitive(primitive) => {
                optional!(numbers, Text primitive.name);
                needed!(numbers, Process primitive.process)
            }
            Record::Event(event) => event.renumber(numbers),
        }
    }
}

impl Event {
    /// Losses and values are of no thread.
    fn renumber(&mut self, numbers: &mut NewNumbers<'_>) -> bool {
        match &mut self.kind {
            EventKind::Lost { .. } => true,
            EventKind::Value { series, .. } => needed!(numbers, Series series),
            kind => needed!(numbers, Thread self.thread) && kind.renumber(numbers),
        }
    }
}

impl EventKind {
    fn renumber(&mut self, numbers: &mut NewNumbers<'_>) -> bool {
        match self {
            EventKind::Start { creator, stack } | EventKind::Continue { creator, stack, .. } => {
                optional!(numbers, Thread * creator, Stack * stack);
                true
            }
            EventKind::Name { name } => needed!(numbers, Text name),
            EventKind::Exec { program } => needed!(numbers, Text program),
            EventKind::CommunicatorName { name, .. } => needed!(numbers, Text name),
            EventKind::Title { title } => needed!(numbers, Text title),
            EventKind::Out { call, stack, .. } => {
                optional!(numbers, Call * call, Stack * stack);
                true
            }
            EventKind::Wake { waker, call, stack } => {
                optional!(numbers, Call * call, Stack * stack);
                waker.renumber(numbers);
                true
            }
            EventKind::Sample { stack, .. }
            | EventKind::Spawn { stack, .. }
            | EventKind::Communicate { stack, .. } => {
                optional!(numbers, Stack * stack);
                true
            }
            EventKind::Await { primitive, stack } => {
                optional!(numbers, Primitive * primitive, Stack * stack);
                true
            }
            EventKind::Held { primitive, stack, outer, .. } => {
                optional!(numbers, Stack * stack, Primitive * outer);
                needed!(numbers, Primitive primitive)
            }
            EventKind::Enter { frame, stack, .. } => {
                optional!(numbers, Stack * stack);
                needed!(numbers, Frame frame)
            }
            EventKind::Joined { ended } => needed!(numbers, Thread ended),
            EventKind::Owner { owner } => needed!(numbers, Thread owner),
            EventKind::Written { writer, stack } => {
                optional!(numbers, Stack * stack);
                needed!(numbers, Thread writer)
            }
            EventKind::Freed { by, primitive, stack } => {
                optional!(numbers, Stack * stack);
                needed!(numbers, Thread by, Primitive primitive)
            }
            EventKind::Lock { mutex, stack } => {
                optional!(numbers, Stack * stack);
                needed!(numbers, Primitive mutex)
            }
            EventKind::Waited { condition, mutex, stack, .. } => {
                optional!(numbers, Stack * stack);
                needed!(numbers, Primitive condition, Primitive mutex)
            }
            EventKind::Signal { condition, stack, .. } => {
                optional!(numbers, Stack * stack);
                needed!(numbers, Primitive condition)
            }
            EventKind::Post { primitive, .. }
            | EventKind::Initialise { primitive, .. }
            | EventKind::Take { primitive }
            | EventKind::Arrive { primitive }
            | EventKind::Depart { primitive } => needed!(numbers, Primitive primitive),
            EventKind::Unlock { mutex } => needed!(numbers, Primitive mutex),
            EventKind::Value { series, .. } => needed!(numbers, Series series),
            EventKind::Exit
            | EventKind::In
            | EventKind::Proceed
            | EventKind::Leave
            | EventKind::Overhead { .. }
            | EventKind::Send { .. }
            | EventKind::Communicated
            | EventKind::MessageSend(_)
            | EventKind::MessageSent { .. }
            | EventKind::MessageReceive { .. }
            | EventKind::MessageProbe(_)
            | EventKind::Meet(_)
            | EventKind::MeetingComplete { .. }
            | EventKind::Rank { .. }
            | EventKind::Receive { .. }
            | EventKind::Write { .. }
            | EventKind::Read { .. }
            | EventKind::Lost { .. } => true,
        }
    }
}

impl Waker {
    /// A waker of which nothing is known any more is unknown.
    fn renumber(&mut self, numbers: &mut NewNumbers<'_>) {
        let is_known = match self {
            Waker::Thread(id) | Waker::SoftInterrupt(id) => needed!(numbers, Thread id),
            Waker::Outside(name) => needed!(numbers, Text name),
            Waker::Interrupt | Waker::Unknown => true,
        };
        if !is_known {
            *self = Waker::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{PrimitiveId, StackId, TextId, ThreadId};
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
