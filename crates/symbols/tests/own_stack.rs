//! Unwinds stacks of the test itself, whose callers are known.

#![allow(clippy::unwrap_used)]

use std::arch::asm;
use std::cell::RefCell;
use std::hint::black_box;

use longpole_symbols::{CodeAddress, Registers, Symboliser, Unwinder, UserStack};

/// Registers, and the memory from the stack pointer upwards.
#[inline(always)]
fn capture(bytes: usize) -> (Registers, Vec<u8>) {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: the registers are only read.
    unsafe { asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) ip, out(reg) sp, out(reg) bp) };
    let end = stack_end(sp).min(sp + bytes as u64);
    // SAFETY: the range lies within this thread's stack.
    let memory = unsafe { std::slice::from_raw_parts(sp as *const u8, (end - sp) as usize) };
    (Registers { ip, sp, bp }, memory.to_vec())
}

fn stack_end(sp: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut ends = maps.lines().filter_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        (number(start)..number(end)).contains(&sp).then_some(number(end))
    });
    ends.next().unwrap()
}

/// Follows frame pointers as the kernel does, to the end of the stack.
fn chain(registers: Registers) -> Vec<u64> {
    let end = stack_end(registers.sp);
    let mut chain = vec![registers.ip];
    let mut bp = registers.bp;
    while (registers.sp..end - 16).contains(&bp) && bp.is_multiple_of(8) {
        // SAFETY: both words lie within this thread's stack.
        let (next, ip) = unsafe { (*(bp as *const u64), *((bp + 8) as *const u64)) };
        chain.push(ip);
        if next <= bp {
            break;
        }
        bp = next;
    }
    chain
}

fn unwind(unwinder: &mut Unwinder, registers: Registers, memory: &[u8], chain: &[u64]) -> Vec<CodeAddress> {
    let mut frames = Vec::new();
    let stack = UserStack { registers: Some(registers), memory, chain };
    unwinder.unwind(std::process::id(), &stack, &mut frames);
    frames
}

fn loaded() -> Unwinder {
    let mut unwinder = Unwinder::new();
    unwinder.load_maps(std::process::id()).unwrap();
    unwinder
}

/// The procedures of the frames without their paths, innermost first; inlined ones joined in.
fn names(unwinder: &Unwinder, frames: &[CodeAddress]) -> Vec<String> {
    let mut symboliser = Symboliser::new();
    let mut names = Vec::new();
    for frame in frames {
        let module = &unwinder.modules()[frame.module as usize];
        for place in &symboliser.symbolise(module, &[frame.address])[0].places {
            names.push(place.procedure.rsplit("::").next().unwrap().to_owned());
        }
    }
    names
}

fn assert_in_order(names: &[String], expected: &[&str]) {
    let mut rest = names.iter();
    for name in expected {
        assert!(rest.any(|found| found == name), "{name} is missing (in this order) in {names:?}");
    }
}

#[inline(never)]
fn innermost(bytes: usize) -> (Registers, Vec<u8>, Vec<u64>) {
    let (registers, memory) = capture(bytes);
    let chain = chain(registers);
    black_box((registers, memory, chain))
}

#[inline(never)]
fn middle(bytes: usize) -> (Registers, Vec<u8>, Vec<u64>) {
    let mut captured = innermost(bytes);
    black_box(&mut captured);
    captured
}

#[inline(never)]
fn outer(bytes: usize) -> (Registers, Vec<u8>, Vec<u64>) {
    let mut captured = middle(bytes);
    black_box(&mut captured);
    captured
}

#[test]
fn callers_are_found_by_unwind_information_up_to_the_start_of_the_thread() {
    let (registers, memory, _) = outer(1 << 16);
    let mut unwinder = loaded();
    let frames = unwind(&mut unwinder, registers, &memory, &[]);
    let names = names(&unwinder, &frames);
    assert_in_order(&names, &["innermost", "middle", "outer"]);
    let outermost = names.last().unwrap();
    assert!(outermost.contains("clone") || outermost.contains("start_thread"), "{names:?}");
}

thread_local! {
    static COMPARED: RefCell<Option<(Registers, Vec<u8>)>> = const { RefCell::new(None) };
}

extern "C" fn compare(left: *const libc::c_void, right: *const libc::c_void) -> libc::c_int {
    COMPARED.with(|captured| *captured.borrow_mut() = Some(capture(1 << 14)));
    // SAFETY: qsort passes pointers to elements of the array of integers.
    unsafe { *left.cast::<i32>() - *right.cast::<i32>() }
}

#[inline(never)]
fn sorts_with_libc() -> i32 {
    let mut numbers = [3, 1, 2];
    // SAFETY: the array has three elements of four bytes.
    unsafe { libc::qsort(numbers.as_mut_ptr().cast(), 3, 4, Some(compare)) };
    black_box(numbers[0])
}

#[test]
fn the_caller_of_a_libc_function_is_found_through_it() {
    assert_eq!(sorts_with_libc(), 1);
    let (registers, memory) = COMPARED.with(|captured| captured.borrow_mut().take()).unwrap();
    let mut unwinder = loaded();
    let frames = unwind(&mut unwinder, registers, &memory, &[]);
    assert_in_order(&names(&unwinder, &frames), &["compare", "sorts_with_libc"]);
    let compare = unwinder.modules()[frames[0].module as usize].path.clone();
    let libc = frames.iter().map(|frame| &unwinder.modules()[frame.module as usize].path);
    assert!(libc.clone().any(|path| path.to_string_lossy().contains("libc")), "{compare:?}");
}

extern "C" fn handler(_signal: libc::c_int) {
    COMPARED.with(|captured| *captured.borrow_mut() = Some(capture(1 << 15)));
}

#[inline(never)]
fn raises_signal() -> i32 {
    // SAFETY: the handler touches nothing but a variable of this thread, and the signal is raised on it.
    let raised = unsafe {
        libc::signal(libc::SIGUSR1, handler as extern "C" fn(libc::c_int) as libc::sighandler_t);
        libc::raise(libc::SIGUSR1)
    };
    black_box(raised)
}

#[test]
fn the_code_that_a_signal_interrupted_is_found_behind_the_handler() {
    assert_eq!(raises_signal(), 0);
    let (registers, memory) = COMPARED.with(|captured| captured.borrow_mut().take()).unwrap();
    let mut unwinder = loaded();
    let frames = unwind(&mut unwinder, registers, &memory, &[]);
    assert_in_order(&names(&unwinder, &frames), &["handler", "raises_signal"]);
}

#[test]
fn a_forked_process_has_its_parents_code_until_it_executes_another_program() {
    let (registers, memory, _) = outer(1 << 16);
    let mut unwinder = loaded();
    let expected = unwind(&mut unwinder, registers, &memory, &[]);
    unwinder.fork(std::process::id(), 1);
    unwinder.exit(std::process::id());
    let stack = UserStack { registers: Some(registers), memory: &memory, chain: &[] };
    let mut frames = Vec::new();
    unwinder.unwind(1, &stack, &mut frames);
    assert_eq!(frames, expected);
    unwinder.exec(1);
    frames.clear();
    unwinder.unwind(1, &stack, &mut frames);
    assert_eq!(frames.len(), 1);
    assert_eq!(unwinder.modules()[frames[0].module as usize].kind, longpole_event::ModuleKind::Unknown);
}
