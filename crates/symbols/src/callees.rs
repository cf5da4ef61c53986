//! Which procedure of OpenMP's runtime a call is for.
//!
//! The runtime's entries end in jumps to its inner procedures, of which stripped libraries have no names: a stack
//! does not tell a critical section from a barrier. The call itself does.
//!
//! ```text
//!   call 0x1080 ──► 0x1080: jmp *0x4018(%rip) ──► slot 0x4018, which the loader fills in for GOMP_critical_start
//!   return address − 1 = the frame's address
//! ```

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use object::{Object, ObjectSymbol, RelocationTarget};
use rustc_hash::FxHashMap;

use crate::elf_names::reopened;
use crate::image::Image;
use crate::module::CodeModule;

/// Instructions of a stub, the jump included.
const LONGEST_STUB: usize = 3;
const STUB_BYTES: usize = 16;

/// The called procedures of those of the addresses, each of a call's last byte, that call OpenMP's runtime.
#[must_use]
pub fn name_callees(module: &CodeModule, addresses: &[u64]) -> Vec<(u64, String)> {
    let Some(image) = module.image().cloned().or_else(|| reopened(module).map(std::sync::Arc::new)) else {
        return Vec::new();
    };
    let slots = slots(&image);
    if slots.is_empty() {
        return Vec::new();
    }
    let name = |address: u64| slots.get(&slot_of_call(&image, address.wrapping_add(1))?);
    addresses.iter().filter_map(|&address| Some((address, name(address)?.clone()))).collect()
}

/// The slots for procedures of OpenMP's runtime, by their addresses.
fn slots(image: &Image) -> FxHashMap<u64, String> {
    const BEGINNINGS: [&str; 3] = ["GOMP_", "omp_", "__kmpc_"];
    let Some(elf) = image.elf() else { return FxHashMap::default() };
    let mut imported = FxHashMap::default();
    for symbol in elf.dynamic_symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name().unwrap_or_default();
        if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
            imported.insert(symbol.index(), name.to_owned());
        }
    }
    let mut slots = FxHashMap::default();
    for (offset, relocation) in elf.dynamic_relocations().into_iter().flatten() {
        if let RelocationTarget::Symbol(index) = relocation.target()
            && let Some(name) = imported.get(&index)
        {
            slots.insert(offset, name.clone());
        }
    }
    slots
}

/// The slot through which the call goes that ends where it returns to.
fn slot_of_call(image: &Image, returns_to: u64) -> Option<u64> {
    /// `call *slot(%rip)`: ff 15 and four bytes.
    const INDIRECT: u64 = 6;
    /// `call stub`: e8 and four bytes.
    const DIRECT: u64 = 5;
    let one = |length: u64| {
        let start = returns_to.checked_sub(length)?;
        decode(image, start, 1)
            .next()
            .filter(|call| call.mnemonic() == Mnemonic::Call && call.next_ip() == returns_to)
    };
    if let Some(slot) = one(INDIRECT).and_then(|call| slot(&call)) {
        return Some(slot);
    }
    let stub = one(DIRECT).map(|call| call.near_branch_target()).filter(|&stub| stub != 0)?;
    let jump =
        decode(image, stub, LONGEST_STUB).find(|instruction| instruction.mnemonic() == Mnemonic::Jmp)?;
    slot(&jump)
}

fn slot(instruction: &Instruction) -> Option<u64> {
    instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address())
}

fn decode(image: &Image, address: u64, count: usize) -> impl Iterator<Item = Instruction> {
    let code = image.code(address, STUB_BYTES);
    let decoded: Vec<Instruction> =
        Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().take(count).collect();
    decoded.into_iter()
}
