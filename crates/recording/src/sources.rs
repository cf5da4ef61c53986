//! Source files kept in a recording: copies of those that it names, so that it can be shown where they are not.
//!
//! ```text
//! NAME.longpole/sources/
//!   0, 1, 2, …        the copies
//!   manifest.json     which file each is a copy of, and how many are missing; written last
//! ```
//! Only regular text files of limited size are kept. A reader gives out what the manifest names, under the name that
//! the program's debug information has for it, and never anything outside the folder.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::folder::Folder;

const SOURCES: &str = "sources";
const MANIFEST: &str = "manifest.json";
/// Bytes of one file, and of all together, at most.
const LARGEST: u64 = 2 << 20;
const LARGEST_SUM: u64 = 64 << 20;
/// A file with a zero byte among so many first ones is no text.
const LOOKED_AT: usize = 8 << 10;

/// Which source files a recording has copies of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// The copies.
    pub files: Vec<SourceFile>,
    /// Files that are named but were not there, or could not be read.
    pub missing: u64,
    /// Files that were too large, beyond the limit of all together, or no text.
    pub left_out: u64,
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

/// What became of a file.
enum Found {
    Text(Vec<u8>),
    Missing,
    LeftOut,
}

impl Folder {
    /// Copies files into the recording, the first of them first as long as there is room. Names without a root are of
    /// files in `working_directory`.
    ///
    /// # Errors
    /// [`Error::Io`] where a copy cannot be written; the recording is as good as before.
    pub fn keep_sources(&self, names: &[String], working_directory: &Path) -> Result<Sources> {
        let folder = self.path().join(SOURCES);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let mut sources = Sources::default();
        let mut room = LARGEST_SUM;
        for name in names {
            match text_of(&working_directory.join(name), room.min(LARGEST)) {
                Found::Missing => sources.missing += 1,
                Found::LeftOut => sources.left_out += 1,
                Found::Text(text) => {
                    let stored = sources.files.len().to_string();
                    let copy = folder.join(&stored);
                    let bytes = text.len() as u64;
                    fs::write(&copy, text).map_err(Error::io("write", &copy))?;
                    room -= bytes;
                    sources.files.push(SourceFile { path: name.clone(), stored, bytes });
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
    pub fn sources(&self) -> Result<Option<Sources>> {
        let file = self.path().join(SOURCES).join(MANIFEST);
        if !file.is_file() {
            return Ok(None);
        }
        let text = fs::read(&file).map_err(Error::io("read", &file))?;
        let not = |error: serde_json::Error| Error::NotARecording { path: file, reason: error.to_string() };
        serde_json::from_slice(&text).map(Some).map_err(not)
    }

    /// The copy of the source file with this name; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::NotARecording`] for a damaged list, [`Error::Io`].
    pub fn source(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let Some(sources) = self.sources()? else { return Ok(None) };
        let copy = sources.files.iter().find(|file| file.path == path).and_then(|file| self.copy(file));
        let Some(copy) = copy else { return Ok(None) };
        match text_of(&copy, LARGEST) {
            Found::Text(text) => Ok(Some(text)),
            Found::Missing | Found::LeftOut => Ok(None),
        }
    }

    /// Where the copy is. Its name is a number: whatever else a damaged or hostile list says is in no folder of ours.
    fn copy(&self, file: &SourceFile) -> Option<PathBuf> {
        let is_number = !file.stored.is_empty() && file.stored.bytes().all(|byte| byte.is_ascii_digit());
        let folder = self.path().join(SOURCES);
        let copy = folder.join(&file.stored);
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        (is_number && !is_link(&folder) && !is_link(&copy)).then_some(copy)
    }
}

/// The file's text, if it is a regular file of at most so many bytes.
fn text_of(path: &Path, most: u64) -> Found {
    // Looked at before it is opened: opening a pipe would wait for its writer.
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Found::Missing;
    }
    let Ok(file) = File::open(path) else { return Found::Missing };
    let mut text = Vec::new();
    if file.take(most + 1).read_to_end(&mut text).is_err() {
        return Found::Missing;
    }
    let is_text = !text[..text.len().min(LOOKED_AT)].contains(&0);
    if text.len() as u64 > most || !is_text { Found::LeftOut } else { Found::Text(text) }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::manifest::{FORMAT_VERSION, Manifest};

    /// A recording, and a folder with some files.
    fn recording() -> (TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let manifest = Manifest { format_version: FORMAT_VERSION, ..Manifest::default() };
        let folder = Folder::create(&place.path().join("x.longpole"), &manifest).unwrap();
        fs::create_dir(place.path().join("src")).unwrap();
        fs::write(place.path().join("src/a.c"), "int main;\n").unwrap();
        fs::write(place.path().join("src/blob.c"), b"\x7fELF\0\0").unwrap();
        fs::write(place.path().join("src/large.c"), vec![b'x'; LARGEST as usize + 1]).unwrap();
        (place, folder)
    }

    fn keep(place: &TempDir, folder: &Folder, names: &[&str]) -> Sources {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        folder.keep_sources(&names, place.path()).unwrap()
    }

    #[test]
    fn a_file_is_given_out_under_the_name_that_the_program_has_for_it() {
        let (place, folder) = recording();
        assert_eq!(folder.sources().unwrap(), None);
        assert_eq!(folder.source("src/a.c").unwrap(), None);
        let whole = place.path().join("src/a.c").display().to_string();
        let kept =
            keep(&place, &folder, &["src/a.c", &whole, "src/none.c", "src/blob.c", "src/large.c", "src"]);
        assert_eq!((kept.files.len(), kept.missing, kept.left_out), (2, 2, 2));
        fs::remove_dir_all(place.path().join("src")).unwrap();
        assert_eq!(folder.sources().unwrap(), Some(kept));
        for name in ["src/a.c", &whole] {
            assert_eq!(folder.source(name).unwrap().as_deref(), Some(&b"int main;\n"[..]), "{name}");
        }
        for name in ["a.c", "src/none.c", "src/../src/a.c", "0", ""] {
            assert_eq!(folder.source(name).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn all_together_are_limited_and_the_first_come_first() {
        let (place, folder) = recording();
        fs::write(place.path().join("src/big.c"), vec![b'y'; LARGEST as usize]).unwrap();
        let mut names = vec!["src/big.c"; 33];
        names.push("src/a.c");
        let kept = keep(&place, &folder, &names);
        assert_eq!(kept.files.len() as u64, LARGEST_SUM / LARGEST);
        assert_eq!(kept.left_out, 2);
    }

    #[test]
    fn a_hostile_list_reaches_nothing_outside() {
        let (place, folder) = recording();
        keep(&place, &folder, &["src/a.c"]);
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
