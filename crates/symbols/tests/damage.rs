//! Damaged files are values: neither unwinding nor naming panics on them.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_symbols::{
    CodeModule, Mapping, Registers, Symboliser, Unwinder, UserStack, has_frame_pointers, name_by_perf_map,
};

fn program(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/code/names.cpp");
    let program = folder.join("whole");
    let run = Command::new("g++").args(["-O2", "-g"]).arg(source).arg("-o").arg(&program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    program
}

/// Everything that reads a file, on one file.
fn use_file(path: &Path) {
    let addresses: Vec<u64> = (0x1000..0x1400).step_by(7).chain([0, u64::MAX]).collect();
    if let Ok(module) = CodeModule::of_file(path) {
        assert_eq!(Symboliser::new().symbolise(&module, &addresses).len(), addresses.len());
    }
    let _ = has_frame_pointers(path);
    let mut unwinder = Unwinder::new();
    let mapping = Mapping {
        start: 0x40_0000,
        end: 0x40_3000,
        file_offset: 0x1000,
        path: path.to_owned(),
        build_id: Vec::new(),
    };
    unwinder.map(1, mapping);
    let memory: Vec<u8> = (0..64u64).flat_map(|word| (0x40_0000 + word * 16).to_le_bytes()).collect();
    let mut out = Vec::new();
    for ip in (0x40_0000..0x40_0400).step_by(5) {
        let registers = Registers { ip, sp: 0x7000_0000, bp: 0x7000_0020 };
        unwinder.unwind(
            1,
            &UserStack { registers: Some(registers), memory: &memory, chain: &[ip, 0x40_0100] },
            &mut out,
        );
    }
    assert!(out.len() >= 200);
}

#[test]
fn files_cut_short_anywhere_are_read_without_panic() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(program(folder.path())).unwrap();
    let cut = folder.path().join("cut");
    for part in 0..40 {
        std::fs::write(&cut, &bytes[..bytes.len() * part / 40]).unwrap();
        use_file(&cut);
    }
}

#[test]
fn files_with_wrong_bytes_anywhere_are_read_without_panic() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(program(folder.path())).unwrap();
    let wrong = folder.path().join("wrong");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for round in 0..60 {
        let mut bytes = bytes.clone();
        for _ in 0..=round {
            // Half of the damage goes to the headers, which steer everything else.
            let length = if random().is_multiple_of(2) { 1024 } else { bytes.len() };
            let at = random() % length;
            bytes[at] = random() as u8;
        }
        std::fs::write(&wrong, &bytes).unwrap();
        use_file(&wrong);
    }
}

#[test]
fn stacks_of_nonsense_end() {
    let mut unwinder = Unwinder::new();
    unwinder.load_maps(std::process::id()).unwrap();
    let code = stacks_of_nonsense_end as *const () as u64;
    let memory: Vec<u8> = std::iter::repeat_n(code.to_le_bytes(), 512).flatten().collect();
    for (sp, bp) in
        [(0, 0), (u64::MAX, u64::MAX), (0x1000, 0x1000), (8, 16), (u64::MAX - 7, 1), (0x7000, 0x7000)]
    {
        let registers = Some(Registers { ip: code + 1, sp, bp });
        let mut out = Vec::new();
        unwinder.unwind(
            std::process::id(),
            &UserStack { registers, memory: &memory, chain: &[code, 1, code] },
            &mut out,
        );
        assert!((1..=2100).contains(&out.len()), "{}", out.len());
    }
}

#[test]
fn perf_maps_of_nonsense_name_nothing() {
    for text in [&b""[..], b"\n\n", b"\xff\xfe 1 2", b"1 2", b"99999999999999999999 1 a", b"1000 -1 a"] {
        assert!(name_by_perf_map(text, &[0, 0x1000, u64::MAX]).iter().all(|named| named.places.is_empty()));
    }
}
