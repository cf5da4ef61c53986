//! The reader of `perf-PID.map` files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_symbols::name_by_perf_map;

fuzz_target!(|text: &[u8]| {
    let addresses = [0, 0x1000, 0x7f00_0000_1000, u64::MAX];
    assert_eq!(name_by_perf_map(text, &addresses).len(), addresses.len());
});
