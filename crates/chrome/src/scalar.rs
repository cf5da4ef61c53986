//! Values of which writers disagree on the type: `"tid": 7`, `"tid": "stream 7"`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A number or a text; anything else counts as absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Scalar {
    #[default]
    Absent,
    Number(f64),
    Text(String),
}

impl Scalar {
    /// The number, which may stand in a text.
    pub(crate) fn number(&self) -> Option<f64> {
        let number = match self {
            Scalar::Absent => None,
            Scalar::Number(number) => Some(*number),
            Scalar::Text(text) => text.trim().parse().ok(),
        };
        number.filter(|number| number.is_finite())
    }

    /// The number as one that counts something.
    pub(crate) fn count(&self) -> Option<u64> {
        self.number().filter(|&number| (0.0..9e15).contains(&number)).map(|number| number as u64)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Scalar::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn into_text(self) -> Option<String> {
        if let Scalar::Text(text) = self { Some(text) } else { None }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Absent => Ok(()),
            Scalar::Number(number) => write!(f, "{number}"),
            Scalar::Text(text) => write!(f, "{text}"),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Absent)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Scalar, E> {
        Ok(Scalar::Text(text))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Scalar, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Absent)
    }
}
