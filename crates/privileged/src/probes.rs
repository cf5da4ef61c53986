//! Programs on functions of the kernel and of C libraries, which see what threads depend on where nobody waits: joins and
//! streams of bytes.
//!
//! Each is worth having without the others, so a kernel that refuses some costs only what these would have seen, and the
//! notes say so.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use aya::programs::uprobe::{UProbeLink, UProbeScope};
use aya::programs::{FEntry, FExit, UProbe};
use aya::{Btf, Ebpf};

/// C libraries are smaller.
const MOST_LIBRARY_BYTES: u64 = 64 << 20;

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
pub(crate) fn functions() -> Vec<&'static str> {
    let of = |group: &'static ProbeGroup| group.entries.iter().chain(group.exits);
    let mut names: Vec<_> = GROUPS.iter().flat_map(of).flat_map(|(_, names)| names.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Attaches the programs on functions of the kernel; gives what will be missing.
pub(crate) fn attach(programs: &mut Ebpf, types: &Btf) -> Vec<&'static str> {
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

/// The programs on functions of C libraries.
#[derive(Debug, Default)]
pub(crate) struct JoinProbes {
    is_loaded: bool,
    links: Vec<UProbeLink>,
}

impl JoinProbes {
    /// Loads the programs.
    pub(crate) fn load(programs: &mut Ebpf) -> JoinProbes {
        let mut load = |name: &str| {
            let program = programs.program_mut(name).expect("the object has this program");
            <&mut UProbe>::try_from(program).is_ok_and(|program| program.load().is_ok())
        };
        JoinProbes { is_loaded: JOINS.iter().all(|(name, _)| load(name)), links: Vec::new() }
    }

    /// Attaches the programs to the functions of a library, wherever it is mapped; how many it has.
    ///
    /// Where a function begins is read from the file itself: a breakpoint anywhere else would damage what others execute.
    pub(crate) fn attach(&mut self, programs: &mut Ebpf, library: &File) -> io::Result<usize> {
        let metadata = library.metadata()?;
        if !metadata.is_file() || metadata.len() > MOST_LIBRARY_BYTES {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let path = format!("/proc/self/fd/{}", library.as_raw_fd());
        let before = self.links.len();
        for (name, functions) in JOINS.into_iter().filter(|_| self.is_loaded) {
            let program = programs.program_mut(name).expect("the object has this program");
            let Ok(program) = <&mut UProbe>::try_from(program) else { continue };
            for &of in functions {
                let link = program.attach(of, &path, UProbeScope::AllProcesses);
                self.links.extend(link.and_then(|link| program.take_link(link)));
            }
        }
        Ok(self.links.len() - before)
    }

    /// What attaches the programs to the libraries, to be detached.
    pub(crate) fn take_links(&mut self) -> Vec<UProbeLink> {
        std::mem::take(&mut self.links)
    }
}
