//! Source files kept in a recording: copies of those that it names, so that it can be shown where they are not.
//!
//! ```text
//! NAME.longpole/sources/
//!   0, 1, 2, …        the copies
//!   manifest.json     which file each is a copy of, and how many are missing; written last
//! ```
//! `source_files` decides which files are. A reader gives out what the manifest names, under the name that
//! the program's debug information has for it, and never anything outside the folder.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::contents::is_number;
use crate::error::Error;
use crate::folder::RecordingFolder;
use crate::regular::{open_regular, read_regular};
use crate::source_files::SourceRefusal;

pub(crate) const SOURCES: &str = "sources";
const MANIFEST: &str = "manifest.json";
/// Bytes of one file that is kept, at most.
pub const LARGEST_SOURCE: u64 = 2 << 20;
/// Bytes of all files that are kept, at most.
pub const LARGEST_SOURCES: u64 = 64 << 20;
/// Bytes of the list of them, at most.
const LARGEST_LIST: u64 = 64 << 20;

/// Which source files a recording has copies of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCopies {
    /// The copies.
    pub files: Vec<SourceFile>,
    /// Files that are named but were not there, or could not be read.
    pub missing: u64,
    /// Files that were there and were not kept.
    pub left_out: u64,
    /// Those, each with its reason.
    #[serde(default)]
    pub refused: Vec<RefusedSource>,
}

/// A file that was not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedSource {
    /// The file's name, as the debug information has it.
    pub path: String,
    /// Why not.
    pub reason: String,
}

/// A copy of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The file's name, as the debug information has it.
    pub path: String,
    /// Name of the copy in the folder of sources.
    pub stored: String,
    /// Its size.
    pub bytes: u64,
}

impl RecordingFolder {
    /// Keeps copies of files: each name with its text, or why it has none.
    ///
    /// # Errors
    /// [`Error::Io`] where a copy cannot be written; the recording is as good as before.
    pub fn keep_sources(
        &self,
        files: Vec<(String, Result<Vec<u8>, SourceRefusal>)>,
    ) -> crate::Result<SourceCopies> {
        let folder = self.path().join(SOURCES);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let mut sources = SourceCopies::default();
        for (path, text) in files {
            match text {
                Err(SourceRefusal::Missing) => sources.missing += 1,
                Err(refusal) => {
                    sources.left_out += 1;
                    sources.refused.push(RefusedSource { path, reason: refusal.to_string() });
                }
                Ok(text) => {
                    let stored = sources.files.len().to_string();
                    let copy = folder.join(&stored);
                    let bytes = text.len() as u64;
                    fs::write(&copy, text).map_err(Error::io("write", &copy))?;
                    sources.files.push(SourceFile { path, stored, bytes });
                }
            }
        }
        let file = folder.join(MANIFEST);
        let mut text = serde_json::to_vec_pretty(&sources).expect("a manifest has only JSON types");
        text.push(b'\n');
        fs::write(&file, text).map_err(Error::io("write", &file))?;
        Ok(sources)
    }

    /// Which source files the recording has; `None` where none were to be kept.
    ///
    /// # Errors
    /// [`Error::NotARecording`] for a damaged list, [`Error::Io`].
    pub fn sources(&self) -> crate::Result<Option<SourceCopies>> {
        let file = self.path().join(SOURCES).join(MANIFEST);
        let text = match read_regular(&file, LARGEST_LIST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(Error::io("read", &file))?,
        };
        let not = |error: serde_json::Error| Error::NotARecording { path: file, reason: error.to_string() };
        serde_json::from_str(&text).map(Some).map_err(not)
    }

    /// The copy of the source file with this name; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::NotARecording`] for a damaged list, [`Error::Io`].
    pub fn source(&self, path: &str) -> crate::Result<Option<Vec<u8>>> {
        let Some(sources) = self.sources()? else { return Ok(None) };
        let copy = sources.files.iter().find(|file| file.path == path).and_then(|file| self.copy(file));
        let Some(copy) = copy else { return Ok(None) };
        Ok(copy_text(&copy).ok())
    }

