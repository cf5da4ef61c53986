//! The reader of exporters' pages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_collect::{Exposition, Faults, ReadTime};
use longpole_event::Time;

fuzz_target!(|page: (bool, &[u8], &[u8])| {
    let now = Time::from_nanoseconds(5_000_000_000_000);
    let moment = ReadTime { now, unix_nanoseconds: 1_790_000_000_000_000_000 };
    let mut faults = Faults::default();
    let mut exposition = Exposition::new(page.0, &mut faults);
    if exposition.take(page.1, moment, &mut |_| ()) && exposition.take(page.2, moment, &mut |_| ()) {
        exposition.end(moment, &mut |_| ());
    }
});
