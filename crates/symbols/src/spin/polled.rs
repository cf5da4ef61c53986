//! Which words of memory a waiting loop looks at, in terms of the registers of a thread found in it.
//!
//! ```text
//!   L: mov eax, [rip + arrivals]     a place of the file
//!   L: cmp dword ptr [rbx + 64], 0   what rbx holds, which the loop does not write
//!   L: mov rax, [rbp - 8]            at -O0 an address stands in memory itself
//!      mov eax, [rax]
//! ```

use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, Register, UsedMemory};

use crate::spin::function::DecodedFunction;
use crate::spin::loops::Loop;
use crate::spin::variables::{is_read, is_write};

/// Words of one loop that are told; a processor can watch four.
const MOST_WORDS: usize = 2;
/// Pointers that lead to a word.
const MOST_STEPS: usize = 3;

/// Where a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolledWord {
    pub(super) base: Base,
    /// Number and factor.
    pub(super) index: Option<(usize, u64)>,
    pub(super) displacement: u64,
    /// Its size.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Nothing: the displacement is an address as the file states it.
    File,
    /// A general register, by its number.
    Register(usize),
    /// What stands in memory.
    Memory(Box<PolledWord>),
}

/// What an address depends on.
pub struct PolledState<'a> {
    /// General registers by their numbers: ax, cx, dx, bx, sp, bp, si, di, r8, …
    pub registers: &'a [u64; 16],
    /// Where the file's addresses begin in the process.
    pub bias: u64,
    /// A pointer in the process's memory.
    pub read: &'a dyn Fn(u64) -> Option<u64>,
}

impl PolledWord {
    /// Its address; `None` where a pointer cannot be read.
    #[must_use]
    pub fn address(&self, state: &PolledState<'_>) -> Option<u64> {
        let base = match &self.base {
            Base::File => state.bias,
            Base::Register(number) => state.registers[*number],
            Base::Memory(word) => (state.read)(word.address(state)?)?,
        };
        let index = self.index.map_or(0, |(number, factor)| state.registers[number].wrapping_mul(factor));
        Some(base.wrapping_add(index).wrapping_add(self.displacement))
    }
}

/// The words that the rounds of a loop look at, other than those of the thread's own stack.
pub(super) fn polled_words(function: &DecodedFunction, found: &Loop) -> Vec<PolledWord> {
    let registers = LoopRegisters::of(function, found);
    let mut factory = InstructionInfoFactory::new();
    let mut words = Vec::new();
    for &index in &found.members {
        let instruction = &function.instructions[index];
        if instruction.mnemonic() == Mnemonic::Call || instruction.is_stack_instruction() {
            continue;
        }
        for memory in factory.info(instruction).used_memory() {
            let is_load = is_read(memory.access()) || memory.access() == OpAccess::ReadCondWrite;
            if !is_load || function.frame.slot(memory).is_some() || registers.leads_on(memory) {
                continue;
            }
            if let Some(word) = registers.word(memory, MOST_STEPS)
                && !words.contains(&word)
            {
                words.push(word);
            }
        }
    }
    words.truncate(MOST_WORDS);
    words
}

/// What a loop does to the registers that addresses are made of.
struct LoopRegisters {
    /// By number: instructions that write it.
    writes: [u32; 16],
    /// Pointers that the loop loads: the register, from where.
    loads: Vec<(usize, UsedMemory)>,
    /// By number: addresses are made of it.
    is_base: [bool; 16],
}

