//! What the descriptors are that threads wait on.
//!
//! The agent tells a descriptor's number; while the thread waits, the system tells what it is open to.

use std::fs;

use longpole_event::{FileKind, Time};
use rustc_hash::FxHashMap;

/// Time for which a descriptor is taken for what it was. A number is soon given to another file.
const FRESH_NANOSECONDS: u64 = 20_000_000;
/// Descriptors that are remembered.
const MOST_DESCRIPTORS: usize = 10_000;

/// What a descriptor is open to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DescriptorFile {
    /// Its kind; none where it is not known.
    pub kind: FileKind,
    /// A number that both ends of a pipe have, and no other file.
    pub number: u64,
}

/// The descriptors of one process.
#[derive(Debug, Default)]
pub(super) struct ProcessDescriptors {
    known: FxHashMap<u64, (Time, DescriptorFile)>,
}

impl ProcessDescriptors {
    /// The file behind a descriptor of the process at this time, which is not long ago.
    pub(super) fn behind(&mut self, pid: u32, descriptor: u64, time: Time) -> DescriptorFile {
        if let Some(&(looked, file)) = self.known.get(&descriptor)
            && time.since(looked) < FRESH_NANOSECONDS
        {
            return file;
        }
        if self.known.len() >= MOST_DESCRIPTORS {
            self.known.clear();
        }
        let target = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).unwrap_or_default();
        let file = named(&target.to_string_lossy());
        self.known.insert(descriptor, (time, file));
        file
    }
}

/// The file that the system names so.
fn named(target: &str) -> DescriptorFile {
    let numbered = |kind, rest: &str| {
        let number = rest.trim_end_matches(']').parse().unwrap_or(0);
        DescriptorFile { kind, number }
    };
    if let Some(rest) = target.strip_prefix("pipe:[") {
        return numbered(FileKind::Pipe, rest);
    }
    if let Some(rest) = target.strip_prefix("socket:[") {
        return numbered(FileKind::Socket, rest);
    }
    let kind = match target {
        "" => FileKind::None,
        "anon_inode:[timerfd]" => FileKind::Timer,
        _ if target.starts_with("anon_inode:") => FileKind::Anonymous,
        _ if target.starts_with("/dev/") => FileKind::Character,
        // Only a file that is a named pipe lets its readers wait.
        _ => FileKind::Pipe,
    };
    DescriptorFile { kind, number: 0 }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn both_ends_of_a_pipe_are_one_file() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut files = ProcessDescriptors::default();
        let mut look = |descriptor: i32| {
            let time = Time::from_nanoseconds(1);
            files.behind(std::process::id(), descriptor.try_into().unwrap(), time)
        };
        let file = look(reader.as_raw_fd());
        assert_eq!((file.kind, file), (FileKind::Pipe, look(writer.as_raw_fd())));
        assert_ne!(file.number, 0);
    }

    #[test]
    fn a_descriptor_is_looked_at_again_after_a_while() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let descriptor = reader.as_raw_fd().try_into().unwrap();
        let mut files = ProcessDescriptors::default();
        let at = |nanoseconds| Time::from_nanoseconds(nanoseconds);
        let before = files.behind(std::process::id(), descriptor, at(1));
        drop(reader);
        assert_eq!(files.behind(std::process::id(), descriptor, at(2)), before);
        let later = files.behind(u32::MAX, descriptor, at(2 + FRESH_NANOSECONDS));
        assert_eq!(later, DescriptorFile::default());
    }

    #[test]
    fn kinds_are_told_by_the_name() {
        let kind = |target| named(target).kind;
        assert_eq!(named("socket:[77]"), DescriptorFile { kind: FileKind::Socket, number: 77 });
        assert_eq!(kind("anon_inode:[eventfd]"), FileKind::Anonymous);
        assert_eq!(kind("anon_inode:[timerfd]"), FileKind::Timer);
        assert_eq!(kind("/dev/pts/3"), FileKind::Character);
        assert_eq!(kind("/tmp/queue"), FileKind::Pipe);
    }
}
