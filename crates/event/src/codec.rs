//! Byte encoding of records: a tag byte, then variable-length integers.
//!
//! Integers are LEB128. Times are zigzag differences from the event before in the same block, so a
//! block decodes on its own. Optional ids are stored plus one, 0 for none. An event's tag byte carries
//! its kind in the low five bits and small flags above; the kind of an extended one
//! is the byte after, and its length is written, so that a reader passes over kinds that it does not know. Decoding never panics: every damaged byte ends
//! in a [`DecodeError`] that names the offset.

mod decode;
mod encode;
mod form;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use decode::Result;
pub use decode::{DecodeError, Decoder};
pub use encode::Encoder;
pub(crate) use form::{CallNumber, Form, Gap, Lead, Plain};
pub(crate) use table::{flags, form, records};

/// The tag of a text.
pub(crate) const TEXT: u8 = 0;

/// The tag of what has its kind in the next byte.
pub(crate) const EXTENDED: u8 = 31;

/// The kind of the number of the next definition, among the extended ones; no event.
pub(crate) const NUMBER: u8 = 15;
