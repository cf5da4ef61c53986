//! The items of a recording as columns: what every sweep reads, so that the log is decoded once for all of them.
//!
//! ```text
//!   log ──► state machine ──► blocks of some thousand items ──► sweep, sweep, sweep …
//!                               │   (6 to 8 bytes an item)
//!                               └──► cache/items.columns: the next question opens with them
//! ```
//! Items that are read from columns are those that the log gives, in the same order. A long recording's columns lie in its
//! folder `cache/` ([`file`]); where nothing can be written there, and for short recordings, in memory up to
//! [`MOST_MEMORY`]; beyond that every reading decodes the log again.
//!
//! Blocks are read, not mapped: a file that somebody shortens meanwhile is an error, and not a signal. Memory: a block.

mod block;
mod file;
mod tag;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use longpole_event::Time;

use crate::error::{Error, Result};
use crate::timeline::{Item, Placement};
use block::{BlockBuilder, BlockColumns, BlockRow};
use file::ColumnsFile;

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

/// All items of a recording, and where threads were put.
#[derive(Debug)]
pub struct ItemColumns {
    ids: IdCounts,
    blocks: StoredBlocks,
}

#[derive(Debug)]
enum StoredBlocks {
    Memory(Vec<(BlockKind, Vec<u8>)>),
    File { file: File, path: PathBuf, places: Vec<BlockPlace> },
}

impl ItemColumns {
    /// Calls `visit` on every item, in the order in which they were kept.
    ///
    /// # Errors
    /// [`Error::Columns`] where the file is another one than it was.
    pub fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<()> {
        self.blocks(BlockKind::Items, &mut |columns| show_items(columns, &self.ids, visit))
    }

    /// Whether all blocks are as they were written. To know it takes a reading of all.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        match &self.blocks {
            StoredBlocks::Memory(_) => true,
            StoredBlocks::File { file, places, .. } => file::are_whole(file, places),
        }
    }

    /// Where threads were put, in the order of time.
    ///
    /// # Errors
    /// As of [`for_each`](Self::for_each).
    pub fn placements(&self) -> Result<Vec<Placement>> {
        let mut placements = Vec::new();
        self.blocks(BlockKind::Placements, &mut |columns| {
            columns.rows(|BlockRow { time, thread, tag, value }, _| {
                let (time, thread) = (Time::from_nanoseconds(time), self.ids.thread(thread)?);
                let processor = u16::try_from(value).ok().filter(|_| tag == 0)?;
                placements.push(Placement { time, thread, processor });
                Some(())
            })
        })?;
        Ok(placements)
    }

    fn blocks(&self, kind: BlockKind, each: &mut dyn FnMut(&BlockColumns) -> Option<()>) -> Result<()> {
        let mut columns = BlockColumns::default();
        match &self.blocks {
            StoredBlocks::Memory(blocks) => {
                for (_, block) in blocks.iter().filter(|block| block.0 == kind) {
                    let shown = columns.load(block).and_then(|()| each(&columns));
                    shown.expect("a block in memory is as it was made");
                }
            }
            StoredBlocks::File { file, path, places } => {
                let mut block = Vec::new();
                let damaged = || Error::Columns { path: path.clone() };
                for place in places.iter().filter(|place| place.kind == kind) {
                    block.resize(place.length as usize, 0);
                    file.read_exact_at(&mut block, place.offset).map_err(|_| damaged())?;
                    columns.load(&block).and_then(|()| each(&columns)).ok_or_else(damaged)?;
                }
            }
        }
        Ok(())
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

/// Items and placements on their way into columns.
#[derive(Debug)]
pub struct ColumnsWriter {
    ids: IdCounts,
    items: BlockBuilder,
    placements: BlockBuilder,
    sink: BlockSink,
}

#[derive(Debug)]
enum BlockSink {
    Memory {
        blocks: Vec<(BlockKind, Vec<u8>)>,
        bytes: usize,
    },
    File(ColumnsFile),
    /// There is no room for them.
    None,
}

impl ColumnsWriter {
    /// Into a file of the cache, where it can be made, else into memory.
    #[must_use]
    pub fn new(ids: IdCounts, cache: Option<&ItemCache>) -> ColumnsWriter {
        let file = cache.and_then(ColumnsFile::create);
        let memory = || BlockSink::Memory { blocks: Vec::new(), bytes: 0 };
        ColumnsWriter {
            ids,
            items: BlockBuilder::default(),
            placements: BlockBuilder::default(),
            sink: file.map_or_else(memory, BlockSink::File),
        }
    }

    /// Adds an item.
    pub fn item(&mut self, item: &Item) {
        let (tag, value) = tag::encode(item.time, &item.what, &mut self.items.more);
        let row = BlockRow { time: item.time.nanoseconds(), thread: item.thread.0.into(), tag, value };
        if self.items.push(row) {
            self.sink.put(BlockKind::Items, self.items.take());
        }
    }

    /// Adds a placement.
    pub fn placement(&mut self, placement: Placement) {
        let Placement { time, thread, processor } = placement;
        let row =
            BlockRow { time: time.nanoseconds(), thread: thread.0.into(), tag: 0, value: processor.into() };
        if self.placements.push(row) {
            self.sink.put(BlockKind::Placements, self.placements.take());
        }
    }

    /// The columns; `None` where there was no room for them. With them the file keeps what else is needed to answer from
    /// it, `rest`.
    #[must_use]
    pub fn finish(mut self, rest: &[u8]) -> Option<ItemColumns> {
        for (kind, builder) in
            [(BlockKind::Items, &mut self.items), (BlockKind::Placements, &mut self.placements)]
        {
            if !builder.is_empty() {
                self.sink.put(kind, builder.take());
            }
        }
        let blocks = match self.sink {
            BlockSink::Memory { blocks, .. } => StoredBlocks::Memory(blocks),
            BlockSink::File(file) => file.finish(rest)?,
            BlockSink::None => return None,
        };
        Some(ItemColumns { ids: self.ids, blocks })
    }
}

impl BlockSink {
    fn put(&mut self, kind: BlockKind, block: Vec<u8>) {
        let has_room = match self {
            BlockSink::Memory { blocks, bytes } => {
                *bytes += block.len();
                blocks.push((kind, block));
                *bytes <= MOST_MEMORY
            }
            BlockSink::File(file) => file.put(kind, &block),
            BlockSink::None => true,
        };
        if !has_room {
            *self = BlockSink::None;
        }
    }
}

#[cfg(test)]
mod tests;
