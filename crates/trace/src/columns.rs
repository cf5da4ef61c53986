//! The items of a recording as columns: what every sweep reads, so that the log is decoded once for all of them.
//!
//! ```text
//!   log ──► state machine ──► blocks of some thousand items ──► sweep, sweep, sweep …
//!                               │   (6 to 8 bytes an item)
//!                               └──► cache/items.columns: the next question opens with them
//! ```
//! Items that are read from columns are those that the log gives, in the same order. Sweeps read blocks as soon as they are
//! made ([`growth`]). A long recording's columns lie in its folder `cache/` ([`file`]); where nothing can be written there, and
//! for short recordings, in memory up to [`MOST_MEMORY`]; beyond that every reading decodes the log again.
//!
//! Blocks are read, not mapped: a file that somebody shortens meanwhile is an error, and not a signal. Memory: a block.

mod block;
mod file;
mod growth;
mod tag;

use std::sync::Arc;

use longpole_event::Time;

use crate::error::Result;
use crate::timeline::{Item, Placement};
use block::{BlockBuilder, BlockColumns, BlockRow};
use file::ColumnsFile;
use growth::{GrowingBlocks, StoredBlock};

pub use file::{ItemCache, LONG_RECORDING};
pub use tag::IdCounts;

/// Bytes of columns that are kept in memory: of some thirty million items.
const MOST_MEMORY: usize = 192 << 20;

/// What the rows of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Items,
    Placements,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockPlace {
    kind: BlockKind,
    offset: u64,
    length: u32,
    checksum: u32,
}

/// All items of a recording, and where threads were put; perhaps still on their way.
#[derive(Debug)]
pub struct ItemColumns {
    ids: IdCounts,
    blocks: GrowingBlocks,
}

/// How a reading of columns ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnsEnd {
    /// Everything was shown.
    Whole,
    /// There was no room for more, or the logs could not be read on, after so many items.
    BrokenOff(u64),
}

impl ItemColumns {
    /// Calls `visit` on every item, in the order in which they were kept. Waits for those that are still being made.
    ///
    /// # Errors
    /// [`Error::Columns`] where the file is another one than it was.
    pub fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<ColumnsEnd> {
        let mut shown = 0;
        let is_whole = self.blocks(BlockKind::Items, &mut |columns| {
            show_items(columns, &self.ids, visit)?;
            shown += columns.len() as u64;
            Some(())
        })?;
        Ok(if is_whole { ColumnsEnd::Whole } else { ColumnsEnd::BrokenOff(shown) })
    }

    /// Whether all blocks are as they were written. To know it takes a reading of all.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        self.blocks.are_whole()
    }

    /// Where threads were put, in the order of time; `None` where that was broken off.
    ///
    /// # Errors
    /// As of [`for_each`](Self::for_each).
    pub fn placements(&self) -> Result<Option<Vec<Placement>>> {
        let mut placements = Vec::new();
        let is_whole = self.blocks(BlockKind::Placements, &mut |columns| {
            columns.rows(|BlockRow { time, thread, tag, value }, _| {
                let (time, thread) = (Time::from_nanoseconds(time), self.ids.thread(thread)?);
                let processor = u16::try_from(value).ok().filter(|_| tag == 0)?;
                placements.push(Placement { time, thread, processor });
                Some(())
            })
        })?;
        Ok(is_whole.then_some(placements))
    }

    /// Whether all blocks were shown.
    fn blocks(&self, kind: BlockKind, each: &mut dyn FnMut(&BlockColumns) -> Option<()>) -> Result<bool> {
        let (mut columns, mut buffer) = (BlockColumns::default(), Vec::new());
        for index in 0.. {
            let Some(block) = self.blocks.get(index) else { break };
            match block {
                StoredBlock::Memory(of_kind, block) if of_kind == kind => {
                    let shown = columns.load(&block).and_then(|()| each(&columns));
                    shown.expect("a block in memory is as it was made");
                }
                StoredBlock::File(place) if place.kind == kind => {
                    self.blocks.read(place, &mut buffer)?;
                    let damaged = || self.blocks.damaged();
                    columns.load(&buffer).and_then(|()| each(&columns)).ok_or_else(damaged)?;
                }
                StoredBlock::Memory(..) | StoredBlock::File(_) => {}
            }
        }
        Ok(!self.blocks.is_broken_off())
    }
}

