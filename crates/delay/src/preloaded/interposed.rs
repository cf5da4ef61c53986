//! Functions of the C library that this one stands in for: how they are found, and how they are written.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A pointer that is passed on as it is.
pub(super) type Opaque = *mut c_void;

/// A function that comes after this library's in the order of symbols.
pub(super) struct ReplacedFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl ReplacedFunction {
    /// The function with this name.
    pub(super) const fn new(name: &'static CStr) -> ReplacedFunction {
        ReplacedFunction { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null where no library has it.
    #[inline]
    pub(super) fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.find() } else { address }
    }

    /// Condition variables have two versions: programs are linked with the later one, and a search by name alone may find the older one.
    #[cold]
    fn find(&self) -> *mut c_void {
        unsafe extern "C" {
            fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
        }
        // SAFETY: the texts end with a zero.
        let address = unsafe {
            let later = dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), c"GLIBC_2.3.2".as_ptr());
            if later.is_null() { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } else { later }
        };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Finds all functions before the program runs, so that none is sought inside a signal handler.
pub(super) fn find_all() {
    for function in super::waits::ALL.iter().chain(super::exchanges::ALL) {
        function.address();
    }
    unsafe extern "C" {
        fn dlerror() -> *mut c_char;
    }
    // SAFETY: forgets that functions were not found which this C library does not have.
    unsafe { dlerror() };
}

/// Functions that stand in for those of the C library: the thread pauses for what it owes before it calls the real one, which may wait for
/// others or wake them. The expression tells of a result that the program itself ended a wait. `takes` and `gives` name the argument that is a
/// lock which the calling thread then has, or gives back.
macro_rules! interposed {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, |$outcome:ident| $credited:expr
        $(, takes $taken:ident)? $(, gives $given:ident)?;)*) => {
        /// All of them.
        pub(super) static ALL: &[&$crate::preloaded::interposed::ReplacedFunction] = &[$(&names::$name),*];

        #[allow(non_upper_case_globals)]
        mod names {
            use $crate::preloaded::interposed::ReplacedFunction;
            $(pub(super) static $name: ReplacedFunction = ReplacedFunction::new(
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without zeroes, and one at its end"),
                },
            );)*
        }

        $(
            /// Stands in for the function of this name.
            ///
            /// # Safety
            /// As that function.
            #[cfg_attr(all(feature = "preload", not(test)), unsafe(no_mangle))]
            #[allow(dead_code)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                let real = names::$name.address();
                if real.is_null() {
                    return libc::ENOSYS as $result;
                }
                // SAFETY: the function's own type.
                let real: unsafe extern "C-unwind" fn($($type),*) -> $result = unsafe { core::mem::transmute(real) };
                $($crate::preloaded::holds::end($given);)?
                let wait = $crate::preloaded::virtual_clock::CreditedWait::begin();
                // SAFETY: the caller's.
                let $outcome = unsafe { real($($argument),*) };
                wait.end(|| $credited);
                $(if $outcome == 0 {
                    $crate::preloaded::holds::begin($taken);
                })?
                $outcome
            }
        )*
    };
}
pub(super) use interposed;
