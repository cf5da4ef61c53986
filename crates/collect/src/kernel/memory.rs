//! `/proc/vmstat`: faults, paging, reclaim. Of its many lines those that tell why programs are slow.

use super::{Out, Part};
use crate::kept_file::{lines, number};
use crate::known::{self, Known};
use crate::track::Track;

/// A line of `/proc/vmstat`: its name, what it is, its label, what its unit is in ours.
type Line = (&'static str, &'static Known, &'static str, Unit);

#[derive(Clone, Copy, Debug)]
enum Unit {
    One,
    Kibibytes,
    /// Pages that are told in bytes.
    Pages,
}

const LINES: &[Line] = &[
    ("pgfault", known::SYS_PAGE_FAULTS, "", Unit::One),
    ("pgmajfault", known::SYS_MAJOR_PAGE_FAULTS, "", Unit::One),
    ("pgpgin", known::SYS_PAGED_IN, "", Unit::Kibibytes),
    ("pgpgout", known::SYS_PAGED_OUT, "", Unit::Kibibytes),
    ("pswpin", known::SYS_SWAPPED_IN, "", Unit::One),
    ("pswpout", known::SYS_SWAPPED_OUT, "", Unit::One),
    ("pgscan_kswapd", known::SYS_PAGES_SCANNED, "kswapd", Unit::One),
    ("pgscan_direct", known::SYS_PAGES_SCANNED, "direct", Unit::One),
    ("pgsteal_kswapd", known::SYS_PAGES_RECLAIMED, "kswapd", Unit::One),
    ("pgsteal_direct", known::SYS_PAGES_RECLAIMED, "direct", Unit::One),
    ("allocstall_dma", known::SYS_ALLOCATION_STALLS, "dma", Unit::One),
    ("allocstall_dma32", known::SYS_ALLOCATION_STALLS, "dma32", Unit::One),
    ("allocstall_normal", known::SYS_ALLOCATION_STALLS, "normal", Unit::One),
    ("allocstall_movable", known::SYS_ALLOCATION_STALLS, "movable", Unit::One),
    ("compact_stall", known::SYS_COMPACTION_STALLS, "", Unit::One),
    ("workingset_refault_anon", known::SYS_REFAULTS, "anonymous", Unit::One),
    ("workingset_refault_file", known::SYS_REFAULTS, "file", Unit::One),
    ("pgmigrate_success", known::SYS_PAGES_MIGRATED, "", Unit::One),
    ("numa_miss", known::SYS_NUMA_MISSES, "", Unit::One),
    ("numa_hint_faults", known::SYS_NUMA_HINT_FAULTS, "", Unit::One),
    ("thp_fault_alloc", known::SYS_HUGE_PAGE_FAULTS, "", Unit::One),
    ("thp_split_page", known::SYS_HUGE_PAGE_SPLITS, "", Unit::One),
    ("oom_kill", known::SYS_OOM_KILLS, "", Unit::One),
    ("nr_free_pages", known::SYS_FREE_MEMORY, "", Unit::Pages),
    ("nr_file_pages", known::SYS_FILE_MEMORY, "", Unit::Pages),
    ("nr_dirty", known::SYS_DIRTY_MEMORY, "", Unit::Pages),
    ("nr_writeback", known::SYS_WRITEBACK_MEMORY, "", Unit::Pages),
];

/// What `/proc/vmstat` tells.
#[derive(Debug)]
pub(super) struct Memory {
    page_bytes: f64,
    tracks: Vec<Track>,
    /// Which of [`LINES`] each line of the file is; the kernel does not change their order.
    order: Vec<Option<usize>>,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory {
            page_bytes: crate::clock::page_bytes(),
            tracks: LINES.iter().map(|_| Track::default()).collect(),
            order: Vec::new(),
        }
    }
}

impl Part for Memory {
    fn read(&mut self, text: &[u8], out: &mut Out<'_, '_>) {
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
                Unit::One => 1.0,
                Unit::Kibibytes => 1024.0,
                Unit::Pages => self.page_bytes,
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
        let mut part = Memory::new();
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
