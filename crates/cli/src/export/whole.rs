//! Files that are whole or not there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file under another name, which becomes its own when all of it is on the disk. A device or a pipe is written as
/// it is.
///
/// # Errors
/// Those of writing; nothing is left then, and a file that was there before stays.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, text);
    }
    // A link keeps leading to the file.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let written = File::create_new(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_at_once_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.html");
        write(&path, "one").unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        write(&folder.path().join("link"), "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(folder.path().join("link").is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(write(&folder.path().join("none/x.html"), "three").is_err());
        write(Path::new("/dev/null"), "four").unwrap();
    }
}
