//! Columns in a file of the folder `cache/`.
//!
//! ```text
//!   "longpole items 1\n" length:u32 version[length]      the version: program, sizes and times of the recording's files
//!   blocks
//!   tail        length:u32 rest[length]  blocks:u32 { kind:u8 length:u32 checksum:u32 } …
//!   begin of the tail:u64  checksum of the tail:u32
//! ```
//! Invariants: a file is read by the build and for the recording that it was made of, and only whole: its tail when it is
//! opened, its blocks before the first of them is used, are compared with their checksums. It appears under its name when it is complete. One that is damaged or of
//! another version is removed, and made again.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longpole_recording::{ITEM_COLUMNS, NEW_ITEM_COLUMNS};

use super::block::MOST_BYTES;
use super::growth::GrowingBlocks;
use super::{BlockKind, BlockPlace, IdCounts, ItemColumns};

const MAGIC: &[u8] = b"longpole items 1\n";
/// A file on its way that nobody has written to for so long was left behind.
const ABANDONED: Duration = Duration::from_secs(60);
/// Events from which on what was computed of a recording is kept. Shorter ones are decoded in a few tenths of a second.
pub const LONG_RECORDING: u64 = 1 << 17;
const END: u64 = 12;
/// The longest version, and the largest tail that is read or written.
const MOST_VERSION: usize = 1 << 20;
const MOST_TAIL: u64 = 64 << 20;
/// Bytes of the largest file: of some five hundred million items.
const MOST_FILE: u64 = 4 << 30;
/// Buffer of reading.
const BUFFER: usize = 256 << 10;
/// Bytes of one block in the tail.
const PLACE: usize = 9;

/// Where the columns of a recording can be kept between questions.
#[derive(Clone, Debug)]
pub struct ItemCache {
    folder: PathBuf,
    version: String,
    least: u64,
}

impl ItemCache {
    /// In this folder, for columns of this version: they are used for no other one.
    #[must_use]
    pub fn new(folder: PathBuf, version: String) -> ItemCache {
        ItemCache { folder, version, least: LONG_RECORDING }
    }

    /// The same for recordings of so many events and more.
    #[must_use]
    pub fn from_events(self, least: u64) -> ItemCache {
        ItemCache { least, ..self }
    }

    /// Whether the columns of a recording with so many events are kept.
    pub(crate) fn is_for(&self, events: u64) -> bool {
        events >= self.least
    }

    /// The columns that are kept here, with what `take` makes of the rest that was kept with them.
    pub fn open<R>(&self, take: impl FnOnce(&[u8]) -> Option<(R, IdCounts)>) -> Option<(R, ItemColumns)> {
        let path = self.path(ITEM_COLUMNS)?;
        let metadata = fs::symlink_metadata(&path).ok()?;
        let read = || {
            // Opening a pipe would wait for its writer.
            let file = metadata.is_file().then(|| File::open(&path))?.ok()?;
            let (rest, places) = self.read(&file, metadata.len())?;
            let (taken, ids) = take(&rest)?;
            let blocks = GrowingBlocks::of_file((file, path.clone()), places);
            Some((taken, ItemColumns { ids, blocks }))
        };
        let found = read();
        if found.is_none() {
            fs::remove_file(&path).ok();
        }
        found
    }

    /// Removes what is kept here.
    pub fn clear(&self) {
        if let Some(path) = self.path(ITEM_COLUMNS) {
            fs::remove_file(path).ok();
        }
    }

    /// A file in the folder. A link in the folder's place could lead anywhere.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let is_folder = fs::symlink_metadata(&self.folder).is_ok_and(|metadata| metadata.is_dir());
        is_folder.then(|| self.folder.join(name))
    }

    /// The rest and the blocks of a file, all of which are as they were written.
    fn read(&self, file: &File, length: u64) -> Option<(Vec<u8>, Vec<BlockPlace>)> {
        let head = self.head();
        let mut found = vec![0; head.len()];
        file.read_exact_at(&mut found, 0).ok()?;
        if found != head {
            return None;
        }
        let mut end = [0; END as usize];
        let end_at = length.checked_sub(END)?;
        file.read_exact_at(&mut end, end_at).ok()?;
        let (begin, checksum) = end.split_at(8);
        let begin = u64::from_le_bytes(begin.try_into().ok()?);
        let tail_length = end_at.checked_sub(begin).filter(|&length| length <= MOST_TAIL)?;
        let mut tail = vec![0; tail_length as usize];
        file.read_exact_at(&mut tail, begin).ok()?;
        if checksum != crc32fast::hash(&tail).to_le_bytes() {
            return None;
        }
        let (rest, places) = places_of(&tail, head.len() as u64, begin)?;
        Some((rest.to_vec(), places))
    }

    fn head(&self) -> Vec<u8> {
        let version = &self.version.as_bytes()[..self.version.len().min(MOST_VERSION)];
        [MAGIC, &(version.len() as u32).to_le_bytes(), version].concat()
    }
}

