//! Chains without registers and memory, as `perf record -g` takes them.

use longpole_symbols::{Symboliser, Unwinder, UserStack};

#[inline(never)]
extern "C" fn calls_the_library(value: u64) -> u64 {
    std::hint::black_box(value) + 1
}

#[inline(never)]
extern "C" fn outermost(value: u64) -> u64 {
    calls_the_library(value) + calls_the_library(value + 1)
}

/// The return address of the first direct call in `caller` to `callee`.
fn return_address(caller: u64, callee: u64) -> u64 {
    // SAFETY: the code of this program is readable, and no function ends it within so few bytes.
    let code = unsafe { std::slice::from_raw_parts(caller as *const u8, 128) };
    let position = (0..code.len() - 5).find(|&at| {
        let distance = i32::from_le_bytes([code[at + 1], code[at + 2], code[at + 3], code[at + 4]]);
        code[at] == 0xe8 && (caller + at as u64 + 5).wrapping_add_signed(distance.into()) == callee
    });
    caller + position.expect("a direct call") as u64 + 5
}

#[test]
fn the_caller_that_a_chain_skips_below_a_library_is_found_by_the_call_to_it() {
    assert_eq!(outermost(3), 9);
    let address = |function: extern "C" fn(u64) -> u64| function as *const () as u64;
    let returns = return_address(address(outermost), address(calls_the_library));
    let mut unwinder = Unwinder::new();
    unwinder.load_maps(std::process::id()).expect("own mappings");
    let mut names = |chain: &[u64]| {
        let mut frames = Vec::new();
        unwinder.unwind(std::process::id(), &UserStack { chain, ..UserStack::default() }, &mut frames);
        let mut symboliser = Symboliser::new();
        let name = |frame: &longpole_symbols::CodeAddress| {
            let module = &unwinder.modules()[frame.module as usize];
            let named = symboliser.symbolise(module, &[frame.address]).remove(0);
            named.places.last().map_or_else(String::new, |place| place.procedure.clone())
        };
        frames.iter().map(name).collect::<Vec<_>>()
    };
    let in_library = libc::getpid as *const () as u64;
    let found = names(&[in_library, returns]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[1].contains("calls_the_library") && found[2].contains("outermost"), "{found:?}");
    // Within the program itself nothing says that a frame is missing.
    let found = names(&[address(calls_the_library), returns]);
    assert_eq!(found.len(), 2, "{found:?}");
}
