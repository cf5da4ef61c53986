//! What of a recorder needs capabilities: perf events of all processes, programs in the kernel, names of the kernel's addresses.
//!
//! A recorder that has the capabilities itself does it all in its own process. After `longpole setup` another process has them, the
//! *privileged process*, which executes `longpole-privileged`:
//!
//! ```text
//!   recorder (no capabilities)              privileged process (cap_perfmon, cap_bpf, cap_syslog)
//!        request ─────────────── socket ──────────► checks it, then does it
//!        KernelAccess ◄── descriptors of four maps, the mappings of the caller's processes
//! ```
//! Whoever may execute the file can make every request; what one can get by them is the whole of what the capabilities give away.
//! So descriptors of perf events, which are of all processes, never leave the privileged process. What leaves it is about processes
//! into which its caller may look.

mod access;
mod breakpoints;
mod family;
mod jitter;
mod kernel_types;
mod mapping_rings;
mod message;
mod privacy;
mod probes;
mod process;
mod programs;
mod request;
mod ring;
mod server;

pub use access::{KernelAccess, PrivilegedError, has_capabilities};
pub use breakpoints::{MOST_STORES, MOST_WATCHED, WatchedMemory};
pub use jitter::{Intervals, VariedClocks, bare_clock, mean, steady};
pub use mapping_rings::RingMapping;
pub use privacy::Privacy;
pub use probes::{RARE_JOINS, USUAL_JOIN};
pub use process::{PRIVILEGED_FILE, PrivilegedProcess, kernel_symbols};
pub use programs::{BpfError, CollectorMaps, KernelFacts, KernelPrograms, MOST_STACK_BYTES, ProgramSettings};
pub use ring::{PerfEvent, PerfRing, RingRecord, online_cpus, records};
pub use server::serve;
