//! A start that waits for other recorders: of a run on several machines no program begins before all are recorded.
//!
//! ```text
//!   recorder a   collector runs ── ready ──┐                     ┌─ go ──► program
//!   recorder b   ──────── collector runs ──┴─ ready ─► whoever ──┴─ go ──► program
//! ```
//! Two files in a folder: `ready`, which the recorder makes, and the pipe `gate`, from which it reads whether it may go on. Where the
//! other end closes it without a word, some recorder is missing.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

/// The folder of the two files; the pipe is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartGate {
    /// The folder.
    pub folder: PathBuf,
}

impl StartGate {
    /// Says that everything is ready, and waits for the word.
    pub(crate) fn pass(&self) -> io::Result<()> {
        fs::write(self.folder.join("ready"), "")?;
        let mut word = [0];
        let read = fs::File::open(self.folder.join("gate"))?.read(&mut word)?;
        let missing = || io::Error::other("not all hosts are recorded");
        if read == 1 { Ok(()) } else { Err(missing()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of waiting while somebody writes this into the pipe.
    fn passed(word: &'static str) -> bool {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("gate");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let gate = StartGate { folder: place.path().to_owned() };
        let ready = place.path().join("ready");
        assert!(!ready.exists());
        std::thread::scope(|scope| {
            let passed = scope.spawn(|| gate.pass().is_ok());
            while !ready.exists() {
                std::thread::yield_now();
            }
            fs::write(&pipe, word).unwrap();
            passed.join().unwrap()
        })
    }

    #[test]
    fn it_opens_at_a_word_and_not_without() {
        assert!(passed("go\n"));
        assert!(!passed(""));
    }
}
