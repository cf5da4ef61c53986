//! A private file that leads a browser to the page, so that the token is in no command line.
//!
//! Every user of a machine can read the arguments of all processes. The browser gets the name of a file that only its own
//! user can read, and the file has the address.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::address::encoded;
use crate::error::{Error, Result};
use crate::token::Token;

/// The file; removed when this is dropped.
#[derive(Debug)]
pub struct RedirectFile {
    path: PathBuf,
}

impl RedirectFile {
    /// A file in the user's own folder for such files, else in that of temporary ones, which leads to `url`.
    ///
    /// # Errors
    /// [`Error::Redirect`], [`Error::Random`].
    pub fn create(url: &str) -> Result<RedirectFile> {
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let own = own.filter(|folder| folder.is_absolute() && folder.is_dir());
        RedirectFile::create_in(&own.unwrap_or_else(std::env::temp_dir), url)
    }

    fn create_in(folder: &Path, url: &str) -> Result<RedirectFile> {
        let path = folder.join(format!("longpole-{}.html", Token::random()?.text()));
        let failed = |source| Error::Redirect { path: path.clone(), source };
        // A new file: a link that somebody put there is not followed.
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        let redirect = RedirectFile { path: path.clone() };
        file.write_all(document(url).as_bytes()).map_err(failed)?;
        Ok(redirect)
    }

    /// The file's address, for a browser.
    #[must_use]
    pub fn address(&self) -> String {
        let parts = self.path.as_os_str().as_bytes().split(|&byte| byte == b'/');
        format!("file://{}", parts.map(encoded).collect::<Vec<_>>().join("/"))
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        // A file that is gone already is what is wanted.
        let _ = fs::remove_file(&self.path);
    }
}

/// A document that leads to the address, which has no character with a meaning in markup.
fn document(url: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>longpole</title>\n\
         <a href=\"{url}\">The page of the recording</a>\n"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn only_its_user_can_read_the_file_and_it_goes_with_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a b#ä");
        fs::create_dir(&inside).unwrap();
        let redirect = RedirectFile::create_in(&inside, "http://127.0.0.1:1/abc/").unwrap();
        let path = redirect.path.clone();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&path).unwrap().contains("url=http://127.0.0.1:1/abc/\""));
        assert!(
            redirect.address().starts_with("file:///") && redirect.address().contains("/a%20b%23%C3%A4/")
        );
        assert!(!redirect.address().contains("abc"));
        drop(redirect);
        assert!(!path.exists());
    }

    #[test]
    fn where_no_file_can_be_made_that_is_said() {
        let refused = RedirectFile::create_in(Path::new("/nowhere/at/all"), "x").unwrap_err();
        assert!(refused.to_string().contains("/nowhere/at/all"), "{refused}");
    }
}
