//! The shadow of memory: every unit that was touched, and each processor's copy of it.
//!
//! What the fast path needs of a copy is a [`HotCopy`] and its masks; the rest is a [`CopyDetail`]. Both tables have one
//! row a copy. One vector holds the masks of all copies, eight of them a copy, in the order of [`Mask`].

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::access::{AccessKind, ProcessorId, SiteId};
use crate::bytes::{self, ByteSet};
use crate::clocks::AcquisitionIndex;
use crate::footprint::{room, room_of_map};
use crate::patterns::{AccessPattern, PatternTallies, UnitWindow};

/// Row of a copy.
pub(crate) type CopyIndex = u32;
/// Row of a unit.
pub(crate) type UnitIndex = u32;

/// The masks of a copy. A *lifetime* of a copy goes from a request to the loss of the copy.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Mask {
    /// Bytes read in this lifetime before the processor itself wrote them in it.
    Read,
    /// Bytes written in this lifetime.
    Written,
    /// Bytes of `Read` that were written later in this lifetime.
    Rewritten,
    /// Bytes written that other copies have not been charged with: since the copy became the only one, or in this
    /// epoch (lazy release). Cleared on every downgrade.
    Dirty,
    /// Bytes written by others since the processor's last access; kept while the next lifetime goes on.
    Stale,
    /// `Rewritten` of the holder before this lifetime, as it was at the request.
    Before,
    /// Bytes read at any time.
    EverRead,
    /// Bytes written in earlier lifetimes.
    EverWritten,
}

const MASKS: usize = 8;

/// No write in the present tenure.
pub(crate) const NO_SITE: SiteId = SiteId(u32::MAX);

/// What the fast path looks at.
pub(crate) struct HotCopy {
    pub(crate) unit: UnitIndex,
    pub(crate) processor: ProcessorId,
    /// Reads need nothing of the protocol.
    pub(crate) is_valid: bool,
    /// Writes need nothing of the protocol.
    pub(crate) is_writable: bool,
    /// Epoch of the block that is being counted.
    pub(crate) epoch: u32,
    /// Place of the last write since `Dirty` was cleared.
    pub(crate) write_site: SiteId,
    /// Accesses in this epoch.
    pub(crate) accesses: u64,
    /// Writes in this epoch.
    pub(crate) writes: u64,
}

/// Accesses of one processor to one unit in the epochs from `first` to `last` (one epoch, but where epochs were merged).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EpochBlock {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) accesses: u64,
    pub(crate) writes: u64,
}

/// A write by another that made a copy invalid, until the copy is asked for again.
#[derive(Clone, Copy)]
pub(crate) struct PendingWrite {
    pub(crate) processor: ProcessorId,
    pub(crate) site: SiteId,
    /// Epoch of the writer's first write at this place since the copy was lost.
    pub(crate) epoch: u32,
    /// The synchronisation that brought its notice (lazy release; lines find it at the request).
    pub(crate) acquisition: Option<AcquisitionIndex>,
    /// The request by which the writer had got its own copy, and its row.
    pub(crate) obtained: Option<(u64, u32)>,
}

/// What one interval of a processor wrote to one page (lazy release).
pub(crate) struct WriteNotice {
    pub(crate) unit: UnitIndex,
    pub(crate) processor: ProcessorId,
    pub(crate) epoch: u32,
    pub(crate) bytes: ByteSet,
    /// `Rewritten` of the writer's copy at the end of the interval.
    pub(crate) rewritten: ByteSet,
    pub(crate) sites: Vec<(SiteId, u32)>,
    pub(crate) obtained: Option<(u64, u32)>,
}

/// A request whose copy is still valid: its class is known when the copy is lost.
#[derive(Clone, Copy)]
pub(crate) struct OpenRequest {
    pub(crate) id: u64,
    pub(crate) flow: u32,
    pub(crate) cost: u64,
    pub(crate) is_cold: bool,
    /// Shape of the request's window, once that window is over.
    pub(crate) shape: Option<AccessPattern>,
}

