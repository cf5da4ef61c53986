use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_DUMMY, PERF_RECORD_MMAP2, PERF_TYPE_SOFTWARE, perf_event_attr,
};

use super::*;

fn mappings_of_this_thread() -> io::Result<PerfEvent> {
    let mut attribute = perf_event_attr { type_: PERF_TYPE_SOFTWARE, ..Default::default() };
    attribute.config = PERF_COUNT_SW_DUMMY.into();
    attribute.set_mmap(1);
    attribute.set_mmap2(1);
    PerfEvent::open(&mut attribute, 0, -1)
}

#[test]
fn records_of_a_copy_are_whole_and_a_torn_one_ends_them() {
    let mut bytes = Vec::new();
    for (kind, body) in [(9_u32, &b"sample.."[..]), (14, b""), (2, b"lost")] {
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(7_u16.to_ne_bytes());
        bytes.extend((body.len() as u16 + 8).to_ne_bytes());
        bytes.extend(body);
    }
    let found: Vec<_> = records(&bytes).map(|record| (record.kind, record.misc, record.body)).collect();
    assert_eq!(found, [(9, 7, &b"sample.."[..]), (14, 7, b""), (2, 7, b"lost")]);
    assert_eq!(records(&bytes[..bytes.len() - 1]).count(), 2);
    assert_eq!(records(&[0; 16]).count(), 0);
}

#[test]
fn what_is_taken_out_of_a_ring_is_what_reading_finds() {
    let Ok(event) = mappings_of_this_thread() else { return };
    let Ok(mut ring) = PerfRing::map(event, 4) else { return };
    ring.event().enable().unwrap();
    map_executable_page();
    map_executable_page();
    ring.event().disable().unwrap();
    let bytes = ring.take_bytes();
    let kinds: Vec<u32> = records(&bytes).map(|record| record.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == PERF_RECORD_MMAP2).count(), 2, "{kinds:?}");
    assert_eq!((ring.waiting_bytes(), ring.take_bytes().len()), (0, 0));
}

fn map_executable_page() {
    // SAFETY: a new mapping, removed at once.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        libc::munmap(page, 4096);
    }
}

#[test]
fn records_come_out_once_and_survive_the_wrap_around() {
    let event = match mappings_of_this_thread() {
        Ok(event) => event,
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            return longpole_testkit::skipped("perf events are not permitted here");
        }
        Err(error) => panic!("{error}"),
    };
    let mut ring = PerfRing::map(event, 1).unwrap();
    let mut seen = 0;
    for round in 1..=200 {
        map_executable_page();
        ring.read(|record| {
            assert_eq!(record.kind, PERF_RECORD_MMAP2);
            let name = &record.body[64..];
            assert!(name.starts_with(b"//anon\0"), "{name:?}");
            seen += 1;
        });
        assert_eq!(seen, round);
    }
    assert_eq!(ring.waiting_bytes(), 0);
}

#[test]
fn processor_lists_are_parsed() {
    assert_eq!(parse_cpu_list("0-1\n"), Some(vec![0, 1]));
    assert_eq!(parse_cpu_list("0,2-4,9"), Some(vec![0, 2, 3, 4, 9]));
    assert_eq!(parse_cpu_list("x"), None);
}
