//! What a user wants changed in the layout of data: `pad:counters=64` (docs/communication.md).
//!
//! ```text
//!   pad:counters=64            its elements begin a multiple of 64 bytes apart
//!   pad:make_parts/40=64       the same of what `make_parts` allocates, in elements of 40 bytes
//!   align:make_parts=64        each block begins at a multiple of 64
//!   align:make_parts+16=64     what is 16 bytes behind its begin does: a block with a header of 16 bytes
//!   split:queue=tail           the field `tail`, and what is behind it, begins a unit; also by its offset: `split:queue=24`
//!   order:queue=tail,24..32    these fields or bytes first
//!   privatise:total            each thread has a copy
//!   group:head,tail            they follow each other
//! ```
//! Data is found by its name as everywhere: as it stands, then by a part of it.

use std::collections::BTreeSet;
use std::ops::Range;

use longpole_communication::{LayoutChanges, LayoutObject, ObjectsLayout};
use longpole_series::did_you_mean;

use crate::error::{Error, Result};
use crate::find::find_data;
use crate::quantity::{count_of, grouped};

/// The most bytes that elements can be apart, or that a block can be aligned to.
const LARGEST: u64 = 1 << 30;

/// A change of layout with its name for people.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLayoutChange {
    /// What the user wrote.
    pub text: String,
    /// What it means: `pad counters to 64 bytes`.
    pub label: String,
    /// Indexes of the objects that it changes.
    pub objects: BTreeSet<usize>,
    /// How.
    pub changes: LayoutChanges,
}

/// Ways to change a layout, with how they are written.
const KINDS: [(&str, &str); 6] = [
    ("pad", "pad:OBJECT=BYTES or pad:OBJECT/ELEMENT=BYTES"),
    ("align", "align:OBJECT=BYTES"),
    ("split", "split:OBJECT=FIELD or split:OBJECT/ELEMENT=OFFSET"),
    ("order", "order:OBJECT=FIELD,FROM..TO,…"),
    ("privatise", "privatise:OBJECT"),
    ("group", "group:OBJECT,OBJECT,…"),
];

impl NamedLayoutChange {
    /// The change that the text means, of these objects.
    ///
    /// # Errors
    /// [`Error::BadChange`], and what finding a name says.
    pub fn parse(text: &str, objects: &[LayoutObject]) -> Result<NamedLayoutChange> {
        let bad = |reason: String| Error::BadChange { text: text.to_owned(), reason };
        let kind = text.split_once(':').and_then(|(word, rest)| {
            let word = if word == "privatize" { "privatise" } else { word };
            Some((KINDS.iter().find(|(kind, _)| *kind == word.trim())?, rest.trim()))
        });
        let Some((&(kind, form), rest)) = kind else {
            let word = text.split_once(':').map_or(text, |(word, _)| word);
            let near = did_you_mean(word, KINDS.iter().map(|(kind, _)| *kind));
            let known = KINDS.map(|(kind, _)| kind).join(", ");
            return Err(bad(format!("it begins with none of {known}, each with a colon{near}")));
        };
        let request = LayoutRequest { text, form, objects };
        match kind {
            "privatise" => {
                let object = request.object(rest)?;
                let changes = LayoutChanges { is_private: true, ..LayoutChanges::default() };
                let label = format!("privatise {}", objects[object].name);
                Ok(request.named(label, [object], changes))
            }
            "group" => {
                let found = rest.split(',').map(|name| request.object(name.trim()));
                let found = found.collect::<Result<Vec<usize>>>()?;
                if found.len() < 2 {
                    return Err(request.malformed());
                }
                let names: Vec<&str> = found.iter().map(|&one| objects[one].name.as_str()).collect();
                let changes = LayoutChanges { is_grouped: true, ..LayoutChanges::default() };
                Ok(request.named(format!("group {}", names.join(" and ")), found, changes))
            }
            _ => {
                let (target, value) = rest.rsplit_once('=').ok_or_else(|| request.malformed())?;
                request.sized(kind, target.trim(), value.trim())
            }
        }
    }
}