/// The rest of a copy.
#[derive(Default)]
pub(crate) struct CopyDetail {
    /// Distinct places of writes since `Dirty` was cleared, each with the epoch of its first.
    pub(crate) sites: Vec<(SiteId, u32)>,
    pub(crate) pending: Vec<PendingWrite>,
    /// The notices behind `pending` (lazy release).
    pub(crate) notices: Vec<Rc<WriteNotice>>,
    pub(crate) blocks: Vec<EpochBlock>,
    pub(crate) open: Option<OpenRequest>,
    /// Epoch in which the copy was listed as written (lazy release); 0: never.
    pub(crate) listed: u32,
}

impl CopyDetail {
    /// Adds a write; the first one of a writer at a place is kept.
    pub(crate) fn add_pending(&mut self, write: PendingWrite) {
        if !self.pending.iter().any(|known| (known.processor, known.site) == (write.processor, write.site)) {
            self.pending.push(write);
        }
    }
}

/// A unit.
pub(crate) struct UnitRecord {
    pub(crate) number: u64,
    pub(crate) copies: Vec<CopyIndex>,
    /// The only copy, whose processor may write (not lazy release).
    pub(crate) owner: Option<CopyIndex>,
    /// The copy that was written last.
    pub(crate) last_writer: Option<CopyIndex>,
    pub(crate) upgrades: u64,
    pub(crate) words_used: u64,
    pub(crate) words_fetched: u64,
    /// A write came at or after the first access of a second processor.
    pub(crate) is_written_shared: bool,
    pub(crate) window: UnitWindow,
    pub(crate) patterns: PatternTallies,
}

/// All units and copies.
pub(crate) struct ShadowStore {
    index: FxHashMap<u64, UnitIndex>,
    pub(crate) units: Vec<UnitRecord>,
    pub(crate) hot: Vec<HotCopy>,
    pub(crate) details: Vec<CopyDetail>,
    masks: Vec<u64>,
    /// Bytes of all blocks of epochs.
    block_bytes: u64,
    /// Words of a mask.
    words: usize,
}

impl ShadowStore {
    pub(crate) fn new(unit: u64) -> Self {
        let words = (unit as usize / 64).max(1);
        let index = FxHashMap::default();
        Self {
            index,
            units: Vec::new(),
            hot: Vec::new(),
            details: Vec::new(),
            masks: Vec::new(),
            block_bytes: 0,
            words,
        }
    }

    /// Bytes that it takes; the copies of a unit are in a vector of its own.
    pub(crate) fn footprint(&self) -> u64 {
        let lists = 4 * (size_of::<CopyIndex>() * self.hot.len().max(self.units.len())) as u64;
        let tables = room(&self.units) + room(&self.hot) + room(&self.details) + room(&self.masks);
        tables + room_of_map(&self.index) + self.block_bytes + lists
    }

    /// The row of the unit with this number.
    pub(crate) fn unit(&mut self, number: u64) -> UnitIndex {
        let next = self.units.len() as UnitIndex;
        let index = *self.index.entry(number).or_insert(next);
        if index == next {
            self.units.push(UnitRecord {
                number,
                copies: Vec::new(),
                owner: None,
                last_writer: None,
                upgrades: 0,
                words_used: 0,
                words_fetched: 0,
                is_written_shared: false,
                window: UnitWindow::default(),
                patterns: PatternTallies::default(),
            });
        }
        index
    }

    /// The processor's copy of the unit, if it ever had one.
    pub(crate) fn copy_of(&self, unit: UnitIndex, processor: ProcessorId) -> Option<CopyIndex> {
        let copies = &self.units[unit as usize].copies;
        copies.iter().copied().find(|&copy| self.hot[copy as usize].processor == processor)
    }

    /// Adds an invalid copy.
    pub(crate) fn add_copy(&mut self, unit: UnitIndex, processor: ProcessorId) -> CopyIndex {
        let copy = self.hot.len() as CopyIndex;
        self.hot.push(HotCopy {
            unit,
            processor,
            is_valid: false,
            is_writable: false,
            epoch: 0,
            write_site: NO_SITE,
            accesses: 0,
            writes: 0,
        });
        self.details.push(CopyDetail::default());
        self.masks.resize(self.masks.len() + MASKS * self.words, 0);
        self.units[unit as usize].copies.push(copy);
        copy
    }

