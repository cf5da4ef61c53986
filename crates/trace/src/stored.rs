//! Values as bytes: how results are kept in the folder `cache/` between questions.
//!
//! A type is [`Stored`] as its fields one after another, numbers as varints (floating point as its bits), lists with their
//! lengths before them. What is read was perhaps written by nobody of us: reading gives `None` for what is no such value,
//! and never takes more memory than the bytes there are can fill.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use longpole_event::{MachineId, ProcessId, ThreadId, Time};

use crate::columns::IdCounts;
use crate::objects::ObjectId;
use crate::paths::{PathId, PlaceId, ProcedureId};

/// Bytes that are read.
#[derive(Debug)]
pub struct StoredBytes<'a> {
    left: &'a [u8],
    ids: IdCounts,
}

impl<'a> StoredBytes<'a> {
    /// All of these, with ids of a recording that has so many.
    #[must_use]
    pub fn new(bytes: &'a [u8], ids: IdCounts) -> Self {
        StoredBytes { left: bytes, ids }
    }

    /// Whether none are left.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.left.is_empty()
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, left) = self.left.split_at_checked(length)?;
        self.left = left;
        Some(bytes)
    }
}

/// What can be kept as bytes.
pub trait Stored: Sized {
    /// The fewest bytes of a value: a list has no more elements than bytes for so many.
    const LEAST: usize = 1;

    /// Appends the value.
    fn store(&self, bytes: &mut Vec<u8>);

    /// The value as bytes of its own, for [`restored`].
    #[must_use]
    fn stored_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.store(&mut bytes);
        bytes
    }

    /// The value that comes next; `None` where it is none.
    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self>;
}

/// The value of these bytes; `None` where they are none, or more than one, or name what such a recording has not.
#[must_use]
pub fn restored<V: Stored>(bytes: &[u8], ids: IdCounts) -> Option<V> {
    let mut bytes = StoredBytes::new(bytes, ids);
    let value = V::restore(&mut bytes)?;
    bytes.is_at_end().then_some(value)
}

impl Stored for u64 {
    fn store(&self, bytes: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    }

    #[inline]
    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, left) = bytes.left.split_first()?;
            bytes.left = left;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

macro_rules! stored_numbers {
    ($($number:ty),*) => {$(
        impl Stored for $number {
            fn store(&self, bytes: &mut Vec<u8>) {
                (*self as u64).store(bytes);
            }

            fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
                <$number>::try_from(u64::restore(bytes)?).ok()
            }
        }
    )*};
}

stored_numbers!(u8, u16, u32, usize);

impl Stored for i32 {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.cast_unsigned().store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        u32::restore(bytes).map(u32::cast_signed)
    }
}

impl Stored for bool {
    fn store(&self, bytes: &mut Vec<u8>) {
        bytes.push((*self).into());
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        match bytes.bytes(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

impl Stored for f64 {
    const LEAST: usize = 8;

    fn store(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_bits().to_le_bytes());
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let bits = bytes.bytes(8)?.try_into().ok()?;
        Some(f64::from_bits(u64::from_le_bytes(bits)))
    }
}

impl Stored for String {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.len().store(bytes);
        bytes.extend_from_slice(self.as_bytes());
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let length = usize::restore(bytes)?;
        String::from_utf8(bytes.bytes(length)?.to_vec()).ok()
    }
}

impl<V: Stored> Stored for Option<V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.is_some().store(bytes);
        if let Some(value) = self {
            value.store(bytes);
        }
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        if bool::restore(bytes)? { V::restore(bytes).map(Some) } else { Some(None) }
    }
}

impl<V: Stored, E: Stored> Stored for Result<V, E> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.is_ok().store(bytes);
        match self {
            Ok(value) => value.store(bytes),
            Err(error) => error.store(bytes),
        }
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        Some(if bool::restore(bytes)? { Ok(V::restore(bytes)?) } else { Err(E::restore(bytes)?) })
    }
}

