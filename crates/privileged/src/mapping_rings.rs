//! The executable mappings that processes make, from the kernel's perf events.
//!
//! BPF programs are not told about mappings, so one event a processor that counts nothing delivers them,
//! for every process of the machine.

use std::io;

use perf_event_open_sys::bindings as perf;

use crate::ring::{PerfEvent, PerfRing, online_cpus};

const PAGES: usize = 64;

/// A record of a ring, as the kernel wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingMapping {
    /// The processor.
    pub cpu: u16,
    /// The flags of its header.
    pub misc: u16,
    /// What follows the header of a `PERF_RECORD_MMAP2`, with pid, tid and time at its end.
    pub body: Vec<u8>,
}

/// What the rings tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RingNews {
    /// A process mapped code.
    Mapping(RingMapping),
    /// A task was created: the body of a `PERF_RECORD_FORK`.
    Fork(Vec<u8>),
}

/// One ring a processor.
#[derive(Debug)]
pub(crate) struct MappingRings {
    rings: Vec<(u16, PerfRing)>,
}

impl MappingRings {
    /// Opens them; `forks` for the creations of tasks too.
    pub(crate) fn open(forks: bool) -> io::Result<MappingRings> {
        let open = |cpu: u16| {
            let event = |build_id| PerfEvent::open(&mut attribute(build_id, forks), -1, i32::from(cpu));
            Ok((cpu, PerfRing::map(event(true).or_else(|_| event(false))?, PAGES)?))
        };
        Ok(MappingRings { rings: online_cpus()?.into_iter().map(open).collect::<io::Result<_>>()? })
    }

    /// Hands over what is new, processor by processor. Whether some may have found no room: of which processes nobody knows.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(RingNews)) -> bool {
        let mut has_lost = false;
        for (cpu, ring) in &mut self.rings {
            let is_full = ring.read(|record| {
                let body = || record.body.to_vec();
                match record.kind {
                    perf::PERF_RECORD_LOST => has_lost = true,
                    perf::PERF_RECORD_MMAP2 => {
                        take(RingNews::Mapping(RingMapping { cpu: *cpu, misc: record.misc, body: body() }));
                    }
                    perf::PERF_RECORD_FORK => take(RingNews::Fork(body())),
                    _ => {}
                }
            });
            has_lost |= is_full;
        }
        has_lost
    }
}

fn attribute(build_id: bool, forks: bool) -> perf::perf_event_attr {
    let mut attribute = perf::perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        config: perf::PERF_COUNT_SW_DUMMY.into(),
        sample_type: (perf::PERF_SAMPLE_TID | perf::PERF_SAMPLE_TIME).into(),
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    attribute.set_mmap(1);
    attribute.set_mmap2(1);
    attribute.set_build_id(build_id.into());
    attribute.set_task(forks.into());
    attribute.set_sample_id_all(1);
    attribute.set_use_clockid(1);
    // The reader looks by itself; it is woken only when half of the ring is full.
    attribute.set_watermark(1);
    attribute.__bindgen_anon_2.wakeup_watermark = 1 << 17;
    attribute
}