    fn start(&self, copy: CopyIndex, mask: Mask) -> usize {
        (copy as usize * MASKS + mask as usize) * self.words
    }

    pub(crate) fn mask(&self, copy: CopyIndex, mask: Mask) -> &[u64] {
        let start = self.start(copy, mask);
        &self.masks[start..start + self.words]
    }

    fn mask_mut(&mut self, copy: CopyIndex, mask: Mask) -> &mut [u64] {
        let start = self.start(copy, mask);
        &mut self.masks[start..start + self.words]
    }

    pub(crate) fn clear(&mut self, copy: CopyIndex, mask: Mask) {
        self.mask_mut(copy, mask).fill(0);
    }

    /// Adds bytes to a mask.
    pub(crate) fn add(&mut self, copy: CopyIndex, mask: Mask, bytes: &[u64]) {
        bytes::merge(self.mask_mut(copy, mask), bytes);
    }

    /// Adds one mask to another, of the same or another copy.
    pub(crate) fn merge(&mut self, into: (CopyIndex, Mask), from: (CopyIndex, Mask)) {
        let (into, from) = (self.start(into.0, into.1), self.start(from.0, from.1));
        for word in 0..self.words {
            self.masks[into + word] |= self.masks[from + word];
        }
    }

    /// The bytes used in the copy's lifetime.
    pub(crate) fn used(&self, copy: CopyIndex) -> Vec<u64> {
        let mut used = self.mask(copy, Mask::Read).to_vec();
        bytes::merge(&mut used, self.mask(copy, Mask::Written));
        used
    }

    /// Counts an access and marks its bytes.
    #[inline(always)]
    pub(crate) fn mark(&mut self, copy: CopyIndex, offset: u32, size: u32, kind: AccessKind) {
        let hot = &mut self.hot[copy as usize];
        hot.accesses += 1;
        hot.writes += u64::from(kind.is_write());
        let words = self.words;
        let start = copy as usize * MASKS * words;
        let masks = &mut self.masks[start..start + MASKS * words];
        bytes::for_words(offset, size, |word, bits| {
            let at = |mask: Mask| mask as usize * words + word;
            if kind.is_read() {
                masks[at(Mask::Read)] |= bits & !masks[at(Mask::Written)];
                masks[at(Mask::EverRead)] |= bits;
            }
            if kind.is_write() {
                masks[at(Mask::Rewritten)] |= bits & masks[at(Mask::Read)];
                masks[at(Mask::Written)] |= bits;
                masks[at(Mask::Dirty)] |= bits;
            }
        });
    }

    /// Ends the copy's block of accesses if it is of an earlier epoch.
    pub(crate) fn begin_block(&mut self, copy: CopyIndex, epoch: u32, limit: usize) {
        if self.hot[copy as usize].epoch == epoch {
            return;
        }
        self.end_block(copy, limit);
        self.hot[copy as usize].epoch = epoch;
    }

    /// Keeps the block of the accesses counted so far, if there are any.
    pub(crate) fn end_block(&mut self, copy: CopyIndex, limit: usize) {
        let hot = &mut self.hot[copy as usize];
        let (accesses, writes) = (std::mem::take(&mut hot.accesses), std::mem::take(&mut hot.writes));
        let block = EpochBlock { first: hot.epoch, last: hot.epoch, accesses, writes };
        if accesses == 0 {
            return;
        }
        let blocks = &mut self.details[copy as usize].blocks;
        let before = room(blocks);
        if blocks.len() >= limit.max(1) {
            *blocks = blocks.chunks(2).map(merge_blocks).collect();
        }
        blocks.push(block);
        self.block_bytes = self.block_bytes + room(blocks) - before;
    }
}

/// One block for neighbours.
fn merge_blocks(blocks: &[EpochBlock]) -> EpochBlock {
    let sum = |value: fn(&EpochBlock) -> u64| blocks.iter().map(value).sum();
    EpochBlock {
        first: blocks[0].first,
        last: blocks[blocks.len() - 1].last,
        accesses: sum(|block| block.accesses),
        writes: sum(|block| block.writes),
    }
}
