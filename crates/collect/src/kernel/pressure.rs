//! `/proc/pressure`: time in which threads stalled for a processor, memory or a device.

use super::{KernelOutput, KernelPart};
use crate::kept_file::{lines, number, words};
use crate::known::{self, KnownMetric};
use crate::track::Track;

/// A file of pressure. The processor's `full` is always 0 for a machine, and interrupts have no `some`.
#[derive(Debug)]
pub(super) struct PressureFile {
    pub(super) path: &'static str,
    some: Option<&'static KnownMetric>,
    full: Option<&'static KnownMetric>,
}

pub(super) const FILES: &[PressureFile] = &[
    PressureFile { path: "/proc/pressure/cpu", some: Some(known::SYS_CPU_STALL_TIME), full: None },
    PressureFile {
        path: "/proc/pressure/memory",
        some: Some(known::SYS_MEMORY_STALL_TIME),
        full: Some(known::SYS_MEMORY_FULL_STALL_TIME),
    },
    PressureFile {
        path: "/proc/pressure/io",
        some: Some(known::SYS_IO_STALL_TIME),
        full: Some(known::SYS_IO_FULL_STALL_TIME),
    },
    PressureFile { path: "/proc/pressure/irq", some: None, full: Some(known::SYS_IRQ_STALL_TIME) },
];

impl PressureFile {
    pub(super) fn part(&'static self) -> Pressure {
        Pressure { file: self, some: Track::default(), full: Track::default() }
    }
}

/// What one of them tells.
#[derive(Debug)]
pub(super) struct Pressure {
    file: &'static PressureFile,
    some: Track,
    full: Track,
}

impl KernelPart for Pressure {
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>) {
        for line in lines(text) {
            let (track, known) = match words(line).next() {
                Some(b"some") => (&mut self.some, self.file.some),
                Some(b"full") => (&mut self.full, self.file.full),
                _ => continue,
            };
            let total = words(line).find_map(|word| number(word.strip_prefix(b"total=")?));
            if let (Some(known), Some(microseconds)) = (known, total) {
                out.put(track, known, "", microseconds as f64 / 1e6);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    #[test]
    fn some_and_full_are_metrics_of_their_own() {
        let text = b"some avg10=97.50 avg60=93.54 avg300=54.28 total=22794036\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n";
        let read = |file: &'static PressureFile| {
            let mut log = Log::new();
            log.read(&mut file.part(), 1, text);
            log.values().into_iter().map(|value| (value.metric, value.value)).collect::<Vec<_>>()
        };
        let io = [("sys_io_stall_time".to_owned(), 22.794_036), ("sys_io_full_stall_time".to_owned(), 1.5)];
        assert_eq!(read(&FILES[2]), io);
        assert_eq!(read(&FILES[0]), [("sys_cpu_stall_time".to_owned(), 22.794_036)]);
    }
}
