//! The functions of the C library that the hooks stand in for.

use core::ffi::{CStr, c_void};
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function of a library that comes after this one in the order of symbols.
pub struct HookedFunction {
    name: &'static CStr,
    version: Option<&'static CStr>,
    address: AtomicPtr<c_void>,
}

impl HookedFunction {
    pub const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Self {
        Self { name, version, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// The function as a value of its type.
    ///
    /// # Safety
    /// `F` is a function pointer of the function's type.
    #[inline(always)]
    pub unsafe fn get<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = self.find();
        }
        union HookCast<F: Copy> {
            address: *mut c_void,
            function: ManuallyDrop<F>,
        }
        unsafe { *HookCast { address }.function }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let address = unsafe {
            match self.version {
                Some(version) => libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()),
                None => libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()),
            }
        };
        if address.is_null() {
            // A function that the program calls and no library has: nothing could be done instead.
            unsafe { libc::abort() };
        }
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Hooks: functions with the names of those that they stand in for; in the body, `real` is the real one.
#[macro_export]
macro_rules! access_hooks {
    ($(
        fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $(, version $version:literal)? => |$real:ident, $caller:ident| $body:block
    )*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) $(-> $result)? {
            type Function = unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?;
            static REAL: $crate::runtime::next::HookedFunction = $crate::runtime::next::HookedFunction::new(
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without zeroes"),
                },
                $crate::access_hooks!(@version $($version)?),
            );
            #[allow(unused_variables)]
            let $caller = $crate::return_address!();
            #[allow(unused_variables)]
            let $real = unsafe { REAL.get::<Function>() };
            unsafe { $body }
        }
    )*};
    (@version $version:literal) => { Some($version) };
    (@version) => { None };
}

/// The address to which the function returns in which this stands; the library is built with frame pointers.
#[macro_export]
macro_rules! return_address {
    () => {{
        let address: u64;
        // SAFETY: a function with a frame pointer has the return address above the caller's frame pointer.
        #[allow(unused_unsafe)]
        unsafe {
            core::arch::asm!("mov {}, qword ptr [rbp + 8]", out(reg) address, options(nostack, readonly, preserves_flags))
        };
        address
    }};
}
