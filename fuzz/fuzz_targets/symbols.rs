//! The readers of executables: symbols, debug information, unwind tables. Seeds: small ELF files.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use longpole_symbols::{CodeModule, Symboliser, build_folders, has_frame_pointers, name_callees, name_variables};

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("a written file");
    let _ = has_frame_pointers(file.path());
    let Ok(module) = CodeModule::of_file(file.path()) else { return };
    let addresses = [0, 0x401, 0x1000, 0x1139, 0x4010, u64::MAX];
    let named = Symboliser::new().symbolise(&module, &addresses);
    assert_eq!(named.len(), addresses.len());
    assert_eq!(name_variables(&module, &addresses).len(), addresses.len());
    let _ = (name_callees(&module, &addresses), build_folders(&module));
});
