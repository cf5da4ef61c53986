//! Initialisations that happen once.
//!
//! Whoever comes first runs the program's procedure; a second thread that comes meanwhile waits until it is done.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use longpole_ring::WaitKind;

use super::wait;
use crate::thread::CurrentThread;
use crate::tls::{self, Initialisation};
use crate::{frame, hooks};

const KIND: WaitKind = WaitKind::Once;

type Routine = unsafe extern "C-unwind" fn();

/// A thread is in the procedure.
const IN_PROGRESS: u32 = 1;
/// The procedure has returned.
const DONE: u32 = 2;

/// How far the initialisation is: the lowest bits of glibc's word say so.
#[inline(always)]
unsafe fn progress(control: *mut c_void) -> u32 {
    // SAFETY: the caller gives a control word, which threads read and write atomically.
    unsafe { (*control.cast::<AtomicU32>()).load(Ordering::Relaxed) & 3 }
}

/// Runs the procedure that the hook left for this thread, and tells those who wait for it.
unsafe extern "C-unwind" fn run() {
    let Some(Initialisation { routine, control }) = tls::slot().initialisation.take() else { return };
    // SAFETY: what the program gave.
    unsafe { routine() };
    if let Some(me) = CurrentThread::get() {
        me.releases_if_awaited(KIND, control, 0, frame!());
    }
}

/// Both functions' way: waits, or runs the procedure through [`run`].
macro_rules! once {
    ($control:expr, $routine:expr, $real:expr) => {{
        let (control, routine) = ($control, $routine);
        let progress = unsafe { progress(control) };
        if progress == IN_PROGRESS {
            return wait!(KIND, control, 0, $real(control, routine), granted | _ | true);
        }
        let is_recorded = progress != DONE && CurrentThread::get().is_some();
        let Some(routine) = routine.filter(|_| is_recorded) else {
            return unsafe { $real(control, routine) };
        };
        let mine = Initialisation { routine, control: control as u64 };
        let outer = tls::slot().initialisation.replace(Some(mine));
        let result = unsafe { $real(control, Some(run)) };
        // Where another thread was first, `run` has not taken it.
        tls::slot().initialisation.set(outer);
        result
    }};
}

hooks! {
    /// Runs the procedure unless that was done.
    fn pthread_once(control: *mut c_void, routine: Option<Routine>) -> c_int, else libc::ENOSYS, |real| {
        once!(control, routine, real)
    }

    #[allow(clippy::unused_unit)]
    /// The same by its C11 name.
    fn call_once(control: *mut c_void, routine: Option<Routine>), else (), |real| {
        once!(control, routine, real)
    }
}
