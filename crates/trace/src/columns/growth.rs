//! Blocks of columns that are read while more of them are made.
//!
//! ```text
//!   maker      block 0 | block 1 | block 2 | …  whole
//!   sweep              | read 0  | read 1  | …          waits where it is ahead of the maker
//!   sweep              |   read 0   |   read 1   | …
//! ```
//! Columns end whole, or broken off; a reader that waits learns of either.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{BlockKind, BlockPlace, file};
use crate::error::{Error, Result};

/// A block.
#[derive(Clone, Debug)]
pub(super) enum StoredBlock {
    Memory(BlockKind, Arc<[u8]>),
    File(BlockPlace),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GrowthStage {
    #[default]
    Growing,
    Whole,
    BrokenOff,
}

#[derive(Debug, Default)]
struct BlockGrowth {
    blocks: Vec<StoredBlock>,
    stage: GrowthStage,
}

/// The blocks that there are so far.
#[derive(Debug)]
pub(super) struct GrowingBlocks {
    growth: Mutex<BlockGrowth>,
    grown: Condvar,
    /// Where those lie that are not in memory.
    file: Option<(File, PathBuf)>,
}

impl GrowingBlocks {
    /// None yet.
    pub(super) fn new(file: Option<(File, PathBuf)>) -> GrowingBlocks {
        GrowingBlocks { growth: Mutex::default(), grown: Condvar::new(), file }
    }

    /// All blocks of a file.
    pub(super) fn of_file(file: (File, PathBuf), places: Vec<BlockPlace>) -> GrowingBlocks {
        let blocks = places.into_iter().map(StoredBlock::File).collect();
        let growth = BlockGrowth { blocks, stage: GrowthStage::Whole };
        GrowingBlocks { growth: Mutex::new(growth), grown: Condvar::new(), file: Some(file) }
    }

    fn growth(&self) -> MutexGuard<'_, BlockGrowth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The block of this number, once it is there; `None` where there will be none.
    pub(super) fn get(&self, index: usize) -> Option<StoredBlock> {
        let is_ahead =
            |growth: &mut BlockGrowth| growth.stage == GrowthStage::Growing && growth.blocks.len() <= index;
        let growth = self.grown.wait_while(self.growth(), is_ahead).unwrap_or_else(PoisonError::into_inner);
        growth.blocks.get(index).cloned()
    }

    /// Adds a block.
    pub(super) fn push(&self, block: StoredBlock) {
        self.growth().blocks.push(block);
        self.grown.notify_all();
    }

    /// There are no more.
    pub(super) fn complete(&self) {
        self.growth().stage = GrowthStage::Whole;
        self.grown.notify_all();
    }

    /// Those that were to come never will, unless all are there. What was kept of them is of no use.
    pub(super) fn break_off(&self) {
        let mut growth = self.growth();
        if growth.stage != GrowthStage::Whole {
            *growth = BlockGrowth { blocks: Vec::new(), stage: GrowthStage::BrokenOff };
            self.grown.notify_all();
        }
    }

    /// Whether some never came.
    pub(super) fn is_broken_off(&self) -> bool {
        self.growth().stage == GrowthStage::BrokenOff
    }

    /// Reads a block of the file.
    pub(super) fn read(&self, place: BlockPlace, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.resize(place.length as usize, 0);
        let read = self.file.as_ref().and_then(|(file, _)| file.read_exact_at(bytes, place.offset).ok());
        read.ok_or_else(|| self.damaged())
    }

    /// The file is not what it was.
    pub(super) fn damaged(&self) -> Error {
        Error::Columns { path: self.file.as_ref().map(|(_, path)| path.clone()).unwrap_or_default() }
    }

    /// Whether each block of the file has its checksum.
    pub(super) fn are_whole(&self) -> bool {
        let growth = self.growth();
        let places = growth.blocks.iter().filter_map(|block| match block {
            StoredBlock::Memory(..) => None,
            StoredBlock::File(place) => Some(*place),
        });
        self.file.as_ref().is_none_or(|(file, _)| file::are_whole(file, places))
    }
}
