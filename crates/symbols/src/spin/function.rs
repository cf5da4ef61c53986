//! A function's instructions and which of them follow each other.

use std::cell::OnceCell;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register,
};

use crate::spin::variables::{FunctionFrame, is_write};

/// Tables with more entries than this are not followed.
const MOST_CASES: usize = 64;

/// A decoded function.
#[derive(Debug, Default)]
pub(crate) struct DecodedFunction {
    pub instructions: Vec<Instruction>,
    pub frame: FunctionFrame,
    /// By instruction: those that may come next, and those that may come before.
    following: Vec<Vec<usize>>,
    preceding: Vec<Vec<usize>>,
    only_writes: OnceCell<[RegisterWrites; 16]>,
}

/// The instructions of a function that write a register, those left out that take it from the stack again.
#[derive(Clone, Copy, Debug, Default)]
enum RegisterWrites {
    #[default]
    None,
    One(usize),
    Several,
}

impl DecodedFunction {
    /// Decodes the code of a function that begins at this address.
    pub fn decode(code: &[u8], start: u64) -> Self {
        let instructions: Vec<Instruction> =
            Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect();
        let count = instructions.len();
        let frame = FunctionFrame::of(&instructions);
        let (following, preceding) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let only_writes = OnceCell::new();
        let mut function = DecodedFunction { instructions, frame, following, preceding, only_writes };
        function.connect();
        function.connect_tables();
        function
    }

    fn connect(&mut self) {
        for index in 0..self.instructions.len() {
            if let Some(target) = self.target(index) {
                self.following[index].push(target);
                self.preceding[target].push(index);
            }
        }
        for index in 0..self.instructions.len() {
            // Nothing leads to padding behind a jump, and from there on.
            let is_padding = self.instructions[index].mnemonic() == Mnemonic::Nop
                && self.preceding[index].is_empty()
                && index > 0;
            let next = index + 1;
            if next < self.instructions.len() && self.falls_through(index) && !is_padding {
                self.following[index].push(next);
                self.preceding[next].push(index);
            }
        }
    }

    /// Leads jumps through tables to all code that nothing else leads to.
    fn connect_tables(&mut self) {
        let jumps: Vec<usize> =
            (0..self.instructions.len()).filter(|&index| self.is_table_jump(index)).collect();
        if jumps.is_empty() {
            return;
        }
        let is_orphan = |index: &usize| {
            *index > 0
                && self.preceding[*index].is_empty()
                && self.instructions[*index].mnemonic() != Mnemonic::Nop
        };
        let orphans: Vec<usize> = (0..self.instructions.len()).filter(is_orphan).take(MOST_CASES).collect();
        for jump in jumps {
            for &orphan in &orphans {
                self.following[jump].push(orphan);
                self.preceding[orphan].push(jump);
            }
        }
    }

    fn is_table_jump(&self, index: usize) -> bool {
        let instruction = &self.instructions[index];
        instruction.flow_control() == FlowControl::IndirectBranch && !instruction.is_ip_rel_memory_operand()
    }

    fn target(&self, index: usize) -> Option<usize> {
        let instruction = &self.instructions[index];
        let target = is_branch(instruction).then(|| instruction.near_branch_target())?;
        self.instructions.binary_search_by_key(&target, Instruction::ip).ok()
    }

    /// The only instruction that writes a general register, those left out that take it from the stack again.
    pub fn only_write(&self, register: Register) -> Option<&Instruction> {
        let writes = self.only_writes.get_or_init(|| self.writes_of_registers());
        match register.is_gpr64().then(|| writes[register.number()])? {
            RegisterWrites::One(index) => Some(&self.instructions[index]),
            RegisterWrites::None | RegisterWrites::Several => None,
        }
    }

    fn writes_of_registers(&self) -> [RegisterWrites; 16] {
        let mut factory = InstructionInfoFactory::new();
        let mut writes = [RegisterWrites::None; 16];
        for (index, instruction) in self.instructions.iter().enumerate() {
            if instruction.mnemonic() == Mnemonic::Pop {
                continue;
            }
            for used in factory.info(instruction).used_registers() {
                let register = used.register().full_register();
                if register.is_gpr64() && is_write(used.access()) {
                    let known = &mut writes[register.number()];
                    *known = match *known {
                        RegisterWrites::None => RegisterWrites::One(index),
                        RegisterWrites::One(same) if same == index => *known,
                        RegisterWrites::One(_) | RegisterWrites::Several => RegisterWrites::Several,
                    };
                }
            }
        }
        writes
    }

    /// The instructions that may come next, within the function.
    pub fn following(&self, index: usize) -> &[usize] {
        &self.following[index]
    }

    /// The instructions after which one may come, within the function.
    pub fn preceding(&self, index: usize) -> &[usize] {
        &self.preceding[index]
    }

    /// The instruction that holds the byte at the address.
    pub fn index_of_byte(&self, address: u64) -> Option<usize> {
        let index = self.instructions.partition_point(|instruction| instruction.next_ip() <= address);
        self.instructions.get(index).filter(|instruction| instruction.ip() <= address).map(|_| index)
    }

    /// Whether control may also go where [`Self::following`] has nothing for: out of the function, or unknown.
    pub fn leaves(&self, index: usize) -> bool {
        let instruction = &self.instructions[index];
        match instruction.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => self.target(index).is_none(),
            FlowControl::Return => true,
            FlowControl::IndirectBranch => self.following[index].is_empty(),
            _ => false,
        }
    }

    fn falls_through(&self, index: usize) -> bool {
        use FlowControl::{Exception, IndirectBranch, Return, UnconditionalBranch};
        let flow = self.instructions[index].flow_control();
        !matches!(flow, UnconditionalBranch | Return | IndirectBranch | Exception)
            && !self.is_last_call(index)
    }

    /// Whether a call is for a function that never returns: nothing but padding or a trap is behind it.
    pub fn is_last_call(&self, index: usize) -> bool {
        let is_call = |index: usize| {
            matches!(self.instructions[index].flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        };
        let traps =
            |next: &Instruction| matches!(next.mnemonic(), Mnemonic::Ud2 | Mnemonic::Int3 | Mnemonic::Hlt);
        is_call(index) && self.instructions.get(index + 1).is_none_or(traps)
    }
}

/// Whether an instruction is a branch to one place.
pub(crate) fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch)
}

/// Whether an instruction tells the processor that the thread waits.
pub(crate) fn is_pause(instruction: &Instruction) -> bool {
    use Mnemonic::{Mwait, Mwaitx, Pause, Tpause, Umwait};
    matches!(instruction.mnemonic(), Pause | Tpause | Umwait | Mwait | Mwaitx)
}
