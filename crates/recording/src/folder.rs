//! The folder of a recording: finding, opening, and its manifest and logs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use longpole_event::MachineId;
use serde::Deserialize;

use crate::builder::LogBuilder;
use crate::contents::{Contents, is_number};
use crate::destination::Destination;
use crate::error::{Error, Result};
use crate::id::RecordingId;
use crate::lock::FolderLock;
use crate::log::{LogReader, LogWriter};
use crate::log_header::LogHeader;
use crate::manifest::{FORMAT_VERSION, Manifest};
use crate::regular::read_regular;
use crate::window::{SegmentPlace, WindowLimits, WindowLog, WindowWriter};

pub(crate) const MANIFEST: &str = "recording.json";
pub(crate) const NEW_MANIFEST: &str = "recording.json.new";
pub(crate) const LOCK: &str = "recording.lock";
pub(crate) const CACHE: &str = "cache";
/// The file in [`RecordingFolder::cache`] with the recording's items as columns.
pub const ITEM_COLUMNS: &str = "items.columns";
/// The same while it is written.
pub const NEW_ITEM_COLUMNS: &str = "items.columns.new";
/// What the name of a machine's folder begins with; its number follows.
pub(crate) const MACHINE: &str = "machine-";

/// Bytes of a manifest that are read.
const LARGEST_MANIFEST: u64 = 16 << 20;
/// Bytes that are reserved for the last manifest.
const RESERVED: u64 = 64 << 10;
/// Machines of a recording, and those of them whose folder may be missing.
const MOST_MACHINES: usize = 4096;
const MOST_MISSING: usize = 16;

/// What a manifest says of itself, whatever else is in it.
#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    format_version: Option<u64>,
}

/// The logs of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogName {
    /// Definitions and events.
    Events,
    /// Meanings of addresses.
    Symbols,
    /// Series of numbers from outside and from the program.
    Series,
    /// Accesses to memory of an instrumented program: blocks, no records.
    Accesses,
}

impl LogName {
    const ALL: [LogName; 4] = [LogName::Events, LogName::Symbols, LogName::Series, LogName::Accesses];

    fn stem(self) -> &'static str {
        match self {
            LogName::Events => "events",
            LogName::Symbols => "symbols",
            LogName::Series => "series",
            LogName::Accesses => "accesses",
        }
    }

    fn file(self) -> String {
        format!("{}.log", self.stem())
    }

    /// The file of a segment of the log: `events-7.log`.
    pub(crate) fn segment(self, number: u32) -> String {
        format!("{}-{number}.log", self.stem())
    }

    /// The number of the segment that has this name.
    fn segment_number(self, name: &str) -> Option<u32> {
        let number = name.strip_prefix(self.stem())?.strip_prefix('-')?.strip_suffix(".log")?;
        is_number(number).then(|| number.parse().ok()).flatten()
    }

    /// Whether the file of a log, or of a segment of one, has this name.
    pub(crate) fn is_file(name: &str) -> bool {
        LogName::ALL.iter().any(|log| log.file() == name || log.segment_number(name).is_some())
    }
}

/// A recording on disk.
#[derive(Clone, Debug)]
pub struct RecordingFolder {
    path: PathBuf,
    /// What its logs have to carry; recordings before format version 4 have none.
    id: Option<RecordingId>,
    /// While it is written.
    _lock: Option<Arc<FolderLock>>,
}

impl RecordingFolder {
    /// Creates the folder of a new recording, which must not exist or be empty, and its manifest.
    ///
    /// # Errors
    /// As of [`Destination::create`].
    pub fn create(path: &Path, manifest: &Manifest) -> Result<RecordingFolder> {
        Destination::New(path.to_owned()).create(manifest)
    }

    /// A new recording in a folder that holds none.
    pub(crate) fn begin(
        (path, lock): (PathBuf, FolderLock),
        id: Option<RecordingId>,
        manifest: &Manifest,
    ) -> Result<RecordingFolder> {
        let id = match id {
            Some(id) => id,
            None => RecordingId::random().map_err(Error::io("draw an id for", &path))?,
        };
        let folder = RecordingFolder { path, id: Some(id), _lock: Some(Arc::new(lock)) };
        folder.write_manifest(manifest)?;
        Ok(folder)
    }

    /// Removes the recording, and its folder where nothing else is in it.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Occupied`].
    pub fn discard(self) -> Result<()> {
        Contents::of(&self.path)?.remove()?;
        let lock = self.path.join(LOCK);
        fs::remove_file(&lock).map_err(Error::io("remove", &lock))?;
        // There is one only where room was reserved.
        let _ = fs::remove_file(self.path.join(NEW_MANIFEST));
        // Another file may be there; it stays, and its folder with it.
        let _ = fs::remove_dir(&self.path);
        Ok(())
    }

