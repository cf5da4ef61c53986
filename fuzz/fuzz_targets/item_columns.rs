//! Items that are kept as columns in a recording's folder, which somebody else may have written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_trace::{IdCounts, ItemKind, items_of_block};

const IDS: IdCounts =
    IdCounts { machines: 2, processes: 9, threads: 300, paths: 70_000, objects: 5, procedures: 20, places: 40 };

fuzz_target!(|block: &[u8]| {
    let _ = items_of_block(block, &IDS, &mut |item| {
        assert!(item.thread.index() < IDS.threads, "a thread of the recording");
        if let ItemKind::Observe { path, .. } = item.what {
            assert!((path.0 as usize) < IDS.paths, "a path of the recording");
        }
    });
});
