//! `/proc/stat`: what each processor did, switches, new tasks.

use super::{KernelOutput, KernelPart};
use crate::kept_file::{lines, number, numbers, words};
use crate::known::{self, KnownMetric};
use crate::track::Track;

/// Ticks in a second: `USER_HZ`, which is the same on every machine that this runs on.
const TICKS: f64 = 100.0;

/// The columns of a processor's line, in order. What guests used is in the first two as well.
const TIMES: [&KnownMetric; 8] = [
    known::SYS_USER_TIME,
    known::SYS_NICE_TIME,
    known::SYS_SYSTEM_TIME,
    known::SYS_IDLE_TIME,
    known::SYS_IOWAIT_TIME,
    known::SYS_IRQ_TIME,
    known::SYS_SOFTIRQ_TIME,
    known::SYS_STEAL_TIME,
];

/// What `/proc/stat` tells.
#[derive(Debug, Default)]
pub(super) struct Processors {
    processors: Vec<Processor>,
    switches: Track,
    forks: Track,
    running: Track,
    blocked: Track,
}

#[derive(Debug)]
struct Processor {
    name: String,
    times: [Track; TIMES.len()],
}

impl KernelPart for Processors {
    fn read(&mut self, text: &[u8], out: &mut KernelOutput<'_, '_>) {
        for line in lines(text) {
            let mut rest = words(line);
            let name = rest.next().unwrap_or_default();
            let (track, known) = match name {
                // The first line is the sum of the others.
                b"cpu" => continue,
                b"ctxt" => (&mut self.switches, known::SYS_CONTEXT_SWITCHES),
                b"processes" => (&mut self.forks, known::SYS_FORKS),
                b"procs_running" => (&mut self.running, known::SYS_RUNNING),
                b"procs_blocked" => (&mut self.blocked, known::SYS_BLOCKED),
                _ if name.starts_with(b"cpu") => {
                    let processor = processor(&mut self.processors, name);
                    let values = numbers(&line[name.len()..]);
                    for ((track, known), ticks) in processor.times.iter_mut().zip(TIMES).zip(values) {
                        out.put(track, known, &processor.name, ticks as f64 / TICKS);
                    }
                    continue;
                }
                _ => continue,
            };
            if let Some(value) = rest.next().and_then(number) {
                out.put(track, known, "", value as f64);
            }
        }
    }
}

/// The processor of this name: processors come and go.
fn processor<'a>(processors: &'a mut Vec<Processor>, name: &[u8]) -> &'a mut Processor {
    let found = processors.iter().position(|one| one.name.as_bytes() == name);
    let at = found.unwrap_or_else(|| {
        processors.push(Processor {
            name: String::from_utf8_lossy(name).into_owned(),
            times: std::array::from_fn(|_| Track::default()),
        });
        processors.len() - 1
    });
    &mut processors[at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    const FIRST: &[u8] = b"cpu  300 20 100 1000 50 6 7 8 0 0
cpu0 100 10 40 500 20 2 3 4 0 0
cpu1 200 10 60 500 30 4 4 4 0 0
intr 4000 0 0 17
ctxt 123456
btime 1795221175
processes 99
procs_running 3
procs_blocked 1
softirq 1 2 3
";

    #[test]
    fn each_processor_has_its_times_and_the_sum_is_left_out() {
        let mut log = Log::new();
        let mut part = Processors::default();
        log.read(&mut part, 1, FIRST);
        let values = log.values();
        let of = |metric: &str, label: &str| {
            let found: Vec<f64> =
                values.iter().filter(|value| value.is(metric, label)).map(|value| value.value).collect();
            found
        };
        assert_eq!(of("sys_user_time", "cpu0"), [1.0]);
        assert_eq!(of("sys_user_time", "cpu1"), [2.0]);
        assert_eq!(of("sys_user_time", ""), [0.0; 0]);
        assert_eq!(of("sys_iowait_time", "cpu1"), [0.3]);
        assert_eq!(of("sys_steal_time", "cpu0"), [0.04]);
        assert_eq!(of("sys_context_switches", ""), [123_456.0]);
        assert_eq!(of("sys_forks", ""), [99.0]);
        assert_eq!(of("sys_running", ""), [3.0]);
        assert_eq!(values.len(), 2 * 8 + 4);
    }

    #[test]
    fn a_counter_is_written_at_the_look_before_it_moves_and_when_it_moves() {
        let mut log = Log::new();
        let mut part = Processors::default();
        let moved = String::from_utf8(FIRST.to_vec()).unwrap().replace("cpu0 100", "cpu0 102");
        for (time, text) in [(1, FIRST), (2, FIRST), (3, FIRST), (4, moved.as_bytes()), (5, moved.as_bytes())]
        {
            log.read(&mut part, time, text);
        }
        let found: Vec<(u64, f64)> = log
            .values()
            .iter()
            .filter(|value| value.is("sys_user_time", "cpu0"))
            .map(|value| (value.time, value.value))
            .collect();
        assert_eq!(found, [(1, 1.0), (3, 1.0), (4, 1.02)]);
    }
}
