//! What a recording says of the machine it was made on, and of the recorder's own cost.

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use longpole_recording::MachineDescription;

use longpole_privileged::online_cpus;

use crate::quota::QuotaGroup;

/// Name, kernel and processors of this machine; the collector is still to be filled in.
pub(crate) fn this_machine() -> MachineDescription {
    let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpus = online_cpus().map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(1));
    MachineDescription {
        name: line("/proc/sys/kernel/hostname"),
        kernel: line("/proc/sys/kernel/osrelease"),
        cpus,
        boot_id: line("/proc/sys/kernel/random/boot_id"),
        wall_clock: Some(crate::clock::wall_clock()),
        clock_error_nanoseconds: Some(0),
        ..MachineDescription::default()
    }
}

/// Leaves the machine the processors that the process may use, by its affinity and its quota, and says so; 0 is this process.
pub(crate) fn limit_to_allowed(machine: &mut MachineDescription, pid: u32) {
    let online = machine.cpus;
    let allowed = allowed_cpus(pid, online);
    let could_use = |cpus: u32| format!("the program could use {cpus} of the machine's {online} CPUs");
    if allowed < online {
        let why = "it began with an affinity (taskset, a container's set)";
        machine.collector.notes.push(format!("{}: {why}", could_use(allowed)));
        (machine.cpus, machine.online_cpus) = (allowed, Some(online));
    }
    // Real-time threads have no quota.
    let quota = QuotaGroup::of(pid).filter(|_| !machine.real_time).map(|group| group.described());
    let Some(quota) = quota.filter(|quota| quota.processors < f64::from(machine.cpus)) else { return };
    machine.quota = Some(quota);
    let cpus = (quota.processors.ceil() as u32).max(1);
    let of = (100.0 * quota.processors).round() / 100.0;
    let why = format!("its control group has a quota of {of} {}", if of == 1.0 { "CPU" } else { "CPUs" });
    machine.collector.notes.push(format!("{}: {why}", could_use(cpus)));
    (machine.cpus, machine.online_cpus) = (cpus, Some(online));
}

/// On how many of these processors the process may run (`sched_setaffinity`); 0 is this one, whose mask its children inherit.
fn allowed_cpus(pid: u32, online: u32) -> u32 {
    // SAFETY: all zero is a mask without a processor.
    let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let pid = libc::pid_t::try_from(pid).unwrap_or(0);
    // SAFETY: the kernel writes at most the size that it is given.
    if unsafe { libc::sched_getaffinity(pid, size_of::<libc::cpu_set_t>(), &raw mut mask) } != 0 {
        return online;
    }
    // SAFETY: it only counts bits.
    let allowed = u32::try_from(unsafe { libc::CPU_COUNT(&mask) }).unwrap_or(0);
    if allowed == 0 { online } else { allowed.min(online) }
}

/// How many processors a thread may use that are online, and which of the first 64, of those that the kernel lets it have.
pub(crate) fn allowed_online(count: u32, first: u64) -> (u32, u64) {
    static ONLINE: OnceLock<Vec<u16>> = OnceLock::new();
    allowed_of(ONLINE.get_or_init(|| online_cpus().unwrap_or_default()), count, first)
}

fn allowed_of(online: &[u16], count: u32, first: u64) -> (u32, u64) {
    let known: u64 = online.iter().filter(|cpu| **cpu < 64).map(|cpu| 1 << cpu).sum();
    let all = u32::try_from(online.len()).unwrap_or(u32::MAX);
    let behind = count.saturating_sub(first.count_ones()).min(all - known.count_ones());
    ((first & known).count_ones() + behind, first & known)
}

/// Whether the process has a real-time scheduling policy; 0 is this one, whose policy its children inherit.
pub(crate) fn is_real_time(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: a plain system call.
    let policy = unsafe { libc::sched_getscheduler(pid) };
    policy >= 0 && matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_RR | libc::SCHED_FIFO)
}

/// CPU time of this process so far.
pub(crate) fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec through the pointer; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanoseconds)
}

