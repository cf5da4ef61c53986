//! An ELF file in memory: what unwinding and naming read from it.
//!
//! In: a path, or bytes. Out: where a file offset lies in the file's own address space, the bytes of its
//! code, its unwind sections. A damaged file is a value ([`ImageError`]) or an absent section; nothing
//! here panics on one.

use std::ops::{Deref, Range};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use longpole_recording::open_regular;
use memmap2::Mmap;
use object::elf::{PF_W, PF_X, PT_GNU_EH_FRAME, PT_LOAD};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

const PAGE: u64 = 4096;

/// Why a file cannot be used as an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file cannot be opened, inspected or mapped.
    #[error("failed to map the file: {0}")]
    Io(#[from] std::io::Error),
    /// It is not an ELF file for this machine, or it is damaged.
    #[error("failed to parse the ELF file: {0}")]
    Elf(#[from] object::Error),
    /// It has no segment that is loaded.
    #[error("failed to find a segment that is loaded")]
    NoSegment,
}

/// What tells one file on disk from another under the same path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileIdentity {
    /// The identity of what `path` names now.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        Ok(Self::from_metadata(&std::fs::metadata(path)?))
    }

    fn from_metadata(metadata: &std::fs::Metadata) -> Self {
        FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[derive(Debug)]
enum Storage {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

/// Bytes that live as long as anybody uses a part of them.
#[derive(Clone, Debug)]
pub struct Bytes {
    storage: Arc<Storage>,
    range: Range<usize>,
}

impl Default for Bytes {
    fn default() -> Self {
        Bytes::whole(Storage::Owned(Vec::new()))
    }
}

impl Bytes {
    fn whole(storage: Storage) -> Self {
        let length = match &storage {
            Storage::Mapped(map) => map.len(),
            Storage::Owned(bytes) => bytes.len(),
        };
        Bytes { storage: Arc::new(storage), range: 0..length }
    }

    fn part(&self, range: Range<u64>) -> Option<Bytes> {
        let start = usize::try_from(range.start).ok()?;
        let end = usize::try_from(range.end).ok()?;
        (start <= end && end <= self.len())
            .then(|| Bytes { storage: Arc::clone(&self.storage), range: start..end })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.storage {
            Storage::Mapped(map) => &map[self.range.clone()],
            Storage::Owned(bytes) => &bytes[self.range.clone()],
        }
    }
}

/// One loaded segment.
#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    file_size: u64,
    memory_size: u64,
    executable: bool,
    writable: bool,
}

/// A section that unwinding reads: where it lies, and its bytes.
#[derive(Clone, Debug)]
pub struct ImageSection {
    /// Its addresses in the file's own address space; empty for sections that are not loaded.
    pub addresses: Range<u64>,
    /// Its bytes, decompressed.
    pub bytes: Bytes,
}

/// An ELF file in memory.
#[derive(Debug)]
pub struct Image {
    bytes: Bytes,
    identity: FileIdentity,
    build_id: Vec<u8>,
    segments: Vec<Segment>,
}

impl Image {
    /// Maps and checks the file at `path`.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let file = open_regular(path)?;
        let identity = FileIdentity::from_metadata(&file.metadata()?);
        // SAFETY: the bytes are only read, and every reader checks what it reads. That somebody truncates
        // the file meanwhile cannot be excluded; linkers and package managers replace files instead.
        let map = unsafe { Mmap::map(&file)? };
        Self::parse(Bytes::whole(Storage::Mapped(map)), identity)
    }

    /// Takes an ELF file that is in memory already (the vdso).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ImageError> {
        Self::parse(Bytes::whole(Storage::Owned(bytes)), FileIdentity::default())
    }

    fn parse(bytes: Bytes, identity: FileIdentity) -> Result<Self, ImageError> {
        let elf = ElfFile64::<Endianness>::parse(&*bytes)?;
        let endian = elf.endian();
        let segments: Vec<Segment> = elf
            .elf_program_headers()
            .iter()
            .filter(|header| header.p_type(endian) == PT_LOAD)
            .map(|header| Segment {
                address: header.p_vaddr(endian),
                offset: header.p_offset(endian),
                file_size: header.p_filesz(endian),
                memory_size: header.p_memsz(endian),
                writable: header.p_flags(endian).0 & PF_W.0 != 0,
                executable: header.p_flags(endian).0 & PF_X.0 != 0,
            })
            .collect();
        if segments.is_empty() {
            return Err(ImageError::NoSegment);
        }
        let build_id = elf.build_id().ok().flatten().unwrap_or_default().to_vec();
        Ok(Image { build_id, segments, identity, bytes })
    }

    /// The file's GNU build id; empty where it has none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    /// Which file on disk this was.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// The whole file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The address, in the file's own address space, of the byte at `offset` as mapped executable.
    ///
    /// Mappings begin at page boundaries, so `offset` may lie before the segment's first byte.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            let first = segment.offset & !(PAGE - 1);
            let end = segment.offset.saturating_add(segment.file_size).saturating_add(PAGE - 1) & !(PAGE - 1);
            (first..end).contains(&offset)
        };
        let segment = (self.segments.iter().filter(|segment| segment.executable).find(holds))
            .or_else(|| self.segments.iter().find(holds))?;
        Some(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
    }

    /// Whether the address, in the file's own address space, is that of data that a process can write.
    pub fn is_writable(&self, address: u64) -> bool {
        let holds = |segment: &Segment| {
            segment.writable && address >= segment.address && address - segment.address < segment.memory_size
        };
        self.segments.iter().any(holds)
    }

    /// The file's addresses from its first to its last loaded byte.
    pub fn addresses(&self) -> Range<u64> {
        let start = self.segments.iter().map(|segment| segment.address & !(PAGE - 1)).min().unwrap_or(0);
        let end = self.segments.iter().map(|segment| segment.address.saturating_add(segment.file_size)).max();
        let end = end.unwrap_or(0).max(start);
        start..end.saturating_add(PAGE - 1) & !(PAGE - 1)
    }

    /// Up to `length` bytes of code at `address`; fewer at the end of the segment, none outside of code.
    pub fn code(&self, address: u64, length: usize) -> &[u8] {
        let find = || {
            let segment = self.segments.iter().find(|segment| {
                segment.executable
                    && address >= segment.address
                    && address - segment.address < segment.file_size
            })?;
            let skip = address - segment.address;
            let start = usize::try_from(segment.offset.checked_add(skip)?).ok()?;
            let rest = usize::try_from(segment.file_size - skip).unwrap_or(usize::MAX);
            let end = start.checked_add(length.min(rest))?.min(self.bytes.len());
            self.bytes.get(start..end)
        };
        find().unwrap_or_default()
    }

    /// The section called `name`, decompressed; `None` where it is absent or damaged.
    pub fn section(&self, name: &str) -> Option<ImageSection> {
        let elf = self.elf()?;
        let section = elf.section_by_name(name)?;
        let addresses = section.address()..section.address().checked_add(section.size())?;
        let file_range = section.compressed_file_range().ok()?;
        let bytes = if file_range.format == object::CompressionFormat::None {
            let end = file_range.offset.checked_add(file_range.uncompressed_size)?;
            self.bytes.part(file_range.offset..end)?
        } else {
            let data = section.uncompressed_data().ok()?.into_owned();
            Bytes::whole(Storage::Owned(data))
        };
        Some(ImageSection { addresses, bytes })
    }

    /// The unwind index that the program headers name, for files without section headers.
    pub fn unwind_index_segment(&self) -> Option<ImageSection> {
        let elf = self.elf()?;
        let endian = elf.endian();
        let header =
            elf.elf_program_headers().iter().find(|header| header.p_type(endian) == PT_GNU_EH_FRAME)?;
        let address = header.p_vaddr(endian);
        let size = header.p_filesz(endian);
        let offset = header.p_offset(endian);
        let bytes = self.bytes.part(offset..offset.checked_add(size)?)?;
        Some(ImageSection { addresses: address..address.checked_add(size)?, bytes })
    }

    /// The loaded bytes from `address` to the end of its segment.
    pub fn loaded_from(&self, address: u64) -> Option<ImageSection> {
        let segment = self
            .segments
            .iter()
            .find(|segment| address >= segment.address && address - segment.address < segment.file_size)?;
        let skip = address - segment.address;
        let end = segment.offset.checked_add(segment.file_size)?;
        let bytes = self.bytes.part(segment.offset.checked_add(skip)?..end)?;
        Some(ImageSection { addresses: address..address.checked_add(bytes.len() as u64)?, bytes })
    }

    /// The parsed file; `None` where it is damaged beyond its headers.
    pub fn elf(&self) -> Option<ElfFile64<'_, Endianness>> {
        ElfFile64::parse(&*self.bytes).ok()
    }
}
