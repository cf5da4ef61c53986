//! The reader of the memory that a program shares with the recorder, and can write into as it likes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_record::agent::fuzzing::read_scribbled;

fuzz_target!(|rounds: Vec<Vec<(u16, u64)>>| read_scribbled(&rounds));
