//! The scheduler's tracepoints: who left the processor and why, who got it, who woke whom, who made whom.

use longpole_event::Blocking;

use super::format::{Field, TracepointFormat};

/// Bits of `common_flags`: where in the kernel the tracepoint was hit.
const FLAG_HARD_INTERRUPT: u64 = 0x08;
const FLAG_SOFT_INTERRUPT: u64 = 0x10;
const FLAG_NON_MASKABLE: u64 = 0x40;

/// Reads `sched:sched_switch`.
#[derive(Clone, Debug)]
pub struct Switching {
    previous: Field,
    state: Field,
    next: Field,
    interruptible: u64,
    uninterruptible: u64,
    stopped: u64,
    dead: u64,
}

/// One `sched:sched_switch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Thread that left.
    pub previous: u32,
    /// Why.
    pub blocking: Blocking,
    /// Thread that came; 0 is idle.
    pub next: u32,
}

impl Switching {
    /// `None` where the format lacks a field.
    #[must_use]
    pub fn new(format: &TracepointFormat) -> Option<Self> {
        let flag = |letter: &str, usual: u64| format.flag(letter).unwrap_or(usual);
        Some(Switching {
            previous: format.field("prev_pid")?,
            state: format.field("prev_state")?,
            next: format.field("next_pid")?,
            interruptible: flag("S", 0x01),
            uninterruptible: flag("D", 0x02) | flag("P", 0x40) | flag("I", 0x80),
            stopped: flag("T", 0x04) | flag("t", 0x08),
            dead: flag("X", 0x10) | flag("Z", 0x20),
        })
    }

    /// `None` where the tracepoint's bytes end early.
    #[must_use]
    pub fn read(&self, raw: &[u8]) -> Option<Switch> {
        let state = self.state.value(raw)?;
        let has = |bits: u64| state & bits != 0;
        let blocking = if has(self.dead) {
            Blocking::Dead
        } else if has(self.stopped) {
            Blocking::Stopped
        } else if has(self.uninterruptible) {
            Blocking::Uninterruptible
        } else if has(self.interruptible) {
            Blocking::Interruptible
        } else {
            // R, and R+ where it was pre-empted.
            Blocking::Runnable
        };
        Some(Switch { previous: tid(self.previous, raw)?, blocking, next: tid(self.next, raw)? })
    }
}

/// Reads `sched:sched_waking`.
#[derive(Clone, Debug)]
pub struct Waking {
    wakee: Field,
    flags: Option<Field>,
}

/// Where the kernel was when it woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeContext {
    /// In the current thread's own system call or exception.
    Task,
    /// In a soft interrupt that ran on the current thread's time.
    SoftInterrupt,
    /// In a hard interrupt.
    HardInterrupt,
}

/// One `sched:sched_waking`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedWaking {
    /// Thread that can run again.
    pub wakee: u32,
    /// Where it was woken.
    pub context: WakeContext,
}

impl Waking {
    /// `None` where the format lacks a field.
    #[must_use]
    pub fn new(format: &TracepointFormat) -> Option<Self> {
        Some(Waking { wakee: format.field("pid")?, flags: format.field("common_flags") })
    }

    /// `None` where the tracepoint's bytes end early.
    #[must_use]
    pub fn read(&self, raw: &[u8]) -> Option<SchedWaking> {
        let flags = self.flags.and_then(|field| field.value(raw)).unwrap_or(0);
        let context = if flags & (FLAG_HARD_INTERRUPT | FLAG_NON_MASKABLE) != 0 {
            WakeContext::HardInterrupt
        } else if flags & FLAG_SOFT_INTERRUPT != 0 {
            WakeContext::SoftInterrupt
        } else {
            WakeContext::Task
        };
        Some(SchedWaking { wakee: tid(self.wakee, raw)?, context })
    }
}

/// Reads `sched:sched_process_fork`.
#[derive(Clone, Debug)]
pub struct Creating {
    child: Field,
}

impl Creating {
    /// `None` where the format lacks a field.
    #[must_use]
    pub fn new(format: &TracepointFormat) -> Option<Self> {
        Some(Creating { child: format.field("child_pid")? })
    }

    /// The new thread; `None` where the tracepoint's bytes end early.
    #[must_use]
    pub fn read(&self, raw: &[u8]) -> Option<u32> {
        tid(self.child, raw)
    }
}

fn tid(field: Field, raw: &[u8]) -> Option<u32> {
    u32::try_from(field.value(raw)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switching() -> Switching {
        let text = "name: sched_switch\nID: 1\n\
            \tfield:pid_t prev_pid;\toffset:0;\tsize:4;\tsigned:1;\n\
            \tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield:pid_t next_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        Switching::new(&TracepointFormat::parse(text).unwrap()).unwrap()
    }

    fn raw(state: u64) -> Vec<u8> {
        let mut raw = vec![7, 0, 0, 0, 9, 0, 0, 0];
        raw.extend(state.to_le_bytes());
        raw
    }

    #[test]
    fn each_state_has_its_reason() {
        let blocking = |state| switching().read(&raw(state)).unwrap().blocking;
        assert_eq!(blocking(0), Blocking::Runnable);
        assert_eq!(blocking(0x100), Blocking::Runnable);
        assert_eq!(blocking(1), Blocking::Interruptible);
        assert_eq!(blocking(2), Blocking::Uninterruptible);
        assert_eq!(blocking(4), Blocking::Stopped);
        assert_eq!(blocking(8), Blocking::Stopped);
        assert_eq!(blocking(0x10), Blocking::Dead);
        assert_eq!(blocking(0x20), Blocking::Dead);
        assert_eq!(blocking(0x80), Blocking::Uninterruptible);
    }

    #[test]
    fn a_short_tracepoint_is_refused() {
        let raw = raw(1);
        for end in 0..raw.len() {
            assert_eq!(switching().read(&raw[..end]), None);
        }
        assert_eq!(switching().read(&raw).map(|switch| (switch.previous, switch.next)), Some((7, 9)));
    }

    #[test]
    fn the_waker_s_context_is_in_the_common_flags() {
        let text = "name: sched_waking\nID: 2\n\
            \tfield:unsigned char common_flags;\toffset:0;\tsize:1;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        let waking = Waking::new(&TracepointFormat::parse(text).unwrap()).unwrap();
        let context = |flags| waking.read(&[flags, 0, 0, 0, 5, 0, 0, 0]).unwrap().context;
        assert_eq!(context(0x01), WakeContext::Task);
        assert_eq!(context(0x11), WakeContext::SoftInterrupt);
        assert_eq!(context(0x19), WakeContext::HardInterrupt);
        assert_eq!(context(0x40), WakeContext::HardInterrupt);
    }
}
