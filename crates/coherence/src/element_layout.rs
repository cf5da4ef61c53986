//! How the data of an object would lie in memory instead: fields in another order or on units of their own, elements padded,
//! blocks aligned, a copy for each processor.
//!
//! ```text
//! element of 24 bytes    | a | b | c |
//! order c, a             | c | a | b |                        what is not named follows in its order
//! split at 8             | a |   |   | … | b | c |   | … |    b begins a unit, as an aligned member does
//! padded to 64           | a | b | c |   |   |   |   |   |
//! ```
//! Offsets are bytes from the begin of an element; elements follow each other without gaps in a block, as arrays do.

use std::collections::BTreeSet;
use std::ops::Range;

/// Largest alignment that is kept when parts of an element move: that of the widest scalar types.
const LARGEST_ALIGNMENT: u64 = 16;

/// What changes in the layout of an object.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LayoutChanges {
    /// Bytes of an element; `None`: a block is one element, whatever its size.
    pub element: Option<u64>,
    /// Bytes of a block before its first element. They stay before it, and are no part of what is aligned.
    pub origin: u64,
    /// Elements begin a multiple of so many bytes apart.
    pub padding: Option<u64>,
    /// Blocks begin at multiples of so many bytes.
    pub alignment: Option<u64>,
    /// Parts of an element in their new order, as ranges of offsets; what none of them has follows in its order.
    pub order: Vec<Range<u64>>,
    /// Offsets at which a new unit begins.
    pub splits: BTreeSet<u64>,
    /// Each processor has a copy of the object.
    pub is_private: bool,
    /// The object's blocks follow each other as near as their alignment permits.
    pub is_grouped: bool,
}

/// A part of an element, and where it begins in the new layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ElementPart {
    from: u64,
    end: u64,
    at: u64,
}

/// The new layout of the elements of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ElementLayout {
    /// Bytes before the first element.
    pub(crate) origin: u64,
    /// Bytes of an element before.
    size: u64,
    /// Bytes from the begin of an element to that of the next one.
    stride: u64,
    /// By the offsets that they had; together the element.
    parts: Vec<ElementPart>,
}

impl ElementLayout {
    /// The layout of a block of so many bytes, with units of so many bytes.
    pub(crate) fn of(changes: &LayoutChanges, block: u64, unit: u64) -> ElementLayout {
        let origin = changes.origin.min(block);
        let block = block - origin;
        let size = changes.element.unwrap_or(block).clamp(1, block.max(1));
        let (mut parts, mut cursor) = (Vec::new(), 0_u64);
        let mut last_end = 0;
        for Range { start: from, end } in pieces(changes, size) {
            if from > 0 && changes.splits.contains(&from) {
                cursor = cursor.next_multiple_of(unit);
            } else if from != last_end {
                cursor = cursor.next_multiple_of(alignment_of(from, end));
            }
            parts.push(ElementPart { from, end, at: cursor });
            cursor += end - from;
            last_end = end;
        }
        parts.sort_by_key(|part| part.from);
        let mut stride = cursor.max(size);
        if !changes.order.is_empty() {
            // The size of a struct is a multiple of its alignment, which divided the size before.
            stride = stride.next_multiple_of(1 << size.trailing_zeros().min(4));
        }
        if parts.iter().any(|part| changes.splits.contains(&part.from) && part.from > 0) {
            stride = stride.next_multiple_of(unit);
        }
        if let Some(padding) = changes.padding {
            stride = stride.next_multiple_of(padding.max(1));
        }
        ElementLayout { origin, size, stride, parts }
    }

    /// Bytes of a block in the new layout.
    pub(crate) fn block_size(&self, block: u64) -> u64 {
        let elements = (block - self.origin).div_ceil(self.size);
        elements.saturating_mul(self.stride).saturating_add(self.origin)
    }

    /// Where the byte at an offset of the block lies, and how many bytes from there on lie behind each other.
    pub(crate) fn find(&self, offset: u64) -> (u64, u64) {
        let Some(offset) = offset.checked_sub(self.origin) else {
            return (offset, self.origin - offset);
        };
        let (element, within) = (offset / self.size, offset % self.size);
        let at = self.parts.partition_point(|part| part.from <= within);
        let part = self.parts[at.saturating_sub(1)];
        (self.origin + element * self.stride + part.at + (within - part.from), part.end - within)
    }
}