/// The rest and the blocks that a tail tells; the blocks fill the file from `first` to `end`.
fn places_of(tail: &[u8], first: u64, end: u64) -> Option<(&[u8], Vec<BlockPlace>)> {
    let (length, tail) = tail.split_first_chunk()?;
    let (rest, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (count, tail) = tail.split_first_chunk()?;
    let (places, left) = tail.as_chunks::<PLACE>();
    if places.len() != u32::from_le_bytes(*count) as usize || !left.is_empty() {
        return None;
    }
    let mut offset = first;
    let mut place = |place: &[u8; PLACE]| {
        let kind = match place[0] {
            0 => BlockKind::Items,
            1 => BlockKind::Placements,
            _ => return None,
        };
        let length = u32::from_le_bytes(place[1..5].try_into().ok()?);
        let checksum = u32::from_le_bytes(place[5..].try_into().ok()?);
        let place = BlockPlace { kind, offset, length, checksum };
        offset += u64::from(length);
        (1..=MOST_BYTES).contains(&(length as usize)).then_some(place)
    };
    let places = places.iter().map(&mut place).collect::<Option<Vec<_>>>()?;
    (offset == end).then_some((rest, places))
}

/// Whether each block has its checksum.
pub(super) fn are_whole(file: &File, places: impl Iterator<Item = BlockPlace>) -> bool {
    let mut places = places.peekable();
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let mut block = Vec::new();
    let mut is_whole = |place: BlockPlace| {
        block.resize(place.length as usize, 0);
        reader.read_exact(&mut block).is_ok() && crc32fast::hash(&block) == place.checksum
    };
    let first = places.peek().map_or(0, |place| place.offset);
    let mut from = file;
    from.seek(SeekFrom::Start(first)).is_ok() && places.all(&mut is_whole)
}

/// A file of columns that is being written.
#[derive(Debug)]
pub(super) struct ColumnsFile {
    out: File,
    offset: u64,
    places: Vec<BlockPlace>,
    temporary: PathBuf,
    path: PathBuf,
    has_its_name: bool,
}

impl ColumnsFile {
    /// A new file, and where its blocks are read; `None` where it cannot be made, or another process makes it now.
    pub(super) fn create(cache: &ItemCache) -> Option<(ColumnsFile, (File, PathBuf))> {
        fs::create_dir(&cache.folder).ok();
        let (path, temporary) = (cache.path(ITEM_COLUMNS)?, cache.path(NEW_ITEM_COLUMNS)?);
        let file = create_new(&temporary).ok()?;
        let mut made =
            ColumnsFile { out: file, offset: 0, places: Vec::new(), temporary, path, has_its_name: false };
        let head = cache.head();
        made.out.write_all(&head).ok()?;
        made.offset = head.len() as u64;
        let to_read = (made.out.try_clone().ok()?, made.path.clone());
        Some((made, to_read))
    }

    /// Appends a block; `None` where it does not fit.
    pub(super) fn put(&mut self, kind: BlockKind, block: &[u8]) -> Option<BlockPlace> {
        let (offset, length) = (self.offset, block.len() as u32);
        let place = BlockPlace { kind, offset, length, checksum: crc32fast::hash(block) };
        self.offset += u64::from(length);
        if self.offset > MOST_FILE || self.out.write_all(block).is_err() {
            return None;
        }
        self.places.push(place);
        Some(place)
    }

    /// Gives the file its name, now that all blocks are there. Without one it is read as long as it is open.
    pub(super) fn finish(mut self, rest: &[u8]) {
        let mut tail = (rest.len() as u32).to_le_bytes().to_vec();
        tail.extend_from_slice(rest);
        tail.extend_from_slice(&(self.places.len() as u32).to_le_bytes());
        for &BlockPlace { kind, length, checksum, .. } in &self.places {
            tail.push(kind as u8);
            tail.extend_from_slice(&length.to_le_bytes());
            tail.extend_from_slice(&checksum.to_le_bytes());
        }
        let is_kept = tail.len() as u64 <= MOST_TAIL;
        let checksum = crc32fast::hash(&tail);
        tail.extend_from_slice(&self.offset.to_le_bytes());
        tail.extend_from_slice(&checksum.to_le_bytes());
        self.has_its_name =
            is_kept && self.out.write_all(&tail).is_ok() && fs::rename(&self.temporary, &self.path).is_ok();
    }
}

impl Drop for ColumnsFile {
    fn drop(&mut self) {
        if !self.has_its_name {
            fs::remove_file(&self.temporary).ok();
        }
    }
}

/// A file of this name that was not there; one that was left behind makes room.
fn create_new(path: &Path) -> io::Result<File> {
    let is_abandoned = |metadata: fs::Metadata| {
        metadata.modified().is_ok_and(|changed| changed.elapsed().is_ok_and(|since| since > ABANDONED))
    };
    if fs::symlink_metadata(path).is_ok_and(is_abandoned) {
        fs::remove_file(path)?;
    }
    File::options().read(true).write(true).create_new(true).open(path)
}