/// Lets this thread run before others, where that is permitted: a recorder that does not get a processor
/// in time loses events just when the machine is busiest.
pub(crate) fn take_precedence() {
    const NICENESS: i32 = -15;
    // SAFETY: a plain system call. Without the permission things stay as they are.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// Has this thread get a processor soon after it is woken: Linux 6.12 and later let every user ask for short turns, which come
/// earlier; how much of the processors' time the thread gets stays the same. Older kernels take no notice.
pub(crate) fn take_short_turns() {
    let Some(mut attributes) = scheduling().filter(|found| found.policy == libc::SCHED_OTHER.cast_unsigned())
    else {
        return;
    };
    // Whatever else the kernel told stays as it is.
    attributes.flags = 0;
    attributes.runtime = TURN_NANOSECONDS;
    // SAFETY: the kernel reads the structure, whose size it states. Without the permission things stay as they are.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The shortest turn that the kernel takes.
const TURN_NANOSECONDS: u64 = 100_000;

/// `struct sched_attr`, as far as every kernel knows it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Those of this thread.
fn scheduling() -> Option<SchedulingAttributes> {
    let size = u32::try_from(size_of::<SchedulingAttributes>()).expect("a few words");
    let mut attributes = SchedulingAttributes::default();
    // SAFETY: the kernel writes at most `size` bytes of the structure.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    (result == 0).then_some(SchedulingAttributes { size, ..attributes })
}

/// Where this process has capabilities that its user has not, the user gets no core file of it and cannot read its
/// memory: copies of others' stacks may be there. The kernel does so by itself only where the capabilities came with the
/// execution of this binary; a process that had them before keeps them.
pub(crate) fn hide_memory() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let permitted = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    let has_capabilities = permitted.is_none_or(|mask| mask.trim().bytes().any(|digit| digit != b'0'));
    // SAFETY: plain system calls, which pass no memory.
    unsafe {
        if libc::getuid() != 0 && has_capabilities {
            libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        }
    }
}

/// Largest resident memory of this process so far, bytes; 0 if the kernel does not tell.
pub(crate) fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_not_real_time_unless_its_caller_is() {
        let line = std::process::Command::new("chrt").args(["-p", &std::process::id().to_string()]).output();
        let Ok(line) = line else { return };
        let text = String::from_utf8_lossy(&line.stdout).into_owned();
        assert_eq!(is_real_time(0), text.contains("SCHED_RR") || text.contains("SCHED_FIFO"), "{text}");
    }

    #[test]
    fn short_turns_change_neither_niceness_nor_policy() {
        let this = || std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let niceness = |line: &str| line.rsplit_once(')').unwrap().1.split(' ').nth(17).unwrap().to_owned();
        let (before, turn) = (niceness(&this()), scheduling().map(|attributes| attributes.runtime));
        take_short_turns();
        assert_eq!((niceness(&this()), is_real_time(0)), (before, false));
        // Kernels before 6.12 tell no turn, and this thread may be of another policy.
        if turn.is_some_and(|turn| turn > 0) {
            assert_eq!(scheduling().unwrap().runtime, TURN_NANOSECONDS);
        }
    }

    #[test]
    fn processors_that_are_not_online_are_not_allowed() {
        // A kernel that could have 128 processors, of which 2 are there.
        assert_eq!(allowed_of(&[0, 1], 128, u64::MAX), (2, 3));
        assert_eq!(allowed_of(&[0, 1], 1, 2), (1, 2));
        // 70 processors: all of them, those from 60 on, and number 65 alone.
        let many = Vec::from_iter(0..70);
        assert_eq!(allowed_of(&many, 128, u64::MAX), (70, u64::MAX));
        assert_eq!(allowed_of(&many, 10, 0b1111 << 60), (10, 0b1111 << 60));
        assert_eq!(allowed_of(&many, 1, 0), (1, 0));
    }

    #[test]
    fn this_machine_has_a_name_and_processors() {
        let machine = this_machine();
        assert_eq!(allowed_cpus(0, 1), 1);
        assert!((1..=machine.cpus).contains(&allowed_cpus(std::process::id(), machine.cpus)));
        assert!(!machine.name.is_empty() && !machine.kernel.is_empty() && machine.cpus > 0);
        assert!(peak_bytes() > 100_000);
    }
}