/// The parts of an element in their new order, cut where a unit begins.
fn pieces(changes: &LayoutChanges, size: u64) -> Vec<Range<u64>> {
    let mut taken: Vec<Range<u64>> = Vec::new();
    let mut named: Vec<Range<u64>> = Vec::new();
    for range in &changes.order {
        // A byte that two parts have belongs to the first.
        named.extend(without(range.start.min(size)..range.end.min(size), &taken));
        taken.clone_from(&named);
    }
    named.extend(without(0..size, &taken));
    let cut = |range: Range<u64>| {
        let inside = changes.splits.iter().copied().filter(|&at| range.start < at && at < range.end);
        let begins: Vec<u64> = [range.start].into_iter().chain(inside).collect();
        let ends = begins.iter().skip(1).copied().chain([range.end]);
        begins.iter().copied().zip(ends.collect::<Vec<_>>()).map(|(from, end)| from..end).collect::<Vec<_>>()
    };
    named.into_iter().flat_map(cut).collect()
}

/// A range without what others have of it, in its order.
fn without(range: Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = vec![range];
    for other in others {
        let cut = |range: Range<u64>| {
            let before = range.start..range.end.min(other.start);
            let behind = range.start.max(other.end)..range.end;
            if other.is_empty() { [range, 0..0] } else { [before, behind] }
        };
        left = left.into_iter().flat_map(cut).filter(|range| !range.is_empty()).collect();
    }
    left.into_iter().filter(|range| !range.is_empty()).collect()
}

/// The alignment that a compiler can have given to a part that began at an offset.
pub(crate) fn alignment_of(from: u64, end: u64) -> u64 {
    let by_offset = if from == 0 { LARGEST_ALIGNMENT } else { 1 << from.trailing_zeros().min(4) };
    let by_size = 1 << (end - from).max(1).ilog2().min(4);
    by_offset.min(by_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(changes: &LayoutChanges, block: u64) -> Vec<u64> {
        let layout = ElementLayout::of(changes, block, 64);
        (0..block).step_by(8).map(|offset| layout.find(offset).0).collect()
    }

    fn with_element(element: u64) -> LayoutChanges {
        LayoutChanges { element: Some(element), ..LayoutChanges::default() }
    }

    #[test]
    fn padded_elements_begin_a_multiple_apart() {
        let padded = LayoutChanges { padding: Some(64), ..with_element(24) };
        assert_eq!(places(&padded, 48), [0, 8, 16, 64, 72, 80]);
        let layout = ElementLayout::of(&padded, 48, 64);
        assert_eq!((layout.block_size(48), layout.find(20)), (128, (20, 4)));
        // An element that is larger already.
        let padded = LayoutChanges { padding: Some(16), ..with_element(24) };
        assert_eq!(places(&padded, 48), [0, 8, 16, 32, 40, 48]);
    }

    #[test]
    fn bytes_before_the_first_element_stay_before_it() {
        let padded = LayoutChanges { origin: 16, padding: Some(64), ..with_element(8) };
        assert_eq!(places(&padded, 40), [0, 8, 16, 80, 144]);
        assert_eq!(ElementLayout::of(&padded, 40, 64).block_size(40), 16 + 3 * 64);
        assert_eq!(places(&padded, 16), [0, 8], "a block without elements");
    }

    #[test]
    fn a_split_begins_a_unit_and_so_does_the_next_element() {
        let split = LayoutChanges { splits: BTreeSet::from([8]), ..with_element(24) };
        assert_eq!(places(&split, 48), [0, 64, 72, 128, 192, 200]);
        assert_eq!(ElementLayout::of(&split, 48, 64).block_size(48), 256);
        // An offset behind the element's end splits nothing.
        let none = LayoutChanges { splits: BTreeSet::from([0, 24, 99]), ..with_element(24) };
        assert_eq!(places(&none, 48), [0, 8, 16, 24, 32, 40]);
    }

    #[test]
    fn parts_that_are_not_named_follow_in_their_order() {
        let order = LayoutChanges { order: vec![16..24, 0..8], ..with_element(24) };
        assert_eq!(places(&order, 48), [8, 16, 0, 32, 40, 24]);
        // Bytes that two parts have, and such that no element has.
        let order = LayoutChanges { order: vec![8..16, 0..16, 20..999], ..with_element(24) };
        assert_eq!(places(&order, 24), [8, 0, 20]);
    }

    #[test]
    fn a_part_keeps_the_alignment_that_its_type_can_have() {
        // An int, and a double that needs 8 bytes: the double first, then the int; the size stays a multiple of 8.
        let order = LayoutChanges { order: vec![0..4, 8..16], ..with_element(16) };
        assert_eq!(ElementLayout::of(&order, 16, 64).find(8).0, 8);
        assert_eq!(
            [alignment_of(0, 4), alignment_of(4, 8), alignment_of(8, 48), alignment_of(6, 8)],
            [4, 4, 8, 2]
        );
    }
}
