//! What the collectors of the machine and of processes measure: every metric with its unit and what it means. Titles in
//! answers come from here, and `docs/outside-metrics.md` has them all.

use std::fmt::Write;

use longpole_event::SeriesKind;

use crate::choice::SeriesSourceChoice;

/// A metric that a collector knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownMetric {
    /// Its name.
    pub name: &'static str,
    /// Its unit, as series carry it.
    pub unit: &'static str,
    /// How its values are to be read.
    pub samples: SeriesKind,
    /// Whether the whole is the sum of its parts; if not, it is their mean.
    pub adds_up: bool,
    /// What it is, in a few words.
    pub title: &'static str,
    /// What it means, in one sentence.
    pub about: &'static str,
}

impl KnownMetric {
    /// The metric of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static KnownMetric> {
        KERNEL.iter().chain(PROCESS).find(|known| known.name == name)
    }
}

/// What is known of the metrics of these collectors, as a file of `docs/metrics-files.md` in TOML: recordings keep it, so
/// that whoever reads them knows titles and how values go up the tree.
#[must_use]
pub fn descriptions(choices: &[SeriesSourceChoice]) -> String {
    let lists = choices.iter().map(|choice| match choice {
        SeriesSourceChoice::Kernel => KERNEL,
        SeriesSourceChoice::Process => PROCESS,
        _ => &[],
    });
    let mut text = String::from("# What longpole's own collectors measure.\n");
    for known in lists.flatten() {
        let KnownMetric { name, unit, samples, adds_up, title, .. } = known;
        let (aggregation, samples) = (if *adds_up { "sum" } else { "average" }, samples.name());
        let _ = write!(
            text,
            "\n[metric.{name}]\ntitle = \"{title}\"\nunits = \"{unit}\"\nsamples = \"{samples}\"\naggregation = \"{aggregation}\"\n"
        );
    }
    text
}

/// A total that grows; its parts add up.
const fn counter(
    name: &'static str,
    unit: &'static str,
    title: &'static str,
    about: &'static str,
) -> KnownMetric {
    KnownMetric { name, unit, samples: SeriesKind::Counter, adds_up: true, title, about }
}

/// A level; its parts add up.
const fn level(
    name: &'static str,
    unit: &'static str,
    title: &'static str,
    about: &'static str,
) -> KnownMetric {
    KnownMetric { name, unit, samples: SeriesKind::Gauge, adds_up: true, title, about }
}

