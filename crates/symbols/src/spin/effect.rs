//! What one instruction does to the variables, and whether others can see what it does.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use crate::spin::function::DecodedFunction;
use crate::spin::variables::{FLAGS, SLOTS, Set, StackSlot, is_read, is_write, variables};

/// The variables that an instruction uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InstructionEffect {
    pub reads: Set,
    /// Written, whatever they held.
    pub replaces: Set,
    /// Written, perhaps in part or not always.
    pub changes: Set,
}

impl InstructionEffect {
    /// What an instruction that is no call does.
    pub fn of(instruction: &Instruction, function: &DecodedFunction, slots: &[StackSlot]) -> Self {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        let mut effect = InstructionEffect::default();
        let clears = clears(instruction);
        // What a test-and-set puts into memory is what it took out the round before, or a constant.
        let exchanges = instruction.mnemonic() == Mnemonic::Xchg && has_memory(instruction);
        for used in info.used_registers() {
            let (variables, whole) = variables(used.register());
            if function.frame.is_base(used.register().full_register()) {
                continue;
            }
            let is_exchanged = exchanges && is_write(used.access());
            if is_read(used.access()) && !clears && !is_exchanged {
                effect.reads |= variables;
            }
            if is_write(used.access()) {
                let always = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite) && whole;
                *(if always { &mut effect.replaces } else { &mut effect.changes }) |= variables;
            }
        }
        for memory in info.used_memory() {
            effect.use_memory(memory, slot_variable(memory, function, slots));
        }
        if instruction.rflags_read() != 0 {
            effect.reads |= 1 << FLAGS;
        }
        if instruction.rflags_modified() != 0 {
            effect.replaces |= 1 << FLAGS;
        }
        effect
    }

    fn use_memory(&mut self, memory: &UsedMemory, slot: Option<Set>) {
        let Some(variable) = slot else { return };
        if is_read(memory.access()) {
            self.reads |= variable;
        }
        match memory.access() {
            OpAccess::Write | OpAccess::ReadWrite => self.replaces |= variable,
            access if is_write(access) => self.changes |= variable,
            _ => {}
        }
    }

    /// All that is written.
    pub fn writes(self) -> Set {
        self.replaces | self.changes
    }
}

/// The variable for a slot in which memory is used.
pub(crate) fn slot_variable(
    memory: &UsedMemory,
    function: &DecodedFunction,
    slots: &[StackSlot],
) -> Option<Set> {
    let slot = function.frame.slot(memory)?;
    slots.iter().position(|other| *other == slot).map(|position| 1 << (SLOTS + position as u32))
}

/// Whether the result is zero whatever the operands hold.
pub(crate) fn clears(instruction: &Instruction) -> bool {
    use Mnemonic::{Pxor, Sub, Vpxor, Vxorpd, Vxorps, Xor, Xorpd, Xorps};
    let last = instruction.op_count().saturating_sub(1);
    matches!(instruction.mnemonic(), Xor | Sub | Pxor | Xorps | Xorpd | Vpxor | Vxorps | Vxorpd)
        && last > 0
        && instruction.op_kind(last) == OpKind::Register
        && instruction.op_register(last) == instruction.op_register(last - 1)
}

/// Whether an operand is in memory.
pub(crate) fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

/// Atomic operations that leave memory as it was when done once more with the same operands.
pub(crate) fn is_idempotent(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Xchg => has_memory(instruction),
        Mnemonic::Cmpxchg
        | Mnemonic::Cmpxchg8b
        | Mnemonic::Cmpxchg16b
        | Mnemonic::Bts
        | Mnemonic::Btr
        | Mnemonic::Or
        | Mnemonic::And => instruction.has_lock_prefix() && has_memory(instruction),
        _ => false,
    }
}

/// Whether an instruction that is no call does what others can see, or what cannot be followed.
pub(crate) fn is_visible(instruction: &Instruction, function: &DecodedFunction) -> bool {
    use Mnemonic::{INVALID, Syscall, Sysenter};
    if matches!(instruction.mnemonic(), INVALID | Syscall | Sysenter | Mnemonic::Int) {
        return true;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let moves_frame = info
        .used_registers()
        .iter()
        .any(|used| is_write(used.access()) && function.frame.is_base(used.register().full_register()));
    if moves_frame {
        return true;
    }
    let stores = info.used_memory().iter().any(|memory| {
        is_write(memory.access())
            && memory.access() != OpAccess::NoMemAccess
            && function.frame.slot(memory).is_none()
    });
    stores && !is_idempotent(instruction)
}

/// Whether an instruction only puts a frame up or takes it down.
pub(crate) fn is_frame_work(instruction: &Instruction) -> bool {
    use Mnemonic::{Add, Endbr64, Leave, Mov, Pop, Push, Ret, Sub};
    let on_frame = matches!(instruction.op0_register(), Register::RSP | Register::RBP);
    matches!(instruction.mnemonic(), Push | Pop | Leave | Endbr64 | Ret)
        || (on_frame && matches!(instruction.mnemonic(), Add | Sub | Mov | Mnemonic::And | Mnemonic::Lea))
}
