//! One event of a trace, as it stands in the file.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::scalar::Scalar;

/// An event; what is not needed of it is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChromeEvent {
    /// Its kind: `X` a slice, `B` the begin of one, `E` the end, `M` a name, and others.
    #[serde(rename = "ph")]
    pub(crate) phase: Scalar,
    pub(crate) name: Scalar,
    #[serde(rename = "cat")]
    pub(crate) category: Scalar,
    /// Microseconds.
    #[serde(rename = "ts")]
    pub(crate) time: Scalar,
    /// Microseconds.
    #[serde(rename = "dur")]
    pub(crate) duration: Scalar,
    pub(crate) pid: Scalar,
    pub(crate) tid: Scalar,
    #[serde(rename = "args")]
    pub(crate) arguments: EventArguments,
}

/// What an event says besides.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct EventArguments {
    /// Of a name: the name.
    pub(crate) name: Scalar,
    pub(crate) labels: Scalar,
    /// What clang says that a slice is of.
    pub(crate) detail: Scalar,
    /// Ties the launch of what a GPU does to what it does.
    pub(crate) correlation: Scalar,
    /// Of a collective operation: what PyTorch calls it, its process group, and the ranks in that.
    pub(crate) collective: Scalar,
    pub(crate) group: Scalar,
    pub(crate) ranks: Scalar,
}

impl<'de> Deserialize<'de> for EventArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EventArguments, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

/// Takes the arguments where they are an object, as they should be.
struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = EventArguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventArguments, A::Error> {
        let mut arguments = EventArguments::default();
        while let Some(key) = map.next_key::<String>()? {
            let place = match key.as_str() {
                "name" => &mut arguments.name,
                "labels" => &mut arguments.labels,
                "detail" => &mut arguments.detail,
                "correlation" => &mut arguments.correlation,
                "Collective name" => &mut arguments.collective,
                "Process Group Name" => &mut arguments.group,
                "Process Group Ranks" => &mut arguments.ranks,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *place = map.next_value()?;
        }
        Ok(arguments)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<EventArguments, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(EventArguments::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<EventArguments, E> {
        Ok(EventArguments::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<EventArguments, E> {
        Ok(EventArguments::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<EventArguments, E> {
        Ok(EventArguments::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<EventArguments, E> {
        Ok(EventArguments::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<EventArguments, E> {
        Ok(EventArguments::default())
    }

    fn visit_unit<E>(self) -> Result<EventArguments, E> {
        Ok(EventArguments::default())
    }
}
