//! Counters of the kernel and of processors, by `perf_event_open(2)`, for the program and all that it starts.
//!
//! Each counter is opened for the program's tasks and inherited by all that they create, so that a read has the counts
//! of those that ended too. Where there are more counters than the processor has, each counts in turn, and its value is
//! the count × (time it could have counted ÷ time it did).

use std::io;

use longpole_event::{SeriesKind, SeriesNode, Time};

use crate::sink::{SeriesKey, Sink};
use crate::source::SeriesSource;

mod event;
mod selection;

use event::{CounterEvent, CounterReading};
use selection::{CounterChoice, selected};

/// What a counter counted.
struct Counter {
    choice: &'static CounterChoice,
    /// One for each task that was there when counting began.
    events: Vec<CounterEvent>,
    /// The greatest value so far: scaled counts can fall.
    value: f64,
    seen: Option<(f64, Time)>,
    last_look: Option<Time>,
    /// The least share of the time in which it did count.
    counted: f64,
}

/// Reads counters of the program.
pub(crate) struct Counters {
    choices: Vec<&'static CounterChoice>,
    unknown: Vec<String>,
    counters: Vec<Counter>,
    /// What was refused, to be told at the next look.
    refused: Vec<(&'static CounterChoice, io::Error)>,
    is_user_only: bool,
    is_last: bool,
}

impl Counters {
    /// Those of these names; of none, all.
    pub(crate) fn new(names: &[String]) -> Counters {
        let (choices, unknown) = selected(names);
        let (counters, refused) = (Vec::new(), Vec::new());
        Counters { choices, unknown, counters, refused, is_user_only: false, is_last: false }
    }

    fn tell(&mut self, sink: &mut Sink<'_>) {
        for name in self.unknown.drain(..) {
            sink.trouble(&format!("no counter is called `{name}`: there are {}", selection::names()));
        }
        if std::mem::take(&mut self.is_user_only) {
            sink.trouble("only the program's own code is counted, not the kernel's: that needs privileges");
        }
        let mut missing = Vec::new();
        for (choice, error) in self.refused.drain(..) {
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) if choice.is_hardware() => {
                    missing.push(choice.name)
                }
                _ => sink.trouble(&format!("`{}` cannot be counted: {error}", choice.name)),
            }
        }
        if !missing.is_empty() {
            let names = missing.join(", ");
            sink.trouble(&format!("this machine has no hardware counters for {names}: it has no performance monitoring unit, or its host keeps it"));
        }
    }
}

/// The tasks of a process.
fn tasks(pid: u32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl SeriesSource for Counters {
    fn program(&mut self, pid: u32) {
        self.counters.clear();
        let tasks = tasks(pid);
        for &choice in &self.choices {
            let opened: io::Result<Vec<CounterEvent>> =
                tasks.iter().map(|&tid| CounterEvent::open(choice, tid)).collect();
            match opened {
                Ok(events) => {
                    self.is_user_only |= events.iter().any(CounterEvent::is_user_only);
                    let counter =
                        Counter { choice, events, value: 0.0, seen: None, last_look: None, counted: 1.0 };
                    self.counters.push(counter);
                }
                Err(error) => self.refused.push((choice, error)),
            }
        }
    }

    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        self.tell(sink);
        for counter in &mut self.counters {
            counter.look(now, self.is_last, sink);
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.is_last = true;
    }
}

impl Counter {
    fn look(&mut self, now: Time, is_last: bool, sink: &mut Sink<'_>) {
        let mut sum = 0.0;
        for event in &self.events {
            let Ok(count) = event.read() else { continue };
            // One that never had its turn says nothing: its share is told, and the value stays.
            sum += count.scaled().unwrap_or(0.0);
            self.counted = self.counted.min(count.share());
        }
        self.value = self.value.max(sum * self.choice.scale);
        let is_same = self.seen.is_some_and(|(value, _)| value == self.value);
        if is_same && !is_last {
            self.last_look = Some(now);
            return;
        }
        if let (Some((old, written)), Some(before)) = (self.seen, self.last_look)
            && !is_same
            && before > written
        {
            sink.put(&self.key(), before, old);
        }
        sink.put(&self.key(), now, self.value);
        (self.seen, self.last_look) = (Some((self.value, now)), Some(now));
        if is_last && self.counted < 0.99 {
            let percent = (100.0 * self.counted).round();
            sink.trouble(&format!(
                "`{}` was counted {percent} % of the time and scaled up: the processor has too few counters for all",
                self.choice.name
            ));
        }
    }

    fn key(&self) -> SeriesKey<'static> {
        let CounterChoice { name, unit, .. } = *self.choice;
        SeriesKey { metric: name, unit, samples: SeriesKind::Counter, node: SeriesNode::Program, label: "" }
    }
}

impl CounterReading {
    /// The count as if it had counted all the time; `None` where it never did.
    fn scaled(&self) -> Option<f64> {
        match (self.enabled, self.running) {
            (0, _) => Some(self.value as f64),
            (_, 0) => None,
            (enabled, running) => Some(self.value as f64 * (enabled as f64 / running as f64)),
        }
    }

    /// Share of the time in which it counted.
    fn share(&self) -> f64 {
        if self.enabled == 0 { 1.0 } else { self.running as f64 / self.enabled as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::fixture::Log;

    #[test]
    fn a_counter_that_had_its_turn_half_the_time_is_doubled() {
        let count = CounterReading { value: 50, enabled: 1000, running: 500 };
        assert_eq!((count.scaled(), count.share()), (Some(100.0), 0.5));
        assert_eq!(CounterReading { value: 0, enabled: 9, running: 0 }.scaled(), None);
        assert_eq!(CounterReading { value: 0, enabled: 0, running: 0 }.scaled(), Some(0.0));
    }

    #[test]
    fn a_name_that_is_none_is_told_with_those_there_are() {
        let mut log = Log::new();
        let mut counters = Counters::new(&["cylces".to_owned()]);
        counters.look(Time::from_nanoseconds(1), &mut log.sink("counters")).unwrap();
        let troubles = log.account().troubles;
        assert!(troubles[0].what.starts_with("no counter is called `cylces`: there are "), "{troubles:?}");
        assert!(troubles[0].what.contains(" cycles"), "{troubles:?}");
    }

    #[test]
    fn faults_of_a_child_that_ended_are_counted() {
        let mut log = Log::new();
        let mut counters = Counters::new(&["page-faults".to_owned()]);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read go; i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done; read end"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        counters.program(child.id());
        if !counters.refused.is_empty() {
            // Not allowed here: it has to be told.
            counters.look(Time::from_nanoseconds(1), &mut log.sink("counters")).unwrap();
            assert_eq!(log.account().troubles.len(), 1);
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"go\n").unwrap();
        // Each run of a program faults at least 30 times: its code, its stack, its C library.
        let mut looks = 0;
        let enough = |log: &Log| {
            log.course("page_faults", SeriesNode::Program, "").last().is_some_and(|last| last.1 > 600.0)
        };
        while !enough(&log) && looks < 2000 {
            looks += 1;
            counters.look(Time::from_nanoseconds(looks), &mut log.sink("counters")).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(input);
        child.wait().unwrap();
        assert!(enough(&log));
    }
}