impl LoopRegisters {
    fn of(function: &DecodedFunction, found: &Loop) -> LoopRegisters {
        let mut factory = InstructionInfoFactory::new();
        let (mut writes, mut loads, mut is_base) = ([0; 16], Vec::new(), [false; 16]);
        for &index in &found.members {
            let instruction = &function.instructions[index];
            let info = factory.info(instruction);
            for used in info.used_registers() {
                let register = used.register().full_register();
                if register.is_gpr64() && is_write(used.access()) {
                    writes[register.number()] += 1;
                }
            }
            for memory in info.used_memory().iter().filter(|memory| memory.base().is_gpr64()) {
                is_base[memory.base().number()] = true;
            }
            let to = instruction.op0_register();
            if instruction.mnemonic() == Mnemonic::Mov
                && to.is_gpr64()
                && let Some(&from) = info.used_memory().first()
            {
                loads.push((to.number(), from));
            }
            if instruction.mnemonic() == Mnemonic::Call {
                // What a call may leave anything in.
                for lost in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
                    writes[lost] += 1;
                }
            }
        }
        LoopRegisters { writes, loads, is_base }
    }

    /// Where memory is; `None` where the loop moves it.
    fn word(&self, memory: &UsedMemory, steps: usize) -> Option<PolledWord> {
        if matches!(memory.segment(), Register::FS | Register::GS) {
            return None;
        }
        let kept = |register: Register| register.is_gpr64() && self.writes[register.number()] == 0;
        let base = match memory.base() {
            Register::None | Register::RIP => Base::File,
            register if kept(register) => Base::Register(register.number()),
            register if register.is_gpr64() && self.writes[register.number()] == 1 => {
                let (_, from) = self.loads.iter().find(|(to, _)| *to == register.number())?;
                Base::Memory(Box::new(self.word(from, steps.checked_sub(1)?)?))
            }
            _ => return None,
        };
        let index = match memory.index() {
            Register::None => None,
            register if kept(register) => Some((register.number(), memory.scale() as u64)),
            _ => return None,
        };
        // Of larger ones the beginning counts.
        let bytes = (memory.memory_size().size() as u64).clamp(1, 8);
        let bytes = if bytes.is_power_of_two() { bytes } else { bytes.next_power_of_two() / 2 };
        Some(PolledWord { base, index, displacement: memory.displacement(), bytes })
    }

    /// Whether memory is only looked at for the pointer in it, which leads to what counts.
    fn leads_on(&self, memory: &UsedMemory) -> bool {
        self.loads.iter().any(|(to, from)| from == memory && self.writes[*to] == 1 && self.is_base[*to])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spin::loops::loops_among;

    /// The addresses of the words of the only loop of some code at 0x1000.
    fn addresses(code: &[u8], registers: &[(usize, u64)], memory: &[(u64, u64)]) -> Vec<(Option<u64>, u64)> {
        let function = DecodedFunction::decode(code, 0x1000);
        let loops = loops_among(&function, (0..function.instructions.len()).collect());
        let [only] = &loops[..] else { panic!("{} loops", loops.len()) };
        let mut general = [0; 16];
        registers.iter().for_each(|&(number, value)| general[number] = value);
        let read = |address| memory.iter().find(|(at, _)| *at == address).map(|(_, value)| *value);
        let state = PolledState { registers: &general, bias: 0x50_0000, read: &read };
        polled_words(&function, only).iter().map(|word| (word.address(&state), word.bytes)).collect()
    }

    #[test]
    fn a_variable_of_the_file_is_where_the_file_is() {
        // L: mov eax, [rip + 0x100]; test eax, eax; je L; ret
        let code = [0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0x85, 0xc0, 0x74, 0xf6, 0xc3];
        assert_eq!(addresses(&code, &[], &[]), [(Some(0x50_1106), 4)]);
    }

    #[test]
    fn a_field_is_where_the_register_says_that_the_loop_keeps() {
        // L: pause; cmp byte ptr [rbx + 0x40], 0; je L; ret
        let code = [0xf3, 0x90, 0x80, 0x7b, 0x40, 0x00, 0x74, 0xf8, 0xc3];
        assert_eq!(addresses(&code, &[(3, 0x7000)], &[]), [(Some(0x7040), 1)]);
    }

    #[test]
    fn a_pointer_on_the_stack_is_followed() {
        // push rbp; mov rbp, rsp; L: mov rax, [rbp - 8]; mov ecx, [rax]; test ecx, ecx; je L; ret
        let begin = [0x55, 0x48, 0x89, 0xe5];
        let code = [&begin[..], &[0x48, 0x8b, 0x45, 0xf8, 0x8b, 0x08, 0x85, 0xc9, 0x74, 0xf6, 0xc3]].concat();
        let memory = [(0x7008, 0x9000)];
        assert_eq!(addresses(&code, &[(5, 0x7010)], &memory), [(Some(0x9000), 4)]);
        assert_eq!(addresses(&code, &[(5, 0x7010)], &[]), [(None, 4)]);
        // With mov rax, [rax] in its place the register is written twice: what it holds at a sample is not known.
        let twice = [0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x74, 0xf4, 0xc3];
        assert_eq!(addresses(&[&begin[..], &twice].concat(), &[(5, 0x7010)], &memory), []);
    }

    #[test]
    fn what_the_loop_moves_is_not_one_word() {
        // L: mov eax, [rdi]; add rdi, 4; test eax, eax; je L; ret
        let code = [0x8b, 0x07, 0x48, 0x83, 0xc7, 0x04, 0x85, 0xc0, 0x74, 0xf6, 0xc3];
        assert_eq!(addresses(&code, &[(7, 0x7000)], &[]), []);
    }
}
