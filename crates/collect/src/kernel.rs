//! What the machine does: processors, memory, pressure, interrupts, disks and networks, from `/proc`.
//!
//! Each file is a [`KernelPart`], which has a pace of its own: files that are dear to read on this machine are read less often.

use std::io;
use std::time::Duration;

use longpole_event::{SeriesNode, Time};

use crate::kept_file::KeptFile;
use crate::known::KnownMetric;
use crate::pace::Pace;
use crate::sink::Sink;
use crate::source::SeriesSource;
use crate::track::{PollTime, Track, TrackSubject};

mod devices;
mod interrupts;
mod memory;
mod pressure;
mod processors;

/// A file of the kernel, and what stands in it.
trait KernelPart: Send {
    /// Takes its text.
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>);
}

/// Where a part puts what it reads.
struct KernelOutput<'a, 'b> {
    look: PollTime,
    sink: &'a mut Sink<'b>,
}

impl KernelOutput<'_, '_> {
    /// A value of the machine.
    fn put(&mut self, track: &mut Track, known: &'static KnownMetric, label: &str, value: f64) {
        track.put(TrackSubject { known, node: SeriesNode::Machine, label }, self.look, value, self.sink);
    }
}

struct PolledFile {
    path: &'static str,
    pace: Pace,
    file: Option<KeptFile>,
    part: Box<dyn KernelPart>,
}

/// Reads the kernel's counts of the machine.
pub(crate) struct Kernel {
    places: Vec<PolledFile>,
    buffer: Vec<u8>,
    is_last: bool,
}

impl Kernel {
    pub(crate) fn new() -> Kernel {
        let place = |path, percent: f64, part| PolledFile {
            path,
            pace: Pace::within(percent / 100.0),
            file: None,
            part,
        };
        // Together half a percent: the other half is for processes.
        let mut places = vec![
            place("/proc/stat", 0.12, Box::<processors::Processors>::default() as Box<dyn KernelPart>),
            place("/proc/vmstat", 0.10, Box::new(memory::VmstatPart::new())),
            place("/proc/interrupts", 0.06, Box::<interrupts::Interrupts>::default()),
            place("/proc/diskstats", 0.07, Box::<devices::Disks>::default()),
            place("/proc/net/dev", 0.06, Box::<devices::Networks>::default()),
        ];
        places.extend(pressure::FILES.iter().map(|file| place(file.path, 0.02, Box::new(file.part()))));
        Kernel { places, buffer: Vec::new(), is_last: false }
    }
}

impl SeriesSource for Kernel {
    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        let buffer = &mut self.buffer;
        for place in &mut self.places {
            if self.is_last || place.pace.is_due(now) {
                let look = PollTime { now, before: place.pace.last(), is_last: self.is_last };
                let PolledFile { pace, file, part, path } = place;
                pace.look(now, || {
                    look_at(file, path, part.as_mut(), buffer, &mut KernelOutput { look, sink })
                });
            }
        }
        // What cannot be opened was told at the first look.
        self.places.retain(|place| place.file.is_some());
        Ok(())
    }

    fn used_interval(&self) -> Option<Duration> {
        self.places.first().and_then(|place| place.pace.interval())
    }

    fn stop(&mut self) {
        self.is_last = true;
    }
}

fn look_at(
    file: &mut Option<KeptFile>,
    path: &str,
    part: &mut dyn KernelPart,
    buffer: &mut Vec<u8>,
    out: &mut KernelOutput<'_, '_>,
) {
    if file.is_none() {
        match KeptFile::open(path) {
            Ok(opened) => *file = Some(opened),
            // Most kernels do not account what interrupts take.
            Err(_) if path.ends_with("/irq") => return,
            Err(error) => return out.sink.trouble(&format!("{path} cannot be read: {error}")),
        }
    }
    let Some(kept) = file else { return };
    match kept.read(buffer) {
        Ok(text) => part.read(text, out),
        Err(error) => {
            // Pressure may be compiled in and switched off: the file opens, and cannot be read.
            out.sink.trouble(&format!("{path} cannot be read: {error}"));
            *file = None;
        }
    }
}

#[cfg(test)]
impl crate::sink::fixture::Log {
    /// Has a part read a text, once a nanosecond.
    fn read(&mut self, part: &mut dyn KernelPart, now: u64, text: &[u8]) {
        let look = crate::sink::fixture::look(now.checked_sub(1), now);
        part.read(text, &mut KernelOutput { look, sink: &mut self.sink("test") });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    #[test]
    fn the_machine_that_this_runs_on_has_user_time_and_page_faults() {
        let mut log = Log::new();
        let mut kernel = Kernel::new();
        kernel.look(Time::from_nanoseconds(1_000_000), &mut log.sink("kernel")).unwrap();
        kernel.stop();
        kernel.look(Time::from_nanoseconds(11_000_000), &mut log.sink("kernel")).unwrap();
        let values = log.values();
        assert!(
            values
                .iter()
                .any(|value| value.metric == "sys_user_time" && value.label == "cpu0" && value.value > 0.0)
        );
        assert!(values.iter().any(|value| value.metric == "sys_page_faults" && value.value > 0.0));
    }

    #[test]
    fn a_file_that_is_not_there_is_told_once() {
        let mut log = Log::new();
        let mut kernel = Kernel::new();
        kernel.places.truncate(1);
        kernel.places[0].path = "/proc/there-is-no-such-file";
        for look in 1..4 {
            kernel.look(Time::from_nanoseconds(look), &mut log.sink("kernel")).unwrap();
        }
        let troubles = log.account().troubles;
        assert_eq!(troubles.len(), 1);
        assert_eq!(troubles[0].count, 1);
        assert!(troubles[0].what.starts_with("/proc/there-is-no-such-file cannot be read"));
    }
}
