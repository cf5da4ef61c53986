//! `/proc/diskstats` and `/proc/net/dev`: what block and network devices did.

use std::path::Path;

use super::{KernelOutput, KernelPart};
use crate::kept_file::{lines, number, numbers, words};
use crate::known::{self, KnownMetric};
use crate::track::Track;

/// Bytes of a sector in `/proc/diskstats`, whatever the disk's are.
const SECTOR: f64 = 512.0;

/// The columns of a disk's line after its name that are read, and what one of them is in our unit.
const DISK: [(usize, &KnownMetric, f64); 6] = [
    (0, known::SYS_DISK_READS, 1.0),
    (2, known::SYS_DISK_READ_BYTES, SECTOR),
    (4, known::SYS_DISK_WRITES, 1.0),
    (6, known::SYS_DISK_WRITTEN_BYTES, SECTOR),
    (8, known::SYS_DISK_IN_FLIGHT, 1.0),
    (9, known::SYS_DISK_BUSY_TIME, 1e-3),
];

const NETWORK: [&KnownMetric; 5] = [
    known::SYS_RECEIVED_BYTES,
    known::SYS_RECEIVED_PACKETS,
    known::SYS_SENT_BYTES,
    known::SYS_SENT_PACKETS,
    known::SYS_DROPPED_PACKETS,
];

/// A device and what is known of it; without tracks it is none of ours.
#[derive(Debug)]
struct Device<const N: usize> {
    name: String,
    tracks: Option<[Track; N]>,
}

/// The device of this name, which is mostly at the same place as at the look before.
fn device<'a, const N: usize>(
    devices: &'a mut Vec<Device<N>>,
    at: usize,
    name: &[u8],
    is_ours: impl FnOnce(&str) -> bool,
) -> &'a mut Device<N> {
    let is_it = |device: &Device<N>| device.name.as_bytes() == name;
    let found = devices.get(at).filter(|device| is_it(device)).map(|_| at);
    let found = found.or_else(|| devices.iter().position(is_it)).unwrap_or_else(|| {
        let name = String::from_utf8_lossy(name).into_owned();
        let tracks = is_ours(&name).then(|| std::array::from_fn(|_| Track::default()));
        devices.push(Device { name, tracks });
        devices.len() - 1
    });
    &mut devices[found]
}

/// What `/proc/diskstats` tells, of whole disks.
#[derive(Debug, Default)]
pub(super) struct Disks {
    disks: Vec<Device<{ DISK.len() }>>,
}

impl KernelPart for Disks {
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>) {
        for (at, line) in lines(text).enumerate() {
            let Some(name) = words(line).nth(2) else { continue };
            let disk = device(&mut self.disks, at, name, |name| is_disk(name, Path::new("/sys/block")));
            let Some(tracks) = &mut disk.tracks else { continue };
            let mut values = [0; 10];
            let columns = words(line).skip(3).map_while(number);
            let count = values.iter_mut().zip(columns).map(|(value, column)| *value = column).count();
            for (track, (column, known, scale)) in tracks.iter_mut().zip(DISK) {
                if column < count {
                    out.put(track, known, &disk.name, values[column] as f64 * scale);
                }
            }
        }
    }
}

/// Whether it is a disk of its own: not a part of one, not files or memory that look like one, and not made of other
/// disks, whose requests would count twice.
fn is_disk(name: &str, blocks: &Path) -> bool {
    let folder = blocks.join(name);
    let has_parts = || std::fs::read_dir(folder.join("slaves")).is_ok_and(|mut parts| parts.next().is_some());
    !name.starts_with("loop") && !name.starts_with("ram") && folder.exists() && !has_parts()
}

/// What `/proc/net/dev` tells.
#[derive(Debug, Default)]
pub(super) struct Networks {
    networks: Vec<Device<{ NETWORK.len() }>>,
}

impl KernelPart for Networks {
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>) {
        for (at, line) in lines(text).enumerate() {
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let mut columns = [0; 12];
            let count = columns
                .iter_mut()
                .zip(numbers(&line[colon + 1..]))
                .map(|(value, column)| *value = column)
                .count();
            if count < columns.len() {
                continue;
            }
            let network = device(&mut self.networks, at, line[..colon].trim_ascii(), |_| true);
            let Some(tracks) = &mut network.tracks else { continue };
            let values = [columns[0], columns[1], columns[8], columns[9], columns[3] + columns[11]];
            for ((track, known), value) in tracks.iter_mut().zip(NETWORK).zip(values) {
                out.put(track, known, &network.name, value as f64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    #[test]
    fn only_disks_of_their_own_count() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["vda/slaves", "loop0/slaves", "dm-0/slaves/vda"] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let disks = ["vda", "vda1", "loop0", "dm-0"].map(|name| is_disk(name, folder.path()));
        assert_eq!(disks, [true, false, false, false]);
    }

    #[test]
    fn a_disk_has_requests_bytes_and_busy_time() {
        let mut log = Log::new();
        let tracks = Some(std::array::from_fn(|_| Track::default()));
        let mut disks = Disks { disks: vec![Device { name: "vda".to_owned(), tracks }] };
        log.read(
            &mut disks,
            1,
            b" 254       0 vda 16 1 800 5 32 2 1600 9 3 2500 14 0 0 0 0\n 254 1 vda1 short\n",
        );
        let values: Vec<(String, f64)> =
            log.values().into_iter().map(|value| (value.metric, value.value)).collect();
        let of = |name: &str, value: f64| (name.to_owned(), value);
        let wanted = [
            of("sys_disk_reads", 16.0),
            of("sys_disk_read_bytes", 409_600.0),
            of("sys_disk_writes", 32.0),
            of("sys_disk_written_bytes", 819_200.0),
            of("sys_disk_in_flight", 3.0),
            of("sys_disk_busy_time", 2.5),
        ];
        assert_eq!(values, wanted);
    }

    #[test]
    fn a_network_device_has_bytes_packets_and_drops() {
        let mut log = Log::new();
        let text = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 922158184  430764    0    1    0     0          0         0 922158185  430765    0    2    0     0       0          0
";
        log.read(&mut Networks::default(), 1, text.as_bytes());
        let values: Vec<(String, String, f64)> =
            log.values().into_iter().map(|value| (value.metric, value.label, value.value)).collect();
        let of = |name: &str, value: f64| (name.to_owned(), "lo".to_owned(), value);
        let wanted = [
            of("sys_received_bytes", 922_158_184.0),
            of("sys_received_packets", 430_764.0),
            of("sys_sent_bytes", 922_158_185.0),
            of("sys_sent_packets", 430_765.0),
            of("sys_dropped_packets", 3.0),
        ];
        assert_eq!(values, wanted);
    }
}
