//! Programs on functions of the kernel and of C libraries, which see what threads depend on where nobody waits: joins and
//! streams of bytes.
//!
//! Each is worth having without the others, so a kernel that refuses some costs only what these would have seen, and the
//! notes say so.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use aya::programs::uprobe::{UProbeLink, UProbeScope};
use aya::programs::{FEntry, FExit, UProbe};
use aya::{Btf, Ebpf};
use longpole_symbols::maps_of;
use rustc_hash::FxHashSet;

use crate::raw::{RawEvent, RawKind};

/// Programs that see one thing together, each with the names that its function has in one kernel or another.
struct ProbeGroup {
    /// What would be missing without it.
    sees: &'static str,
    entries: &'static [(&'static str, &'static [&'static str])],
    exits: &'static [(&'static str, &'static [&'static str])],
}

const PIPE_WRITE: &[&str] = &["anon_pipe_write", "pipe_write"];
const PIPE_READ: &[&str] = &["anon_pipe_read", "pipe_read"];

const GROUPS: [ProbeGroup; 4] = [
    ProbeGroup {
        sees: "reads of pipes that held data already",
        entries: &[("pipe_write", PIPE_WRITE)],
        exits: &[("pipe_written", PIPE_WRITE), ("pipe_read", PIPE_READ)],
    },
    ProbeGroup {
        sees: "reads of local sockets that held data already",
        entries: &[("unix_send", &["unix_stream_sendmsg"])],
        exits: &[("unix_sent", &["unix_stream_sendmsg"]), ("unix_received", &["unix_stream_recvmsg"])],
    },
    ProbeGroup {
        sees: "reads of TCP sockets that held data already",
        entries: &[("tcp_send", &["tcp_sendmsg"])],
        exits: &[("tcp_sent", &["tcp_sendmsg"]), ("tcp_received", &["tcp_recvmsg"])],
    },
    ProbeGroup {
        sees: "reads of event counters that were positive already",
        entries: &[("event_write", &["eventfd_write"])],
        exits: &[("event_written", &["eventfd_write"]), ("event_read", &["eventfd_read"])],
    },
];

/// Functions of C libraries that join a thread, and the programs for them.
const JOINS: [(&str, &[&str]); 2] = [
    ("join_waits", &["pthread_join", "thrd_join"]),
    ("join_tries", &["pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_tryjoin_np"]),
];

/// The functions of the kernel that programs can be for.
pub(super) fn functions() -> Vec<&'static str> {
    let of = |group: &'static ProbeGroup| group.entries.iter().chain(group.exits);
    let mut names: Vec<_> = GROUPS.iter().flat_map(of).flat_map(|(_, names)| names.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Attaches the programs on functions of the kernel; gives what will be missing.
pub(super) fn attach(programs: &mut Ebpf, types: &Btf) -> Vec<&'static str> {
    let mut missing = Vec::new();
    for group in &GROUPS {
        let entries = group.entries.iter().all(|&(name, functions)| entry(programs, types, name, functions));
        if !entries || !group.exits.iter().all(|&(name, functions)| exit(programs, types, name, functions)) {
            missing.push(group.sees);
        }
    }
    missing
}

fn entry(programs: &mut Ebpf, types: &Btf, name: &str, functions: &[&str]) -> bool {
    let program = programs.program_mut(name).expect("the object has this program");
    let Ok(program) = <&mut FEntry>::try_from(program) else { return false };
    functions.iter().any(|function| program.load(function, types).is_ok()) && program.attach().is_ok()
}

fn exit(programs: &mut Ebpf, types: &Btf, name: &str, functions: &[&str]) -> bool {
    let program = programs.program_mut(name).expect("the object has this program");
    let Ok(program) = <&mut FExit>::try_from(program) else { return false };
    functions.iter().any(|function| program.load(function, types).is_ok()) && program.attach().is_ok()
}

/// The C libraries whose joins are seen.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    is_loaded: bool,
    /// Paths in processes, and files by device and inode, that were looked at.
    paths: FxHashSet<PathBuf>,
    files: FxHashSet<(u64, u64)>,
    links: Vec<UProbeLink>,
}

impl Libraries {
    /// Loads the programs, and attaches them to the library that this program itself uses, which is mostly that of the
    /// recorded one: so its first join is seen.
    pub(super) fn open(programs: &mut Ebpf) -> Libraries {
        let mut load = |name: &str| {
            let program = programs.program_mut(name).expect("the object has this program");
            <&mut UProbe>::try_from(program).is_ok_and(|program| program.load().is_ok())
        };
        let is_loaded = JOINS.iter().all(|(name, _)| load(name));
        let mut libraries = Libraries { is_loaded, ..Libraries::default() };
        libraries.look_at_process(programs, std::process::id());
        libraries
    }

    /// What will be missing.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.links.is_empty().then_some("joins of threads that had ended already")
    }

    /// Looks for libraries in what a process has mapped already.
    pub(super) fn look_at_process(&mut self, programs: &mut Ebpf, pid: u32) {
        for mapping in maps_of(pid).unwrap_or_default() {
            self.look(programs, pid, &mapping.path);
        }
    }

    /// Looks for a library among what was just mapped.
    pub(super) fn learn(&mut self, programs: &mut Ebpf, event: &RawEvent) {
        if let RawKind::Map { pid, mapping } = &event.kind {
            self.look(programs, *pid, &mapping.path);
        }
    }

    fn look(&mut self, programs: &mut Ebpf, pid: u32, path: &Path) {
        if !self.is_loaded || !is_c_library(path) || !self.paths.insert(path.to_owned()) {
            return;
        }
        // As the process sees it, which may be in a container.
        let inside = PathBuf::from(format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path));
        let Ok(file) = fs::metadata(&inside) else {
            self.paths.remove(path);
            return;
        };
        if self.files.insert((file.dev(), file.ino())) {
            self.attach(programs, &inside);
        }
    }

    fn attach(&mut self, programs: &mut Ebpf, path: &Path) {
        for (name, functions) in JOINS {
            let program = programs.program_mut(name).expect("the object has this program");
            let Ok(program) = <&mut UProbe>::try_from(program) else { continue };
            for &of in functions {
                let link = program.attach(of, path, UProbeScope::AllProcesses);
                self.links.extend(link.and_then(|link| program.take_link(link)));
            }
        }
    }

    /// What attaches the programs to the libraries, to be detached.
    pub(super) fn take_links(&mut self) -> Vec<UProbeLink> {
        std::mem::take(&mut self.links)
    }
}

/// Whether a file is named as C libraries with threads are: glibc's, its separate one of older versions, musl's.
fn is_c_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let begins = ["libc.so", "libc-2.", "libpthread", "ld-musl-", "libc.musl-"];
    path.is_absolute() && begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_libraries_are_known_by_their_names() {
        let is = |path: &str| is_c_library(Path::new(path));
        assert!(is("/usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(is("/lib/ld-musl-x86_64.so.1"));
        assert!(is("/lib64/libpthread-2.31.so"));
        assert!(!is("/usr/lib/x86_64-linux-gnu/libcrypto.so.3"));
        assert!(!is("//anon"));
    }
}
