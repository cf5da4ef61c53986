//! The folder of a recording: finding, creating, and its manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longpole_event::MachineId;

use crate::error::{Error, Result};
use crate::log::{LogReader, LogWriter};
use crate::manifest::{FORMAT_VERSION, Manifest};

const MANIFEST: &str = "recording.json";
const CACHE: &str = "cache";

/// The logs of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogName {
    /// Definitions and events.
    Events,
    /// Meanings of addresses.
    Symbols,
    /// Series of numbers from outside and from the program.
    Series,
}

impl LogName {
    fn file(self) -> &'static str {
        match self {
            LogName::Events => "events.log",
            LogName::Symbols => "symbols.log",
            LogName::Series => "series.log",
        }
    }
}

/// A recording on disk.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the folder of a new recording and its manifest. A finished or broken recording of that
    /// name is replaced; anything else there is an error.
    ///
    /// # Errors
    /// [`Error::Occupied`], [`Error::Io`].
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Folder> {
        if path.exists() {
            if !path.join(MANIFEST).is_file() {
                let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
                if !is_empty {
                    return Err(Error::Occupied { path: path.to_owned() });
                }
            }
            fs::remove_dir_all(path).map_err(Error::io("replace", path))?;
        }
        fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let folder = Folder { path: path.to_owned() };
        folder.write_manifest(manifest)?;
        Ok(folder)
    }

    /// Opens the folder of a recording and reads its manifest.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::Io`].
    pub fn open(path: &Path) -> Result<(Folder, Manifest)> {
        if !path.exists() {
            return Err(Error::Missing { path: path.to_owned() });
        }
        let not = |reason: String| Error::NotARecording { path: path.to_owned(), reason };
        if !path.is_dir() {
            return Err(
                not("a recording is a folder (a perf.data file is read by `longpole import`)".into()),
            );
        }
        let file = path.join(MANIFEST);
        if !file.is_file() {
            return Err(not(format!("it holds no {MANIFEST}")));
        }
        let text = fs::read(&file).map_err(Error::io("read", &file))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        let version = value.get("format_version").and_then(serde_json::Value::as_u64);
        let version = version.ok_or_else(|| not(format!("{MANIFEST} has no format_version")))?;
        if version > u64::from(FORMAT_VERSION) {
            return Err(Error::NewerVersion {
                path: path.to_owned(),
                found: u32::try_from(version).unwrap_or(u32::MAX),
                supported: FORMAT_VERSION,
            });
        }
        let manifest = serde_json::from_value(value).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        Ok((Folder { path: path.to_owned() }, manifest))
    }

    /// The newest recording directly below `folder`, by the time its manifest was written.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none.
    pub fn newest_below(folder: &Path) -> Result<PathBuf> {
        let missing = || Error::Missing { path: folder.join("*.longpole") };
        let entries = fs::read_dir(folder).map_err(Error::io("list", folder))?;
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "longpole"))
            .filter_map(|path| Some((fs::metadata(path.join(MANIFEST)).ok()?.modified().ok()?, path)))
            .max()
            .map(|(_, path)| path)
            .ok_or_else(missing)
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the manifest; a reader sees the old one or the new one, never a part.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let file = self.path.join(MANIFEST);
        let temporary = self.path.join("recording.json.new");
        let mut text = serde_json::to_vec_pretty(manifest).expect("a manifest has only JSON types");
        text.push(b'\n');
        fs::write(&temporary, text).map_err(Error::io("write", &temporary))?;
        fs::rename(&temporary, &file).map_err(Error::io("write", &file))
    }

    /// Starts a log of a machine.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create_log(&self, machine: MachineId, log: LogName) -> Result<LogWriter> {
        let folder = self.machine(machine);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        LogWriter::create(&folder.join(log.file()))
    }

    /// Opens a log of a machine; `None` when it was never written.
    ///
    /// # Errors
    /// [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::Io`].
    pub fn open_log(&self, machine: MachineId, log: LogName) -> Result<Option<LogReader>> {
        let path = self.machine(machine).join(log.file());
        if !path.exists() {
            return Ok(None);
        }
        LogReader::open(&path).map(Some)
    }

    /// Size of what was recorded, bytes: not of what is only kept beside it.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        fn below(path: &Path) -> u64 {
            let Ok(entries) = fs::read_dir(path) else { return 0 };
            entries
                .flatten()
                .map(|entry| match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() && entry.file_name() == CACHE => 0,
                    Ok(metadata) if metadata.is_dir() => below(&entry.path()),
                    Ok(metadata) => metadata.len(),
                    Err(_) => 0,
                })
                .sum()
        }
        below(&self.path)
    }

    /// Size and last change of every file that answers are made from, by name; absent where the file is. What was
    /// found out about a recording is true as long as they are the same.
    #[must_use]
    pub fn versions(&self, machines: usize) -> Vec<Option<(u64, SystemTime)>> {
        let logs = (0..machines).flat_map(|index| {
            let folder = self.machine(MachineId::from_index(index));
            [LogName::Events, LogName::Symbols, LogName::Series].map(|log| folder.join(log.file()))
        });
        let version = |path: PathBuf| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        };
        std::iter::once(self.path.join(MANIFEST)).chain(logs).map(version).collect()
    }

    /// The folder for what was computed from the recording and can be computed again.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.path.join(CACHE)
    }

    fn machine(&self, machine: MachineId) -> PathBuf {
        self.path.join(format!("machine-{}", machine.0))
    }
}
