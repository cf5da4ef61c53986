//! What a location did.

use crate::bytes::ContentBytes;
use crate::local::LocationNumbers;

/// A message, as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceMessage {
    /// The other end's rank in the communicator.
    pub peer: u32,
    /// The communicator.
    pub communicator: u32,
    /// The tag.
    pub tag: u32,
    /// The length.
    pub bytes: u64,
}

/// The end of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveEnd {
    /// Which operation.
    pub operation: u8,
    /// The communicator.
    pub communicator: u32,
    /// The root's rank in it, where the operation has one.
    pub root: u32,
    /// Bytes that were sent.
    pub sent: u64,
    /// Bytes that were received.
    pub received: u64,
}

/// An event of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// It enters a region.
    Enter(u32),
    /// It leaves a region.
    Leave(u32),
    /// It enters a call path.
    EnterContext(u32),
    /// It leaves a call path.
    LeaveContext(u32),
    /// A sample finds it on a call path.
    SampleContext(u32),
    /// It sends a message.
    Send(TraceMessage),
    /// It begins to send.
    BeginSend(TraceMessage, u64),
    /// What it began to send is sent.
    EndSend(u64),
    /// It posts a receive.
    BeginReceive(u64),
    /// It has received a message.
    Receive(TraceMessage),
    /// A receive that it posted is complete.
    EndReceive(TraceMessage, u64),
    /// A request was given up.
    Cancel(u64),
    /// It comes to a collective operation.
    BeginCollective,
    /// A collective operation is over.
    EndCollective(CollectiveEnd),
    /// It begins a collective operation and does not wait.
    PostCollective(u64),
    /// A collective operation that it began is over.
    CompleteCollective(CollectiveEnd, u64),
    /// It makes a team of threads.
    Fork,
    /// Its team has ended.
    Join,
    /// It begins to work in a team.
    BeginTeam(u32),
    /// It has worked in a team.
    EndTeam(u32),
    /// It has got a lock, for the so manieth time that anybody has.
    AcquireLock(u32, u32),
    /// It gives a lock back.
    ReleaseLock(u32, u32),
    /// It creates a thread, by what kind of threads, and the so manieth of these.
    CreateThread(u32, u64),
    /// It is that thread, and begins.
    BeginThread(u32, u64),
    /// It has waited for the end of that thread.
    WaitThread(u32, u64),
    /// It is that thread, and ends.
    EndThread(u32, u64),
    /// The measuring wrote its memory to a file, until then.
    Flush(u64),
    /// It is measured from now on, or is not.
    Measured(bool),
    /// It runs a program of this name.
    BeginProgram(u32),
    /// Anything else, by the kind of its record.
    Other(u8),
}

impl TraceEvent {
    /// Decodes the content of a record; `None` where it cannot be read.
    pub(crate) fn decode(
        kind: u8,
        content: &mut ContentBytes<'_>,
        numbers: &LocationNumbers,
    ) -> Option<TraceEvent> {
        let region = |content: &mut ContentBytes<'_>| Some(numbers.regions.global(content.u32()?));
        let context = |content: &mut ContentBytes<'_>| Some(numbers.calling_contexts.global(content.u32()?));
        Some(match kind {
            10 => TraceEvent::Flush(content.full_u64()?),
            11 => TraceEvent::Measured(content.u8()? == 1),
            12 => TraceEvent::Enter(region(content)?),
            13 => TraceEvent::Leave(region(content)?),
            14..=23 | 85 | 86 => return TraceEvent::message(kind, content, numbers),
            24 => TraceEvent::Fork,
            25 => TraceEvent::Join,
            26 => TraceEvent::AcquireLock(content.u32()?, content.u32()?),
            27 => TraceEvent::ReleaseLock(content.u32()?, content.u32()?),
            53..=58 | 62..=65 => return TraceEvent::of_threads(kind, content, numbers),
            66 => TraceEvent::EnterContext(context(content)?),
            67 => TraceEvent::LeaveContext(context(content)?),
            68 => TraceEvent::SampleContext(context(content)?),
            83 => TraceEvent::BeginProgram(numbers.strings.global(content.u32()?)),
            other => TraceEvent::Other(other),
        })
    }

    fn message(kind: u8, content: &mut ContentBytes<'_>, numbers: &LocationNumbers) -> Option<TraceEvent> {
        Some(match kind {
            14 => TraceEvent::Send(message(content, numbers)?),
            15 => TraceEvent::BeginSend(message(content, numbers)?, content.u64()?),
            16 => TraceEvent::EndSend(content.u64()?),
            17 => TraceEvent::BeginReceive(content.u64()?),
            18 => TraceEvent::Receive(message(content, numbers)?),
            19 => TraceEvent::EndReceive(message(content, numbers)?, content.u64()?),
            21 => TraceEvent::Cancel(content.u64()?),
            22 => TraceEvent::BeginCollective,
            23 => TraceEvent::EndCollective(collective(content, numbers)?),
            85 => TraceEvent::PostCollective(content.u64()?),
            86 => TraceEvent::CompleteCollective(collective(content, numbers)?, content.u64()?),
            other => TraceEvent::Other(other),
        })
    }

    fn of_threads(kind: u8, content: &mut ContentBytes<'_>, numbers: &LocationNumbers) -> Option<TraceEvent> {
        // What kind of threads they are.
        if matches!(kind, 53 | 54 | 57 | 58) {
            content.u8()?;
        }
        Some(match kind {
            53 => TraceEvent::Fork,
            54 => TraceEvent::Join,
            55 => TraceEvent::BeginTeam(numbers.communicators.global(content.u32()?)),
            56 => TraceEvent::EndTeam(numbers.communicators.global(content.u32()?)),
            57 => TraceEvent::AcquireLock(content.u32()?, content.u32()?),
            58 => TraceEvent::ReleaseLock(content.u32()?, content.u32()?),
            62 => TraceEvent::CreateThread(numbers.communicators.global(content.u32()?), content.u64()?),
            63 => TraceEvent::BeginThread(numbers.communicators.global(content.u32()?), content.u64()?),
            64 => TraceEvent::WaitThread(numbers.communicators.global(content.u32()?), content.u64()?),
            _ => TraceEvent::EndThread(numbers.communicators.global(content.u32()?), content.u64()?),
        })
    }
}

fn message(content: &mut ContentBytes<'_>, numbers: &LocationNumbers) -> Option<TraceMessage> {
    Some(TraceMessage {
        peer: content.u32()?,
        communicator: numbers.communicators.global(content.u32()?),
        tag: content.u32()?,
        bytes: content.u64()?,
    })
}

fn collective(content: &mut ContentBytes<'_>, numbers: &LocationNumbers) -> Option<CollectiveEnd> {
    Some(CollectiveEnd {
        operation: content.u8()?,
        communicator: numbers.communicators.global(content.u32()?),
        root: content.u32()?,
        sent: content.u64()?,
        received: content.u64()?,
    })
}