macro_rules! known {
    ($(#[$doc:meta])* $list:ident: $($(#[$each:meta])* $constant:ident = $kind:ident($name:literal, $unit:literal, $title:literal, $about:literal);)*) => {
        $(pub(crate) const $constant: &KnownMetric = &$kind($name, $unit, $title, $about);)*
        $(#[$doc])*
        pub const $list: &[KnownMetric] = &[$(*$constant),*];
    };
}

known! {
    /// What `kernel` collects, of the machine.
    KERNEL:
    SYS_USER_TIME = counter("sys_user_time", "s", "User time of the machine", "time that processors ran programs, by processor");
    SYS_NICE_TIME = counter("sys_nice_time", "s", "Niced user time", "time that processors ran programs of low priority");
    SYS_SYSTEM_TIME = counter("sys_system_time", "s", "System time of the machine", "time that processors ran the kernel for programs");
    SYS_IDLE_TIME = counter("sys_idle_time", "s", "Idle time", "time that processors had nothing to do");
    SYS_IOWAIT_TIME = counter("sys_iowait_time", "s", "Idle time with I/O under way", "time that processors had nothing to do while one of their threads waited for a device");
    SYS_IRQ_TIME = counter("sys_irq_time", "s", "Interrupt time", "time in the handlers of interrupts");
    SYS_SOFTIRQ_TIME = counter("sys_softirq_time", "s", "Deferred interrupt time", "time in what interrupts left to be done: packets, timers, blocks");
    SYS_STEAL_TIME = counter("sys_steal_time", "s", "Stolen time", "time that a virtual processor was ready and its host ran something else");
    SYS_CONTEXT_SWITCHES = counter("sys_context_switches", "switches", "Context switches of the machine", "times that a processor went from one thread to another");
    SYS_FORKS = counter("sys_forks", "tasks", "New tasks", "processes and threads that were created on the machine");
    SYS_RUNNING = level("sys_running", "threads", "Running or ready threads", "threads of the machine that run or are ready to");
    SYS_BLOCKED = level("sys_blocked", "threads", "Threads blocked for I/O", "threads of the machine that wait for a device");

    SYS_PAGE_FAULTS = counter("sys_page_faults", "faults", "Page faults of the machine", "accesses to pages that were not mapped");
    SYS_MAJOR_PAGE_FAULTS = counter("sys_major_page_faults", "faults", "Major page faults of the machine", "page faults that had to wait for a device");
    SYS_PAGED_IN = counter("sys_paged_in", "B", "Paged in", "bytes that were read from block devices");
    SYS_PAGED_OUT = counter("sys_paged_out", "B", "Paged out", "bytes that were written to block devices");
    SYS_SWAPPED_IN = counter("sys_swapped_in", "pages", "Swapped in", "pages that came back from swap");
    SYS_SWAPPED_OUT = counter("sys_swapped_out", "pages", "Swapped out", "pages that went to swap");
    SYS_PAGES_SCANNED = counter("sys_pages_scanned", "pages", "Pages scanned for reclaim", "pages that were looked at for memory to free; `direct`: by the threads that wanted memory, `kswapd`: beside them");
    SYS_PAGES_RECLAIMED = counter("sys_pages_reclaimed", "pages", "Pages reclaimed", "pages that were freed for others; `direct`: by the threads that wanted memory, `kswapd`: beside them");
    SYS_ALLOCATION_STALLS = counter("sys_allocation_stalls", "stalls", "Allocation stalls", "times that a thread had to free memory before it got some, by zone");
    SYS_COMPACTION_STALLS = counter("sys_compaction_stalls", "stalls", "Compaction stalls", "times that a thread had to move pages together before it got a large one");
    SYS_REFAULTS = counter("sys_refaults", "pages", "Refaults", "pages that were freed and wanted again soon after: memory is too small for what is in use");
    SYS_PAGES_MIGRATED = counter("sys_pages_migrated", "pages", "Pages migrated", "pages that were moved to another place in memory");
    SYS_NUMA_MISSES = counter("sys_numa_misses", "pages", "NUMA misses", "pages that were taken from another node than the wanted one");
    SYS_NUMA_HINT_FAULTS = counter("sys_numa_hint_faults", "faults", "NUMA hinting faults", "page faults by which the kernel looks who uses a page from where");
    SYS_HUGE_PAGE_FAULTS = counter("sys_huge_page_faults", "faults", "Huge page faults", "page faults that were served with a huge page");
    SYS_HUGE_PAGE_SPLITS = counter("sys_huge_page_splits", "pages", "Huge pages split", "huge pages that were split into small ones");
    SYS_OOM_KILLS = counter("sys_oom_kills", "processes", "Processes killed for memory", "processes that the kernel killed because memory had run out");
    SYS_FREE_MEMORY = level("sys_free_memory", "B", "Free memory", "memory that nothing uses");
    SYS_FILE_MEMORY = level("sys_file_memory", "B", "Memory with files", "memory that holds contents of files");
    SYS_DIRTY_MEMORY = level("sys_dirty_memory", "B", "Dirty memory", "contents of files that have yet to be written to a device");
    SYS_WRITEBACK_MEMORY = level("sys_writeback_memory", "B", "Memory being written", "contents of files that are being written to a device");

    SYS_CPU_STALL_TIME = counter("sys_cpu_stall_time", "s", "Stalled for a processor", "time in which some thread was ready and had no processor (PSI)");
    SYS_MEMORY_STALL_TIME = counter("sys_memory_stall_time", "s", "Stalled for memory", "time in which some thread waited for memory (PSI, some)");
    SYS_MEMORY_FULL_STALL_TIME = counter("sys_memory_full_stall_time", "s", "All stalled for memory", "time in which nothing ran because of waits for memory (PSI, full)");
    SYS_IO_STALL_TIME = counter("sys_io_stall_time", "s", "Stalled for I/O", "time in which some thread waited for a device (PSI, some)");
    SYS_IO_FULL_STALL_TIME = counter("sys_io_full_stall_time", "s", "All stalled for I/O", "time in which nothing ran because of waits for devices (PSI, full)");
    SYS_IRQ_STALL_TIME = counter("sys_irq_stall_time", "s", "Stalled by interrupts", "time in which all work was held up by interrupts (PSI, full)");

    SYS_INTERRUPTS = counter("sys_interrupts", "interrupts", "Interrupts", "interrupts on all processors, by name: `timer`, `reschedule`, `tlb-shootdown`, devices");
    SYS_DISK_READS = counter("sys_disk_reads", "requests", "Disk reads", "read requests that a disk has ended");
    SYS_DISK_WRITES = counter("sys_disk_writes", "requests", "Disk writes", "write requests that a disk has ended");
    SYS_DISK_READ_BYTES = counter("sys_disk_read_bytes", "B", "Read from disks", "bytes read from a disk");
    SYS_DISK_WRITTEN_BYTES = counter("sys_disk_written_bytes", "B", "Written to disks", "bytes written to a disk");
    SYS_DISK_BUSY_TIME = counter("sys_disk_busy_time", "s", "Disk busy", "time in which a disk had a request");
    SYS_DISK_IN_FLIGHT = level("sys_disk_in_flight", "requests", "Disk requests under way", "requests that a disk has and has not ended");
    SYS_RECEIVED_BYTES = counter("sys_received_bytes", "B", "Received", "bytes received by a network device; `lo` is the machine itself");
    SYS_SENT_BYTES = counter("sys_sent_bytes", "B", "Sent", "bytes sent by a network device; `lo` is the machine itself");
    SYS_RECEIVED_PACKETS = counter("sys_received_packets", "packets", "Packets received", "packets received by a network device");
    SYS_SENT_PACKETS = counter("sys_sent_packets", "packets", "Packets sent", "packets sent by a network device");
    SYS_DROPPED_PACKETS = counter("sys_dropped_packets", "packets", "Packets dropped", "packets that a network device had no room for, received and sent");
}

known! {
    /// What `process` collects, of the program's processes and threads.
    PROCESS:
    PAGE_FAULTS = counter("page_faults", "faults", "Page faults", "accesses to pages that were not mapped, minor and major");
    MAJOR_PAGE_FAULTS = counter("major_page_faults", "faults", "Major page faults", "page faults that had to wait for a device");
    USER_TIME = counter("user_time", "s", "User time", "time in the program's own code as the kernel accounts it, in steps of 10 ms");
    SYSTEM_TIME = counter("system_time", "s", "System time", "time in the kernel for the program as the kernel accounts it, in steps of 10 ms");
    RUN_TIME = counter("run_time", "s", "Time on a processor", "time on a processor as the scheduler counts it, to the nanosecond");
    RUN_QUEUE_TIME = counter("run_queue_time", "s", "Time ready without a processor", "time that threads were ready and had no processor, as the scheduler counts it");
    CONTEXT_SWITCHES = counter("context_switches", "switches", "Context switches", "times that a thread was put on a processor");
    VOLUNTARY_SWITCHES = counter("voluntary_switches", "switches", "Voluntary switches", "times that a thread left its processor to wait");
    INVOLUNTARY_SWITCHES = counter("involuntary_switches", "switches", "Involuntary switches", "times that a thread was put off its processor");
    RESIDENT_MEMORY = level("resident_memory", "B", "Resident memory", "memory that is mapped into a process; what processes share counts for each");
    PROCESS_THREADS = level("process_threads", "threads", "Threads", "threads that a process has");
    READ_BYTES = counter("read_bytes", "B", "Read", "bytes that calls such as `read` gave, from wherever");
    WRITTEN_BYTES = counter("written_bytes", "B", "Written", "bytes that calls such as `write` took, to wherever");
    READ_CALLS = counter("read_calls", "calls", "Calls that read", "calls such as `read`");
    WRITE_CALLS = counter("write_calls", "calls", "Calls that write", "calls such as `write`");
    STORAGE_READ_BYTES = counter("storage_read_bytes", "B", "Read from storage", "bytes that had to be fetched from a device");
    STORAGE_WRITTEN_BYTES = counter("storage_written_bytes", "B", "Written to storage", "bytes that were made to be written to a device");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_thing() {
        let mut names: Vec<_> = KERNEL.iter().chain(PROCESS).map(|known| known.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(KnownMetric::named("page_faults").unwrap().unit, "faults");
        assert!(KnownMetric::named("nothing").is_none());
    }

    #[test]
    fn names_are_identifiers_and_those_of_the_machine_say_so() {
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(KERNEL.iter().chain(PROCESS).all(|known| is_name(known.name)));
        assert!(KERNEL.iter().all(|known| known.name.starts_with("sys_")));
        assert!(PROCESS.iter().all(|known| !known.name.starts_with("sys_")));
    }

    #[test]
    fn the_documentation_has_each_of_them() {
        let documentation = include_str!("../../../docs/outside-metrics.md");
        for KnownMetric { name, unit, samples, about, .. } in KERNEL.iter().chain(PROCESS) {
            let row = format!("| `{name}` | {unit} | {} | {about} |", samples.name());
            assert!(documentation.contains(&row), "docs/outside-metrics.md lacks: {row}");
        }
    }
}
