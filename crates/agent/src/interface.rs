//! What programs tell the agent themselves: the functions behind `runtime/`.

use core::ffi::{c_char, c_void};

use longpole_ring::{Area, RingEventKind, WaitKind, event_in};
use longpole_runtime::interface::{Agent, VERSION};

use crate::frame;
use crate::stack::HookFrame;
use crate::thread::CurrentThread;

/// Bytes that are kept of a name.
const LONGEST_NAME: usize = 63;
/// Words that hold them.
const NAME_WORDS: usize = (LONGEST_NAME + 1) / 8;
/// Words of the longest event with a name.
const LONGEST: usize = 3 + NAME_WORDS;

/// The table of functions for programs. It does nothing until the agent is connected.
///
/// The constructors of a program's libraries may ask before the agent's own has run.
#[cfg_attr(feature = "locks", unsafe(no_mangle))]
pub extern "C" fn longpole_agent_v1() -> *const Agent {
    static TABLE: Agent = Agent {
        version: VERSION,
        size: size_of::<Agent>() as u32,
        region_enter,
        region_leave,
        task_spawn,
        task_begin,
        task_end: region_leave,
        thread_name,
        object_name,
        wait_begin,
        wait_end,
        acquired,
        released,
    };
    &raw const TABLE
}

impl CurrentThread {
    /// The thread enters the region with this name.
    ///
    /// # Safety
    /// The name is a string that lives for ever.
    pub unsafe fn enters(self, name: *const c_char, at: HookFrame) {
        // SAFETY: the caller's.
        self.with(|area| unsafe { tell_text(self, area, name) });
        self.tell_with_stack::<3>(RingEventKind::Enters, name as u64, &mut [0], at);
        self.with(|area| area.profile.enter_region(name as u64));
    }

    /// The thread begins a task, whose work goes by this name.
    ///
    /// # Safety
    /// As [`CurrentThread::enters`].
    pub unsafe fn runs(self, task: u64, name: *const c_char, at: HookFrame) {
        if task == 0 {
            // Made while nobody recorded.
            // SAFETY: the caller's.
            return unsafe { self.enters(name, at) };
        }
        // SAFETY: the caller's.
        self.with(|area| unsafe { tell_text(self, area, name) });
        self.tell_with_stack::<4>(RingEventKind::Runs, task, &mut [name as u64, 0], at);
        self.with(|area| area.profile.enter_region(name as u64));
    }

    /// The thread leaves the region or task that it entered last, if there is one.
    pub fn leaves(self) {
        if self.with(|area| area.profile.leave_region()) {
            self.tell::<2>(RingEventKind::Leaves, 0, &[]);
        }
    }

    /// The thread makes a task, whose key this gives.
    pub fn spawns(self, at: HookFrame) -> u64 {
        let task = self.header().key();
        self.tell_with_stack::<3>(RingEventKind::Spawns, task, &mut [0], at);
        task
    }

    /// The program calls what lies in these bytes of memory so.
    ///
    /// # Safety
    /// The name is a string.
    pub unsafe fn names(self, object: u64, bytes: u64, name: *const c_char) {
        // SAFETY: the caller's.
        unsafe { self.tell_name::<3>(RingEventKind::NamesObject, (object, bytes), name) };
    }

    /// An event with a name from word `FROM` on.
    unsafe fn tell_name<const FROM: usize>(
        self,
        kind: RingEventKind,
        (subject, word): (u64, u64),
        name: *const c_char,
    ) {
        let mut words = [0; LONGEST];
        words[2] = word;
        // SAFETY: the caller's.
        let length = FROM + unsafe { pack(name, &mut words[FROM..]) };
        event_in(&mut words, length, kind, subject, self.now());
        self.with(|area| area.push(&words[..length]));
    }
}

/// Tells the text of a region's name, unless this thread has told it lately.
unsafe fn tell_text(me: CurrentThread, area: &Area, name: *const c_char) {
    // Keys of stacks are odd, so that those of texts are none of them.
    let key = (name as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) << 1;
    if !area.known_stacks.tell(key) {
        return;
    }
    let mut words = [0; LONGEST];
    // SAFETY: the caller's.
    let length = 2 + unsafe { pack(name, &mut words[2..]) };
    event_in(&mut words, length, RingEventKind::Text, name as u64, me.now());
    if !area.push(&words[..length]) {
        area.known_stacks.forget(key);
    }
}

