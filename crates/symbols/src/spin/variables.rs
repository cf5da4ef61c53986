//! What code computes with: registers, flags, and the stack slots that it writes.
//!
//! Code that was not optimised keeps its variables in stack slots; so a slot is followed like a register.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register, UsedMemory};

use crate::spin::function::DecodedFunction;

/// A set of variables: two for each general register (low byte, rest), one for each vector register, one
/// for the flags, the rest for stack slots.
pub(crate) type Set = u128;

const VECTORS: u32 = 32;
pub(crate) const FLAGS: u32 = 64;
pub(crate) const SLOTS: u32 = 65;
/// Code with more slots than this is not followed.
const MOST_SLOTS: usize = 60;
/// A slot this far behind an address that is taken may be a part of what is there.
const PART: i64 = 64;

/// The variables that are parts of a register, and whether writing it replaces them. The instruction pointer and
/// segments are no variables.
pub(crate) fn variables(register: Register) -> (Set, bool) {
    let full = register.full_register();
    if register.is_gpr() {
        let pair = 2 * full.number() as u32;
        let (low, rest): (Set, Set) = (1 << pair, 2 << pair);
        let is_high = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
        return match register.size() {
            1 if is_high => (rest, false),
            1 => (low, true),
            2 => (low | rest, false),
            _ => (low | rest, true),
        };
    }
    if register.is_vector_register() {
        return (1 << (VECTORS + full.number() as u32), true);
    }
    (0, true)
}

/// All registers that a call of a function need not keep, and the flags.
pub(crate) fn lost_in_calls() -> Set {
    use Register::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};
    let general = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11];
    let general = general.iter().fold(0, |set, &register| set | variables(register).0);
    let vectors: Set = ((1 << 32) - 1) << VECTORS;
    general | vectors | 1 << FLAGS
}

/// The registers in which arguments are passed.
pub(crate) fn arguments() -> Set {
    use Register::{R8, R9, RCX, RDI, RDX, RSI};
    let general = [RDI, RSI, RDX, RCX, R8, R9].iter().fold(0, |set, &register| set | variables(register).0);
    general | 0xff << VECTORS
}

/// The registers in which a function returns its value.
pub(crate) fn results() -> Set {
    variables(Register::RAX).0 | variables(Register::RDX).0 | 1 << VECTORS
}

/// The variables of a set, each as a set of its own position.
pub(crate) fn members(set: Set) -> impl Iterator<Item = u32> {
    let mut rest = set;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let first = rest.trailing_zeros();
            rest &= rest - 1;
            first
        })
    })
}

pub(crate) fn is_write(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

pub(crate) fn is_read(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// A stack slot: base register, displacement, size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackSlot {
    pub base: Register,
    pub displacement: i64,
    pub size: i64,
}

impl StackSlot {
    fn overlaps(&self, other: &StackSlot) -> bool {
        self.base == other.base
            && self.displacement < other.displacement + other.size
            && other.displacement < self.displacement + self.size
    }
}

/// Whether a function begins by making the frame pointer one.
fn has_pointer(instructions: &[Instruction]) -> bool {
    /// The frame pointer is set within so many instructions.
    const PROLOGUE: usize = 12;
    let sets = |instruction: &Instruction| {
        instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_register() == Register::RBP
            && instruction.op1_register() == Register::RSP
    };
    // Where the stack pointer moves before it is copied, the copy is an address like others.
    let moves = |instruction: &&Instruction| {
        instruction.is_stack_instruction() || instruction.op0_register() == Register::RSP
    };
    let set = instructions.iter().take(PROLOGUE).position(sets);
    let before = set.and_then(|set| instructions[..set].iter().rev().find(moves));
    before.is_some_and(|push| push.op0_register() == Register::RBP)
}

/// How a function addresses its frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionFrame {
    /// The frame pointer is one; otherwise it is a register like others.
    has_pointer: bool,
    /// Registers that only ever hold one address in the frame.
    pointers: Vec<(Register, Register, i64)>,
    /// Addresses in the frame that are taken.
    taken: Vec<(Register, i64)>,
}

