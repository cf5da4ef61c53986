//! What an instruction makes of the values before it.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

use crate::image::Image;
use crate::spin::calls::CallEffect;
use crate::spin::effect::{InstructionEffect, clears, has_memory, is_idempotent, slot_variable};
use crate::spin::function::DecodedFunction;
use crate::spin::known::KnownFunction;
use crate::spin::value::ValueOrigin;
use crate::spin::variables::{
    FLAGS, SLOTS, Set, StackSlot, arguments, is_read, lost_in_calls, members, results, variables,
};

/// The values of all variables at one place.
pub(crate) type VariableValues = Vec<ValueOrigin>;

/// The code whose values are followed.
pub(crate) struct Code<'a> {
    pub image: &'a Image,
    pub function: &'a DecodedFunction,
    pub slots: &'a [StackSlot],
}

/// What the instructions of some code were seen to do beside computing.
#[derive(Debug, Default)]
pub(crate) struct LoopActions {
    /// Loads from addresses that change from round to round.
    pub moving_loads: Vec<usize>,
    /// The counters that these addresses are made of.
    pub moving_by: Set,
    /// Atomic operations that store what was computed from what others stored.
    pub updates: Vec<usize>,
    /// Something is loaded that others may change.
    pub loads: bool,
}

impl Code<'_> {
    /// The value of a set of variables.
    pub fn value(state: &VariableValues, set: Set) -> ValueOrigin {
        members(set).fold(ValueOrigin::FIXED, |value, variable| value.or(state[variable as usize]))
    }

    fn register(&self, state: &VariableValues, register: Register) -> ValueOrigin {
        if self.function.frame.is_base(register.full_register()) {
            return ValueOrigin::FIXED;
        }
        Self::value(state, variables(register).0)
    }

    /// Executes one instruction.
    pub fn step(
        &self,
        index: usize,
        call: Option<&CallEffect>,
        state: &mut VariableValues,
        deeds: &mut LoopActions,
    ) {
        let instruction = &self.function.instructions[index];
        if let Some(call) = call {
            self.call(index, call, state, deeds);
            return;
        }
        if instruction.is_stack_instruction() {
            return;
        }
        let inputs = self.inputs(index, state, deeds);
        let result = self.result(instruction, &inputs);
        if is_idempotent(instruction) && self.is_shared_memory(instruction) {
            self.exchange(index, state, deeds);
            return;
        }
        let effect = InstructionEffect::of(instruction, self.function, self.slots);
        for variable in members(effect.replaces & !(1 << FLAGS)) {
            state[variable as usize] = result;
        }
        for variable in members(effect.changes) {
            let old = state[variable as usize];
            state[variable as usize] = old.or(result);
        }
        if effect.replaces & (1 << FLAGS) != 0 {
            state[FLAGS as usize] = result;
        }
    }

    /// Whether an instruction loads what is no variable of the function's.
    pub fn loads(&self, index: usize) -> bool {
        let instruction = &self.function.instructions[index];
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        info.used_memory()
            .iter()
            .any(|memory| is_read(memory.access()) && self.function.frame.slot(memory).is_none())
    }

    fn is_shared_memory(&self, instruction: &Instruction) -> bool {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        info.used_memory().iter().any(|memory| self.function.frame.slot(memory).is_none())
    }

    /// A test-and-set or the like: registers and flags get what was in memory.
    fn exchange(&self, index: usize, state: &mut VariableValues, deeds: &mut LoopActions) {
        let instruction = &self.function.instructions[index];
        let stored = match instruction.op1_kind() {
            OpKind::Register => self.register(state, instruction.op1_register()),
            _ => ValueOrigin::FIXED,
        };
        let compares = instruction.mnemonic() == Mnemonic::Cmpxchg;
        let expected = if compares { self.register(state, Register::RAX) } else { ValueOrigin::FIXED };
        // What an exchange puts back it may have taken out; an update is computed.
        let exchanges = instruction.mnemonic() == Mnemonic::Xchg;
        let is_update = if exchanges { !stored.repeats() } else { !stored.with(expected).is_fixed() };
        if is_update {
            deeds.updates.push(index);
        }
        deeds.loads = true;
        let effect = InstructionEffect::of(instruction, self.function, self.slots);
        for variable in members(effect.writes()) {
            let old = if compares { state[variable as usize] } else { ValueOrigin::FIXED };
            state[variable as usize] =
                if variable == FLAGS { ValueOrigin::POLLED } else { old.or(ValueOrigin::POLLED) };
        }
    }

    /// The values that an instruction reads, one for each operand.
    fn inputs(&self, index: usize, state: &VariableValues, deeds: &mut LoopActions) -> Vec<ValueOrigin> {
        let instruction = &self.function.instructions[index];
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        let mut inputs = Vec::new();
        deeds.loads |= matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp);
        if instruction.mnemonic() == Mnemonic::Lea {
            let parts = [instruction.memory_base(), instruction.memory_index()];
            inputs.extend(parts.map(|part| self.register(state, part)));
            return inputs;
        }
        let mut explicit: Vec<Register> = Vec::new();
        for operand in 0..instruction.op_count() {
            if instruction.op_kind(operand) == OpKind::Register {
                let register = instruction.op_register(operand);
                explicit.push(register.full_register());
                if is_read(info.op_access(operand)) {
                    inputs.push(self.register(state, register));
                }
            }
        }
        let mut addresses: Vec<Register> = Vec::new();
        for memory in info.used_memory() {
            addresses.extend([memory.base(), memory.index()].map(Register::full_register));
            if is_read(memory.access()) {
                inputs.push(self.load(index, memory, state, deeds));
            }
        }
        for used in info.used_registers() {
            let register = used.register().full_register();
            if is_read(used.access()) && !explicit.contains(&register) && !addresses.contains(&register) {
                inputs.push(self.register(state, used.register()));
            }
        }
        if instruction.rflags_read() != 0 {
            inputs.push(state[FLAGS as usize]);
        }
        inputs
    }

    fn load(
        &self,
        index: usize,
        memory: &UsedMemory,
        state: &VariableValues,
        deeds: &mut LoopActions,
    ) -> ValueOrigin {
        if memory.access() == OpAccess::NoMemAccess {
            return ValueOrigin::FIXED;
        }
        if let Some(variable) = slot_variable(memory, self.function, self.slots) {
            return Self::value(state, variable);
        }
        if let Some(slot) = self.function.frame.slot(memory) {
            let is_shared = self.function.frame.is_shared(&slot);
            deeds.loads |= is_shared;
            return if is_shared { ValueOrigin::POLLED } else { ValueOrigin::FIXED };
        }
        let address = self.register(state, memory.base()).with(self.register(state, memory.index()));
        if !address.repeats() {
            deeds.moving_loads.push(index);
            deeds.moving_by |= address.counters;
            return ValueOrigin { polled: true, ..ValueOrigin::MOVING };
        }
        let is_absolute = memory.base() == Register::None && memory.index() == Register::None;
        let is_thread_local = matches!(memory.segment(), Register::FS | Register::GS);
        if is_absolute && !is_thread_local && !self.image.is_writable(memory.displacement()) {
            return ValueOrigin::FIXED;
        }
        deeds.loads = true;
        ValueOrigin::POLLED
    }

    /// What an instruction computes from its inputs.
    fn result(&self, instruction: &Instruction, inputs: &[ValueOrigin]) -> ValueOrigin {
        use Mnemonic::{Add, And, Dec, Inc, Lea, Rdtsc, Rdtscp, Sal, Shl, Sub};
        if clears(instruction) {
            return ValueOrigin::FIXED;
        }
        if matches!(instruction.mnemonic(), Rdtsc | Rdtscp) {
            return ValueOrigin::POLLED;
        }
        if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
            return ValueOrigin { polled: true, ..ValueOrigin::MOVING };
        }
        if is_comparison(instruction) {
            return inputs.iter().fold(ValueOrigin::FIXED, |value, &input| value.compared(input));
        }
        if is_selection(instruction) {
            // The flags, which come last, select one of the others.
            let values = inputs.split_last().map_or(inputs, |(_, values)| values);
            return values.iter().copied().reduce(ValueOrigin::or).unwrap_or(ValueOrigin::FIXED);
        }
        if let [input] = inputs
            && (is_copy(instruction) || is_small_shift(instruction))
        {
            return *input;
        }
        let is_step = match instruction.mnemonic() {
            Add | Sub | Inc | Dec | Lea => true,
            And => {
                matches!(instruction.op1_kind(), kind if kind != OpKind::Register && kind != OpKind::Memory)
            }
            Shl | Sal => is_small_shift(instruction),
            _ => false,
        };
        if instruction.mnemonic() == Shl && instruction.op1_kind() == OpKind::Register {
            // By one or by nothing, as a comparison has it; or one doubled so many times.
            return inputs.iter().fold(ValueOrigin::FIXED, |value, &input| value.or(input));
        }
        if is_step {
            stepped(instruction, inputs)
        } else {
            inputs.iter().fold(ValueOrigin::FIXED, |value, &input| value.with(input))
        }
    }

    fn call(&self, index: usize, call: &CallEffect, state: &mut VariableValues, deeds: &mut LoopActions) {
        let fold = |set: Set| {
            members(set).fold(ValueOrigin::FIXED, |value, variable| value.with(state[variable as usize]))
        };
        let (read, lost, loads) = match call {
            CallEffect::Follows(summary) => {
                (summary.arguments, summary.writes & lost_in_calls(), summary.loads)
            }
            CallEffect::Known(KnownFunction::Polls | KnownFunction::ReadsClock) => {
                (variables(Register::RDI).0, lost_in_calls(), true)
            }
            CallEffect::Indirect => {
                (variables(Register::RDI).0 | variables(Register::RSI).0, lost_in_calls(), true)
            }
            CallEffect::Known(_) | CallEffect::Unknown => (0, lost_in_calls(), false),
        };
        let read = fold(read & arguments());
        deeds.loads |= loads;
        let result = match (loads, read.repeats()) {
            (true, true) => ValueOrigin::POLLED,
            (true, false) => {
                deeds.moving_loads.push(index);
                deeds.moving_by |= read.counters;
                ValueOrigin { polled: true, ..ValueOrigin::MOVING }
            }
            (false, _) => read,
        };
        for variable in members(lost) {
            state[variable as usize] = ValueOrigin::FIXED;
        }
        for variable in members(results()) {
            if lost & (1 << variable) != 0 {
                state[variable as usize] = result;
            }
        }
        for (position, slot) in self.slots.iter().enumerate() {
            if self.function.frame.is_passed(slot) {
                let variable = SLOTS as usize + position;
                state[variable] = state[variable].or(ValueOrigin::POLLED);
            }
        }
    }
}

