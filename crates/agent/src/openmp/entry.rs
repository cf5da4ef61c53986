//! Where an entry point of an OpenMP runtime really is.
//!
//! Mostly the runtime is loaded with the program, behind the agent, and found there. But a library that is loaded at run
//! time may bring one that only itself can see (Python's do), or even a copy of its own: then it is found as that
//! library's own references would be, by the address of the call.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use libc::Dl_info;

/// An entry point. So many places of calls are remembered; for others each call looks anew.
#[derive(Debug)]
pub struct EntryPoint<const PLACES: usize = 32> {
    name: &'static CStr,
    address: EntryAddress<PLACES>,
}

/// Where an entry point was found.
#[derive(Debug)]
pub(crate) struct EntryAddress<const PLACES: usize> {
    /// Null where nobody has looked; [`ELSEWHERE`] where it is not behind the agent.
    address: AtomicPtr<c_void>,
    /// Calls from libraries that have it elsewhere: where they were made, and the address.
    calls: [(AtomicU64, AtomicPtr<c_void>); PLACES],
}

const ELSEWHERE: *mut c_void = ptr::without_provenance_mut(usize::MAX);
/// Marks addresses in gcc's runtime. Code begins at even addresses.
const IS_GCC: usize = 1;
/// `RTLD_DL_LINKMAP`
const LINK_MAP: c_int = 2;

/// The part of the loader's description of a library (`struct link_map`) that is the same everywhere.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

/// glibc's `dladdr1`, which is looked for by its name: where libc lacks it, linking with it would keep programs from
/// starting.
///
/// # Safety
/// As the function asks for.
unsafe fn dladdr1(
    address: *const c_void,
    info: *mut Dl_info,
    extra: *mut *mut c_void,
    flags: c_int,
) -> c_int {
    type Function = unsafe extern "C" fn(*const c_void, *mut Dl_info, *mut *mut c_void, c_int) -> c_int;
    // SAFETY: the name ends with a zero, the type is the function's own, and the rest is the caller's.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"dladdr1".as_ptr());
        if function.is_null() {
            return 0;
        }
        core::mem::transmute::<*mut c_void, Function>(function)(address, info, extra, flags)
    }
}

impl<const PLACES: usize> EntryPoint<PLACES> {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        EntryPoint { name, address: EntryAddress::new() }
    }

    /// The function, for a call that returns to `caller`, and whether it is gcc's runtime's. `None` where there is none.
    ///
    /// # Safety
    /// `F` is a function pointer of the function's type.
    #[inline]
    pub(crate) unsafe fn find<F: Copy>(&self, caller: u64) -> Option<(F, bool)> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let (address, is_gcc) = self.address.find(|| self.name, caller);
        if address.is_null() {
            return None;
        }
        union EntryPointCast<F: Copy> {
            address: *mut c_void,
            function: ManuallyDrop<F>,
        }
        // SAFETY: both are one pointer wide; the caller vouches for the type.
        Some((unsafe { *EntryPointCast { address }.function }, is_gcc))
    }
}

impl<const PLACES: usize> EntryAddress<PLACES> {
    pub(crate) const fn new() -> Self {
        EntryAddress {
            address: AtomicPtr::new(ptr::null_mut()),
            calls: [const { (AtomicU64::new(0), AtomicPtr::new(ptr::null_mut())) }; PLACES],
        }
    }

    /// The address of the function with this name, for a call that returns to `caller`, and whether it is in gcc's runtime. Null
    /// where there is none.
    #[inline]
    pub(crate) fn find(&self, name: impl Fn() -> &'static CStr, caller: u64) -> (*mut c_void, bool) {
        let mut marked = self.address.load(Ordering::Relaxed);
        if marked.is_null() || marked == ELSEWHERE {
            marked = self.look(marked, &name, caller);
        }
        (marked.map_addr(|address| address & !IS_GCC), marked.addr() & IS_GCC != 0)
    }

