//! The decoder of a block of records, and the tables its definitions go into.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_event::Decoder;
use longpole_recording::DefinitionTables;

fuzz_target!(|block: &[u8]| {
    let mut tables = DefinitionTables::default();
    for record in Decoder::new(block).map_while(Result::ok) {
        tables.define(record);
    }
});
