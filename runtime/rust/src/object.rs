//! Locks and other objects that a program makes itself, out of atomics or futexes.

use core::marker::PhantomData;

use crate::interface::ProgramObjectKind;
use crate::lookup::agent;

/// The calling thread waits until this is dropped.
#[derive(Debug)]
#[must_use = "the wait ends when this is dropped"]
pub struct Wait(PhantomData<*const ()>);

/// The calling thread waits for an object from now on. While it runs it spins, which is no useful work.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use longpole_runtime::{ProgramObjectKind, acquired, released, wait};
///
/// let lock = AtomicBool::new(false);
/// if lock.swap(true, Ordering::Acquire) {
///     let _waiting = wait(&lock, ProgramObjectKind::SpinLock);
///     while lock.swap(true, Ordering::Acquire) {
///         std::hint::spin_loop();
///     }
/// }
/// acquired(&lock, ProgramObjectKind::SpinLock);
/// // ...
/// released(&lock);
/// lock.store(false, Ordering::Release);
/// ```
#[inline]
pub fn wait<T: ?Sized>(object: &T, kind: ProgramObjectKind) -> Wait {
    if let Some(agent) = agent() {
        // SAFETY: the object's address is only compared.
        unsafe { (agent.wait_begin)(core::ptr::from_ref(object).cast(), kind as u32) };
    }
    Wait(PhantomData)
}

impl Drop for Wait {
    #[inline]
    fn drop(&mut self) {
        if let Some(agent) = agent() {
            // SAFETY: this thread began to wait (this cannot be sent).
            unsafe { (agent.wait_end)() };
        }
    }
}

/// The calling thread has acquired an object.
#[inline]
pub fn acquired<T: ?Sized>(object: &T, kind: ProgramObjectKind) {
    if let Some(agent) = agent() {
        // SAFETY: the object's address is only compared.
        unsafe { (agent.acquired)(core::ptr::from_ref(object).cast(), kind as u32) };
    }
}

/// The calling thread gives an object back. To be called before another thread can acquire it.
#[inline]
pub fn released<T: ?Sized>(object: &T) {
    if let Some(agent) = agent() {
        // SAFETY: the object's address is only compared.
        unsafe { (agent.released)(core::ptr::from_ref(object).cast()) };
    }
}
