//! Whether each round of a loop does the same as the round before, unless other threads change memory.
//!
//! A loop's *variables* are registers and the stack slots that it writes (unoptimised code keeps its
//! locals there). A variable is *carried* if a round reads what the round before has written:
//!
//! ```text
//!   L: mov  eax, [rdi]        eax is written before it is read: not carried
//!      test eax, eax          decided by a load
//!      je   L
//!
//!   L: mov  rdi, [rdi]        rdi is carried: a walk along a list
//!      test rdi, rdi
//!      jne  L
//! ```
//! A loop waits if nothing is carried, it stores nothing but its slots (test-and-set operations apart, which
//! leave memory as it was when they fail), and loads decide its exits. Loops with counters are work: those
//! that wait for some time only have a `pause`, or cannot be told from searches.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use crate::origin::is_wait;
use crate::spin::{Body, is_branch};

/// A set of variables: two for each general register (low byte, rest), one for each vector register, one
/// for the flags, the rest for stack slots.
pub(crate) type Set = u128;

const VECTORS: u32 = 32;
const FLAGS: u32 = 64;
const SLOTS: u32 = 65;
const MOST_SLOTS: usize = 40;

/// Whether a loop only waits, by the rule above.
pub(crate) fn repeats(instructions: &[Instruction], body: &Body) -> bool {
    steps(instructions, body).is_some_and(|steps| carried(&steps) == 0 && is_wait(&steps))
}

/// A stack slot: base register, displacement, size.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    base: Register,
    displacement: i64,
    size: i64,
}

impl Slot {
    fn of(memory: &UsedMemory, pointers: &Pointers) -> Option<Slot> {
        let plain =
            memory.index() == Register::None && !matches!(memory.segment(), Register::FS | Register::GS);
        let (base, offset) = pointers.resolve(memory.base())?;
        plain.then(|| Slot {
            base,
            displacement: offset.wrapping_add(memory.displacement().cast_signed()),
            size: memory.memory_size().size() as i64,
        })
    }

    fn overlaps(&self, other: &Slot) -> bool {
        self.base == other.base
            && self.displacement < other.displacement + other.size
            && other.displacement < self.displacement + self.size
    }
}

/// Registers that hold the address of a slot throughout a round: set once, by `lea` of a frame address.
struct Pointers(Vec<(Register, Register, i64)>);

impl Pointers {
    fn of(instructions: &[Instruction], body: &Body, factory: &mut InstructionInfoFactory) -> Self {
        let mut set: Vec<(Register, Register, i64)> = Vec::new();
        let mut writes: Vec<Register> = Vec::new();
        for &index in &body.members {
            let instruction = &instructions[index];
            let info = factory.info(instruction);
            let written = info.used_registers().iter().filter(|used| is_write(used.access()));
            writes.extend(written.map(|used| used.register().full_register()));
            let base = instruction.memory_base();
            let is_frame = matches!(base, Register::RBP | Register::RSP);
            let plain = instruction.memory_index() == Register::None;
            if instruction.mnemonic() == Mnemonic::Lea && is_frame && plain {
                let displacement = instruction.memory_displacement64().cast_signed();
                set.push((instruction.op0_register(), base, displacement));
            }
        }
        set.retain(|(pointer, _, _)| writes.iter().filter(|written| *written == pointer).count() == 1);
        Pointers(set)
    }

    /// The frame register that an address is relative to, and the distance.
    fn resolve(&self, base: Register) -> Option<(Register, i64)> {
        if matches!(base, Register::RBP | Register::RSP) {
            return Some((base, 0));
        }
        self.0.iter().find(|(pointer, _, _)| *pointer == base).map(|(_, frame, offset)| (*frame, *offset))
    }
}

/// What the instructions of a loop are looked at with.
struct View {
    factory: InstructionInfoFactory,
    pointers: Pointers,
    slots: Vec<Slot>,
}

/// One instruction of a loop, reduced to what it reads and writes.
#[derive(Default)]
pub(crate) struct Step {
    pub reads: Set,
    /// Written, whatever it held.
    pub replaces: Set,
    /// Written, perhaps in part or not always.
    pub changes: Set,
    /// Reads memory that is no variable.
    pub loads: bool,
    /// What a compare-and-exchange expects and would store. Made of what was loaded, it is an update that
    /// others got in the way of; a lock is taken from one fixed value to another.
    pub exchanged: Set,
    /// Indices of the steps that may come next in the same round.
    pub next: Vec<usize>,
    /// A branch, one way of which leaves the loop.
    pub leaves: bool,
}

/// The loop's instructions in order, from the header on; `None` where one has an effect.
fn steps(instructions: &[Instruction], body: &Body) -> Option<Vec<Step>> {
    let mut factory = InstructionInfoFactory::new();
    let pointers = Pointers::of(instructions, body, &mut factory);
    let slots = written_slots(instructions, body, &mut factory, &pointers)?;
    let mut view = View { factory, pointers, slots };
    let start = body.members.binary_search(&body.header).ok()?;
    let order: Vec<usize> = body.members[start..].iter().chain(&body.members[..start]).copied().collect();
    let position = |index: usize| order.iter().position(|&member| member == index);
    let mut steps = Vec::with_capacity(order.len());
    for &index in &order {
        let instruction = &instructions[index];
        let mut step = step(instruction, &mut view)?;
        let falls = instruction.flow_control() != iced_x86::FlowControl::UnconditionalBranch;
        let target = is_branch(instruction).then(|| {
            let target = instruction.near_branch_target();
            instructions.binary_search_by_key(&target, Instruction::ip).ok().and_then(position)
        });
        let following = falls.then(|| position(index + 1));
        for successor in [following, target].into_iter().flatten() {
            match successor {
                Some(0) => {}
                Some(successor) => step.next.push(successor),
                None => step.leaves = true,
            }
        }
        steps.push(step);
    }
    Some(steps)
}