    /// Where the copy is. Its name is a number: whatever else a damaged or hostile list says is in no folder of ours.
    fn copy(&self, file: &SourceFile) -> Option<PathBuf> {
        let folder = self.path().join(SOURCES);
        let copy = folder.join(&file.stored);
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        (is_number(&file.stored) && !is_link(&folder) && !is_link(&copy)).then_some(copy)
    }
}

/// Whether the folder of sources has a file of this name.
pub(crate) fn is_kept(name: &str) -> bool {
    name == MANIFEST || is_number(name)
}

/// The text of a copy, which is a regular file of limited size.
fn copy_text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_regular(path)?.take(LARGEST_SOURCE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST_SOURCE { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::manifest::{FORMAT_VERSION, Manifest};

    /// A recording, in a folder of its own.
    fn recording() -> (TempDir, RecordingFolder) {
        let place = tempfile::tempdir().unwrap();
        let manifest = Manifest { format_version: FORMAT_VERSION, ..Manifest::default() };
        let folder = RecordingFolder::create(&place.path().join("x.longpole"), &manifest).unwrap();
        (place, folder)
    }

    fn kept(name: &str) -> (String, Result<Vec<u8>, SourceRefusal>) {
        (name.to_owned(), Ok(b"int main;\n".to_vec()))
    }

    #[test]
    fn a_file_is_given_out_under_the_name_that_the_program_has_for_it() {
        let (_place, folder) = recording();
        assert_eq!(folder.sources().unwrap(), None);
        assert_eq!(folder.source("src/a.c").unwrap(), None);
        let refused = [("src/none.c", SourceRefusal::Missing), ("/etc/shadow", SourceRefusal::Name)];
        let refused = refused.map(|(name, refusal)| (name.to_owned(), Err(refusal)));
        let sources = folder
            .keep_sources([kept("src/a.c"), kept("/src/a.c")].into_iter().chain(refused).collect())
            .unwrap();
        assert_eq!((sources.files.len(), sources.missing, sources.left_out), (2, 1, 1));
        let reason = "not the name of a source file".to_owned();
        assert_eq!(sources.refused, [RefusedSource { path: "/etc/shadow".into(), reason }]);
        assert_eq!(folder.sources().unwrap(), Some(sources));
        for name in ["src/a.c", "/src/a.c"] {
            assert_eq!(folder.source(name).unwrap().as_deref(), Some(&b"int main;\n"[..]), "{name}");
        }
        for name in ["a.c", "src/none.c", "src/../src/a.c", "0", ""] {
            assert_eq!(folder.source(name).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn a_hostile_list_reaches_nothing_outside() {
        let (place, folder) = recording();
        folder.keep_sources(vec![kept("src/a.c")]).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        let list = folder.path().join("sources/manifest.json");
        let told = fs::read_to_string(&list).unwrap();
        for stored in ["../../secret", "/etc/passwd", "", ".", "..", "manifest.json", "0/../../../secret"] {
            fs::write(&list, told.replace("\"stored\": \"0\"", &format!("\"stored\": \"{stored}\"")))
                .unwrap();
            assert_eq!(folder.source("src/a.c").unwrap(), None, "{stored}");
        }
        fs::write(&list, &told).unwrap();
        fs::remove_file(folder.path().join("sources/0")).unwrap();
        assert_eq!(folder.source("src/a.c").unwrap(), None, "a copy that is gone");
        std::os::unix::fs::symlink(place.path().join("secret"), folder.path().join("sources/0")).unwrap();
        assert_eq!(folder.source("src/a.c").unwrap(), None, "a link");
        fs::write(&list, "{").unwrap();
        assert!(matches!(folder.source("src/a.c"), Err(Error::NotARecording { .. })));
    }
}
