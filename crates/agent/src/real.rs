//! The functions that the hooks stand in for.

use core::ffi::{CStr, c_char};
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::c_void;

/// A function of a library that comes after the agent in the order of symbols.
#[derive(Debug)]
pub struct NextFunction {
    name: &'static CStr,
    /// The version that programs are linked with, where the default one is another.
    version: Option<&'static CStr>,
    address: AtomicPtr<c_void>,
}

impl NextFunction {
    /// The function with this name.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        NextFunction { name, version: None, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// One version of the function with this name.
    #[must_use]
    pub const fn versioned(name: &'static CStr, version: &'static CStr) -> Self {
        NextFunction { name, version: Some(version), address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null where no library has it.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.find() } else { address }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: both texts end with a zero.
        let address = unsafe {
            let versioned = match self.version {
                Some(version) => find_version(self.name, version),
                None => ptr::null_mut(),
            };
            if versioned.is_null() { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } else { versioned }
        };
        self.address.store(address, Ordering::Relaxed);
        address
    }

    /// The function as a value of its type; `None` where no library has it.
    ///
    /// # Safety
    /// `F` is a function pointer of the function's type.
    #[inline(always)]
    pub unsafe fn function<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.address();
        if address.is_null() {
            return None;
        }
        union SymbolCast<F: Copy> {
            address: *mut c_void,
            function: ManuallyDrop<F>,
        }
        // SAFETY: both are one pointer wide; the caller vouches for the type.
        Some(unsafe { *SymbolCast { address }.function })
    }
}

/// One version of a function; null where there is none, or where libc knows no versions. (Then it is not there to be
/// linked with either: so it is looked for by its name.)
fn find_version(name: &CStr, version: &CStr) -> *mut c_void {
    type FindVersion = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    // SAFETY: all texts end with a zero, and the type is the function's own.
    unsafe {
        let find = libc::dlsym(libc::RTLD_DEFAULT, c"dlvsym".as_ptr());
        if find.is_null() {
            return find;
        }
        core::mem::transmute::<*mut c_void, FindVersion>(find)(
            libc::RTLD_NEXT,
            name.as_ptr(),
            version.as_ptr(),
        )
    }
}

/// Finds every function that the agent has a hook for: so that no hook has to, and `dlerror` has nothing to tell.
#[cfg(all(feature = "locks", not(test)))]
pub fn find_all() {
    unsafe extern "C" {
        // The linker sets these around the section.
        #[link_name = "__start_longpole_real"]
        static START: NextFunction;
        #[link_name = "__stop_longpole_real"]
        static STOP: NextFunction;
        fn dlerror() -> *mut core::ffi::c_char;
    }
    let (mut at, end) = (&raw const START, &raw const STOP);
    while at < end {
        // SAFETY: the section holds values of this type only, one behind another.
        unsafe {
            (*at).address();
            at = at.add(1);
        }
    }
    // SAFETY: what is told is not looked at.
    unsafe { dlerror() };
}

/// The text before its last byte, a zero.
#[must_use]
pub const fn text(with_zero: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(with_zero.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a name without zeroes, and one at its end"),
    }
}

/// Defines hooks: functions with the names of those that they stand in for.
///
/// In the body, `real` is the real function. Where no library has it, the hook returns the value after `else`.
#[macro_export]
macro_rules! hooks {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $(, version $version:literal)?, else $missing:expr, |$real:ident| $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg_attr(feature = "locks", unsafe(no_mangle))]
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) $(-> $result)? {
            type Function = unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?;
            #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
            static REAL: $crate::real::NextFunction = $crate::hooks!(@real $name $($version)?);
            // SAFETY: the type is the function's own.
            let Some($real) = (unsafe { REAL.function::<Function>() }) else { return $missing };
            $body
        }
    )*};
    (@real $name:ident $version:literal) => {
        $crate::real::NextFunction::versioned($crate::real::text(concat!(stringify!($name), "\0")), $version)
    };
    (@real $name:ident) => {
        $crate::real::NextFunction::new($crate::real::text(concat!(stringify!($name), "\0")))
    };
}
