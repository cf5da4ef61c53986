//! The files of a trace: a folder's, or any other store.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

/// Files that are kept open; a trace of more locations opens theirs for each piece that it reads.
const MOST_OPEN: usize = 256;

/// A file of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TraceFile {
    /// What the trace is opened by.
    Anchor,
    /// The definitions.
    Definitions,
    /// What a location has of its own, by its number.
    LocalDefinitions(u64),
    /// The events of a location.
    Events(u64),
}

impl fmt::Display for TraceFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceFile::Anchor => write!(out, "the anchor file"),
            TraceFile::Definitions => write!(out, "the file of definitions"),
            TraceFile::LocalDefinitions(location) => write!(out, "{location}.def"),
            TraceFile::Events(location) => write!(out, "{location}.evt"),
        }
    }
}

/// Where the files of a trace are read from.
pub trait TraceFiles {
    /// The length of a file; `None` where there is none.
    ///
    /// # Errors
    /// Those of opening it.
    fn length(&mut self, file: TraceFile) -> io::Result<Option<u64>>;

    /// Reads from a place of a file, as much as fits or is there.
    ///
    /// # Errors
    /// Those of opening and reading it.
    fn read_at(&mut self, file: TraceFile, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}

/// How a file is opened: the reader of traces leaves to others what files are fit to be read.
pub type OpenFile = fn(&Path) -> io::Result<File>;

/// The files of a trace beside its anchor file.
#[derive(Debug)]
pub struct TraceFolder {
    anchor: PathBuf,
    open: OpenFile,
    files: FxHashMap<TraceFile, File>,
}

impl TraceFolder {
    /// Of the trace with this anchor file. `open` opens files for reading.
    #[must_use]
    pub fn new(anchor: &Path, open: OpenFile) -> TraceFolder {
        TraceFolder { anchor: anchor.to_owned(), open, files: FxHashMap::default() }
    }

    fn path(&self, file: TraceFile) -> PathBuf {
        let beside = self.anchor.with_extension("");
        match file {
            TraceFile::Anchor => self.anchor.clone(),
            TraceFile::Definitions => self.anchor.with_extension("def"),
            TraceFile::LocalDefinitions(location) => beside.join(format!("{location}.def")),
            TraceFile::Events(location) => beside.join(format!("{location}.evt")),
        }
    }

    fn with<T>(&mut self, file: TraceFile, use_file: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        if let Some(opened) = self.files.get(&file) {
            return use_file(opened);
        }
        let opened = (self.open)(&self.path(file))?;
        let result = use_file(&opened);
        if self.files.len() < MOST_OPEN {
            self.files.insert(file, opened);
        }
        result
    }
}

impl TraceFiles for TraceFolder {
    fn length(&mut self, file: TraceFile) -> io::Result<Option<u64>> {
        match self.with(file, |file| Ok(file.metadata()?.len())) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_at(&mut self, file: TraceFile, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(file, |file| {
            let mut filled = 0;
            while filled < into.len() {
                match file.read_at(&mut into[filled..], offset + filled as u64) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(filled)
        })
    }
}
