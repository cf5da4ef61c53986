//! The threads of the emulated program, by the number that QEMU gives the processor of each.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use longpole_access::format::{ENTER, Operation, place};
use longpole_access::writer::owner::StreamOwner;
use longpole_access::writer::stream::{self, ThreadStream};

use crate::emulated_code::CodeSection;
use crate::shadow_stack::{CallChange, ShadowStack};

/// Threads at one time; further ones are not recorded.
const MOST: usize = 1 << 15;

static THREADS: [AtomicPtr<EmulatedThread>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// What the plugin keeps of a thread. Only that thread uses it.
#[derive(Default)]
pub struct EmulatedThread {
    /// Where the library in the program keeps the thread's stream; null before it has one, and after.
    owner: Cell<Option<&'static StreamOwner>>,
    calls: UnsafeCell<ShadowStack>,
    /// The thread's last access: its place, and its address.
    last: Cell<(u64, u64)>,
    /// The part of a file that the thread is about to map as code.
    pub mapping: RefCell<Option<(PathBuf, CodeSection)>>,
}

/// The calling thread, whose processor has this number; `None` where it is not known yet.
#[inline(always)]
pub fn known(processor: u32) -> Option<&'static EmulatedThread> {
    let thread = THREADS.get(processor as usize)?.load(Ordering::Relaxed);
    // SAFETY: threads are never freed; a processor's number is that of one thread at a time.
    unsafe { thread.as_ref() }
}

/// The calling thread; `None` where there are too many.
pub fn of(processor: u32) -> Option<&'static EmulatedThread> {
    if let Some(thread) = known(processor) {
        return Some(thread);
    }
    let room = THREADS.get(processor as usize)?;
    room.store(Box::into_raw(Box::default()), Ordering::Relaxed);
    known(processor)
}

impl EmulatedThread {
    /// The thread begins or ends to be recorded.
    ///
    /// # Safety
    /// The address is 0, or that of the thread's owner of a stream, which lives until this is called again.
    pub unsafe fn own(&self, address: u64) {
        // SAFETY: as promised; nothing else has the calls now.
        unsafe {
            self.owner.set((address as *const StreamOwner).as_ref());
            (*self.calls.get()).clear();
        }
    }

    /// The thread makes an access. True where that is the one which it made last: it polls, as nothing has happened in between.
    #[inline(always)]
    pub fn repeats(&self, place: u64, address: u64) -> bool {
        self.last.replace((place, address)) == (place, address)
    }

    /// Runs this with the thread's stream and calls, where it is recorded and the library is not at work in it.
    #[inline(always)]
    pub fn with(&self, write: impl FnOnce(&mut ThreadStream, &mut ShadowStack)) {
        let Some(owner) = self.owner.get().filter(|owner| owner.busy.get() == 0) else { return };
        // SAFETY: only this thread has its stream and its calls, and what runs with them is no code of the program: no handler of a
        // signal comes between. Each call of this ends before the next one.
        unsafe {
            if let Some(stream) = owner.stream.get().as_mut() {
                write(stream, &mut *self.calls.get());
            }
        }
    }
}

/// Writes what has changed in the calls that a thread is in.
#[inline]
pub fn note(stream: &mut ThreadStream, change: CallChange) {
    match change {
        CallChange::Enter(return_address) => stream.place(place(return_address, ENTER, 0), 0),
        CallChange::Exit => stream.operation(Operation::Exit, []),
    }
}

/// A child process is not recorded, as its threads are not those of its parent.
pub unsafe extern "C" fn in_child() {
    stream::switch_off();
}