/// Merges changes into one layout for each set of objects that the same changes are of.
///
/// # Errors
/// [`Error::BadChange`] where two of them say that the elements of an object have different sizes, or change a part of a group.
pub fn merge_layouts(changes: &[NamedLayoutChange]) -> Result<Vec<ObjectsLayout>> {
    let all: BTreeSet<usize> = changes.iter().flat_map(|one| one.objects.iter().copied()).collect();
    let mut merged: Vec<(Vec<usize>, ObjectsLayout)> = Vec::new();
    for object in all {
        let of = |(index, one): (usize, &NamedLayoutChange)| one.objects.contains(&object).then_some(index);
        let by: Vec<usize> = changes.iter().enumerate().filter_map(of).collect();
        if let Some((_, known)) = merged.iter_mut().find(|(known, _)| *known == by) {
            known.objects.insert(object);
            continue;
        }
        let mut sum = LayoutChanges::default();
        for one in by.iter().map(|&index| &changes[index]) {
            let own = one.changes.clone();
            if let (Some(size), Some(other)) = (sum.element, own.element)
                && size != other
            {
                let reason = format!("another change says that its elements have {size} bytes");
                return Err(Error::BadChange { text: one.text.clone(), reason });
            }
            if sum.origin != 0 && own.origin != 0 && sum.origin != own.origin {
                let reason = format!("another change says that its elements begin at byte {}", sum.origin);
                return Err(Error::BadChange { text: one.text.clone(), reason });
            }
            sum.element = own.element.or(sum.element);
            sum.origin = own.origin.max(sum.origin);
            sum.padding = own.padding.max(sum.padding);
            sum.alignment = own.alignment.max(sum.alignment);
            sum.order.extend(own.order);
            sum.splits.extend(own.splits);
            sum.is_private |= own.is_private;
            sum.is_grouped |= own.is_grouped;
        }
        if sum.is_grouped && by.len() > 1 {
            let text = changes[by[by.len() - 1]].text.clone();
            let reason = "what is in a group cannot change in another way too".to_owned();
            return Err(Error::BadChange { text, reason });
        }
        let objects = BTreeSet::from([object]);
        merged.push((by, ObjectsLayout { objects, changes: sum }));
    }
    Ok(merged.into_iter().map(|(_, layout)| layout).collect())
}

/// A change as it is read.
struct LayoutRequest<'a> {
    text: &'a str,
    /// How it is written.
    form: &'static str,
    objects: &'a [LayoutObject],
}

