//! The reader of `perf-PID.map` files on damaged input.

use std::time::Duration;

use longpole_symbols::name_by_perf_map;
use longpole_testkit::Mutations;

#[test]
fn damaged_perf_maps_name_what_they_can() {
    let map = b"7f0000001000 40 Interpreter\n7f0000001040 1a0 void A::b(int)\n7f0000002000 10 LazyCompile:~x file.js:3\n";
    let addresses = [0, 1, 0x7f00_0000_1000, 0x7f00_0000_1050, 0x7f00_0000_2000, u64::MAX];
    let runs = Mutations::new(vec![map.to_vec()], 31).run_for(Duration::from_secs(2), |bytes| {
        assert_eq!(name_by_perf_map(bytes, &addresses).len(), addresses.len());
    });
    assert!(runs > 1000, "{runs} inputs");
}