    #[cold]
    fn look(&self, known: *mut c_void, name: &dyn Fn() -> &'static CStr, caller: u64) -> *mut c_void {
        if known.is_null() {
            let found = symbol(libc::RTLD_NEXT, name());
            let found = if found.is_null() { ELSEWHERE } else { mark(found) };
            self.address.store(found, Ordering::Relaxed);
            if found != ELSEWHERE {
                return found;
            }
        }
        for (place, address) in &self.calls {
            match place.load(Ordering::Acquire) {
                0 => {
                    let found = seen_from(caller, name());
                    // The address first: who sees the place finds it there. Of two threads that write at once one place
                    // may go with the other's address only where both are the same.
                    if address
                        .compare_exchange(ptr::null_mut(), found, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok()
                    {
                        place.store(caller, Ordering::Release);
                    }
                    return found;
                }
                at if at == caller => return address.load(Ordering::Relaxed),
                _ => {}
            }
        }
        seen_from(caller, name())
    }
}

/// Looks a symbol up; the program finds no failure of ours when it asks for its own.
pub(crate) fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a handle of the loader's, and a string.
    unsafe {
        let found = libc::dlsym(handle, name.as_ptr());
        if found.is_null() {
            libc::dlerror();
        }
        found
    }
}

/// The symbol as the library that holds `caller`, and those it was linked with, have it.
fn seen_from(caller: u64, name: &CStr) -> *mut c_void {
    let mut map: *mut c_void = ptr::null_mut();
    // SAFETY: places for the answers; what the loader tells stays while the library is loaded, and it is: it called.
    unsafe {
        let mut info: Dl_info = core::mem::zeroed();
        if dladdr1(caller as *const c_void, &raw mut info, &raw mut map, LINK_MAP) == 0 || map.is_null() {
            return ptr::null_mut();
        }
        let library = (*map.cast::<LinkMap>()).name;
        // The program itself, which has no name there, sees what stands behind the agent, and before that the agent.
        if library.is_null() || *library == 0 {
            return ptr::null_mut();
        }
        let handle = libc::dlopen(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            libc::dlerror();
            return ptr::null_mut();
        }
        let found = symbol(handle, name);
        libc::dlclose(handle);
        if found.is_null() { found } else { mark(found) }
    }
}

/// The address, marked where it is in gcc's runtime.
fn mark(address: *mut c_void) -> *mut c_void {
    // SAFETY: a place for the answer; the name stays while the library is loaded.
    let is_gcc = unsafe {
        let mut info: Dl_info = core::mem::zeroed();
        let is_known = libc::dladdr(address, &raw mut info) != 0 && !info.dli_fname.is_null();
        is_known && contains(CStr::from_ptr(info.dli_fname).to_bytes(), b"libgomp")
    };
    address.map_addr(|address| if is_gcc { address | IS_GCC } else { address })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Defines hooks of a runtime's entry points, as [`crate::hooks`] does. In the body, the second name is the calling
/// thread, where it is recorded and the runtime is gcc's.
macro_rules! entries {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)?, else $missing:expr, |$real:ident, $me:ident| $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg_attr(feature = "locks", unsafe(no_mangle))]
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) $(-> $result)? {
            type Function = unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?;
            static ENTRY: $crate::openmp::entry::EntryPoint =
                $crate::openmp::entry::EntryPoint::new($crate::real::text(concat!(stringify!($name), "\0")));
            let caller = $crate::frame!().caller();
            // SAFETY: the type is the function's own.
            let Some(($real, is_gcc)) = (unsafe { ENTRY.find::<Function>(caller) }) else { return $missing };
            let $me = if is_gcc { $crate::thread::CurrentThread::get() } else { None };
            $body
        }
    )*};
}

pub(super) use entries;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_texts_are_found() {
        assert!(
            contains(b"/lib/libgomp-a34b.so.1", b"libgomp") && !contains(b"/lib/libomp.so.5", b"libgomp")
        );
    }

    #[test]
    fn a_function_of_libc_is_found_behind_the_agent_and_from_where_it_is_called() {
        static ENTRY: EntryPoint = EntryPoint::new(c"getpid");
        type Function = unsafe extern "C" fn() -> c_int;
        // SAFETY: the type is the function's own.
        let (function, is_gcc) = unsafe { ENTRY.find::<Function>(0) }.expect("libc has it");
        // SAFETY: no arguments.
        assert!(!is_gcc && unsafe { function() } as u32 == std::process::id());
        let libc_itself = ENTRY.address.address.load(Ordering::Relaxed);
        assert_eq!(seen_from(libc_itself as u64, c"getpid"), libc_itself);
        assert!(seen_from(libc_itself as u64, c"no_such_function").is_null());
    }
}