impl LayoutRequest<'_> {
    fn bad(&self, reason: impl Into<String>) -> Error {
        Error::BadChange { text: self.text.to_owned(), reason: reason.into() }
    }

    fn malformed(&self) -> Error {
        self.bad(format!("it is written {}", self.form))
    }

    fn object(&self, name: &str) -> Result<usize> {
        // Variables that no access touched are most often a library's.
        let is_own = |one: &LayoutObject| one.kind != "variable" || one.before.requests > 0;
        let data = self.objects.iter().map(|one| (one.kind, one.name.as_str(), is_own(one)));
        find_data(name, data)
    }

    fn named(
        &self,
        label: String,
        objects: impl IntoIterator<Item = usize>,
        changes: LayoutChanges,
    ) -> NamedLayoutChange {
        let objects = objects.into_iter().collect();
        NamedLayoutChange { text: self.text.to_owned(), label, objects, changes }
    }

    /// A change with a value.
    fn sized(&self, kind: &str, target: &str, value: &str) -> Result<NamedLayoutChange> {
        let (name, element) = match target.rsplit_once('/') {
            Some((name, size)) if !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit()) => {
                let size = size.parse().ok().filter(|size| (1..=LARGEST).contains(size));
                let size = size.ok_or_else(|| self.bad("an element has from 1 byte to 1 GiB"))?;
                (name.trim(), Some(size))
            }
            _ => (target, None),
        };
        let (name, origin) = match name.rsplit_once('+') {
            Some((name, bytes)) if !bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit()) => {
                let bytes = bytes.parse().ok().filter(|&bytes| bytes <= LARGEST);
                (
                    name.trim(),
                    bytes.ok_or_else(|| self.bad("elements begin at most 1 GiB behind their block"))?,
                )
            }
            _ => (name, 0),
        };
        let index = self.object(name)?;
        let object = &self.objects[index];
        if let Some(element) = element.filter(|&element| object.size > 0 && element > object.size) {
            let size = count_of(object.size, "byte");
            return Err(self.bad(format!("an element of {element} bytes is larger than all of it, {size}")));
        }
        let element = element.or(object.element);
        let plain = LayoutChanges { element, origin, ..LayoutChanges::default() };
        let what = &object.name;
        match kind {
            "align" => {
                let bytes = self.bytes(value)?;
                if !bytes.is_power_of_two() {
                    return Err(self.bad("an alignment is a power of two"));
                }
                let changes = LayoutChanges { alignment: Some(bytes), origin, ..LayoutChanges::default() };
                let from = if origin == 0 { String::new() } else { format!(" + {origin}") };
                let label = format!("align {what}{from} to {} bytes", grouped(bytes));
                Ok(self.named(label, [index], changes))
            }
            "pad" => {
                let bytes = self.bytes(value)?;
                let Some(element) = element else {
                    return Err(self.bad(format!(
                        "the size of its elements is not known; add it, as in `pad:{what}/8={bytes}`"
                    )));
                };
                let changes = LayoutChanges { padding: Some(bytes), ..plain };
                let of = match object.element == Some(element) {
                    true => String::new(),
                    false => format!(" (elements of {})", count_of(element, "byte")),
                };
                let label = format!("pad {what}{of} to {} bytes", grouped(bytes));
                Ok(self.named(label, [index], changes))
            }
            "split" => {
                let range = self.part(object, value)?;
                let is_inside = element.is_none_or(|element| range.start < element);
                if range.start == 0 || !is_inside {
                    return Err(self.bad("the offset is not inside of an element"));
                }
                let changes = LayoutChanges { splits: BTreeSet::from([range.start]), ..plain };
                Ok(self.named(format!("split {what} at {value}"), [index], changes))
            }
            _ => {
                let parts = value.split(',').map(|part| self.part(object, part.trim()));
                let order = parts.collect::<Result<Vec<Range<u64>>>>()?;
                let changes = LayoutChanges { order, ..plain };
                Ok(self.named(format!("order {what} as {value}"), [index], changes))
            }
        }
    }

    fn bytes(&self, text: &str) -> Result<u64> {
        let bytes = text.parse().ok().filter(|bytes| (1..=LARGEST).contains(bytes));
        bytes.ok_or_else(|| self.bad(format!("`{text}` is no number of bytes from 1 to {LARGEST}")))
    }

    /// A field by its name, bytes as `FROM..TO`, or an offset.
    fn part(&self, object: &LayoutObject, text: &str) -> Result<Range<u64>> {
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|&offset| offset <= LARGEST);
        if let Some((from, to)) = text.split_once("..") {
            let range = number(from).zip(number(to)).map(|(from, to)| from..to);
            return range
                .filter(|range| !range.is_empty())
                .ok_or_else(|| self.bad(format!("`{text}` is no range of bytes, as 8..24")));
        }
        if let Some(offset) = number(text) {
            return Ok(offset..offset + 1);
        }
        let own =
            |name: &str| name == text || name.strip_prefix(text).is_some_and(|rest| rest.starts_with('.'));
        let fields: Vec<_> = object.fields.iter().filter(|field| own(&field.name)).collect();
        if let (Some(first), Some(last)) = (fields.first(), fields.last()) {
            return Ok(first.offset..last.offset.saturating_add(last.size));
        }
        let reason = match object.fields.as_slice() {
            [] => format!("no field `{text}` is known of `{}`; name offsets, as 8 or 8..24", object.name),
            fields => {
                let near = did_you_mean(text, fields.iter().map(|field| field.name.as_str()));
                format!("`{}` has no field `{text}`{near}", object.name)
            }
        };
        Err(self.bad(reason))
    }
}

#[cfg(test)]
mod tests {
    use longpole_communication::{AccessField, ObjectTransfers};

    use super::*;

