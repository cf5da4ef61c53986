//! `/proc/interrupts`: how often each interrupt came, on all processors together.

use super::{KernelOutput, KernelPart};
use crate::kept_file::{lines, number, words};
use crate::known;
use crate::track::Track;

/// The processor's own interrupts, by the kernel's short names.
const OWN: &[(&[u8], &str)] = &[
    (b"LOC", "timer"),
    (b"RES", "reschedule"),
    (b"CAL", "function-call"),
    (b"TLB", "tlb-shootdown"),
    (b"NMI", "non-maskable"),
    (b"PMI", "performance-monitoring"),
    (b"IWI", "irq-work"),
    (b"HYP", "hypervisor-callback"),
    (b"HVS", "hypervisor-timer"),
    (b"MCE", "machine-check"),
    (b"THR", "threshold"),
    (b"TRM", "thermal"),
    (b"ERR", "errors"),
];

/// What `/proc/interrupts` tells.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    names: Vec<Name>,
    /// The name of each line, by the line's place and its first word: lines come and go with devices.
    lines: Vec<(Vec<u8>, usize)>,
}

/// All interrupts of a name: a device may have many.
#[derive(Debug)]
struct Name {
    label: String,
    sum: u64,
    track: Track,
}

impl KernelPart for Interrupts {
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>) {
        let mut all = lines(text);
        let processors = all.next().map_or(0, |header| words(header).count());
        self.names.iter_mut().for_each(|name| name.sum = 0);
        for (at, line) in all.enumerate() {
            let mut rest = words(line);
            let Some(key) = rest.next().and_then(|word| word.strip_suffix(b":")) else { continue };
            let sum = rest.by_ref().take(processors).map_while(number).fold(0, u64::wrapping_add);
            let name = self.name(at, key, processors, line);
            self.names[name].sum += sum;
        }
        for Name { label, sum, track } in &mut self.names {
            out.put(track, known::SYS_INTERRUPTS, label, *sum as f64);
        }
    }
}

impl Interrupts {
    fn name(&mut self, at: usize, key: &[u8], processors: usize, line: &[u8]) -> usize {
        match self.lines.get(at) {
            Some((known, name)) if known == key => return *name,
            Some(_) => self.lines.truncate(at),
            None => {}
        }
        let label = label(key, processors, line);
        let found = self.names.iter().position(|name| name.label == label);
        let name = found.unwrap_or_else(|| {
            self.names.push(Name { label, sum: 0, track: Track::default() });
            self.names.len() - 1
        });
        if at == self.lines.len() {
            self.lines.push((key.to_owned(), name));
        }
        name
    }
}

/// A device's interrupt is named by the last word of its line, its driver's name for it.
fn label(key: &[u8], processors: usize, line: &[u8]) -> String {
    if number(key).is_none() {
        let own = OWN.iter().find(|(short, _)| *short == key);
        return own.map_or_else(|| String::from_utf8_lossy(key).into_owned(), |(_, name)| (*name).to_owned());
    }
    let last = words(line).skip(1 + processors).last().unwrap_or(key);
    String::from_utf8_lossy(last).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    const TEXT: &str = "           CPU0       CPU1
  1:          3          4   IO-APIC   1-edge      i8042
 24:        100         20   PCI-MSIX-0000:00:03.0   0-edge      nvme0q0
 25:          7          0   PCI-MSIX-0000:00:04.0   0-edge      nvme0q0
LOC:    5000000    4000000   Local timer interrupts
TLB:         10         11   TLB shootdowns
ERR:          2
";

    fn last(log: &Log, label: &str) -> Option<f64> {
        log.values().iter().rfind(|value| value.is("sys_interrupts", label)).map(|value| value.value)
    }

    #[test]
    fn interrupts_add_up_by_name() {
        let mut log = Log::new();
        log.read(&mut Interrupts::default(), 1, TEXT.as_bytes());
        let values =
            [("i8042", 7.0), ("nvme0q0", 127.0), ("timer", 9e6), ("tlb-shootdown", 21.0), ("errors", 2.0)];
        for (label, value) in values {
            assert_eq!(last(&log, label), Some(value), "{label}");
        }
    }

    #[test]
    fn a_device_that_is_gone_shifts_no_name() {
        let mut log = Log::new();
        let mut part = Interrupts::default();
        log.read(&mut part, 1, TEXT.as_bytes());
        let less: String =
            TEXT.lines().filter(|line| !line.contains("i8042")).map(|line| format!("{line}\n")).collect();
        log.read(&mut part, 2, less.replace("11   TLB", "15   TLB").as_bytes());
        assert_eq!(last(&log, "tlb-shootdown"), Some(25.0));
        assert_eq!(last(&log, "nvme0q0"), Some(127.0));
    }
}
