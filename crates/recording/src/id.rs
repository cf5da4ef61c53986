//! The id of a recording, which its manifest and its logs share: files of two recordings are never read as one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const BYTES: usize = 16;

/// A random number of 128 bits; in text, 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordingId([u8; BYTES]);

/// A text that is not the id of a recording.
#[derive(Debug, thiserror::Error)]
#[error("the id `{0}` is not 32 hexadecimal digits")]
pub struct BadRecordingId(String);

impl RecordingId {
    /// An id that no other recording has.
    pub(crate) fn random() -> std::io::Result<RecordingId> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(RecordingId(bytes))
    }

    /// The id in the header of a log; zeros where the log belongs to no recording.
    pub(crate) fn to_bytes(id: Option<RecordingId>) -> [u8; BYTES] {
        id.map_or([0; BYTES], |RecordingId(bytes)| bytes)
    }

    /// The id that [`to_bytes`](Self::to_bytes) wrote.
    pub(crate) fn from_bytes(bytes: [u8; BYTES]) -> Option<RecordingId> {
        (bytes != [0; BYTES]).then_some(RecordingId(bytes))
    }
}

impl fmt::Display for RecordingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for RecordingId {
    type Err = BadRecordingId;

    fn from_str(text: &str) -> Result<RecordingId, BadRecordingId> {
        let bad = || BadRecordingId(text.to_owned());
        if text.len() != 2 * BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut bytes = [0; BYTES];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| bad())?;
        }
        Ok(RecordingId(bytes))
    }
}

impl TryFrom<String> for RecordingId {
    type Error = BadRecordingId;

    fn try_from(text: String) -> Result<RecordingId, BadRecordingId> {
        text.parse()
    }
}

impl From<RecordingId> for String {
    fn from(id: RecordingId) -> String {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_text_and_bytes() {
        let id = RecordingId::random().unwrap();
        assert_ne!(id, RecordingId::random().unwrap());
        assert_eq!(id.to_string().parse::<RecordingId>().unwrap(), id);
        assert_eq!(RecordingId::from_bytes(RecordingId::to_bytes(Some(id))), Some(id));
        assert_eq!(RecordingId::from_bytes(RecordingId::to_bytes(None)), None);
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in ["", "0", "zz", &"0".repeat(31), &"g".repeat(32), &"é".repeat(16), &"+1".repeat(16)] {
            assert!(text.parse::<RecordingId>().is_err(), "{text}");
        }
    }
}
