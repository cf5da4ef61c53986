//! Answers that are remembered on disk, in the recording's folder, so that the next look at it begins with them.
//!
//! ```text
//!   NAME.longpole/cache/3f…a2.answer     longpole answer 1
//!                                        the version: program, sizes and times of the recording's files
//!                                        the key
//!                                        length and checksum of the answer
//!                                        the answer
//! ```
//! Invariants: an answer is served only to the key, the build and the recording that it was made of, and only whole; the
//! folder is bounded, the oldest answers go; where it cannot be written, or is not a plain folder, nothing is remembered.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

/// The first line of every file.
const HEAD: &str = "longpole answer 1";
/// What files of the cache are called.
const ENDING: &str = "answer";
/// Most bytes of all answers, and what remains when there were more.
const MOST_BYTES: u64 = 128 << 20;
const KEPT_BYTES: u64 = 96 << 20;

/// Bytes of the largest analysis and part of the details that is kept.
pub(crate) const LARGEST_KEPT: usize = 64 << 20;

/// Answers on disk.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    version: String,
    /// Bytes in the folder, once counted.
    bytes: Mutex<Option<u64>>,
}

impl Cache {
    /// In this folder, for answers of this version.
    pub(crate) fn new(folder: PathBuf, version: String) -> Cache {
        Cache { folder, version, bytes: Mutex::new(None) }
    }

    /// The answer that is remembered under the key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        String::from_utf8(self.get_bytes(key)?).ok()
    }

    /// The same of an answer that is no text.
    pub(crate) fn get_bytes(&self, key: &str) -> Option<Vec<u8>> {
        let file = self.file(key).filter(|file| is_regular(file))?;
        let mut bytes = fs::read(file).ok()?;
        let rest = bytes.strip_prefix(self.head(key).as_bytes())?;
        let seal = rest.iter().position(|&byte| byte == b'\n')?;
        let answer = &rest[seal + 1..];
        if rest[..seal] != *sealed(answer).as_bytes() {
            return None;
        }
        let begin = bytes.len() - answer.len();
        bytes.drain(..begin);
        Some(bytes)
    }

    /// Remembers an answer, if that is possible here.
    pub fn put(&self, key: &str, answer: &str) {
        self.put_bytes(key, answer.as_bytes());
    }

    /// The same of an answer that is no text.
    pub(crate) fn put_bytes(&self, key: &str, answer: &[u8]) {
        // Without it everything is right, only slower: a full disk or a foreign recording is no failure.
        let _ = self.write(key, answer);
    }

    /// Removes all answers.
    pub(crate) fn clear(&self) {
        if fs::symlink_metadata(&self.folder).is_ok_and(|metadata| metadata.is_dir()) {
            trim(&self.folder, 0);
        }
    }

    fn write(&self, key: &str, answer: &[u8]) -> Option<()> {
        fs::create_dir(&self.folder).ok();
        let file = self.file(key)?;
        let head = format!("{}{}\n", self.head(key), sealed(answer));
        // A reader sees all of a file or none of it.
        let temporary = file.with_extension(format!("{}.new", std::process::id()));
        let mut out = fs::File::create_new(&temporary).ok()?;
        let is_written = out.write_all(head.as_bytes()).and_then(|()| out.write_all(answer));
        let is_written = is_written.and_then(|()| fs::rename(&temporary, &file));
        if is_written.is_err() {
            fs::remove_file(&temporary).ok();
            return None;
        }
        self.bound((head.len() + answer.len()) as u64);
        Some(())
    }

    /// Counts what was added; removes the oldest answers where there are too many.
    fn bound(&self, added: u64) {
        let mut bytes = self.bytes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let whole = bytes
            .map_or_else(|| answers(&self.folder).iter().map(|answer| answer.1).sum(), |bytes| bytes + added);
        *bytes = Some(if whole > MOST_BYTES { trim(&self.folder, KEPT_BYTES) } else { whole });
    }

    /// Where the key's answer lies. A link in the folder's place could lead anywhere.
    fn file(&self, key: &str) -> Option<PathBuf> {
        let is_folder = fs::symlink_metadata(&self.folder).is_ok_and(|metadata| metadata.is_dir());
        let name = format!("{:016x}.{ENDING}", hash(&self.head(key)));
        is_folder.then(|| self.folder.join(name))
    }

    fn head(&self, key: &str) -> String {
        let key: String = key.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{HEAD}\n{}\n{key}\n", self.version)
    }
}

