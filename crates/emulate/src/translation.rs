//! What QEMU calls when it translates a block of instructions: recorded code gets calls at its accesses.
//!
//! Every instruction gets a call, that of other code one that never happens: the accesses of an instruction that QEMU emulates
//! in a function of its own are told to whom the last such instruction named, and QEMU 7.2 does not forget that where the
//! instruction ends its block, as calls and returns do. So each names its own.

use core::ffi::{CStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::emulated_code::{CodeOrigin, EmulatedCode};
use crate::instruction::{InstructionClass, LONGEST_CALL, classify, may_follow_call};
use crate::qemu::{
    self, AccessDone, NO_ACCESSES, NO_REGISTERS, PluginId, READS_AND_WRITES, TranslatedBlock,
    TranslatedInstruction,
};
use crate::{accesses, system_calls};

static CODE: Mutex<Option<EmulatedCode>> = Mutex::new(None);

/// The code of the process, for one thread at a time.
pub struct ProcessCode(MutexGuard<'static, Option<EmulatedCode>>);

impl std::ops::Deref for ProcessCode {
    type Target = EmulatedCode;

    fn deref(&self) -> &EmulatedCode {
        self.0.as_ref().expect("it was made when it was locked")
    }
}

impl std::ops::DerefMut for ProcessCode {
    fn deref_mut(&mut self) -> &mut EmulatedCode {
        self.0.as_mut().expect("it was made when it was locked")
    }
}

/// The code that the process has mapped.
pub fn code() -> ProcessCode {
    let mut code = CODE.lock().unwrap_or_else(PoisonError::into_inner);
    code.get_or_insert_with(program);
    ProcessCode(code)
}

/// The program's file, which QEMU has mapped.
fn program() -> EmulatedCode {
    let mut code = EmulatedCode::default();
    // SAFETY: a string that QEMU has made for this, or null.
    unsafe {
        let path = qemu::qemu_plugin_path_to_binary();
        if !path.is_null() {
            let path = Path::new(std::ffi::OsStr::from_bytes(CStr::from_ptr(path).to_bytes()));
            code.map_program(path, qemu::qemu_plugin_start_code());
        }
    }
    code
}

/// A block was translated.
pub extern "C" fn translated(_: PluginId, block: *mut TranslatedBlock) {
    // SAFETY: QEMU's block, as long as this function is at work.
    unsafe {
        let code = code();
        let begin = qemu::qemu_plugin_tb_vaddr(block);
        let instructions =
            (0..qemu::qemu_plugin_tb_n_insns(block)).map(|index| qemu::qemu_plugin_tb_get_insn(block, index));
        if code.origin(begin) != CodeOrigin::Recorded {
            instructions.for_each(|instruction| register(instruction, NO_ACCESSES, accesses::nothing, 0));
            return;
        }
        let leads_to_recorded = |target: u64| code.origin(target) == CodeOrigin::Recorded;
        if may_follow_call(bytes_before(&code, begin), begin, leads_to_recorded) {
            let data = begin as *mut c_void;
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, accesses::come_back, NO_REGISTERS, data);
        }
        instructions.for_each(|instruction| instrument(instruction, leads_to_recorded));
    }
}

/// The bytes of recorded code before an address.
fn bytes_before(code: &EmulatedCode, address: u64) -> &'static [u8] {
    let begin = address - LONGEST_CALL as u64;
    if !system_calls::is_greeted() || code.origin(begin) != CodeOrigin::Recorded {
        return &[];
    }
    // SAFETY: code that the program has mapped, whose addresses are this process's.
    unsafe { std::slice::from_raw_parts(begin as *const u8, LONGEST_CALL) }
}

unsafe fn instrument(instruction: *mut TranslatedInstruction, leads_to_recorded: impl Fn(u64) -> bool) {
    // SAFETY: QEMU's instruction, with its bytes.
    let (bytes, next) = unsafe {
        let size = qemu::qemu_plugin_insn_size(instruction);
        let bytes = std::slice::from_raw_parts(qemu::qemu_plugin_insn_data(instruction), size);
        (bytes, qemu::qemu_plugin_insn_vaddr(instruction) + size as u64)
    };
    let (function, data): (AccessDone, u64) = match classify(bytes, next) {
        InstructionClass::Hidden => return register(instruction, NO_ACCESSES, accesses::nothing, 0),
        InstructionClass::Plain => (accesses::plain, next),
        InstructionClass::Atomic => (accesses::atomic, next),
        InstructionClass::Push => (accesses::push, next),
        InstructionClass::Pop => (accesses::pop, next),
        InstructionClass::Return => (accesses::leave, next),
        InstructionClass::Call { target } => {
            let is_recorded = target.is_some_and(leads_to_recorded);
            (accesses::call, next | if is_recorded { accesses::LEADS_TO_RECORDED } else { 0 })
        }
    };
    register(instruction, READS_AND_WRITES, function, data);
}

/// Has QEMU call this at the instruction's accesses of a kind.
fn register(instruction: *mut TranslatedInstruction, accesses: c_int, function: AccessDone, data: u64) {
    let data = data as *mut c_void;
    // SAFETY: QEMU's instruction, and a function of this type that stays as long as the process does.
    unsafe { qemu::qemu_plugin_register_vcpu_mem_cb(instruction, function, NO_REGISTERS, accesses, data) };
}
