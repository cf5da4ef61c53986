//! Source files: only those that the recording names, from the places that may hold them.
//!
//! ```text
//!   /build/app/src/table.c   named by the recording; looked for, in this order:
//!     what the recording keeps of it
//!     --source-dir /build/app=/home/me/app   →  /home/me/app/src/table.c
//!     --source-dir /home/me/app              →  /home/me/app/build/app/src/table.c, …/app/src/table.c, …/src/table.c, …/table.c
//!     where it was when the program was built
//! ```
//! Invariant: a name that the recording does not hold, byte for byte, is refused before any file is looked at.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::refusal::Refusal;

/// The largest file that is shown.
const MOST_BYTES: u64 = 4 << 20;

/// Where sources lie on this machine: an argument of `--source-dir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Names that begin with the first are looked for below the second.
    Moved(Mapping),
    /// The ends of names are looked for below a folder.
    Below(PathBuf),
}

/// Where a folder is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The folder in the recording's names.
    pub from: PathBuf,
    /// The folder here.
    pub to: PathBuf,
}

impl Place {
    /// The place that an argument names: `FROM=TO` or `DIR`.
    ///
    /// # Errors
    /// [`Error::NoFolder`] when there is no such folder here.
    pub fn parse(argument: &str) -> Result<Place> {
        let folder = |path: &str| {
            let path = PathBuf::from(path);
            if path.is_dir() { Ok(path) } else { Err(Error::NoFolder { path }) }
        };
        match argument.split_once('=') {
            // A folder may have a `=` in its name.
            Some((from, to)) if !Path::new(argument).is_dir() => {
                Ok(Place::Moved(Mapping { from: from.into(), to: folder(to)? }))
            }
            _ => Ok(Place::Below(folder(argument)?)),
        }
    }

    /// Where the file could be.
    fn candidates(&self, file: &Path) -> Vec<PathBuf> {
        match self {
            Place::Moved(Mapping { from, to }) => {
                let rest = file.strip_prefix(from).ok().filter(|rest| is_plain(rest));
                rest.map(|rest| to.join(rest)).into_iter().collect()
            }
            Place::Below(folder) => {
                let parts: Vec<Component<'_>> = file.components().collect();
                let ends = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
                ends.filter(|end| is_plain(end)).map(|end| folder.join(end)).collect()
            }
        }
    }
}

/// Whether a path leads nowhere but down.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// A source file as it is replied.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Source {
    /// As the recording names it.
    pub(crate) file: String,
    /// Where it was found.
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
}

/// Reads the file that the recording names `file`. `origin` is the folder in which the program ran, for names that are
/// relative.
pub(crate) fn read(file: &str, places: &[Place], origin: &Path) -> std::result::Result<Source, Refusal> {
    let name = Path::new(file);
    let elsewhere = places.iter().flat_map(|place| place.candidates(name));
    let candidates: Vec<PathBuf> = elsewhere.chain([origin.join(name)]).collect();
    // Only plain files: opening a pipe would wait for a writer.
    let Some(path) = candidates.iter().find(|path| path.is_file()) else {
        let looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
        return Err(Refusal::missing(format!("find the source file {file}: looked for {}", looked.join(", ")))
            .hint("`longpole view --source-dir FROM=TO` says where a folder is now, `--source-dir DIR` where to look")
            .hint("`longpole record --sources` keeps the sources in the recording"));
    };
    shown(file, path, &bytes_of(path)?)
}

/// The file's text as it is shown. What is in another encoding than UTF-8 is shown as far as it is that.
pub(crate) fn shown(file: &str, path: &Path, bytes: &[u8]) -> std::result::Result<Source, Refusal> {
    if bytes.contains(&0) {
        return Err(Refusal::wrong(format!("show {}: it is no text", path.display())));
    }
    let lines = String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
    Ok(Source { file: file.to_owned(), path: path.display().to_string(), lines })
}

fn bytes_of(path: &Path) -> std::result::Result<Vec<u8>, Refusal> {
    let refuse = |error: std::io::Error| Refusal::missing(format!("read {}: {error}", path.display()));
    let mut bytes = Vec::new();
    File::open(path).map_err(refuse)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(refuse)?;
    if bytes.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        return Err(Refusal::wrong(format!("show {}: it is larger than {most} MiB", path.display())));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn written(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read_from(file: &str, places: &[Place]) -> std::result::Result<Source, Refusal> {
        read(file, places, Path::new("/nowhere"))
    }

    #[test]
    fn where_a_folder_is_now_comes_before_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| written(folder.path(), name, name);
        let (moved, origin) = (at("moved/src/a.c"), at("origin/src/a.c"));
        let place = Place::Moved(Mapping { from: "src".into(), to: folder.path().join("moved/src") });
        let read = |places: &[Place]| read("src/a.c", places, &folder.path().join("origin")).unwrap().path;
        assert_eq!(Path::new(&read(&[place])), moved);
        assert_eq!(Path::new(&read(&[])), origin);
    }

    #[test]
    fn the_longest_end_of_the_name_is_found_below_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), "a.c", "short");
        let place = [Place::Below(folder.path().to_owned())];
        assert_eq!(read_from("/build/src/a.c", &place).unwrap().lines, ["short"]);
        written(folder.path(), "src/a.c", "long\nlonger\n");
        let source = read_from("/build/src/a.c", &place).unwrap();
        assert_eq!((source.file.as_str(), source.lines.len()), ("/build/src/a.c", 2));
    }

    #[test]
    fn no_name_leads_out_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), "secret.c", "secret");
        fs::create_dir(folder.path().join("in")).unwrap();
        let below = Place::Below(folder.path().join("in"));
        let moved = Place::Moved(Mapping { from: "/b".into(), to: folder.path().join("in") });
        for name in ["/b/../secret.c", "../secret.c", "/b/x/../../secret.c"] {
            let refusal = read_from(name, &[below.clone(), moved.clone()]).unwrap_err();
            assert!(refusal.what.contains("looked for"), "{}", refusal.what);
        }
    }

    #[test]
    fn a_refusal_says_where_the_file_was_looked_for_and_what_helps() {
        let refusal = read_from("/no/such/a.c", &[]).unwrap_err();
        assert_eq!(refusal.what, "find the source file /no/such/a.c: looked for /no/such/a.c");
        assert!(refusal.hints[0].contains("--source-dir"));
    }

    #[test]
    fn what_is_no_short_text_is_refused_and_other_encodings_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let place = [Place::Below(folder.path().to_owned())];
        written(folder.path(), "large.c", vec![b'x'; (MOST_BYTES + 1) as usize]);
        assert!(read_from("large.c", &place).unwrap_err().what.contains("larger than 4 MiB"));
        written(folder.path(), "binary.c", b"a\0b");
        assert!(read_from("binary.c", &place).unwrap_err().what.contains("no text"));
        written(folder.path(), "latin.c", b"// \xe4\nint main;");
        assert_eq!(read_from("latin.c", &place).unwrap().lines, ["// \u{fffd}", "int main;"]);
        assert!(read_from("/dev/zero", &[]).is_err(), "no device is read");
    }

    #[test]
    fn a_place_is_a_folder_or_where_one_moved() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_str().unwrap();
        assert_eq!(Place::parse(here).unwrap(), Place::Below(here.into()));
        let moved = Place::Moved(Mapping { from: "/build".into(), to: here.into() });
        assert_eq!(Place::parse(&format!("/build={here}")).unwrap(), moved);
        assert!(Place::parse("/no/such/folder").is_err() && Place::parse("/a=/no/such/folder").is_err());
    }
}
