//! The modules of the program that are instrumented, which say so when they are loaded, and the OpenMP runtime.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::writer::emulation::ModuleTable;

/// The modules that are instrumented.
pub static INSTRUMENTED: ModuleTable = ModuleTable::new();

/// The code of an OpenMP runtime.
static RUNTIME: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The module that holds this code is an OpenMP runtime: how its threads wait for each other is not the program's.
pub fn add_runtime(code: u64) {
    if !is_runtime(code) {
        let (_, begin, end) = range_of(code);
        RUNTIME[0].store(begin, Ordering::Relaxed);
        RUNTIME[1].store(end, Ordering::Release);
    }
}

/// Whether this code is that of an OpenMP runtime.
#[inline]
pub fn is_runtime(code: u64) -> bool {
    let end = RUNTIME[1].load(Ordering::Acquire);
    code < end && RUNTIME[0].load(Ordering::Relaxed) <= code
}

/// The code, and the begin and end of the executable segment that holds it.
fn range_of(code: u64) -> (u64, u64, u64) {
    let mut range = (code, 0_u64, 0_u64);
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut range).cast()) };
    range
}

/// Adds the module that holds this code.
pub fn add(code: u64) {
    if is_instrumented(code) {
        return;
    }
    // Modules are loaded one at a time.
    let (_, begin, end) = range_of(code);
    INSTRUMENTED.add(begin, end);
}

/// The executable segment of a module, where it holds the code that is looked for.
unsafe extern "C" fn look_at(
    info: *mut libc::dl_phdr_info,
    _: usize,
    range: *mut libc::c_void,
) -> libc::c_int {
    let (info, range) = unsafe { (&*info, &mut *range.cast::<(u64, u64, u64)>()) };
    for index in 0..info.dlpi_phnum {
        let header = unsafe { &*info.dlpi_phdr.add(index.into()) };
        let begin = info.dlpi_addr + header.p_vaddr;
        if header.p_type == libc::PT_LOAD && (begin..begin + header.p_memsz).contains(&range.0) {
            (range.1, range.2) = (begin, begin + header.p_memsz);
            return 1;
        }
    }
    0
}

/// Whether this code is of a module that is instrumented.
#[inline]
pub fn is_instrumented(code: u64) -> bool {
    INSTRUMENTED.holds(code)
}