/// A counter after a step, where only one of the inputs is not fixed; or doubled.
fn stepped(instruction: &Instruction, inputs: &[ValueOrigin]) -> ValueOrigin {
    let value = inputs.iter().fold(ValueOrigin::FIXED, |value, &input| value.with(input));
    let mut changing = inputs.iter().filter(|input| !input.is_fixed());
    let doubles = match instruction.mnemonic() {
        Mnemonic::Lea => {
            instruction.memory_base() == instruction.memory_index() && instruction.memory_index_scale() == 1
        }
        _ => {
            instruction.op1_kind() == OpKind::Register
                && instruction.op0_register() == instruction.op1_register()
        }
    };
    let scales = instruction.mnemonic() == Mnemonic::Lea
        && instruction.memory_index() != Register::None
        && instruction.memory_index_scale() > 4;
    match (changing.next(), changing.next()) {
        (Some(only), None) if !scales => *only,
        (Some(one), Some(other)) if doubles && one == other => *one,
        _ => value,
    }
}

fn is_small_shift(instruction: &Instruction) -> bool {
    const SMALL: u8 = 4;
    let by_one = instruction.op_count() == 2 && matches!(instruction.op1_kind(), OpKind::Immediate8);
    matches!(instruction.mnemonic(), Mnemonic::Shl | Mnemonic::Sal)
        && by_one
        && instruction.immediate8() <= SMALL
}

