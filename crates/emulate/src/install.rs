//! Where QEMU begins: what it finds in the plugin by name.

use core::ffi::{CStr, c_char, c_int};

use crate::qemu::{EmulatorInformation, PluginId, VERSION};
use crate::{qemu, system_calls, threads, translation};

/// QEMU looks at this before anything else, and loads no plugin of a version that it does not have.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = VERSION;

/// The argument with which the plugin ends the emulator: that it comes so far is all that is asked.
const PROBE: &[u8] = b"probe=on";

/// QEMU has loaded the plugin.
///
/// # Safety
/// Only QEMU calls it, with values of these types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    information: *const EmulatorInformation,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU gives what it says.
    let (information, arguments) = unsafe {
        let arguments: Vec<&CStr> =
            (0..count).map(|index| CStr::from_ptr(*arguments.offset(index as isize))).collect();
        (&*information, arguments)
    };
    if information.is_whole_machine || !(information.oldest..=information.newest).contains(&VERSION) {
        return -1;
    }
    if arguments.iter().any(|argument| argument.to_bytes() == PROBE) {
        // SAFETY: ends the process, as was asked for.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: functions of these types, which stay as long as the process does.
    unsafe {
        libc::pthread_atfork(None, None, Some(threads::in_child));
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, translation::translated);
        qemu::qemu_plugin_register_vcpu_syscall_cb(id, system_calls::begun);
        qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, system_calls::ended);
    }
    0
}
