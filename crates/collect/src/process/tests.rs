use std::path::Path;

use super::*;
use crate::sink::fixture::Log;
use longpole_event::SeriesNode;

/// A `/proc` of our own.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A process or thread: its parent, faults, threads, start in ticks, what the scheduler counts.
    fn task(&self, folder: &str, parent: u32, faults: u64, threads: u64, counts: &str) {
        let folder = self.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let stat = format!(
            "1 (name) S {parent} 1 1 0 -1 0 {faults} 0 0 0 7 3 0 0 20 0 {threads} 0 100 9000000 250 0"
        );
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("stat", &stat);
        write("schedstat", counts);
        write("io", "rchar: 4096\nwchar: 10\nsyscr: 2\nsyscw: 1\nread_bytes: 0\nwrite_bytes: 0\n");
        write("status", "Name:\tname\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n");
    }

    fn children(&self, folder: &str, pids: &str) {
        std::fs::write(self.path().join(folder).join("children"), pids).unwrap();
    }
}

fn at(milliseconds: u64) -> Time {
    // Far after the start of every task, 100 ticks after the machine's.
    Time::from_nanoseconds(10_000_000_000 + milliseconds * 1_000_000)
}

/// Process 10 with its first thread, started by this process.
fn program() -> (Folder, ProcessSource, Log) {
    let folder = Folder::new();
    let ours = std::process::id();
    folder.task("10", ours, 0, 1, "");
    folder.task("10/task/10", ours, 0, 1, "0 0 0\n");
    folder.children("10/task/10", "");
    let mut process = ProcessSource::at(folder.path().to_owned());
    process.watch(10, at(0));
    (folder, process, Log::new())
}

fn milliseconds(course: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    course.into_iter().map(|(time, value)| ((time - 10_000_000_000) / 1_000_000, value)).collect()
}

const FIRST: SeriesNode = SeriesNode::Process { pid: 10 };

#[test]
fn what_we_started_counts_from_zero_and_a_step_stands_between_its_looks() {
    let (folder, mut process, mut log) = program();
    let ours = std::process::id();
    process.look(at(1), &mut log.sink("process")).unwrap();
    process.look(at(11), &mut log.sink("process")).unwrap();
    folder.task("10", ours, 5600, 1, "");
    folder.task("10/task/10", ours, 5600, 1, "2500000000 10 3\n");
    process.look(at(21), &mut log.sink("process")).unwrap();
    process.look(at(31), &mut log.sink("process")).unwrap();
    process.stop();
    process.look(at(33), &mut log.sink("process")).unwrap();
    let thread = SeriesNode::Thread { tid: 10 };
    let wanted = [(0, 0.0), (11, 0.0), (21, 5600.0), (33, 5600.0)];
    assert_eq!(milliseconds(log.course("page_faults", FIRST, "")), wanted);
    assert_eq!(milliseconds(log.course("page_faults", thread, "")), wanted);
    let run = [(0, 0.0), (11, 0.0), (21, 2.5), (33, 2.5)];
    assert_eq!(milliseconds(log.course("run_time", thread, "")), run);
    assert_eq!(milliseconds(log.course("major_page_faults", FIRST, "")), [(0, 0.0), (33, 0.0)]);
    let pages = 250.0 * clock::page_bytes();
    assert_eq!(milliseconds(log.course("resident_memory", FIRST, "")), [(1, pages), (33, pages)]);
    assert_eq!(log.account().troubles, []);
}

#[test]
fn threads_and_children_that_come_are_found_and_their_ends_are_written() {
    let (folder, mut process, mut log) = program();
    process.scans = Pace::within(1.0);
    process.looks = Pace::within(1.0);
    let ours = std::process::id();
    process.look(at(1), &mut log.sink("process")).unwrap();
    folder.task("10", ours, 10, 2, "");
    folder.task("10/task/11", 0, 3, 2, "1000 0 1\n");
    folder.children("10/task/11", "20 ");
    folder.task("20", 10, 70, 1, "");
    folder.task("20/task/20", 10, 70, 1, "1000 0 1\n");
    folder.children("20/task/20", "");
    process.look(at(1000), &mut log.sink("process")).unwrap();
    let (thread, child) = (SeriesNode::Thread { tid: 11 }, SeriesNode::Process { pid: 20 });
    assert_eq!(log.course("page_faults", thread, "").last().map(|last| last.1), Some(3.0));
    assert_eq!(milliseconds(log.course("page_faults", child, "")), [(0, 0.0), (1, 0.0), (1000, 70.0)]);

    process.look(at(2000), &mut log.sink("process")).unwrap();
    std::fs::remove_dir_all(folder.path().join("20")).unwrap();
    // Files of a task that has ended give an error; these stay open and have to be forgotten.
    process.members[1] = Member::new(folder.path(), 20);
    process.look(at(3000), &mut log.sink("process")).unwrap();
    assert_eq!(process.members.len(), 1);
    assert!(!process.known.contains(&20), "its pid may be another's later");
}

#[test]
fn what_ran_before_us_counts_from_the_first_look() {
    let folder = Folder::new();
    folder.task("10", 1, 5000, 1, "");
    folder.task("10/task/10", 1, 5000, 1, "9 0 1\n");
    folder.children("10/task/10", "");
    let mut process = ProcessSource::at(folder.path().to_owned());
    process.watch(10, at(0));
    let mut log = Log::new();
    process.look(at(1), &mut log.sink("process")).unwrap();
    assert_eq!(milliseconds(log.course("page_faults", FIRST, "")), [(1, 5000.0)]);
}

#[test]
fn a_kernel_without_lists_of_children_is_told() {
    let (folder, mut process, mut log) = program();
    std::fs::remove_file(folder.path().join("10/task/10/children")).unwrap();
    process.look(at(1), &mut log.sink("process")).unwrap();
    let troubles = log.account().troubles;
    assert!(troubles[0].what.contains("does not list the children"), "{troubles:?}");
}
