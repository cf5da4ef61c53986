//! The reader of what commands print.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_collect::{LineReader, ReadTime};
use longpole_event::Time;

fuzz_target!(|pieces: (&[u8], &[u8])| {
    let now = Time::from_nanoseconds(5_000_000_000_000);
    let moment = ReadTime { now, unix_nanoseconds: 1_790_000_000_000_000_000 };
    let mut lines = LineReader::new(now);
    lines.take(pieces.0, moment, &mut |_| ());
    lines.take(pieces.1, moment, &mut |_| ());
    lines.end(moment, &mut |_| ());
});
