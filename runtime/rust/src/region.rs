//! Regions: parts of the program under names of its own.

use core::ffi::CStr;
use core::marker::PhantomData;

use crate::lookup::agent;

/// The calling thread is in a region until this is dropped. Regions nest; they belong to a thread, so this cannot be
/// sent to another one, nor be held over an `await` of a future that can.
#[derive(Debug)]
#[must_use = "the region ends when this is dropped"]
pub struct Region(PhantomData<*const ()>);

/// Enters a region. In reports its name stands in the call path, between the procedure that enters it and those that
/// are called inside.
///
/// ```
/// let region = longpole_runtime::region(c"parse the orders");
/// // ...
/// drop(region);
/// ```
#[inline]
pub fn region(name: &'static CStr) -> Region {
    if let Some(agent) = agent() {
        // SAFETY: the name is a string that lives for ever.
        unsafe { (agent.region_enter)(name.as_ptr()) };
    }
    Region(PhantomData)
}

impl Drop for Region {
    #[inline]
    fn drop(&mut self) {
        if let Some(agent) = agent() {
            // SAFETY: this thread entered a region (this cannot be sent), and leaves those inside before.
            unsafe { (agent.region_leave)() };
        }
    }
}