impl<V: Stored> Stored for Vec<V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.len().store(bytes);
        self.iter().for_each(|value| value.store(bytes));
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let length = usize::restore(bytes)?;
        if length > bytes.left.len() / V::LEAST {
            return None;
        }
        // Grown as values come: in memory they can be many times larger than their bytes.
        let mut values = Vec::with_capacity(length.min(4096));
        for _ in 0..length {
            values.push(V::restore(bytes)?);
        }
        values.shrink_to_fit();
        Some(values)
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.len().store(bytes);
        for (key, value) in self {
            key.store(bytes);
            value.store(bytes);
        }
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        Some(Vec::<(K, V)>::restore(bytes)?.into_iter().collect())
    }
}

impl<K, V, S> Stored for std::collections::HashMap<K, V, S>
where
    K: Stored + Ord + Hash,
    V: Stored,
    S: BuildHasher + Default,
{
    fn store(&self, bytes: &mut Vec<u8>) {
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_unstable_by(|one, other| one.0.cmp(other.0));
        entries.len().store(bytes);
        for (key, value) in entries {
            key.store(bytes);
            value.store(bytes);
        }
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        Some(Vec::<(K, V)>::restore(bytes)?.into_iter().collect())
    }
}

impl<V: Stored> Stored for Arc<V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        (**self).store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        V::restore(bytes).map(Arc::new)
    }
}

/// A value that is read when it is first asked for: large, and of no use to most of those who read what it is a part of.
/// Bytes that are no such value are the empty one.
#[derive(Clone, Debug)]
pub struct LazyStored<V> {
    value: OnceLock<V>,
    bytes: Vec<u8>,
    ids: IdCounts,
}

impl<V> From<V> for LazyStored<V> {
    fn from(value: V) -> Self {
        LazyStored { value: value.into(), bytes: Vec::new(), ids: IdCounts::default() }
    }
}

impl<V: Default> Default for LazyStored<V> {
    fn default() -> Self {
        V::default().into()
    }
}

impl<V: Stored + Default> Deref for LazyStored<V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.value.get_or_init(|| restored(&self.bytes, self.ids).unwrap_or_default())
    }
}

impl<V: Stored + Default> Stored for LazyStored<V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        let mut own = Vec::new();
        (**self).store(&mut own);
        own.len().store(bytes);
        bytes.append(&mut own);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let length = usize::restore(bytes)?;
        Some(LazyStored { value: OnceLock::new(), bytes: bytes.bytes(length)?.to_vec(), ids: bytes.ids })
    }
}

macro_rules! stored_tuples {
    ($(($($value:ident $index:tt),+)),*) => {$(
        impl<$($value: Stored),+> Stored for ($($value,)+) {
            const LEAST: usize = 0 $(+ $value::LEAST)+;

            fn store(&self, bytes: &mut Vec<u8>) {
                $(self.$index.store(bytes);)+
            }

            fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
                Some(($($value::restore(bytes)?,)+))
            }
        }
    )*};
}

stored_tuples!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));

impl Stored for Time {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.nanoseconds().store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        u64::restore(bytes).map(Time::from_nanoseconds)
    }
}

/// Makes types [`Stored`]: structs by the names of all their fields, ids by what they hold, enums without fields by the
/// list of all their values, others by their variants with a number each.
#[macro_export]
macro_rules! stored {
    ($($name:ident { $($field:ident),* $(,)? })*) => {$(
        impl $crate::Stored for $name {
            fn store(&self, bytes: &mut Vec<u8>) {
                let $name { $($field),* } = self;
                $($crate::Stored::store($field, bytes);)*
            }

            fn restore(bytes: &mut $crate::StoredBytes<'_>) -> Option<Self> {
                Some($name { $($field: $crate::Stored::restore(bytes)?),* })
            }
        }
    )*};
    (ids: $($name:ident),*) => {$(
        impl $crate::Stored for $name {
            fn store(&self, bytes: &mut Vec<u8>) {
                $crate::Stored::store(&self.0, bytes);
            }

            fn restore(bytes: &mut $crate::StoredBytes<'_>) -> Option<Self> {
                $crate::Stored::restore(bytes).map($name)
            }
        }
    )*};
    (enum $name:ident { $($tag:literal: $variant:ident $(($($field:ident),+))?),* $(,)? }) => {
        impl $crate::Stored for $name {
            fn store(&self, bytes: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($($field),+))? => {
                        bytes.push($tag);
                        $($($crate::Stored::store($field, bytes);)+)?
                    })*
                }
            }

            fn restore(bytes: &mut $crate::StoredBytes<'_>) -> Option<Self> {
                let tag: u8 = $crate::Stored::restore(bytes)?;
                match tag {
                    $($tag => {
                        $($(let $field = $crate::Stored::restore(bytes)?;)+)?
                        Some($name::$variant $(($($field),+))?)
                    })*
                    _ => None,
                }
            }
        }
    };
    (enum $name:ident: $all:expr) => {
        impl $crate::Stored for $name {
            fn store(&self, bytes: &mut Vec<u8>) {
                bytes.push(*self as u8);
            }

            fn restore(bytes: &mut $crate::StoredBytes<'_>) -> Option<Self> {
                let index: u8 = $crate::Stored::restore(bytes)?;
                $all.get(usize::from(index)).copied()
            }
        }
    };
}

