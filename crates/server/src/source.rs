//! Source files: only those that the recording names, from the places that the user names.
//!
//! ```text
//!   /build/app/src/table.c   named by the recording; looked for, in this order:
//!     what the recording keeps of it
//!     --source-dir /build/app=/home/me/app   →  /home/me/app/src/table.c
//!     --source-dir /home/me/app              →  /home/me/app/build/app/src/table.c, …/app/src/table.c, …/src/table.c, …/table.c
//! ```
//! A recording may come from anybody, and its names may be those of the reader's own files. Without `--source-dir` only the
//! recording's copies are shown; below such a folder only what [`SourceRoots`] takes for a source.
//!
//! Invariant: a name that the recording does not hold, byte for byte, is refused before any file is looked at.

use std::path::{Component, Path, PathBuf};

use longpole_recording::SourceRoots;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::refusal::RequestRefusal;

/// The largest file that is shown.
const MOST_BYTES: u64 = 4 << 20;

/// Where sources lie on this machine: an argument of `--source-dir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceDirectory {
    /// Names that begin with the first are looked for below the second.
    Moved(SourceMapping),
    /// The ends of names are looked for below a folder.
    Below(PathBuf),
}

/// Where a folder is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMapping {
    /// The folder in the recording's names.
    pub from: PathBuf,
    /// The folder here.
    pub to: PathBuf,
}

impl SourceDirectory {
    /// The place that an argument names: `FROM=TO` or `DIR`.
    ///
    /// # Errors
    /// [`Error::NoFolder`] when there is no such folder here.
    pub fn parse(argument: &str) -> Result<SourceDirectory> {
        let folder = |path: &str| {
            let path = PathBuf::from(path);
            if path.is_dir() { Ok(path) } else { Err(Error::NoFolder { path }) }
        };
        match argument.split_once('=') {
            // A folder may have a `=` in its name.
            Some((from, to)) if !Path::new(argument).is_dir() => {
                Ok(SourceDirectory::Moved(SourceMapping { from: from.into(), to: folder(to)? }))
            }
            _ => Ok(SourceDirectory::Below(folder(argument)?)),
        }
    }

    /// The folder on this machine.
    fn folder(&self) -> &Path {
        match self {
            SourceDirectory::Moved(SourceMapping { to, .. }) => to,
            SourceDirectory::Below(folder) => folder,
        }
    }

