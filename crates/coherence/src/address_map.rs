//! Another layout of a program's data: from the addresses that it used to those that it would have used.
//!
//! In: which objects change and how ([`LayoutChanges`]), and, in the order of the run, where their blocks are placed. Out: for
//! each access the addresses of its bytes in the new layout, cut where they do not lie behind each other any more.
//!
//! ```text
//! block of `counters`   0x1000  |0|1|2|3|
//! padded to 64 bytes    M+0x000 |0|       |1|       |2|       |3|          M: addresses that no program has
//! ```
//! What does not change keeps its address. A block that changes gets memory that no other object is on a unit of. It
//! begins where its first byte lay in a page, if no alignment is asked for. The second and later blocks of an object follow as
//! an allocator that gives 16-byte alignment would have them, each behind the one that the same processor allocated before.
//! Memory that is placed again, for an object that changes in the same way and with the same size, stays the same.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::access::{DataObjectId, ProcessorId};
use crate::element_layout::{ElementLayout, LayoutChanges, alignment_of};

/// First address of the memory of changed blocks.
const MAPPED: u64 = 0xffff << 48;
/// Blocks of one processor share regions of so many bytes.
const REGION_BYTES: u64 = 1 << 24;
/// The largest block in the new layout, and with its place in a page no more than twice that.
const LARGEST_BLOCK: u64 = 1 << 44;
/// Bytes of a page: the first byte of a block keeps its place in one.
const PAGE_BYTES: u64 = 4096;
/// Bytes before a block that an allocator keeps its own data in, and the alignment that it gives.
const ALLOCATOR_HEADER: u64 = 8;
const ALLOCATOR_ALIGNMENT: u64 = 16;

/// Objects in another layout. See the module's documentation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataLayout {
    /// What changes, each for some objects.
    pub changes: Vec<LayoutChanges>,
    /// Index of the changes of each object that changes.
    pub objects: BTreeMap<DataObjectId, usize>,
}

/// A block that has other addresses.
#[derive(Debug)]
struct MappedBlock {
    /// First byte as the program has it.
    start: u64,
    size: u64,
    changes: usize,
    layout: ElementLayout,
    object: DataObjectId,
    /// Who allocated it; `None`: it is there from the beginning.
    allocator: Option<ProcessorId>,
    /// First byte in the new layout, once it was asked for; of a private object, by processor. `None`: there was no room.
    bases: FxHashMap<Option<ProcessorId>, Option<u64>>,
}

/// Where no other block than one begins or ends.
#[derive(Clone, Copy, Debug, Default)]
struct MappedSpan {
    lowest: u64,
    end: u64,
    block: Option<u32>,
    /// Until when that is so.
    version: u64,
}

/// Memory from which blocks are taken, one behind the other.
#[derive(Clone, Copy, Debug)]
struct MappedRegion {
    cursor: u64,
    end: u64,
}

/// Memory that an object gets in the new layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedObject {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// The object.
    pub object: DataObjectId,
}

/// Bytes of an access that lie behind each other: first address, bytes.
pub type MappedPiece = (u64, u32);

/// The map from addresses that a program used to those of the new layout, while a run goes on.
#[derive(Debug)]
pub struct AddressMap {
    layout: DataLayout,
    unit: u64,
    blocks: Vec<MappedBlock>,
    /// The blocks that are there: first address → address after the last, block. They do not overlap.
    placed: BTreeMap<u64, (u64, u32)>,
    /// Blocks by first address, size and changes.
    known: FxHashMap<(u64, u64, usize), u32>,
    regions: FxHashMap<(usize, Option<ProcessorId>), MappedRegion>,
    next_region: u64,
    /// Objects that got memory since they were last taken.
    got: Vec<MappedObject>,
    unplaced: u64,
    version: u64,
    /// What the last access of each processor found.
    last: Vec<MappedSpan>,
}

