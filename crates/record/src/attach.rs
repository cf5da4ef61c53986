//! The tasks of a program that runs already, from `/proc`.

use std::fs;
use std::io;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use crate::process_title::title_of_running;
use crate::raw::KernelTask;

/// A task that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundTask {
    pub(crate) task: KernelTask,
    /// Pid of the process that created its process.
    pub(crate) parent: u32,
    /// Its name.
    pub(crate) name: String,
    /// What a person would call its process, where its arguments say something; of first threads only.
    pub(crate) title: Option<String>,
}

/// Every thread of the process `root` and of all its descendants; a process comes before its children.
pub(crate) fn tasks_below(root: u32) -> io::Result<Vec<FoundTask>> {
    let parents = parents()?;
    if !parents.contains_key(&root) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    let mut children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (&pid, &parent) in &parents {
        children.entry(parent).or_default().push(pid);
    }
    let mut tasks = Vec::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        tasks.extend(threads(pid, parents[&pid]));
        let mut below = children.remove(&pid).unwrap_or_default();
        below.sort_unstable_by(|a, b| b.cmp(a));
        waiting.extend(below);
    }
    Ok(tasks)
}

/// Refuses a process that this user may not look into (`ptrace(2)`, access mode `PTRACE_MODE_READ_FSCREDS`), whatever
/// capabilities for recording there are: the kernel is asked as it would be for its mappings.
pub(crate) fn may_watch(pid: u32) -> io::Result<()> {
    fs::File::open(format!("/proc/{pid}/maps")).map(drop)
}

/// The parent of each process.
fn parents() -> io::Result<FxHashMap<u32, u32>> {
    let pids = numbers_in("/proc")?;
    Ok(pids
        .into_iter()
        .filter_map(|pid| Some((pid, parse_parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect())
}

/// The fourth field of `/proc/PID/stat`; the second, the name, may hold blanks and brackets.
fn parse_parent(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The threads of a process, its first one first; none if it has ended meanwhile.
fn threads(pid: u32, parent: u32) -> Vec<FoundTask> {
    let folder = format!("/proc/{pid}/task");
    let mut tids = numbers_in(&folder).unwrap_or_default();
    tids.sort_unstable_by_key(|&tid| (tid != pid, tid));
    let found = |tid: u32| {
        let name = fs::read_to_string(format!("{folder}/{tid}/comm")).ok()?;
        let title = (tid == pid).then(|| title(pid)).flatten();
        let name = name.trim_end_matches('\n').to_owned();
        Some(FoundTask { task: KernelTask { pid, tid }, parent, name, title })
    };
    tids.into_iter().filter_map(found).collect()
}

/// The title of a process, by the file that it runs and its arguments.
fn title(pid: u32) -> Option<String> {
    /// What the kernel adds to the name of a file that is gone.
    const GONE: &str = " (deleted)";
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let program = program.to_string_lossy();
    title_of_running(pid, program.strip_suffix(GONE).unwrap_or(&program))
}

fn numbers_in(folder: &str) -> io::Result<Vec<u32>> {
    Ok(fs::read_dir(folder)?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// A link to the file of the program that the process executes.
pub(crate) fn program(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/exe"))
}

/// The command line of a process, its name where it has none.
pub(crate) fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let words: Vec<String> =
        bytes.split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(text).collect();
    if words.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return vec![name.trim_end().to_owned()];
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_parent_is_found_behind_a_strange_name() {
        assert_eq!(parse_parent("12 (a) b (c)) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent("12 (a"), None);
    }

    #[test]
    fn own_threads_and_children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let mut script =
            std::process::Command::new("tail").args(["-f", "/etc/hosts.conf", "/dev/null"]).spawn().unwrap();
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        // A thread gives itself its name, before it does anything else.
        let (named, has_name) = std::sync::mpsc::channel::<()>();
        let body = move || {
            drop(named);
            wait.recv()
        };
        let thread = std::thread::Builder::new().name("extra".into()).spawn(body).unwrap();
        has_name.recv().unwrap_err();
        // A command is started before the kernel has put its arguments into place.
        let begin = Instant::now();
        while command_line(script.id()).len() < 2 && begin.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        let own = std::process::id();
        let found = tasks_below(own).unwrap();
        assert_eq!(found[0].task, KernelTask { pid: own, tid: own });
        assert!(found.iter().any(|found| found.task.pid == own && found.name == "extra"));
        let of_child = found.iter().find(|found| found.task.pid == child.id()).unwrap();
        assert_eq!(of_child.parent, own);
        let titled = found.iter().find(|found| found.task.pid == script.id()).unwrap();
        assert_eq!(titled.title.as_deref(), Some("tail hosts.conf"));
        script.kill().unwrap();
        script.wait().unwrap();
        drop(stop);
        thread.join().unwrap().unwrap_err();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn another_user_s_process_is_refused() {
        assert!(may_watch(std::process::id()).is_ok());
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return longpole_testkit::skipped("only root can become another user");
        }
        let status = |pid: u32| {
            // SAFETY: the child makes system calls only, but for the path, which is short; then it ends.
            unsafe {
                match libc::fork() {
                    0 => {
                        libc::setresuid(65534, 65534, 65534);
                        libc::_exit(
                            may_watch(pid).map_or_else(|error| error.raw_os_error().unwrap_or(1), |()| 0),
                        );
                    }
                    child => {
                        let mut status = 0;
                        libc::waitpid(child, &raw mut status, 0);
                        libc::WEXITSTATUS(status)
                    }
                }
            }
        };
        assert_eq!(status(std::process::id()), libc::EACCES);
        assert_eq!(status(1), libc::EACCES);
    }

    #[test]
    fn a_missing_process_is_an_error() {
        assert_eq!(tasks_below(u32::MAX).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
