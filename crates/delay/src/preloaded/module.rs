//! The module of the program that holds the procedure, and where the process has it.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use super::sampling::memory;
use super::system::call;
use crate::layout::DelayMemory;

/// What is added to addresses of the module's file.
static BASE: AtomicU64 = AtomicU64::new(0);
/// Where the process has the module: its first address, and the one behind its last.
static FIRST: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);
/// Finds the module of the procedure; whether the process has it, or needs none.
pub(super) fn find(memory: &DelayMemory) -> bool {
    let base = base_of_module(memory);
    BASE.store(base.unwrap_or(0), Ordering::Relaxed);
    base.is_some()
}

/// Whether the address is in the procedure's code.
pub(super) fn is_inside(address: u64) -> bool {
    let Some(memory) = memory().filter(|_| is_in_module(address)) else { return false };
    let address = address.wrapping_sub(BASE.load(Ordering::Relaxed));
    let code = memory.code.get(..memory.ranges as usize).unwrap_or(&[]);
    let next = code.partition_point(|range| range[0] <= address);
    next > 0 && address < code[next - 1][1]
}

/// Whether the address is in the module that holds the procedure.
pub(super) fn is_in_module(address: u64) -> bool {
    (FIRST.load(Ordering::Relaxed)..END.load(Ordering::Relaxed)).contains(&address)
}

/// Where the process has the module that holds the procedure; 0 where there is no procedure.
fn base_of_module(memory: &DelayMemory) -> Option<u64> {
    let module = CStr::from_bytes_until_nul(&memory.module).ok()?;
    if module.is_empty() {
        return Some(0);
    }
    let mut sought = SoughtModule { module, base: None };
    // SAFETY: the procedure visits modules while `sought` lives.
    unsafe { libc::dl_iterate_phdr(Some(visit_module), (&raw mut sought).cast()) };
    sought.base
}

struct SoughtModule<'a> {
    module: &'a CStr,
    base: Option<u64>,
}

unsafe extern "C" fn visit_module(
    found: *mut libc::dl_phdr_info,
    _: libc::size_t,
    own: *mut c_void,
) -> c_int {
    // SAFETY: the loader's description, and the value that `base_of_module` passes.
    let (found, sought) = unsafe { (&*found, &mut *own.cast::<SoughtModule<'_>>()) };
    let mut program = [0_u8; 1024];
    // SAFETY: a text that ends with a zero.
    let mut name = unsafe { CStr::from_ptr(found.dlpi_name) };
    if name.is_empty() {
        let room = program.len() - 1;
        let arguments = [
            libc::AT_FDCWD as usize,
            c"/proc/self/exe".as_ptr() as usize,
            program.as_mut_ptr() as usize,
            room,
        ];
        // SAFETY: room for the answer, and for its final zero.
        unsafe { call(libc::SYS_readlinkat, arguments) };
        name = CStr::from_bytes_until_nul(&program).unwrap_or(c"");
    }
    if name == sought.module {
        sought.base = Some(found.dlpi_addr);
        let count = usize::from(found.dlpi_phnum);
        // SAFETY: the loader's table of so many entries.
        let segments = unsafe { core::slice::from_raw_parts(found.dlpi_phdr, count) };
        let loaded = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
        let first = loaded.clone().map(|segment| segment.p_vaddr).min().unwrap_or(0);
        let end = loaded.map(|segment| segment.p_vaddr + segment.p_memsz).max().unwrap_or(0);
        FIRST.store(found.dlpi_addr + first, Ordering::Relaxed);
        END.store(found.dlpi_addr + end, Ordering::Relaxed);
        return 1;
    }
    0
}
