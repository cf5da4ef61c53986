//! `/proc/vmstat`: faults, paging, reclaim. Of its many lines those that tell why programs are slow.

use super::{KernelOutput, KernelPart};
use crate::kept_file::{lines, number};
use crate::known::{self, KnownMetric};
use crate::track::Track;

/// A line of `/proc/vmstat`: its name, what it is, its label, what its unit is in ours.
type VmstatLine = (&'static str, &'static KnownMetric, &'static str, VmstatUnit);

#[derive(Clone, Copy, Debug)]
enum VmstatUnit {
    One,
    Kibibytes,
    /// Pages that are told in bytes.
    Pages,
}

const LINES: &[VmstatLine] = &[
    ("pgfault", known::SYS_PAGE_FAULTS, "", VmstatUnit::One),
    ("pgmajfault", known::SYS_MAJOR_PAGE_FAULTS, "", VmstatUnit::One),
    ("pgpgin", known::SYS_PAGED_IN, "", VmstatUnit::Kibibytes),
    ("pgpgout", known::SYS_PAGED_OUT, "", VmstatUnit::Kibibytes),
    ("pswpin", known::SYS_SWAPPED_IN, "", VmstatUnit::One),
    ("pswpout", known::SYS_SWAPPED_OUT, "", VmstatUnit::One),
    ("pgscan_kswapd", known::SYS_PAGES_SCANNED, "kswapd", VmstatUnit::One),
    ("pgscan_direct", known::SYS_PAGES_SCANNED, "direct", VmstatUnit::One),
    ("pgsteal_kswapd", known::SYS_PAGES_RECLAIMED, "kswapd", VmstatUnit::One),
    ("pgsteal_direct", known::SYS_PAGES_RECLAIMED, "direct", VmstatUnit::One),
    ("allocstall_dma", known::SYS_ALLOCATION_STALLS, "dma", VmstatUnit::One),
    ("allocstall_dma32", known::SYS_ALLOCATION_STALLS, "dma32", VmstatUnit::One),
    ("allocstall_normal", known::SYS_ALLOCATION_STALLS, "normal", VmstatUnit::One),
    ("allocstall_movable", known::SYS_ALLOCATION_STALLS, "movable", VmstatUnit::One),
    ("compact_stall", known::SYS_COMPACTION_STALLS, "", VmstatUnit::One),
    ("workingset_refault_anon", known::SYS_REFAULTS, "anonymous", VmstatUnit::One),
    ("workingset_refault_file", known::SYS_REFAULTS, "file", VmstatUnit::One),
    ("pgmigrate_success", known::SYS_PAGES_MIGRATED, "", VmstatUnit::One),
    ("numa_miss", known::SYS_NUMA_MISSES, "", VmstatUnit::One),
    ("numa_hint_faults", known::SYS_NUMA_HINT_FAULTS, "", VmstatUnit::One),
    ("thp_fault_alloc", known::SYS_HUGE_PAGE_FAULTS, "", VmstatUnit::One),
    ("thp_split_page", known::SYS_HUGE_PAGE_SPLITS, "", VmstatUnit::One),
    ("oom_kill", known::SYS_OOM_KILLS, "", VmstatUnit::One),
    ("nr_free_pages", known::SYS_FREE_MEMORY, "", VmstatUnit::Pages),
    ("nr_file_pages", known::SYS_FILE_MEMORY, "", VmstatUnit::Pages),
    ("nr_dirty", known::SYS_DIRTY_MEMORY, "", VmstatUnit::Pages),
    ("nr_writeback", known::SYS_WRITEBACK_MEMORY, "", VmstatUnit::Pages),
];

/// What `/proc/vmstat` tells.
#[derive(Debug)]
pub(super) struct VmstatPart {
    page_bytes: f64,
    tracks: Vec<Track>,
    /// Which of [`LINES`] each line of the file is; the kernel does not change their order.
    order: Vec<Option<usize>>,
}

impl VmstatPart {
    pub(super) fn new() -> VmstatPart {
        VmstatPart {
            page_bytes: crate::clock::page_bytes(),
            tracks: LINES.iter().map(|_| Track::default()).collect(),
            order: Vec::new(),
        }
    }
}

impl KernelPart for VmstatPart {
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>) {
        for (at, line) in lines(text).enumerate() {
            if at == self.order.len() {
                let name = line.split(|&byte| byte == b' ').next().unwrap_or_default();
                self.order.push(LINES.iter().position(|&(wanted, ..)| wanted.as_bytes() == name));
            }
            let Some(wanted) = self.order[at] else { continue };
            let (name, known, label, unit) = LINES[wanted];
            let value =
                line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b" ")).and_then(number);
            let Some(value) = value else { continue };
            let scale = match unit {
                VmstatUnit::One => 1.0,
                VmstatUnit::Kibibytes => 1024.0,
                VmstatUnit::Pages => self.page_bytes,
            };
            out.put(&mut self.tracks[wanted], known, label, value as f64 * scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    #[test]
    fn lines_of_interest_are_read_in_our_units() {
        let mut log = Log::new();
        let mut part = VmstatPart::new();
        let text = b"nr_free_pages 10\nnr_zone_inactive_anon 99\npgpgin 3\npgfault 1000\npgfaults_of_others 7\npgscan_direct 5\npgscan_kswapd 6\n";
        log.read(&mut part, 1, text);
        let values = log.values();
        let all: Vec<(&str, &str, f64)> =
            values.iter().map(|value| (value.metric.as_str(), value.label.as_str(), value.value)).collect();
        assert_eq!(
            all,
            [
                ("sys_free_memory", "", 10.0 * part.page_bytes),
                ("sys_paged_in", "", 3072.0),
                ("sys_page_faults", "", 1000.0),
                ("sys_pages_scanned", "direct", 5.0),
                ("sys_pages_scanned", "kswapd", 6.0),
            ]
        );
    }
}
