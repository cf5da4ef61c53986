//! Opening of events and of their rings, as the kernel and what a user may lock of the memory allow.

use std::io;

use perf_event_open_sys::bindings::perf_event_attr;

use longpole_privileged::{PerfEvent, PerfRing};

const PAGE_BYTES: usize = 4096;

/// Sizes that a ring may have, bytes; powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The one to begin with.
    pub(crate) largest: usize,
    /// One that is still of use.
    pub(crate) smallest: usize,
}

/// Rings of one size.
#[derive(Debug)]
pub(crate) struct Rings {
    /// In the order of the processors, and whether the mappings in each carry build ids.
    pub(crate) rings: Vec<(PerfRing, bool)>,
    /// The size.
    pub(crate) bytes: usize,
}

/// Why there are no rings.
#[derive(Debug)]
pub(crate) enum RingRefusal {
    /// An event was not opened.
    Event(io::Error),
    /// What this user may lock of the memory is in use.
    Memory(io::Error),
    /// A ring was not mapped for another reason.
    Ring(io::Error),
}

/// The event of `pid` (−1: of every process) for a processor, and whether its mappings carry build ids, which kernels before
/// 5.12 do not know. `attribute` makes it with build ids and without.
///
/// # Errors
/// What the kernel said.
pub(crate) fn open_event(
    pid: i32,
    cpu: u16,
    attribute: impl Fn(bool) -> perf_event_attr,
) -> io::Result<(PerfEvent, bool)> {
    let open = |build_ids| Ok((PerfEvent::open(&mut attribute(build_ids), pid, i32::from(cpu))?, build_ids));
    open(true).or_else(|_| open(false))
}

/// A ring for each processor, of events of `pid`: of the largest size that this user may lock for all. `attribute` makes the
/// events for rings of a size, with build ids and without. They are not started.
///
/// # Errors
/// [`RingRefusal`].
pub(crate) fn open_rings(
    pid: i32,
    cpus: &[u16],
    sizes: Sizes,
    attribute: impl Fn(usize, bool) -> perf_event_attr,
) -> Result<Rings, RingRefusal> {
    let mut bytes = sizes.largest;
    loop {
        let open = |&cpu: &u16| {
            let event = open_event(pid, cpu, |build_ids| attribute(bytes, build_ids));
            let (event, has_build_ids) = event.map_err(RingRefusal::Event)?;
            let ring =
                PerfRing::map(event, bytes / PAGE_BYTES).map_err(|error| match error.raw_os_error() {
                    Some(libc::EPERM) => RingRefusal::Memory(error),
                    _ => RingRefusal::Ring(error),
                })?;
            Ok((ring, has_build_ids))
        };
        match cpus.iter().map(open).collect() {
            Ok(rings) => return Ok(Rings { rings, bytes }),
            // What this user may lock is too little, or other recordings have some of it: smaller rings lose more when
            // the recorder is late, and say so.
            Err(RingRefusal::Memory(_)) if bytes > sizes.smallest => bytes /= 2,
            Err(refusal) => return Err(refusal),
        }
    }
}
