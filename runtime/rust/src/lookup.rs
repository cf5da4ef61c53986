//! Whether there is an agent: asked once, remembered for ever.
//!
//! Where no recorder watches, each call of this crate costs one relaxed load and one branch.

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::interface::{Agent, AskAgent, SYMBOL, VERSION};

/// The answer: null where nobody has asked yet, [`ABSENT`] where there is no agent.
static ANSWER: AtomicPtr<Agent> = AtomicPtr::new(core::ptr::null_mut());

const ABSENT: *mut Agent = core::ptr::without_provenance_mut(1);

/// The agent, where the program runs under one.
#[inline]
pub(crate) fn agent() -> Option<&'static Agent> {
    if !cfg!(feature = "enabled") {
        return None;
    }
    // The table is part of a library that was loaded before: there is nothing to be ordered after.
    let answer = ANSWER.load(Ordering::Relaxed);
    if answer == ABSENT { None } else { present(answer) }
}

#[inline(never)]
fn present(answer: *mut Agent) -> Option<&'static Agent> {
    let answer = if answer.is_null() { ask() } else { answer };
    // SAFETY: neither null nor absent, so it is the table that `ask` checked, which lives as long as the process.
    (answer != ABSENT).then(|| unsafe { &*answer })
}

/// Looks the agent up. The first failed look-up allocates inside the C library and takes its lock, so
/// [`ASK_AT_START`] does it before the program could be in a signal handler or in a forked child.
#[cold]
fn ask() -> *mut Agent {
    // SAFETY: errno is thread-local and always there; dlsym and dlerror have no preconditions.
    let symbol = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr());
        if symbol.is_null() {
            // The program must not find our failure when it asks for its own.
            libc::dlerror();
        }
        *errno = before;
        symbol
    };
    let answer = if symbol.is_null() { ABSENT } else { call(symbol) };
    ANSWER.store(answer, Ordering::Relaxed);
    answer
}

fn call(symbol: *mut libc::c_void) -> *mut Agent {
    // SAFETY: the symbol is a function of this type by its name's definition.
    let ask: AskAgent = unsafe { core::mem::transmute(symbol) };
    // SAFETY: it has no preconditions; what it gives is null or a table that lives as long as the process.
    let table = unsafe { ask().as_ref() };
    let is_known = |table: &&Agent| table.version == VERSION && table.size as usize >= size_of::<Agent>();
    table.filter(is_known).map_or(ABSENT, |table| core::ptr::from_ref(table).cast_mut())
}

extern "C" fn ask_at_start() {
    agent();
}

#[cfg(feature = "enabled")]
#[used]
// SAFETY: the section holds pointers to functions, which the loader calls before `main`.
#[unsafe(link_section = ".init_array")]
static ASK_AT_START: extern "C" fn() = ask_at_start;

#[cfg(not(feature = "enabled"))]
const _: extern "C" fn() = ask_at_start;
