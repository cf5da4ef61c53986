//! Byte encoding of records: a tag byte, then variable-length integers.
//!
//! Integers are LEB128. Times are zigzag differences from the event before in the same block, so a
//! block decodes on its own. Optional ids are stored plus one, 0 for none. An event's tag byte carries
//! its kind in the low five bits and small flags above; the kind of an extended one
//! is the byte after, and its length is written, so that a reader passes over kinds that it does not know. Decoding never panics: every damaged byte ends
//! in a [`DecodeError`] that names the offset.

mod decode;
mod encode;
mod tag;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, Decoder};
pub use encode::Encoder;