impl AddressMap {
    /// A map before anything is placed, for units of so many bytes.
    #[must_use]
    pub fn new(layout: DataLayout, unit: u64) -> AddressMap {
        AddressMap {
            layout,
            unit,
            blocks: Vec::new(),
            placed: BTreeMap::new(),
            known: FxHashMap::default(),
            regions: FxHashMap::default(),
            next_region: MAPPED,
            got: Vec::new(),
            unplaced: 0,
            version: 1,
            last: Vec::new(),
        }
    }

    /// An object is placed at `[start, start + size)` by a processor (`None`: it is there from the beginning); it replaces those
    /// that were there.
    pub fn place(&mut self, allocator: Option<ProcessorId>, start: u64, size: u64, object: DataObjectId) {
        let changes = self.layout.objects.get(&object).copied();
        self.remove(start, size);
        self.version += 1;
        let Some(changes) = changes.filter(|_| size > 0) else { return };
        if size > LARGEST_BLOCK {
            self.unplaced += 1;
            return;
        }
        let next = self.blocks.len() as u32;
        let block = *self.known.entry((start, size, changes)).or_insert(next);
        if block == next {
            let layout = ElementLayout::of(&self.layout.changes[changes], size, self.unit);
            let bases = FxHashMap::default();
            self.blocks.push(MappedBlock { start, size, changes, layout, object, allocator, bases });
        }
        self.placed.insert(start, (start.saturating_add(size), block));
        if !self.layout.changes[changes].is_private {
            // Where it lies depends on what was allocated before, not on who touches it first.
            self.base(block, ProcessorId(0));
        }
    }

    /// Removes what is placed in a range; what lies outside of it stays.
    fn remove(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        let inside = self.placed.range(..end).rev().take_while(|(_, placed)| placed.0 > start);
        let inside: Vec<u64> = inside.map(|(&at, _)| at).collect();
        for at in inside {
            let Some((until, block)) = self.placed.remove(&at) else { continue };
            if at < start {
                self.placed.insert(at, (start, block));
            }
            if until > end {
                self.placed.insert(end, (until, block));
            }
        }
    }

