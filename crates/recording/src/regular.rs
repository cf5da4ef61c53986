//! Opens files that others may have prepared.
//!
//! Opening a pipe waits for its writer, and reading a device may never end. A recording, a metric file or a source has
//! nothing to say through either.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading; never waits.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for what is no regular file; those of opening it.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(path, libc::O_NONBLOCK)
}

/// The same, of a path whose last part is no symbolic link.
pub(crate) fn open_regular_unlinked(path: &Path) -> io::Result<File> {
    open(path, libc::O_NONBLOCK | libc::O_NOFOLLOW)
}

/// The whole text of a regular file of at most so many bytes.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for what is no regular file, [`io::ErrorKind::FileTooLarge`] for a larger one,
/// [`io::ErrorKind::InvalidData`] for what is no UTF-8; those of reading it.
pub fn read_regular(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(open_regular(path)?, most + 1), &mut bytes)?;
    if bytes.len() as u64 > most {
        let reason = format!("it is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn open(path: &Path, flags: libc::c_int) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name ends in a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [&pipe, Path::new("/dev/zero"), folder.path()] {
            assert_eq!(
                open_regular(path).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn a_text_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_regular(&path, 5).unwrap(), "12345");
        assert_eq!(read_regular(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