    fn objects() -> Vec<LayoutObject> {
        let used = ObjectTransfers { requests: 5, transfers: 2, cost: 500 };
        let field = |name: &str, offset, size| AccessField { name: name.to_owned(), offset, size };
        vec![
            LayoutObject {
                name: "counters".into(),
                kind: "variable",
                size: 64,
                element: Some(8),
                before: used,
                ..LayoutObject::default()
            },
            LayoutObject {
                name: "allocated in make_parts regression.c:39".into(),
                kind: "heap",
                before: used,
                ..LayoutObject::default()
            },
            LayoutObject {
                name: "queue".into(),
                kind: "variable",
                size: 40,
                element: Some(40),
                fields: vec![field("head", 0, 8), field("tail.at", 8, 8), field("tail.end", 16, 8)],
                ..LayoutObject::default()
            },
        ]
    }

    fn error(text: &str) -> String {
        NamedLayoutChange::parse(text, &objects()).unwrap_err().to_string()
    }

    #[test]
    fn each_kind_of_change_is_read() {
        let read = |text: &str| {
            let read = NamedLayoutChange::parse(text, &objects()).unwrap();
            (read.objects.into_iter().collect::<Vec<_>>(), read.changes, read.label)
        };
        let (found, changes, label) = read("pad:counters=64");
        assert_eq!((found, changes.element, changes.padding), (vec![0], Some(8), Some(64)));
        assert_eq!(label, "pad counters to 64 bytes");
        let (found, changes, _) = read("pad:make_parts/40=64");
        assert_eq!((found, changes.element, changes.padding), (vec![1], Some(40), Some(64)));
        assert_eq!(read("align:allocated in make_parts regression.c:39=64").1.alignment, Some(64));
        assert_eq!(read("split:queue=tail").1.splits, BTreeSet::from([8]));
        assert_eq!(read("split:queue=16").1.splits, BTreeSet::from([16]));
        assert_eq!(read("order:queue=tail,0..4").1.order, [8..24, 0..4]);
        assert!(read("privatise:counters").1.is_private && read("privatize:counters").1.is_private);
        let header = read("pad:make_parts+16/40=64").1;
        assert_eq!((header.origin, header.element), (16, Some(40)));
        assert_eq!(read("align:make_parts+16=64").1.origin, 16);
        let (found, changes, _) = read("group:counters, queue");
        assert!(found == [0, 2] && changes.is_grouped);
    }

    #[test]
    fn what_is_no_change_is_told_why() {
        for (text, why) in [
            ("pd:counters=64", "did you mean pad?"),
            ("counters", "it begins with none of pad, align"),
            ("pad:counters", "it is written pad:OBJECT=BYTES"),
            ("pad:counters=x", "`x` is no number of bytes"),
            ("pad:counters=0", "no number of bytes"),
            ("pad:conters=64", "did you mean variable:counters?"),
            ("pad:make_parts=64", "the size of its elements is not known"),
            ("pad:counters/99=128", "larger than all of it"),
            ("align:counters=48", "a power of two"),
            ("split:queue=tial.at", "did you mean tail.at?"),
            ("split:counters=x", "no field `x` is known"),
            ("split:queue=0", "not inside"),
            ("split:queue=40", "not inside"),
            ("order:queue=9..3", "no range of bytes"),
            ("group:counters", "it is written group:"),
        ] {
            assert!(error(text).contains(why), "{text}: {}", error(text));
        }
    }

    #[test]
    fn changes_of_one_object_are_merged() {
        let read = |text: &str| NamedLayoutChange::parse(text, &objects()).unwrap();
        let merged = merge_layouts(&[read("pad:counters=64"), read("align:counters=64")]).unwrap();
        let [one] = merged.as_slice() else { panic!("{merged:?}") };
        assert_eq!((one.changes.padding, one.changes.alignment), (Some(64), Some(64)));
        // What is grouped has one layout, in which the blocks follow each other.
        assert_eq!(merge_layouts(&[read("group:counters,queue")]).unwrap().len(), 1);
        let grouped = [read("group:counters,queue"), read("align:queue=64")];
        assert!(merge_layouts(&grouped).unwrap_err().to_string().contains("in a group"));
        let error = merge_layouts(&[read("pad:counters/8=64"), read("pad:counters/16=64")]).unwrap_err();
        assert!(error.to_string().contains("another change says"), "{error}");
    }
}
