//! Where the library begins and ends its work: with the process, and with each thread.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use super::stream::{self, ThreadStream};
use super::thread_local::words;
use super::{emulation, followed};
use crate::format::{Operation, SOCKET_VARIABLE};
use crate::unit_sample::SAMPLE_VARIABLE;

/// A key whose destructor ends a thread's stream, + 1; 0 before it is made.
static END_KEY: AtomicU32 = AtomicU32::new(0);

/// Rounds of destructors that C libraries make; the stream ends in the last one, after the program's own destructors.
const ROUNDS: usize = 3;

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array.00101")]
static BEGIN: extern "C" fn() = begin_process;

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array.00101")]
static END: extern "C" fn() = end_process;

/// Connects to the recorder, where there is one.
pub extern "C" fn begin_process() {
    unsafe {
        let path = variable(SOCKET_VARIABLE);
        if path.is_null() || stream::is_on() {
            return;
        }
        let Some(socket) = connect(path) else { return };
        if emulation::is_wanted() && !emulation::greet(socket) {
            libc::close(socket);
            return;
        }
        let mut name = [0_u8; 32];
        name[..SAMPLE_VARIABLE.len()].copy_from_slice(SAMPLE_VARIABLE.as_bytes());
        followed::begin(libc::getenv(name.as_ptr().cast()));
        stream::set_socket(socket);
        let mut key = 0;
        if libc::pthread_key_create(&raw mut key, Some(end_thread)) == 0 {
            END_KEY.store(key + 1, Ordering::Relaxed);
        }
        libc::pthread_atfork(None, None, Some(in_child));
    }
    stream::send_maps();
    begin_thread(stream::next_thread());
}

/// A variable of the environment; null where it is not set.
pub fn variable(name: &str) -> *const libc::c_char {
    let mut terminated = [0_u8; 32];
    terminated[..name.len()].copy_from_slice(name.as_bytes());
    unsafe { libc::getenv(terminated.as_ptr().cast()) }
}

unsafe fn connect(path: *const libc::c_char) -> Option<i32> {
    /// Programs close low descriptors, and expect the lowest free one for what they open.
    const LOWEST: i32 = 500;
    unsafe {
        let mut address: libc::sockaddr_un = core::mem::zeroed();
        let length = libc::strlen(path);
        if length >= address.sun_path.len() {
            return None;
        }
        address.sun_family = libc::AF_UNIX as u16;
        ptr::copy_nonoverlapping(path, address.sun_path.as_mut_ptr(), length);
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return None;
        }
        let size = size_of::<libc::sockaddr_un>() as u32;
        if libc::connect(socket, (&raw const address).cast(), size) != 0 {
            libc::close(socket);
            return None;
        }
        let high = libc::fcntl(socket, libc::F_DUPFD_CLOEXEC, LOWEST);
        if high < 0 {
            return Some(socket);
        }
        libc::close(socket);
        Some(high)
    }
}

/// Writes out what is left.
pub extern "C" fn end_process() {
    stream::send_maps();
    stream::with(ThreadStream::flush);
    stream::flush_all();
    followed::send();
}

/// Gives the calling thread its stream.
pub fn begin_thread(number: u32) {
    let stream = stream::begin(number);
    if stream.is_null() {
        return;
    }
    let key = END_KEY.load(Ordering::Relaxed);
    if key > 0 {
        // The value counts the rounds of destructors.
        unsafe { libc::pthread_setspecific(key - 1, ROUNDS as *const _) };
    }
    let (lowest, size) = stack();
    let given_up = size.min(followed::STACK_BYTES);
    followed::give_up(number, lowest + size - given_up, given_up);
    stream::with(|stream| stream.operation(Operation::Stack, [lowest, size]));
    emulation::begin_thread();
}

/// The calling thread's stack.
fn stack() -> (u64, u64) {
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return (0, 0);
        }
        let (mut lowest, mut size) = (ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (lowest as u64, size as u64)
    }
}

unsafe extern "C" fn end_thread(rounds: *mut libc::c_void) {
    let key = END_KEY.load(Ordering::Relaxed);
    if rounds as usize > 1 && key > 0 {
        unsafe { libc::pthread_setspecific(key - 1, (rounds as usize - 1) as *const _) };
        return;
    }
    stream::with(|stream: &mut ThreadStream| {
        stream.operation(Operation::End, []);
        stream.flush();
    });
    let words = words();
    words.is_off.set(1);
    words.owner.stream.set(ptr::null_mut());
    emulation::end_thread();
}

/// A child process is not recorded: its threads are not those of its parent.
unsafe extern "C" fn in_child() {
    stream::switch_off();
    let words = words();
    words.is_off.set(1);
    words.owner.stream.set(ptr::null_mut());
}
