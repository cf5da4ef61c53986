//! The file: its events one after the other, without the rest of it in memory.

use std::fmt;
use std::io::{BufReader, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use crate::bounded_texts::BoundedTexts;
use crate::error::{ChromeError, ChromeResult};
use crate::event::ChromeEvent;
use crate::scalar::Scalar;

/// What stands beside the events.
#[derive(Debug, Default)]
pub(crate) struct DocumentEnd {
    /// Which process of a distributed job wrote it, and how many there are.
    pub(crate) rank: Option<(u32, u32)>,
    /// The file ends early or is damaged: what came before was read.
    pub(crate) is_cut: bool,
}

/// Hands over the events of a file in its order.
///
/// # Errors
/// [`ChromeError::Read`]; [`ChromeError::NoTrace`] where it is damaged before its first event.
pub(crate) fn read_events(reader: impl Read, mut take: impl FnMut(ChromeEvent)) -> ChromeResult<DocumentEnd> {
    let (mut end, mut events, mut is_list) = (DocumentEnd::default(), 0_u64, false);
    let mut counted = |event| {
        events += 1;
        take(event);
    };
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(BoundedTexts::new(reader)));
    let document = ChromeDocument { take: &mut counted, end: &mut end, is_list: &mut is_list };
    let read = document.deserialize(&mut json);
    match read {
        Ok(()) => Ok(end),
        Err(error) if error.is_io() => Err(ChromeError::Read(error.into())),
        Err(error) if events == 0 => Err(ChromeError::NoTrace { reason: error.to_string() }),
        Err(error) => {
            // A list needs no end: so a program can stop writing at any time.
            end.is_cut = !(is_list && error.classify() == Category::Eof);
            Ok(end)
        }
    }
}

struct ChromeDocument<'a, F> {
    take: &'a mut F,
    end: &'a mut DocumentEnd,
    is_list: &'a mut bool,
}

impl<'de, F: FnMut(ChromeEvent)> DeserializeSeed<'de> for ChromeDocument<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(ChromeEvent)> Visitor<'de> for ChromeDocument<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with traceEvents, or a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<(), A::Error> {
        *self.is_list = true;
        EventList { take: self.take }.visit_seq(sequence)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => map.next_value_seed(EventList { take: &mut *self.take })?,
                "distributedInfo" => {
                    let job: DistributedJob = map.next_value()?;
                    self.end.rank = job.rank();
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct EventList<'a, F> {
    take: &'a mut F,
}

impl<'de, F: FnMut(ChromeEvent)> DeserializeSeed<'de> for EventList<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(ChromeEvent)> Visitor<'de> for EventList<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(event) = sequence.next_element()? {
            (self.take)(event);
        }
        Ok(())
    }
}

/// What PyTorch says of a job.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DistributedJob {
    rank: Scalar,
    world_size: Scalar,
}

impl DistributedJob {
    fn rank(&self) -> Option<(u32, u32)> {
        let number = |scalar: &Scalar| u32::try_from(scalar.count()?).ok();
        let (rank, size) = (number(&self.rank)?, number(&self.world_size)?);
        (rank < size).then_some((rank, size))
    }
}