    /// Objects that got memory since the last call.
    pub fn take_objects(&mut self) -> std::vec::Drain<'_, MappedObject> {
        self.got.drain(..)
    }

    /// Blocks that were to change and keep their addresses, as the new layout is too large for the memory there is.
    #[must_use]
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// The pieces of an access, in the order of the addresses that the program used, into `pieces`.
    #[inline]
    pub fn pieces(
        &mut self,
        processor: ProcessorId,
        (address, size): MappedPiece,
        pieces: &mut Vec<MappedPiece>,
    ) {
        pieces.clear();
        let end = address.saturating_add(u64::from(size));
        let mut at = address;
        while at < end {
            let span = self.span(processor, at);
            let until = span.end.min(end);
            let base = span.block.and_then(|block| Some((block, self.base(block, processor)?)));
            let Some((block, base)) = base else {
                push(pieces, at, until - at);
                at = until;
                continue;
            };
            let block = &self.blocks[block as usize];
            while at < until {
                let (offset, length) = block.layout.find(at - block.start);
                let length = length.min(until - at);
                push(pieces, base + offset, length);
                at += length;
            }
        }
    }

    /// Which block is at an address, and up to where.
    #[inline]
    fn span(&mut self, processor: ProcessorId, address: u64) -> MappedSpan {
        if self.last.len() <= processor.index() {
            self.last.resize(processor.index() + 1, MappedSpan::default());
        }
        let last = self.last[processor.index()];
        if last.version == self.version && (last.lowest..last.end).contains(&address) {
            return last;
        }
        let mut span = MappedSpan { lowest: 0, end: u64::MAX, block: None, version: self.version };
        if let Some((&above, _)) = self.placed.range(address.saturating_add(1)..).next() {
            span.end = above;
        }
        if let Some((&lowest, &(end, block))) = self.placed.range(..=address).next_back() {
            span = match end > address {
                true => MappedSpan { lowest, end, block: Some(block), ..span },
                false => MappedSpan { lowest: end, ..span },
            };
        }
        self.last[processor.index()] = span;
        span
    }

    /// The first byte of a block in the new layout; `None` where there is no room for it.
    #[inline]
    fn base(&mut self, block: u32, processor: ProcessorId) -> Option<u64> {
        let one = &self.blocks[block as usize];
        let owner = Some(processor).filter(|_| self.layout.changes[one.changes].is_private);
        if let Some(&base) = one.bases.get(&owner) {
            return base;
        }
        let (size, object) = (one.layout.block_size(one.size), one.object);
        let base = self.take(block, owner.or(one.allocator), size);
        self.blocks[block as usize].bases.insert(owner, base);
        match base {
            Some(address) => self.got.push(MappedObject { address, size, object }),
            None => self.unplaced += 1,
        }
        base
    }

    /// Memory for a block of so many bytes, behind the others that have the same changes and owner.
    fn take(&mut self, block: u32, owner: Option<ProcessorId>, size: u64) -> Option<u64> {
        if size > LARGEST_BLOCK || self.next_region > u64::MAX - 4 * LARGEST_BLOCK {
            return None;
        }
        let MappedBlock { start, size: old, changes, allocator, .. } = self.blocks[block as usize];
        let own = &self.layout.changes[changes];
        let (is_grouped, page) = (own.is_grouped, self.unit.max(PAGE_BYTES));
        let alignment = own.alignment.unwrap_or(1).max(if own.splits.is_empty() { 1 } else { self.unit });
        let origin = self.blocks[block as usize].layout.origin;
        // What all blocks of a group need to know of each other is where the last one ended.
        let owner = owner.filter(|_| !is_grouped || own.is_private);
        let region = self.regions.get(&(changes, owner)).copied();
        let base = match region {
            Some(MappedRegion { cursor, .. }) if is_grouped => {
                let natural = alignment_of(start & 0xff, (start & 0xff) + old);
                (cursor + origin).next_multiple_of(alignment.max(natural)) - origin
            }
            Some(MappedRegion { cursor, .. }) if allocator.is_some() => {
                let alignment = alignment.max(ALLOCATOR_ALIGNMENT);
                match origin % alignment {
                    0 => (cursor + ALLOCATOR_HEADER).next_multiple_of(alignment),
                    _ => (cursor + ALLOCATOR_HEADER + origin).next_multiple_of(alignment) - origin,
                }
            }
            Some(MappedRegion { cursor, .. }) => begin_in_page(cursor, (start, origin), (page, alignment)),
            None => begin_in_page(self.next_region, (start, origin), (page, alignment)),
        };
        let end = base.saturating_add(size);
        if let Some(region) = self.regions.get_mut(&(changes, owner))
            && end <= region.end
        {
            region.cursor = end;
            return Some(base);
        }
        let base = begin_in_page(self.next_region, (start, origin), (page, alignment));
        let bytes = (base - self.next_region + size).next_multiple_of(REGION_BYTES);
        let region = MappedRegion { cursor: base + size, end: self.next_region + bytes };
        self.next_region = region.end;
        self.regions.insert((changes, owner), region);
        Some(base)
    }
}

/// The first address from `cursor` on that lies in a page where `start` does, moved up so far that what is `origin` bytes behind it is
/// at a multiple of the alignment.
fn begin_in_page(cursor: u64, (start, origin): (u64, u64), (page, alignment): (u64, u64)) -> u64 {
    let first = (start % page + origin % page) % page;
    let page = page.max(alignment);
    let wanted = (first.next_multiple_of(alignment) + page - origin % page) % page;
    let base = cursor - cursor % page + wanted;
    if base < cursor { base + page } else { base }
}

/// Adds a piece, to the last one where it lies behind that.
#[inline]
fn push(pieces: &mut Vec<MappedPiece>, address: u64, length: u64) {
    match pieces.last_mut() {
        Some((last, size)) if *last + u64::from(*size) == address => *size += length as u32,
        _ => pieces.push((address, length as u32)),
    }
}

#[cfg(test)]
mod tests;
