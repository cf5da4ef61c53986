//! The executable mappings that processes make, from the kernel's perf events.
//!
//! In a recorder with capabilities of its own they are of every process of the machine; the assembler picks the recorded
//! ones. When others map so much that records find no room, [`crate::remaps`] makes up for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use longpole_event::Time;
use longpole_privileged::RingMapping;
use longpole_symbols::Mapping;
use perf_event_open_sys::bindings as perf;

use crate::raw::{RawEvent, RawKind};

/// Bytes of the ids that end each record: pid and tid, time.
const TRAILER_BYTES: usize = 16;

/// The event that a record is.
pub(crate) fn event(record: &RingMapping) -> Option<RawEvent> {
    let (time, kind) = decode_mapping(record.misc, &record.body)?;
    Some(RawEvent { time, cpu: record.cpu, kind })
}

/// Decodes the body of a `PERF_RECORD_MMAP2` with pid, tid and time at its end.
pub(crate) fn decode_mapping(misc: u16, body: &[u8]) -> Option<(Time, RawKind)> {
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER_BYTES)?)?;
    let u32_at = |at: usize| Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_ne_bytes(body.get(at..at + 8)?.try_into().ok()?));
    let time = Time::from_nanoseconds(u64::from_ne_bytes(trailer[8..].try_into().ok()?));
    let (start, length) = (u64_at(8)?, u64_at(16)?);
    let build_id = if u32::from(misc) & perf::PERF_RECORD_MISC_MMAP_BUILD_ID != 0 {
        let size = usize::from(*body.get(32)?).min(20);
        body.get(36..36 + size)?.to_vec()
    } else {
        Vec::new()
    };
    let name = body.get(64..)?;
    let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(name.len())];
    let mapping = Mapping {
        start,
        end: start.checked_add(length)?,
        file_offset: u64_at(24)?,
        path: PathBuf::from(OsStr::from_bytes(name)),
        build_id,
    };
    Some((time, RawKind::Map { pid: u32_at(0)?, mapping }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(build_id: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(10_u32.to_ne_bytes());
        body.extend(11_u32.to_ne_bytes());
        for word in [0x1000_u64, 0x2000, 0x3000] {
            body.extend(word.to_ne_bytes());
        }
        let mut id = [0; 24];
        id[0] = build_id.len() as u8;
        id[4..4 + build_id.len()].copy_from_slice(build_id);
        body.extend(id);
        body.extend([5, 0, 0, 0, 2, 0, 0, 0]);
        body.extend(b"/usr/bin/x\0\0\0\0\0\0");
        body.extend(10_u32.to_ne_bytes());
        body.extend(11_u32.to_ne_bytes());
        body.extend(99_u64.to_ne_bytes());
        body
    }

    #[test]
    fn a_mapping_is_taken_apart() {
        let body = body(&[1, 2, 3]);
        let misc = perf::PERF_RECORD_MISC_MMAP_BUILD_ID as u16;
        let (time, kind) = decode_mapping(misc, &body).unwrap();
        assert_eq!(time, Time::from_nanoseconds(99));
        let mapping = Mapping {
            start: 0x1000,
            end: 0x3000,
            file_offset: 0x3000,
            path: "/usr/bin/x".into(),
            build_id: vec![1, 2, 3],
        };
        assert_eq!(kind, RawKind::Map { pid: 10, mapping });
        let (_, kind) = decode_mapping(0, &body).unwrap();
        assert!(matches!(kind, RawKind::Map { mapping, .. } if mapping.build_id.is_empty()));
    }

    #[test]
    fn a_cut_record_is_refused() {
        let body = body(&[]);
        for end in 0..64 + TRAILER_BYTES - 1 {
            assert_eq!(decode_mapping(0, &body[..end]), None);
        }
    }
}