/// Packs the beginning of a string into words; gives how many it took.
unsafe fn pack(name: *const c_char, words: &mut [u64]) -> usize {
    let mut length = 0;
    while length < LONGEST_NAME {
        // SAFETY: everything before was no end of the string.
        let byte = unsafe { *name.add(length) } as u8;
        if byte == 0 {
            break;
        }
        words[length / 8] |= u64::from(byte) << (length % 8 * 8);
        length += 1;
    }
    length.div_ceil(8)
}

unsafe extern "C" fn region_enter(name: *const c_char) {
    if let Some(me) = CurrentThread::get() {
        let at = frame!();
        // SAFETY: the interface asks for it.
        unsafe { me.enters(name, at) };
    }
}

unsafe extern "C" fn region_leave() {
    if let Some(me) = CurrentThread::get() {
        me.leaves();
    }
}

unsafe extern "C" fn task_spawn() -> u64 {
    CurrentThread::get().map_or(0, |me| me.spawns(frame!()))
}

unsafe extern "C" fn task_begin(task: u64, name: *const c_char) {
    if let Some(me) = CurrentThread::get() {
        let at = frame!();
        // SAFETY: the interface asks for it.
        unsafe { me.runs(task, name, at) };
    }
}

unsafe extern "C" fn thread_name(name: *const c_char) {
    if let Some(me) = CurrentThread::get() {
        // SAFETY: the interface asks for it.
        unsafe { me.tell_name::<2>(RingEventKind::Named, (0, 0), name) };
    }
}

unsafe extern "C" fn object_name(object: *const c_void, size: usize, name: *const c_char) {
    if let Some(me) = CurrentThread::get() {
        // SAFETY: the interface asks for it.
        unsafe { me.names(object as u64, size as u64, name) };
    }
}

unsafe extern "C" fn wait_begin(object: *const c_void, kind: u32) {
    if let Some(me) = CurrentThread::get() {
        me.waits_as_told(wait_kind(kind), object as u64, 0, frame!());
    }
}

unsafe extern "C" fn wait_end() {
    if let Some(me) = CurrentThread::get() {
        me.goes_on_as_told();
    }
}

unsafe extern "C" fn acquired(object: *const c_void, kind: u32) {
    if let Some(me) = CurrentThread::get() {
        let contended = me.area().state.was_awaited(object as u64);
        me.took(wait_kind(kind), object as u64, frame!().caller(), contended);
    }
}

unsafe extern "C" fn released(object: *const c_void) {
    if let Some(me) = CurrentThread::get() {
        let subject = object as u64;
        let held = me.area().holds.kind_of(subject);
        me.gives(subject);
        let kind = held.and_then(WaitKind::of).unwrap_or(WaitKind::Futex);
        me.releases_if_awaited(kind, subject, 0, frame!());
    }
}

/// The kind of wait for a kind of object (`longpole_kind` in `longpole.h`).
fn wait_kind(kind: u32) -> WaitKind {
    match kind {
        0 => WaitKind::Mutex,
        1 => WaitKind::WriteLock,
        2 => WaitKind::SpinLock,
        3 => WaitKind::Condition,
        4 => WaitKind::Barrier,
        5 => WaitKind::Semaphore,
        6 => WaitKind::Once,
        _ => WaitKind::Futex,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &core::ffi::CStr) -> Vec<u8> {
        let mut words = [0; NAME_WORDS];
        // SAFETY: a string.
        let length = unsafe { pack(text.as_ptr(), &mut words) };
        words[..length].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn names_take_whole_words_and_end_with_zeroes() {
        assert_eq!(packed(c""), b"");
        assert_eq!(packed(c"12345678"), b"12345678");
        assert_eq!(packed(c"123456789"), b"123456789\0\0\0\0\0\0\0");
    }

    #[test]
    fn long_names_are_cut_and_the_zero_stays() {
        let name = packed(&std::ffi::CString::new("x".repeat(100)).unwrap());
        assert_eq!((name.len(), name.iter().filter(|&&byte| byte == b'x').count()), (64, 63));
    }

    #[test]
    fn an_agent_that_is_not_connected_does_nothing() {
        // SAFETY: the table lives for ever; the names are strings.
        unsafe {
            let agent = &*longpole_agent_v1();
            (agent.region_enter)(c"region".as_ptr());
            (agent.region_leave)();
            assert_eq!((agent.task_spawn)(), 0);
            (agent.wait_end)();
            (agent.released)(core::ptr::null());
        }
    }
}