impl FunctionFrame {
    /// Looks a function through.
    pub fn of(instructions: &[Instruction]) -> Self {
        let mut frame = FunctionFrame { has_pointer: has_pointer(instructions), ..FunctionFrame::default() };
        let mut factory = InstructionInfoFactory::new();
        let mut writes = [0_u32; 16];
        for instruction in instructions {
            if instruction.mnemonic() == Mnemonic::Pop {
                continue;
            }
            frame.take(instruction);
            for used in factory.info(instruction).used_registers() {
                let register = used.register().full_register();
                if register.is_gpr() && is_write(used.access()) {
                    writes[register.number()] += 1;
                }
            }
        }
        // A call leaves anything in registers that it need not keep.
        let calls = instructions.iter().any(|instruction| instruction.mnemonic() == Mnemonic::Call);
        frame.pointers.retain(|(pointer, _, _)| {
            let is_lost = calls && variables(*pointer).0 & lost_in_calls() != 0;
            pointer.is_gpr64() && writes[pointer.number()] == 1 && !is_lost
        });
        frame
    }

    /// Keeps the address in the frame that an instruction takes, if it takes one.
    fn take(&mut self, instruction: &Instruction) {
        let (to, base, copied) =
            (instruction.op0_register(), instruction.memory_base(), instruction.op1_register());
        let is_copy = instruction.mnemonic() == Mnemonic::Mov && self.is_base(copied) && !self.is_base(to);
        let is_sum = instruction.mnemonic() == Mnemonic::Lea
            && self.is_base(base)
            && instruction.memory_index() == Register::None;
        let found = match (is_copy, is_sum) {
            (true, _) => (copied, 0),
            (_, true) => (base, instruction.memory_displacement64().cast_signed()),
            _ => return,
        };
        self.taken.push(found);
        self.pointers.push((to, found.0, found.1));
    }

    /// Whether a register holds the frame's address.
    pub fn is_base(&self, register: Register) -> bool {
        register == Register::RSP || (register == Register::RBP && self.has_pointer)
    }

    /// The slot at which memory is used; `None` for other memory.
    pub fn slot(&self, memory: &UsedMemory) -> Option<StackSlot> {
        let plain =
            memory.index() == Register::None && !matches!(memory.segment(), Register::FS | Register::GS);
        if !plain {
            return None;
        }
        let register = memory.base();
        let (base, offset) = if self.is_base(register) {
            (register, 0)
        } else {
            let (_, base, offset) = self.pointers.iter().find(|(pointer, _, _)| *pointer == register)?;
            (*base, *offset)
        };
        let displacement = offset.wrapping_add(memory.displacement().cast_signed());
        Some(StackSlot { base, displacement, size: memory.memory_size().size() as i64 })
    }

    /// Whether a function that is called may write a slot that this one writes too.
    pub fn is_passed(&self, slot: &StackSlot) -> bool {
        /// The longest result that known functions leave in memory.
        const RESULT: i64 = 16;
        self.taken.iter().any(|(base, displacement)| {
            *base == slot.base && (0..RESULT).contains(&(slot.displacement - displacement))
        })
    }

    /// Whether others than the function may write a slot.
    pub fn is_shared(&self, slot: &StackSlot) -> bool {
        self.taken.iter().any(|(base, displacement)| {
            *base == slot.base && (0..PART).contains(&(slot.displacement - displacement))
        })
    }
}

/// The slots that some instructions write; `None` where there are too many, or some overlap.
pub(crate) fn written_slots(function: &DecodedFunction, members: &[usize]) -> Option<Vec<StackSlot>> {
    let mut factory = InstructionInfoFactory::new();
    let mut written: Vec<StackSlot> = Vec::new();
    let mut met: Vec<StackSlot> = Vec::new();
    for &index in members {
        let instruction = &function.instructions[index];
        if instruction.mnemonic() == Mnemonic::Call || instruction.is_stack_instruction() {
            continue;
        }
        for memory in factory.info(instruction).used_memory() {
            let Some(slot) = function.frame.slot(memory) else { continue };
            if memory.access() == OpAccess::NoMemAccess {
                continue;
            }
            if is_write(memory.access()) && !written.contains(&slot) {
                written.push(slot);
            }
            if !met.contains(&slot) {
                met.push(slot);
            }
        }
    }
    let clear = written.iter().all(|slot| met.iter().all(|other| slot == other || !slot.overlaps(other)));
    (clear && written.len() <= MOST_SLOTS).then_some(written)
}
