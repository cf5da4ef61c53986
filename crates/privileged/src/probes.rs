//! Programs on functions of the kernel and of C libraries, which see what threads depend on where nobody waits: joins and
//! streams of bytes.
//!
//! Each is worth having without the others, so a kernel that refuses some costs only what these would have seen, and the
//! notes say so.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use aya::programs::uprobe::{UProbeLink, UProbeScope};
use aya::programs::{Program, UProbe};
use aya::{Btf, Ebpf};

/// C libraries are smaller.
const MOST_LIBRARY_BYTES: u64 = 64 << 20;

/// Programs that see something together, each with the names that its function or tracepoint has in one kernel or another.
struct ProbeGroup {
    /// What would be missing without it.
    sees: &'static [&'static str],
    programs: &'static [(&'static str, &'static [&'static str])],
}

const PIPE_WRITE: &[&str] = &["anon_pipe_write", "pipe_write"];
const PIPE_READ: &[&str] = &["anon_pipe_read", "pipe_read"];

const LOCAL_SOCKETS: &str = "reads of local sockets that held data already";
const TCP_SOCKETS: &str = "reads of TCP sockets that held data already";

/// Programs on functions of the kernel.
const FUNCTIONS: [ProbeGroup; 5] = [
    ProbeGroup {
        sees: &["reads of pipes that held data already"],
        programs: &[("pipe_write", PIPE_WRITE), ("pipe_written", PIPE_WRITE), ("pipe_read", PIPE_READ)],
    },
    ProbeGroup {
        sees: &[LOCAL_SOCKETS],
        programs: &[
            ("unix_send", &["unix_stream_sendmsg"]),
            ("unix_sent", &["unix_stream_sendmsg"]),
            ("unix_received", &["unix_stream_recvmsg"]),
        ],
    },
    ProbeGroup {
        sees: &[TCP_SOCKETS],
        programs: &[
            ("tcp_send", &["tcp_sendmsg"]),
            ("tcp_sent", &["tcp_sendmsg"]),
            ("tcp_received", &["tcp_recvmsg"]),
        ],
    },
    ProbeGroup {
        sees: &["datagrams (UDP) that had come already"],
        programs: &[
            ("datagram_sent", &["__udp_enqueue_schedule_skb"]),
            ("datagram_received", &["skb_consume_udp"]),
        ],
    },
    ProbeGroup {
        sees: &["reads of event counters that were positive already"],
        programs: &[
            ("event_write", &["eventfd_write"]),
            ("event_written", &["eventfd_write"]),
            ("event_read", &["eventfd_read"]),
        ],
    },
];

/// Programs on tracepoints, for what no program on a function sees (Linux 6.3 and newer).
const TRACEPOINTS: [ProbeGroup; 1] = [ProbeGroup {
    sees: &[LOCAL_SOCKETS, TCP_SOCKETS],
    programs: &[("socket_sent", &["sock_send_length"]), ("socket_received", &["sock_recv_length"])],
}];

/// The function of C libraries by which nearly all programs join threads.
pub const USUAL_JOIN: &str = "pthread_join";
/// The others that do. Few programs use one, and each costs the end of a recording 80 ms (Linux 6.18): the kernel takes
/// probes away one after the other, and waits each time until no processor runs them.
pub const RARE_JOINS: [&str; 4] =
    ["thrd_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_tryjoin_np"];

/// The program for a join that waits without end, and that for others.
const JOIN_PROGRAMS: [&str; 2] = ["join_waits", "join_tries"];

fn program_of(join: &str) -> &'static str {
    let [waits, tries] = JOIN_PROGRAMS;
    if join == USUAL_JOIN || join == "thrd_join" { waits } else { tries }
}

/// The functions of the kernel that programs can be for.
pub(crate) fn functions() -> Vec<&'static str> {
    places(&FUNCTIONS)
}

/// The tracepoints that programs can be for, on kernels that have them.
pub(crate) fn tracepoints() -> Vec<&'static str> {
    places(&TRACEPOINTS)
}

fn places(groups: &[ProbeGroup]) -> Vec<&'static str> {
    let programs = groups.iter().flat_map(|group| group.programs);
    let mut names: Vec<_> = programs.flat_map(|(_, places)| places.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Attaches the programs on functions of the kernel, or on tracepoints where it refuses them; gives what will be missing.
pub(crate) fn attach(programs: &mut Ebpf, types: &Btf) -> Vec<&'static str> {
    let mut attach_group = |group: &ProbeGroup| {
        group.programs.iter().all(|&(name, places)| attach_one(programs, types, name, places))
    };
    let mut missing = Vec::new();
    for group in &FUNCTIONS {
        if !attach_group(group) {
            missing.extend(group.sees);
        }
    }
    for group in &TRACEPOINTS {
        if group.sees.iter().all(|sees| missing.contains(sees)) && attach_group(group) {
            missing.retain(|sees| !group.sees.contains(sees));
        }
    }
    missing
}

/// Loads a program for the first of these functions or tracepoints that the kernel takes it for, and attaches it.
fn attach_one(programs: &mut Ebpf, types: &Btf, name: &str, places: &[&str]) -> bool {
    let program = programs.program_mut(name).expect("the object has this program");
    match program {
        Program::FEntry(program) => {
            places.iter().any(|place| program.load(place, types).is_ok()) && program.attach().is_ok()
        }
        Program::FExit(program) => {
            places.iter().any(|place| program.load(place, types).is_ok()) && program.attach().is_ok()
        }
        Program::BtfTracePoint(program) => {
            places.iter().any(|place| program.load(place, types).is_ok()) && program.attach().is_ok()
        }
        _ => false,
    }
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
        JoinProbes { is_loaded: JOIN_PROGRAMS.into_iter().all(&mut load), links: Vec::new() }
    }

    /// Attaches the programs to these functions of a library, wherever it is mapped; how many it has.
    ///
    /// Where a function begins is read from the file itself: a breakpoint anywhere else would damage what others execute.
    pub(crate) fn attach(
        &mut self,
        programs: &mut Ebpf,
        library: &File,
        joins: &[&str],
    ) -> io::Result<usize> {
        let metadata = library.metadata()?;
        if !metadata.is_file() || metadata.len() > MOST_LIBRARY_BYTES {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let path = format!("/proc/self/fd/{}", library.as_raw_fd());
        let before = self.links.len();
        for &join in joins.iter().filter(|_| self.is_loaded) {
            let program = programs.program_mut(program_of(join)).expect("the object has this program");
            let Ok(program) = <&mut UProbe>::try_from(program) else { continue };
            let link = program.attach(join, &path, UProbeScope::AllProcesses);
            self.links.extend(link.and_then(|link| program.take_link(link)));
        }
        Ok(self.links.len() - before)
    }

    /// What attaches the programs to the libraries, to be detached.
    pub(crate) fn take_links(&mut self) -> Vec<UProbeLink> {
        std::mem::take(&mut self.links)
    }
}