/// Whether it is a file: reading a pipe would wait for its writer.
fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Length and checksum.
fn sealed(answer: &[u8]) -> String {
    format!("{} {:08x}", answer.len(), crc32fast::hash(answer))
}

/// FNV-1a: the same in every build. Keys that share a name push each other out, as the head tells them apart.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The answers in the folder: file, bytes, last change.
fn answers(folder: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let answers = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
        let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
        is_ours.then_some((path, metadata.len(), metadata.modified().ok()?))
    });
    answers.collect()
}

/// Removes the oldest answers until no more than so many bytes are left, and says how many are.
fn trim(folder: &Path, most: u64) -> u64 {
    let mut answers = answers(folder);
    answers.sort_by_key(|(_, _, changed)| *changed);
    let mut bytes: u64 = answers.iter().map(|(_, length, _)| length).sum();
    for (path, length, _) in answers {
        if bytes <= most {
            break;
        }
        if fs::remove_file(path).is_ok() {
            bytes -= length;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path, version: &str) -> Cache {
        Cache::new(folder.join("cache"), version.to_owned())
    }

    fn only_file(folder: &Path) -> PathBuf {
        let files = answers(&folder.join("cache"));
        assert_eq!(files.len(), 1);
        files[0].0.clone()
    }

    #[test]
    fn an_answer_is_given_again_to_the_same_key_and_version() {
        let folder = tempfile::tempdir().unwrap();
        let first = cache(folder.path(), "1");
        assert_eq!(first.get("report?view=npt"), None);
        first.put("report?view=npt", "{\"ä\":\n1}");
        assert_eq!(first.get("report?view=npt").as_deref(), Some("{\"ä\":\n1}"));
        let second = cache(folder.path(), "1");
        assert_eq!(second.get("report?view=npt").as_deref(), Some("{\"ä\":\n1}"));
        assert_eq!(second.get("report?view=waits"), None);
        assert_eq!(cache(folder.path(), "2").get("report?view=npt"), None);
    }

    #[test]
    fn a_newer_answer_replaces_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), "1");
        cache.put("a", "one");
        cache.put("a", "another");
        assert_eq!(cache.get("a").as_deref(), Some("another"));
        only_file(folder.path());
    }

    #[test]
    fn damage_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), "1");
        cache.put("a", "a long enough answer");
        let file = only_file(folder.path());
        let whole = fs::read(&file).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&file, &bytes).unwrap();
            assert_eq!(cache.get("a"), None, "byte {place}");
            fs::write(&file, &whole[..place]).unwrap();
            assert_eq!(cache.get("a"), None, "cut at {place}");
        }
        fs::write(&file, &whole).unwrap();
        assert!(cache.get("a").is_some());
    }

    #[test]
    fn the_oldest_answers_go_and_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), "1");
        for key in ["a", "b", "c", "d"] {
            cache.put(key, &"x".repeat(1000));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let other = folder.path().join("cache/notes.txt");
        fs::write(&other, "x".repeat(5000)).unwrap();
        let left = trim(&folder.path().join("cache"), 2500);
        assert!((2000..2500).contains(&left), "{left}");
        assert_eq!(["a", "b", "c", "d"].map(|key| cache.get(key).is_some()), [false, false, true, true]);
        assert!(other.exists());
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = cache(&folder.path().join("nowhere"), "1");
        nowhere.put("a", "answer");
        assert_eq!(nowhere.get("a"), None);
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("cache")).unwrap();
        let linked = cache(folder.path(), "1");
        linked.put("a", "answer");
        assert_eq!(linked.get("a"), None, "a link is not followed");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