/// The stack slots that a loop writes; `None` where it stores elsewhere, or to slots that overlap.
fn written_slots(
    instructions: &[Instruction],
    body: &Body,
    factory: &mut InstructionInfoFactory,
    pointers: &Pointers,
) -> Option<Vec<Slot>> {
    let mut written: Vec<Slot> = Vec::new();
    let mut met: Vec<Slot> = Vec::new();
    for &index in &body.members {
        let instruction = &instructions[index];
        for memory in factory.info(instruction).used_memory() {
            let writes = is_write(memory.access());
            match Slot::of(memory, pointers).filter(|_| !leaves_memory(instruction)) {
                Some(slot) if memory.access() != OpAccess::NoMemAccess => {
                    if writes && !written.contains(&slot) {
                        written.push(slot);
                    }
                    met.push(slot);
                }
                _ if writes && !leaves_memory(instruction) => return None,
                _ => {}
            }
        }
    }
    let clear = written.iter().all(|slot| met.iter().all(|other| slot == other || !slot.overlaps(other)));
    (clear && written.len() <= MOST_SLOTS).then_some(written)
}

/// Atomic operations that leave memory as it was when done once more.
fn leaves_memory(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Xchg => true,
        Mnemonic::Cmpxchg
        | Mnemonic::Cmpxchg8b
        | Mnemonic::Cmpxchg16b
        | Mnemonic::Bts
        | Mnemonic::Btr
        | Mnemonic::Or
        | Mnemonic::And => instruction.has_lock_prefix(),
        _ => false,
    }
}

fn is_write(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn is_read(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn step(instruction: &Instruction, view: &mut View) -> Option<Step> {
    let View { factory, pointers, slots } = view;
    let mut step = Step::default();
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg && has_memory(instruction);
    let compares = matches!(instruction.mnemonic(), Mnemonic::Cmpxchg);
    let info = factory.info(instruction);
    let atomic = leaves_memory(instruction);
    for used in info.used_registers() {
        let register = used.register();
        let (variables, whole) = variables(register)?;
        // What test-and-set puts into memory is what it took out the round before, or a constant.
        let is_exchanged = exchanges && is_write(used.access());
        if is_read(used.access()) && !is_exchanged {
            step.reads |= variables;
        }
        if is_write(used.access()) {
            // Frames must stand still for slots to be variables.
            if matches!(register.full_register(), Register::RSP | Register::RBP) {
                return None;
            }
            let always = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite) && whole;
            *(if always { &mut step.replaces } else { &mut step.changes }) |= variables;
        }
    }
    for memory in info.used_memory() {
        let slot = Slot::of(memory, pointers).filter(|_| !atomic);
        let slot = slot.and_then(|slot| slots.iter().position(|other| *other == slot));
        read_memory(memory, slot, &mut step)?;
    }
    if compares && has_memory(instruction) {
        step.exchanged = variables(instruction.op1_register())?.0 | variables(Register::RAX)?.0;
    }
    if instruction.rflags_read() != 0 {
        step.reads |= 1 << FLAGS;
    }
    if instruction.rflags_modified() != 0 {
        step.replaces |= 1 << FLAGS;
    }
    Some(step)
}

fn read_memory(memory: &UsedMemory, slot: Option<usize>, step: &mut Step) -> Option<()> {
    if memory.access() == OpAccess::NoMemAccess {
        return Some(());
    }
    if let Some(slot) = slot {
        let variable = 1 << (SLOTS + slot as u32);
        if is_read(memory.access()) {
            step.reads |= variable;
        }
        match memory.access() {
            OpAccess::Write | OpAccess::ReadWrite => step.replaces |= variable,
            access if is_write(access) => step.changes |= variable,
            _ => {}
        }
        return Some(());
    }
    step.loads |= is_read(memory.access());
    Some(())
}

fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

/// The variables that are parts of a register, and whether writing it replaces them.
fn variables(register: Register) -> Option<(Set, bool)> {
    let full = register.full_register();
    if register.is_gpr() {
        let pair = 2 * full.number() as u32;
        let (low, rest): (Set, Set) = (1 << pair, 2 << pair);
        let is_high = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
        return Some(match register.size() {
            1 if is_high => (rest, false),
            1 => (low, true),
            2 => (low | rest, false),
            _ => (low | rest, true),
        });
    }
    if register.is_vector_register() {
        return Some((1 << (VECTORS + full.number() as u32), true));
    }
    if register.is_segment_register() || register.is_ip() {
        return Some((0, true));
    }
    None
}

/// The variables that a round reads and an earlier round has written.
fn carried(steps: &[Step]) -> Set {
    let mut live: Vec<Set> = vec![0; steps.len()];
    // Backward data flow over at most 32 steps: a few rounds reach the fixed point.
    loop {
        let mut changed = false;
        for index in (0..steps.len()).rev() {
            let step = &steps[index];
            let after = step.next.iter().fold(0, |set, &next| set | live[next]);
            let before = step.reads | (after & !step.replaces);
            changed |= before != live[index];
            live[index] = before;
        }
        if !changed {
            break;
        }
    }
    let written = steps.iter().fold(0, |set, step| set | step.replaces | step.changes);
    live.first().copied().unwrap_or(0) & written & !(1 << FLAGS)
}
