//! Which words of memory a running thread waits for, where it is found in a loop that only waits, and which it accesses elsewhere.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::Mapping;
use crate::functions::Functions;
use crate::image::Image;
use crate::spin::{AccessedWord, PolledWord, Spins};

/// Larger files are not read while a program runs.
const LARGEST_FILE: u64 = 64 << 20;

/// A file with the loops of it that were looked at.
struct PollingFile {
    image: Image,
    functions: Functions,
    spins: Spins,
}

impl PollingFile {
    fn open(path: &Path, file: &Metadata) -> Option<PollingFile> {
        let image = (file.len() <= LARGEST_FILE).then(|| Image::open(path).ok())??;
        Some(PollingFile { functions: Functions::of(&image), spins: Spins::of(&image), image })
    }
}

/// The words of memory that the code around a place is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceWords {
    /// Where a thread that is found there waits: those that it looks at.
    pub polled: Vec<PolledWord>,
    /// Where it works: those that it accesses.
    pub accessed: Vec<AccessedWord>,
    /// What has to be added to an address of the file.
    pub bias: u64,
}

/// Finds them, file by file.
#[derive(Default)]
pub struct PollingCode {
    /// By device and inode.
    files: FxHashMap<(u64, u64), Option<PollingFile>>,
}

impl PollingCode {
    /// Of a thread of the process at this address, in this mapping; none where nothing is known.
    pub fn words(&mut self, pid: u32, mapping: &Mapping, address: u64) -> PlaceWords {
        let Some((file, inside)) = self.file(pid, mapping, address) else { return PlaceWords::default() };
        let (polled, accessed) = file.spins.words(&file.image, &file.functions, inside);
        PlaceWords { polled, accessed, bias: address.wrapping_sub(inside) }
    }

    /// The mapping's file, and the address there.
    fn file(&mut self, pid: u32, mapping: &Mapping, address: u64) -> Option<(&mut PollingFile, u64)> {
        // As the process sees it, which may be in a container.
        let path = Path::new("/proc").join(pid.to_string()).join("root");
        let path = path.join(mapping.path.strip_prefix("/").ok()?);
        let file = path.metadata().ok()?;
        let key = (file.dev(), file.ino());
        let file = self.files.entry(key).or_insert_with(|| PollingFile::open(&path, &file)).as_mut()?;
        let offset = address.checked_sub(mapping.start)?.checked_add(mapping.file_offset)?;
        let inside = file.image.address_of(offset)?;
        Some((file, inside))
    }
}

impl std::fmt::Debug for PollingCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PollingCode").field("files", &self.files.len()).finish()
    }
}
