//! CPU quotas: how much of the processors the control group of a program may use, and how long it was kept from them.
//!
//! ```text
//!   /proc/PID/cgroup          0::/app/web                         the group in the hierarchy
//!   /proc/PID/mountinfo       /sys/fs/cgroup - cgroup2            where that hierarchy is
//!   /sys/fs/cgroup/app/web    cpu.max  "50000 100000"             half a processor in each period of 100 ms
//!   /sys/fs/cgroup/app        cpu.max  "max 100000"               no limit of its own
//! ```
//! A group has at most what each group above it has, so the smallest quota counts. Version 2 has `cpu.max`, version 1
//! `cpu.cfs_quota_us` and `cpu.cfs_period_us`; both count the periods in which the group used its quota up, in `cpu.stat`. In a container that
//! sees its own group as the root of the hierarchy, groups above it are not seen.
//!
//! A quota is for the fair policy: real-time threads do not have one.

use std::fs;
use std::path::{Path, PathBuf};

use longpole_recording::{CpuQuota, QuotaUse};

/// The quota of a program, and where the kernel counts its use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuotaGroup {
    /// In processors: 0.5 is half of one.
    pub processors: f64,
    folder: PathBuf,
    before: QuotaUse,
}

impl QuotaGroup {
    /// The smallest quota of the process's groups; 0 is this process, whose group its children inherit.
    pub fn of(pid: u32) -> Option<QuotaGroup> {
        let of_process = |file: &str| {
            let process = if pid == 0 { "self".to_owned() } else { pid.to_string() };
            fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default()
        };
        smallest(&group_folders(&of_process("cgroup"), &of_process("mountinfo")))
    }

    /// The quota, and what was used of it since it was found.
    pub fn described(&self) -> CpuQuota {
        let used = quota_use(&self.folder);
        CpuQuota {
            processors: self.processors,
            used: QuotaUse {
                periods: used.periods.saturating_sub(self.before.periods),
                throttled_periods: used.throttled_periods.saturating_sub(self.before.throttled_periods),
                throttled_nanoseconds: used
                    .throttled_nanoseconds
                    .saturating_sub(self.before.throttled_nanoseconds),
            },
        }
    }
}

/// The group with the smallest quota; of equal ones the innermost.
fn smallest(folders: &[PathBuf]) -> Option<QuotaGroup> {
    let mut found: Option<QuotaGroup> = None;
    for folder in folders {
        if let Some(processors) = quota_in(folder)
            && found.as_ref().is_none_or(|other| processors < other.processors)
        {
            found = Some(QuotaGroup { processors, folder: folder.clone(), before: quota_use(folder) });
        }
    }
    found
}

/// The folders of the process's groups that can have a quota, the innermost first.
fn group_folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let is_second_version = number == "0" && controllers.is_empty();
        if !is_second_version && !controllers.split(',').any(|controller| controller == "cpu") {
            continue;
        }
        let mounted = mounts.lines().filter_map(MountedHierarchy::parse);
        let mut fitting = mounted.filter(|mount| mount.is_second_version == is_second_version);
        if let Some(mount) = fitting.find(|mount| is_second_version || mount.has_cpu) {
            folders.extend(mount.folders_of(Path::new(group)));
        }
    }
    folders
}

/// A line of `mountinfo` about control groups.
#[derive(Debug)]
struct MountedHierarchy {
    /// The group that is mounted there.
    root: PathBuf,
    point: PathBuf,
    is_second_version: bool,
    /// Whether it is the hierarchy of version 1 that has quotas.
    has_cpu: bool,
}

impl MountedHierarchy {
    /// `29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw`.
    fn parse(line: &str) -> Option<MountedHierarchy> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut kind = kind.split(' ');
        let is_second_version = match kind.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let has_cpu = kind.next_back()?.split(',').any(|option| option == "cpu");
        Some(MountedHierarchy { root: root.into(), point: point.into(), is_second_version, has_cpu })
    }

    /// The group's folder and those above it, up to what is mounted.
    fn folders_of(&self, group: &Path) -> Vec<PathBuf> {
        // A group outside of what is mounted is seen as its root.
        let inside = group.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let folder: PathBuf = self.point.join(inside).components().collect();
        folder.ancestors().take_while(|above| above.starts_with(&self.point)).map(Path::to_owned).collect()
    }
}

/// The quota of a group, in processors; `None` without one.
fn quota_in(folder: &Path) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(line) => {
            let (quota, period) = line.trim().split_once(' ')?;
            (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?)
        }
        None => {
            let number = |file: &str| read(file)?.trim().parse::<f64>().ok();
            (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
        }
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// What a group used of its quota so far.
fn quota_use(folder: &Path) -> QuotaUse {
    let text = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    let in_microseconds = number("throttled_usec").map(|time| time.saturating_mul(1000));
    QuotaUse {
        periods: number("nr_periods").unwrap_or(0),
        throttled_periods: number("nr_throttled").unwrap_or(0),
        throttled_nanoseconds: in_microseconds.or_else(|| number("throttled_time")).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 0:21 / /proc rw - proc proc rw
30 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 22 0:28 /docker/ab /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 22 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
";

    fn folders(groups: &str) -> Vec<String> {
        group_folders(groups, MOUNTS).iter().map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn groups_are_found_in_both_versions_with_those_above_them() {
        let second =
            ["/sys/fs/cgroup/unified/app/web", "/sys/fs/cgroup/unified/app", "/sys/fs/cgroup/unified"];
        assert_eq!(folders("0::/app/web\n"), second);
        assert_eq!(
            folders("4:memory:/m\n3:cpu,cpuacct:/docker/ab/x\n"),
            ["/sys/fs/cgroup/cpu/x", "/sys/fs/cgroup/cpu"]
        );
        // As a container without a namespace of its own sees it.
        assert_eq!(folders("3:cpu:/elsewhere\n"), ["/sys/fs/cgroup/cpu"]);
        assert!(folders("garbage\n4:memory:/m\n").is_empty());
    }

    #[test]
    fn the_smallest_quota_of_all_groups_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().join("outer"), folder.path().join("outer/inner"));
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("cpu.max"), "max 100000\n").unwrap();
        assert_eq!(smallest(&[inner.clone(), outer.clone()]), None);
        fs::write(outer.join("cpu.cfs_quota_us"), "150000\n").unwrap();
        fs::write(outer.join("cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(smallest(&[inner.clone(), outer.clone()]).unwrap().processors, 1.5);
        fs::write(inner.join("cpu.max"), "25000 50000\n").unwrap();
        assert_eq!(smallest(&[inner.clone(), outer.clone()]).unwrap().processors, 0.5);
        fs::write(outer.join("cpu.cfs_quota_us"), "-1\n").unwrap();
        assert_eq!(smallest(&[outer]), None);
    }

    #[test]
    fn what_is_used_of_a_quota_is_what_it_grew_by() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write("cpu.max", "100000 100000\n");
        write("cpu.stat", "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 700\n");
        let group = smallest(&[folder.path().to_owned()]).unwrap();
        write("cpu.stat", "usage_usec 9\nnr_periods 25\nnr_throttled 12\nthrottled_usec 1700\n");
        let used = QuotaUse { periods: 20, throttled_periods: 10, throttled_nanoseconds: 1_000_000 };
        assert_eq!(group.described(), CpuQuota { processors: 1.0, used });
        // Version 1 counts nanoseconds.
        write("cpu.stat", "nr_periods 25\nnr_throttled 12\nthrottled_time 1700001\n");
        assert_eq!(group.described().used.throttled_nanoseconds, 1_000_001);
    }
}
