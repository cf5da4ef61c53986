//! How much memory a simulation may take here, so that it ends with a sentence and not by the kernel.

use std::fs;

/// Bytes for the tables of one run: a third of what is free, for a table that grows is there twice, and the result stands
/// beside them.
pub(crate) fn for_tables() -> u64 {
    free().map_or(u64::MAX, |free| free / 3)
}

/// Bytes that this process may still take: what the machine has, within the limits of the control group and of the
/// process's addresses; `None` where none of them is known.
fn free() -> Option<u64> {
    [of_machine(), of_control_group(), of_addresses()].into_iter().flatten().min()
}

fn of_machine() -> Option<u64> {
    available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(first_number(line)? << 10)
}

fn of_control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let value = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup{own}/{name}")).ok();
    // `max` where there is no limit.
    let most: u64 = value("memory.max")?.trim().parse().ok()?;
    Some(most.saturating_sub(first_number(&value("memory.current")?)?))
}

fn of_addresses() -> Option<u64> {
    let limit = soft_limit(&fs::read_to_string("/proc/self/limits").ok()?)?;
    let pages = first_number(&fs::read_to_string("/proc/self/statm").ok()?)?;
    Some(limit.saturating_sub(pages * 4096))
}

fn soft_limit(text: &str) -> Option<u64> {
    first_number(text.lines().find_map(|line| line.strip_prefix("Max address space"))?)
}

/// The first word, where it is a number.
fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_their_absence_is_no_limit() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(soft_limit("Max address space         1048576      unlimited    bytes\n"), Some(1 << 20));
        assert_eq!(soft_limit("Max address space         unlimited    unlimited    bytes\n"), None);
        assert!(for_tables() > 0);
    }
}
