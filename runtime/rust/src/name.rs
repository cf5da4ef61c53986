//! Names that only the program knows.

use core::ffi::CStr;

use crate::lookup::agent;

/// Names the calling thread, for longpole only: what the kernel and debuggers show is left as it is.
#[inline]
pub fn name_thread(name: &CStr) {
    if let Some(agent) = agent() {
        // SAFETY: a string, which is copied.
        unsafe { (agent.thread_name)(name.as_ptr()) };
    }
}

/// Names a lock, or whatever else threads wait for. It must not move afterwards.
///
/// ```
/// use std::sync::Mutex;
///
/// static TABLE: Mutex<[u64; 16]> = Mutex::new([0; 16]);
/// longpole_runtime::name(&TABLE, c"the table of orders");
/// ```
#[inline]
pub fn name<T: ?Sized>(object: &T, name: &CStr) {
    if let Some(agent) = agent() {
        let address = core::ptr::from_ref(object).cast();
        // SAFETY: a string, which is copied; the object's address is only compared.
        unsafe { (agent.object_name)(address, size_of_val(object), name.as_ptr()) };
    }
}