    /// Opens the folder of a recording and reads its manifest.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::Io`].
    pub fn open(path: &Path) -> Result<(RecordingFolder, Manifest)> {
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
        let text = read_regular(&file, LARGEST_MANIFEST).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not(format!("it holds no {MANIFEST}")),
            _ => Error::unreadable(&file)(error),
        })?;
        // Nothing else is kept of it: a tree of all values takes many times the text's memory.
        let Versioned { format_version } =
            serde_json::from_str(&text).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        let version = format_version.ok_or_else(|| not(format!("{MANIFEST} has no format_version")))?;
        if version > u64::from(FORMAT_VERSION) {
            return Err(Error::NewerVersion {
                path: path.to_owned(),
                found: u32::try_from(version).unwrap_or(u32::MAX),
                supported: FORMAT_VERSION,
            });
        }
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| not(format!("{MANIFEST}: {error}")))?;
        let folder = RecordingFolder { path: path.to_owned(), id: manifest.id, _lock: None };
        folder.allow_machines(manifest.machines.len()).map_err(not)?;
        Ok((folder, manifest))
    }

    /// Refuses more machines than there are folders of. A few may have none: their recorders were killed.
    fn allow_machines(&self, machines: usize) -> std::result::Result<(), String> {
        let is_missing = |index: &usize| !self.machine(MachineId::from_index(*index)).is_dir();
        if machines > MOST_MACHINES {
            return Err(format!("{MANIFEST} names {machines} machines, and {MOST_MACHINES} can be read"));
        }
        match (0..machines).filter(is_missing).nth(MOST_MISSING) {
            Some(index) => Err(format!(
                "{MANIFEST} names {machines} machines, of many there is no folder, as of {index}"
            )),
            None => Ok(()),
        }
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

    /// Replaces the manifest, under the recording's own id; a reader sees the old one or the new one, never a part.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let file = self.path.join(MANIFEST);
        let temporary = self.path.join(NEW_MANIFEST);
        let manifest = Manifest { id: self.id, ..manifest.clone() };
        let mut text = serde_json::to_vec_pretty(&manifest).expect("a manifest has only JSON types");
        text.push(b'\n');
        // Its blocks may be reserved: they are written over, never given back before.
        let written = open_over(&temporary).and_then(|mut new| {
            new.write_all(&text)?;
            new.set_len(text.len() as u64)
        });
        written.map_err(Error::io("write", &temporary))?;
        fs::rename(&temporary, &file).map_err(Error::io("write", &file))
    }

    /// Reserves room for the manifest that is written when the run has ended, so that it says how that went even where
    /// the disk is full by then. A file system that cannot do so is no error.
    ///
    /// # Errors
    /// [`Error::Io`] where there is no room now.
    pub fn reserve_manifest(&self) -> Result<()> {
        let path = self.path.join(NEW_MANIFEST);
        let file = open_over(&path).map_err(Error::io("create", &path))?;
        let reserved = libc::off_t::try_from(RESERVED).expect("a small number");
        // SAFETY: a system call on a descriptor that is open; no memory is passed.
        let status = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, reserved) };
        let error = io::Error::last_os_error();
        if status != 0 && error.kind() == io::ErrorKind::StorageFull {
            return Err(Error::io("reserve room for the manifest in", &self.path)(error));
        }
        Ok(())
    }

    /// Removes a log that could not be written whole, where it is better to have none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn remove_log(&self, machine: MachineId, log: LogName) -> Result<()> {
        let path = self.machine(machine).join(log.file());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Starts a log of a machine.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create_log(&self, machine: MachineId, log: LogName) -> Result<LogWriter> {
        let folder = self.machine(machine);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        LogWriter::create_in(&folder.join(log.file()), self.id)
    }

    /// Starts a log of a machine of which only the last part is kept.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create_window(
        &self,
        machine: MachineId,
        log: LogName,
        limits: WindowLimits,
    ) -> Result<LogBuilder> {
        let folder = self.machine(machine);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let place = SegmentPlace { folder, log, id: self.id };
        Ok(LogBuilder::of_window(WindowWriter::create(place, limits)?))
    }

    /// Opens a log of a machine of which only the last part was kept; `None` when there is none, or it was killed before
    /// it could be read.
    ///
    /// # Errors
    /// [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::OtherRecording`], [`Error::Io`].
    pub fn open_window(&self, machine: MachineId, log: LogName) -> Result<Option<WindowLog>> {
        WindowLog::open(self.segments(machine, log), self.id)
    }

    /// Drops the oldest segment of a log that is written no more; false where there is only one, or none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn drop_oldest_segment(&self, machine: MachineId, log: LogName) -> Result<bool> {
        let segments = self.segments(machine, log);
        if segments.len() < 2 {
            return Ok(false);
        }
        fs::remove_file(&segments[0].1).map_err(Error::io("remove", &segments[0].1))?;
        Ok(true)
    }

    /// Makes a recording of the segments as they are now, in another folder. Files that change no more are shared with
    /// this one where the file system can. It has this recording's id, which the segments carry.
    ///
    /// # Errors
    /// As of [`Destination::create`].
    pub fn snapshot(&self, destination: &Destination, manifest: &Manifest) -> Result<RecordingFolder> {
        let copy = destination.create_with(self.id, manifest)?;
        copy.keep_metric_files(&self.metric_files()?)?;
        for index in 0..manifest.machines.len() {
            let machine = MachineId::from_index(index);
            let folder = copy.machine(machine);
            fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
            for log in [LogName::Events, LogName::Series] {
                let segments = self.segments(machine, log);
                for (at, (number, path)) in segments.iter().enumerate() {
                    let is_written = at + 1 == segments.len();
                    let copied = share(path, &folder.join(log.segment(*number)), is_written);
                    match copied {
                        // It was dropped meanwhile, with all before it.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        copied => copied.map_err(Error::io("copy", path))?,
                    }
                }
            }
        }
        Ok(copy)
    }

    /// Takes over the logs of a machine of another recording, which is not written any more, as those of `machine`.
    ///
    /// # Errors
    /// [`Error::NotARecording`] where only the last part of the run was kept there, or an older longpole wrote it;
    /// [`Error::Io`].
    pub fn adopt(&self, machine: MachineId, from: &RecordingFolder, of: MachineId) -> Result<()> {
        let (source, folder) = (from.machine(of), self.machine(machine));
        let refuse =
            |path: &Path, reason: &str| Error::NotARecording { path: path.to_owned(), reason: reason.into() };
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        for log in LogName::ALL {
            if !from.segments(of, log).is_empty() {
                return Err(refuse(
                    &source,
                    "only the last part of its run was kept, which cannot be joined",
                ));
            }
            let (old, new) = (source.join(log.file()), folder.join(log.file()));
            let mut reader = match File::open(&old) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(Error::io("open", &old))?,
            };
            let header = LogHeader::read(&mut reader, &old)?;
            if header.id.is_none() || header.is_damaged || header.id != from.id {
                return Err(refuse(&old, "it does not carry its recording's id"));
            }
            let mut writer = File::create(&new).map_err(Error::io("create", &new))?;
            writer
                .write_all(&LogHeader::encode(self.id))
                .and_then(|()| io::copy(&mut reader, &mut writer))
                .map_err(Error::io("write", &new))?;
        }
        Ok(())
    }

    /// The segments of a log, with their numbers.
    fn segments(&self, machine: MachineId, log: LogName) -> Vec<(u32, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.machine(machine)) else { return Vec::new() };
        let segment = |entry: fs::DirEntry| {
            let number = log.segment_number(entry.file_name().to_str()?)?;
            Some((number, entry.path()))
        };
        let mut segments: Vec<_> = entries.flatten().filter_map(segment).collect();
        segments.sort();
        segments
    }

    /// Opens a log of a machine; `None` when it was never written.
    ///
    /// # Errors
    /// [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::OtherRecording`], [`Error::Io`].
    pub fn open_log(&self, machine: MachineId, log: LogName) -> Result<Option<LogReader>> {
        let path = self.machine(machine).join(log.file());
        if !path.exists() {
            return Ok(None);
        }
        let reader = LogReader::open(&path)?;
        if reader.is_of(self.id) { Ok(Some(reader)) } else { Err(Error::OtherRecording { path }) }
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
            let machine = MachineId::from_index(index);
            let folder = self.machine(machine);
            LogName::ALL.into_iter().flat_map(move |log| {
                let segments = self.segments(machine, log).into_iter().map(|(_, path)| path);
                std::iter::once(folder.join(log.file())).chain(segments)
            })
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
        self.path.join(format!("{MACHINE}{}", machine.0))
    }
}

/// A file for writing, which keeps its blocks where it exists.
fn open_over(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).open(path)
}

/// Gives a file a second name where it changes no more and the file system can, else a copy.
fn share(file: &Path, name: &Path, is_written: bool) -> io::Result<()> {
    if !is_written && fs::hard_link(file, name).is_ok() {
        return Ok(());
    }
    fs::copy(file, name).map(drop)
}
