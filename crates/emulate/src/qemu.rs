//! The functions of QEMU that the plugin calls, and the types of those that QEMU calls: version 1 of its plugins' interface.

use core::ffi::{c_char, c_int, c_uint, c_void};

/// The version of the interface: QEMU 7.0 to 8.2 have it.
pub const VERSION: c_int = 1;

/// Names the plugin in calls.
pub type PluginId = u64;

/// What an access is, in a way that only QEMU understands.
pub type AccessInformation = u32;

/// A block of instructions while it is translated.
#[repr(C)]
pub struct TranslatedBlock {
    _opaque: [u8; 0],
}

/// One of its instructions.
#[repr(C)]
pub struct TranslatedInstruction {
    _opaque: [u8; 0],
}

/// What QEMU says of itself.
#[repr(C)]
pub struct EmulatorInformation {
    /// Name of the emulated processors.
    pub target: *const c_char,
    /// Versions of the interface that it has: the oldest and the newest one.
    pub oldest: c_int,
    pub newest: c_int,
    pub is_whole_machine: bool,
}

pub type BlockTranslated = extern "C" fn(PluginId, *mut TranslatedBlock);
pub type AccessDone = extern "C" fn(c_uint, AccessInformation, u64, *mut c_void);
pub type BlockBegun = extern "C" fn(c_uint, *mut c_void);
pub type CallBegun = extern "C" fn(PluginId, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub type CallEnded = extern "C" fn(PluginId, c_uint, i64, i64);

/// The function needs no registers.
pub const NO_REGISTERS: c_int = 0;
/// No accesses: the function is never called.
pub const NO_ACCESSES: c_int = 0;
/// Accesses that read, that write, or both.
pub const READS_AND_WRITES: c_int = 3;

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: PluginId, function: BlockTranslated);
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: PluginId, function: CallBegun);
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: PluginId, function: CallEnded);
    pub fn qemu_plugin_tb_n_insns(block: *const TranslatedBlock) -> usize;
    pub fn qemu_plugin_tb_vaddr(block: *const TranslatedBlock) -> u64;
    pub fn qemu_plugin_tb_get_insn(block: *const TranslatedBlock, index: usize)
    -> *mut TranslatedInstruction;
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut TranslatedBlock,
        function: BlockBegun,
        registers: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_insn_data(instruction: *const TranslatedInstruction) -> *const u8;
    pub fn qemu_plugin_insn_size(instruction: *const TranslatedInstruction) -> usize;
    pub fn qemu_plugin_insn_vaddr(instruction: *const TranslatedInstruction) -> u64;
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut TranslatedInstruction,
        function: AccessDone,
        registers: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_mem_is_store(information: AccessInformation) -> bool;
    pub fn qemu_plugin_mem_size_shift(information: AccessInformation) -> c_uint;
    pub fn qemu_plugin_path_to_binary() -> *const c_char;
    pub fn qemu_plugin_start_code() -> u64;
}
