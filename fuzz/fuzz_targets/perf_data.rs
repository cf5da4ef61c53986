//! The importer. Seeds: `crates/record/tests/fixtures/*.data`.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use longpole_record::import::parse;

fuzz_target!(|bytes: &[u8]| {
    let mut last = None;
    let _ = parse(Cursor::new(bytes), &mut |event| {
        assert!(last <= Some(event.time));
        last = Some(event.time);
        Ok(())
    });
});