fn is_comparison(instruction: &Instruction) -> bool {
    use Mnemonic::{Bt, Cmp, Comisd, Comiss, Test, Ucomisd, Ucomiss};
    matches!(instruction.mnemonic(), Cmp | Test | Bt | Comisd | Comiss | Ucomisd | Ucomiss)
}

fn is_selection(instruction: &Instruction) -> bool {
    instruction.rflags_read() != 0
        && instruction.op_count() == 2
        && matches!(instruction.op0_kind(), OpKind::Register)
        && format!("{:?}", instruction.mnemonic()).starts_with("Cmov")
}

/// Whether an instruction only moves or widens a value.
fn is_copy(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cdqe, Cwde, Mov, Movapd, Movaps, Movd, Movdqa, Movdqu, Movq, Movsd, Movss, Movsx, Movsxd, Movupd,
        Movups, Movzx, Vmovapd, Vmovaps, Vmovd, Vmovdqa, Vmovdqu, Vmovq, Vmovups,
    };
    let sets = instruction.rflags_read() != 0 && instruction.op_count() == 1 && !has_memory(instruction);
    let jumps = instruction.is_jcc_short_or_near();
    sets || jumps
        || matches!(
            instruction.mnemonic(),
            Cdqe | Cwde
                | Mov
                | Movapd
                | Movaps
                | Movd
                | Movdqa
                | Movdqu
                | Movq
                | Movsd
                | Movss
                | Movsx
                | Movsxd
                | Movupd
                | Movups
                | Movzx
                | Vmovapd
                | Vmovaps
                | Vmovd
                | Vmovdqa
                | Vmovdqu
                | Vmovq
                | Vmovups
        )
}