macro_rules! counted_ids {
    ($($name:ident of $count:ident),*) => {$(
        impl Stored for $name {
            fn store(&self, bytes: &mut Vec<u8>) {
                self.0.store(bytes);
            }

            fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
                let id = $name(Stored::restore(bytes)?);
                ((id.0 as usize) < bytes.ids.$count).then_some(id)
            }
        }
    )*};
}

counted_ids!(
    MachineId of machines, ProcessId of processes, ThreadId of threads, PathId of paths, ObjectId of objects,
    ProcedureId of procedures, PlaceId of places
);

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<V: Stored + PartialEq + std::fmt::Debug>(value: V) {
        let bytes = value.stored_bytes();
        assert_eq!(restored::<V>(&bytes, IdCounts::default()), Some(value));
        for length in 0..bytes.len() {
            assert!(restored::<V>(&bytes[..length], IdCounts::default()).is_none(), "cut at {length}");
        }
    }

    #[test]
    fn values_come_back_and_parts_of_them_are_none() {
        comes_back(u64::MAX);
        comes_back(vec![0_u64, 127, 128, 1 << 40]);
        comes_back(vec![-0.0, f64::MIN_POSITIVE, 1.0 / 3.0]);
        comes_back(("päth".to_owned(), Some(-5_i32), true));
        comes_back(BTreeMap::from([(3_u32, vec![(1_u8, None::<u16>)]), (9, Vec::new())]));
        comes_back(Time::from_nanoseconds(1 << 50));
    }

    #[test]
    fn a_list_longer_than_its_bytes_is_none_and_takes_no_memory() {
        let mut claimed = (u64::MAX >> 1).stored_bytes();
        claimed.push(1);
        assert_eq!(none::<Vec<u64>>(&claimed), None);
        assert_eq!(none::<String>(&claimed), None);
        assert_eq!(none::<u8>(&300_u64.stored_bytes()), None);
        assert_eq!(none::<bool>(&[2]), None);
        assert_eq!(none::<u64>(&[0xff; 12]), None);
    }

    fn none<V: Stored>(bytes: &[u8]) -> Option<V> {
        restored(bytes, IdCounts::default())
    }

    #[test]
    fn a_lazy_value_is_read_when_it_is_asked_for_and_empty_where_it_is_none() {
        let value: LazyStored<Vec<ThreadId>> = vec![ThreadId(2), ThreadId(300)].into();
        let (bytes, ids) = (value.stored_bytes(), IdCounts { threads: 301, ..IdCounts::default() });
        let again: LazyStored<Vec<ThreadId>> = restored(&bytes, ids).unwrap();
        assert!(again.value.get().is_none());
        assert_eq!(*again, *value);
        let of_another: LazyStored<Vec<ThreadId>> = restored(&bytes, IdCounts::default()).unwrap();
        assert_eq!(*of_another, []);
        assert!(restored::<LazyStored<Vec<ThreadId>>>(&bytes[..bytes.len() - 1], ids).is_none());
    }

    #[test]
    fn ids_that_a_recording_has_not_are_none() {
        let ids = IdCounts { threads: 3, ..IdCounts::default() };
        assert_eq!(restored::<ThreadId>(&[2], ids), Some(ThreadId(2)));
        assert_eq!(restored::<ThreadId>(&[3], ids), None);
        assert_eq!(restored::<PathId>(&[0], ids), None);
    }
}
