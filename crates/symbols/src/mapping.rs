//! What the unwinder is told about a process.

use std::path::PathBuf;

/// A piece of executable memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the file of `start`.
    pub file_offset: u64,
    /// The file as mapped; `[vdso]`, `//anon`, `[heap]`, `/memfd:…` and the like where there is none.
    pub path: PathBuf,
    /// Build id, where the kernel told it; empty otherwise.
    pub build_id: Vec<u8>,
}

/// The user registers that unwinding starts from (x86-64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub bp: u64,
}