    /// Where the file could be.
    fn candidates(&self, file: &Path) -> Vec<PathBuf> {
        match self {
            SourceDirectory::Moved(SourceMapping { from, to }) => {
                let rest = file.strip_prefix(from).ok().filter(|rest| is_plain(rest));
                rest.map(|rest| to.join(rest)).into_iter().collect()
            }
            SourceDirectory::Below(folder) => {
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
pub(crate) struct SourceAnswer {
    /// As the recording names it.
    pub(crate) file: String,
    /// Where it was found.
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
}

/// Reads the file that the recording names `file` from the places that the user named. `reason` is why the recording has
/// no copy of it.
pub(crate) fn read(
    file: &str,
    places: &[SourceDirectory],
    reason: Option<&str>,
) -> std::result::Result<SourceAnswer, RequestRefusal> {
    let roots = SourceRoots::named(places.iter().map(SourceDirectory::folder));
    let mut tried = Vec::new();
    for path in places.iter().flat_map(|place| place.candidates(Path::new(file))) {
        match roots.read(&path, MOST_BYTES) {
            Ok(text) => return Ok(shown(file, &path, &text)),
            Err(refusal) => tried.push(format!("{}: {refusal}", path.display())),
        }
    }
    let reason = reason.unwrap_or("the recording has no copy of it");
    let tried = if tried.is_empty() { String::new() } else { format!("; looked for {}", tried.join(", ")) };
    Err(RequestRefusal::missing(format!("show {file}: source not included: {reason}{tried}"))
        .hint("`longpole view --source-dir FROM=TO` says where a folder is now, `--source-dir DIR` where to look")
        .hint("`longpole record --sources` keeps the sources in the recording"))
}

/// The file's text as it is shown. What is in another encoding than UTF-8 is shown as far as it is that.
pub(crate) fn shown(file: &str, path: &Path, text: &[u8]) -> SourceAnswer {
    let lines = String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
    SourceAnswer { file: file.to_owned(), path: path.display().to_string(), lines }
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

    fn read_from(
        file: &str,
        places: &[SourceDirectory],
    ) -> std::result::Result<SourceAnswer, RequestRefusal> {
        read(file, places, None)
    }

    #[test]
    fn nothing_is_read_but_below_a_folder_that_the_user_named() {
        let folder = tempfile::tempdir().unwrap();
        let whole = written(folder.path(), "src/a.c", "text");
        let name = whole.to_str().unwrap();
        let refusal = read(name, &[], Some("outside the program's folders")).unwrap_err();
        assert_eq!(refusal.what, format!("show {name}: source not included: outside the program's folders"));
        let moved =
            SourceDirectory::Moved(SourceMapping { from: "src".into(), to: folder.path().join("src") });
        assert_eq!(Path::new(&read_from("src/a.c", &[moved]).unwrap().path), whole);
    }

    #[test]
    fn what_is_not_named_like_a_source_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let place = [SourceDirectory::Below(folder.path().to_owned())];
        written(folder.path(), ".ssh/id_rsa", "secret");
        let refusal = read_from("/home/me/.ssh/id_rsa", &place).unwrap_err();
        assert!(refusal.what.contains("not the name of a source file"), "{}", refusal.what);
        std::os::unix::fs::symlink(folder.path().join(".ssh/id_rsa"), folder.path().join("a.c")).unwrap();
        assert!(read_from("a.c", &place).is_err());
    }

    #[test]
    fn the_longest_end_of_the_name_is_found_below_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), "a.c", "short");
        let place = [SourceDirectory::Below(folder.path().to_owned())];
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
        let below = SourceDirectory::Below(folder.path().join("in"));
        let moved = SourceDirectory::Moved(SourceMapping { from: "/b".into(), to: folder.path().join("in") });
        for name in ["/b/../secret.c", "../secret.c", "/b/x/../../secret.c"] {
            let refusal = read_from(name, &[below.clone(), moved.clone()]).unwrap_err();
            assert!(refusal.what.contains("not included"), "{}", refusal.what);
        }
    }

    #[test]
    fn a_refusal_says_where_the_file_was_looked_for_and_what_helps() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = read_from("a.c", &[SourceDirectory::Below(folder.path().to_owned())]).unwrap_err();
        let looked = folder.path().join("a.c");
        let reason = "source not included: the recording has no copy of it; looked for";
        assert_eq!(refusal.what, format!("show a.c: {reason} {}: no such file", looked.display()));
        assert!(refusal.hints[0].contains("--source-dir"));
    }

    #[test]
    fn what_is_no_short_text_is_refused_and_other_encodings_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let place = [SourceDirectory::Below(folder.path().to_owned())];
        written(folder.path(), "large.c", vec![b'x'; (MOST_BYTES + 1) as usize]);
        assert!(read_from("large.c", &place).unwrap_err().what.contains("too large"));
        written(folder.path(), "binary.c", b"a\0b");
        assert!(read_from("binary.c", &place).unwrap_err().what.contains("not a text"));
        written(folder.path(), "latin.c", b"// \xe4\nint main;");
        assert_eq!(read_from("latin.c", &place).unwrap().lines, ["// \u{fffd}", "int main;"]);
        assert!(read_from("/dev/zero", &[]).is_err(), "no device is read");
    }

    #[test]
    fn a_place_is_a_folder_or_where_one_moved() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_str().unwrap();
        assert_eq!(SourceDirectory::parse(here).unwrap(), SourceDirectory::Below(here.into()));
        let moved = SourceDirectory::Moved(SourceMapping { from: "/build".into(), to: here.into() });
        assert_eq!(SourceDirectory::parse(&format!("/build={here}")).unwrap(), moved);
        assert!(
            SourceDirectory::parse("/no/such/folder").is_err()
                && SourceDirectory::parse("/a=/no/such/folder").is_err()
        );
    }
}
