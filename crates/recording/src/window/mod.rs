//! A log of which only the last part is kept: segments, the oldest of which are dropped whole.
//!
//! ```text
//! events-3.log   checkpoint │ events        dropped, when events-4 begins early enough for all that is to be kept
//! events-4.log   checkpoint │ events        the recording begins here: threads in the states that its checkpoint tells
//! events-5.log   checkpoint │ events ...    its checkpoint says nothing new, and is passed over
//! ```
//! A segment can be read without any before it: each definition stands in every segment whose events need it, with its
//! number in the whole run beside it. The reader numbers them densely again.

mod checkpoint;
mod reader;
mod shelves;
mod writer;

pub use reader::WindowLog;
pub(crate) use writer::{SegmentPlace, WindowWriter};

/// What is kept of one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowLimits {
    /// Time that is kept at least, nanoseconds.
    pub nanoseconds: Option<u64>,
    /// Bytes that are kept at most.
    pub bytes: Option<u64>,
}

#[cfg(test)]
mod tests;
