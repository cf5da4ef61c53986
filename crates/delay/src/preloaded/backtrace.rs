//! The call path at a sample, by the unwinder that the C library comes with.
//!
//! It follows the tables that compilers write for exceptions, through the frame of the signal, and since glibc 2.35 takes no lock. All frames
//! are visited whether or not the procedure was found, so that a sample outside it costs what one inside does.

use core::ffi::{c_int, c_void};

use super::module::{is_in_module, is_inside};

/// Most frames of a call path.
const MOST_FRAMES: u32 = 256;
/// `_URC_NO_REASON`: go on.
const GO_ON: c_int = 0;
/// `_URC_NORMAL_STOP`.
const STOP: c_int = 4;

#[cfg_attr(feature = "preload", link(name = "gcc_s"))]
unsafe extern "C" {
    fn _Unwind_Backtrace(visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int, own: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(frame: *mut c_void, is_exact: *mut c_int) -> usize;
}

/// What is sought in a call path.
pub(super) struct SoughtFrames {
    frames: u32,
    /// Whether a frame is the procedure's.
    pub is_found: bool,
    /// Whether the innermost frame of the procedure's module is the procedure's; `None` before that frame.
    pub is_innermost: Option<bool>,
}

/// Whether the calling thread's call path holds the procedure.
pub(super) fn holds_procedure() -> bool {
    look().is_found
}

/// All frames of the calling thread.
pub(super) fn look() -> SoughtFrames {
    let mut sought = SoughtFrames { frames: 0, is_found: false, is_innermost: None };
    // SAFETY: the procedure visits frames while `sought` lives.
    unsafe { _Unwind_Backtrace(visit, (&raw mut sought).cast()) };
    sought
}

extern "C" fn visit(frame: *mut c_void, own: *mut c_void) -> c_int {
    // SAFETY: the value that `holds_procedure` passes.
    let sought = unsafe { &mut *own.cast::<SoughtFrames>() };
    let mut is_exact = 0;
    // SAFETY: the unwinder's own frame.
    let address = unsafe { _Unwind_GetIPInfo(frame, &raw mut is_exact) };
    // A return address may be the first of the next procedure.
    let address = if is_exact == 0 { address.wrapping_sub(1) } else { address };
    let is_found = is_inside(address as u64);
    sought.is_found |= is_found;
    if sought.is_innermost.is_none() && is_in_module(address as u64) {
        sought.is_innermost = Some(is_found);
    }
    sought.frames += 1;
    if sought.frames < MOST_FRAMES { GO_ON } else { STOP }
}