/// Shows the items of one block of a file; `None` where they are not all items of a recording with these ids.
pub fn items_of_block(block: &[u8], ids: &IdCounts, visit: &mut dyn FnMut(&Item)) -> Option<()> {
    let mut columns = BlockColumns::default();
    columns.load(block)?;
    show_items(&columns, ids, visit)
}

fn show_items(columns: &BlockColumns, ids: &IdCounts, visit: &mut dyn FnMut(&Item)) -> Option<()> {
    columns.rows(|BlockRow { time, thread, tag, value }, more| {
        let time = Time::from_nanoseconds(time);
        let what = tag::decode((tag, value), time, more, ids)?;
        visit(&Item { time, thread: ids.thread(thread)?, what });
        Some(())
    })
}

/// Items and placements on their way into columns. Columns whose writer goes before it is finished are broken off.
#[derive(Debug)]
pub struct ColumnsWriter {
    columns: Arc<ItemColumns>,
    items: BlockBuilder,
    placements: BlockBuilder,
    sink: BlockSink,
}

#[derive(Debug)]
enum BlockSink {
    /// So many bytes.
    Memory(usize),
    File(ColumnsFile),
    /// There is no room for them, or all are there.
    Closed,
}

impl ColumnsWriter {
    /// Into a file of the cache, where it can be made, else into memory.
    #[must_use]
    pub fn new(ids: IdCounts, cache: Option<&ItemCache>) -> ColumnsWriter {
        let (sink, file) = match cache.and_then(ColumnsFile::create) {
            Some((sink, file)) => (BlockSink::File(sink), Some(file)),
            None => (BlockSink::Memory(0), None),
        };
        ColumnsWriter {
            columns: Arc::new(ItemColumns { ids, blocks: GrowingBlocks::new(file) }),
            items: BlockBuilder::default(),
            placements: BlockBuilder::default(),
            sink,
        }
    }

    /// The columns, which grow.
    #[must_use]
    pub fn columns(&self) -> Arc<ItemColumns> {
        Arc::clone(&self.columns)
    }

    /// Adds an item.
    pub fn item(&mut self, item: &Item) {
        let (tag, value) = tag::encode(item.time, &item.what, &mut self.items.more);
        let row = BlockRow { time: item.time.nanoseconds(), thread: item.thread.0.into(), tag, value };
        if self.items.push(row) {
            let block = self.items.take();
            self.put(BlockKind::Items, block);
        }
    }

    /// Adds a placement.
    pub fn placement(&mut self, placement: Placement) {
        let Placement { time, thread, processor } = placement;
        let row =
            BlockRow { time: time.nanoseconds(), thread: thread.0.into(), tag: 0, value: processor.into() };
        if self.placements.push(row) {
            let block = self.placements.take();
            self.put(BlockKind::Placements, block);
        }
    }

    /// These were all. With them the file keeps what else is needed to answer from it, `rest`.
    pub fn finish(mut self, rest: &[u8]) {
        for kind in [BlockKind::Items, BlockKind::Placements] {
            let builder = match kind {
                BlockKind::Items => &mut self.items,
                BlockKind::Placements => &mut self.placements,
            };
            if !builder.is_empty() {
                let block = builder.take();
                self.put(kind, block);
            }
        }
        match std::mem::replace(&mut self.sink, BlockSink::Closed) {
            BlockSink::Closed => return,
            BlockSink::Memory(_) => {}
            BlockSink::File(file) => file.finish(rest),
        }
        self.columns.blocks.complete();
    }

    fn put(&mut self, kind: BlockKind, block: Vec<u8>) {
        let stored = match &mut self.sink {
            BlockSink::Memory(bytes) => {
                *bytes += block.len();
                (*bytes <= MOST_MEMORY).then(|| StoredBlock::Memory(kind, block.into()))
            }
            BlockSink::File(file) => file.put(kind, &block).map(StoredBlock::File),
            BlockSink::Closed => return,
        };
        match stored {
            Some(block) => self.columns.blocks.push(block),
            None => {
                self.sink = BlockSink::Closed;
                self.columns.blocks.break_off();
            }
        }
    }
}

impl Drop for ColumnsWriter {
    fn drop(&mut self) {
        self.columns.blocks.break_off();
    }
}

#[cfg(test)]
mod tests;
