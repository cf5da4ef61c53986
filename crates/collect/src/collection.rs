//! The collectors of one recording, while the program runs.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use longpole_recording::{LogBuilder, OutsideAccount, Trouble};

use crate::choice::SeriesSourceChoice;
use crate::clock;
use crate::command::CommandSource;
use crate::counters::Counters;
use crate::kernel::Kernel;
use crate::process::ProcessSource;
use crate::program::ProgramSource;
use crate::prometheus::Prometheus;
use crate::sink::{Sink, SourceLedger};
use crate::source::SeriesSource;
use crate::threads;

/// How to collect.
#[derive(Clone, Debug)]
pub struct CollectionOptions {
    /// Which collectors.
    pub choices: Vec<SeriesSourceChoice>,
    /// Time between two looks.
    pub interval: Duration,
}

impl CollectionOptions {
    /// No collectors.
    #[must_use]
    pub fn none() -> CollectionOptions {
        CollectionOptions { choices: Vec::new(), interval: DEFAULT_INTERVAL }
    }
}

impl Default for CollectionOptions {
    fn default() -> CollectionOptions {
        CollectionOptions {
            choices: vec![SeriesSourceChoice::Kernel, SeriesSourceChoice::Process],
            interval: DEFAULT_INTERVAL,
        }
    }
}

/// Time between two looks, where nothing else is asked for.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);

/// Collectors at work, in a thread of their own.
#[derive(Debug)]
pub struct SeriesCollection {
    program: Arc<AtomicU32>,
    variables: Vec<(OsString, OsString)>,
    /// Both are there until the end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<OutsideAccount>>>,
}

impl SeriesCollection {
    /// Starts the collectors; their values go into `log`.
    #[must_use]
    pub fn start(options: &CollectionOptions, log: LogBuilder) -> SeriesCollection {
        let program = Arc::new(AtomicU32::new(0));
        let (end, ended) = mpsc::channel();
        let mut collectors = Vec::new();
        let mut variables = Vec::new();
        if !options.choices.is_empty() {
            let (collector, variable) = ActiveSource::of_program();
            collectors.push(collector);
            variables.extend(variable);
        }
        let asked = options.choices.iter();
        collectors.extend(asked.map(|choice| ActiveSource::new(choice, options.interval, &variables)));
        let mut looking =
            CollectionLoop { collectors, log, broken: None, program: Arc::clone(&program), told: 0 };
        // The first look is over when the program starts, so that nothing of it is missed.
        looking.round();
        let interval = options.interval;
        let thread = threads::start("series", move || {
            while ended.recv_timeout(interval) != Err(RecvTimeoutError::Disconnected) {
                looking.round();
            }
            looking.end(interval)
        });
        let thread = thread.expect("a thread can be started");
        SeriesCollection { program, variables, end: Some(end), thread: Some(thread) }
    }

    /// Variables by which the program finds where its own metrics go.
    #[must_use]
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// The program has been started: its first process.
    pub fn program(&self, pid: u32) {
        self.program.store(pid, Ordering::Relaxed);
        // Wakes the thread: the first look at the program is at its begin.
        if let Some(end) = &self.end {
            let _ = end.send(());
        }
    }

    /// Ends the collectors: how each of them fared.
    #[must_use]
    pub fn stop(mut self) -> Vec<OutsideAccount> {
        self.end()
    }

    fn end(&mut self) -> Vec<OutsideAccount> {
        drop(self.end.take());
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for SeriesCollection {
    /// Where there is no recording after all, nothing that was started stays behind.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The collector of what the program says of itself. It is always there, so it is only told of where it was used.
const PROGRAM: &str = "program";

/// A collector and its ledger.
struct ActiveSource {
    name: String,
    /// `None` when it has ended by itself.
    source: Option<Box<dyn SeriesSource>>,
    ledger: SourceLedger,
    cpu: Duration,
}

impl ActiveSource {
    /// The collector of what programs and commands say of themselves, and the variable by which they find it.
    fn of_program() -> (ActiveSource, Option<(OsString, OsString)>) {
        let mut ledger = SourceLedger::default();
        let program = ProgramSource::new().inspect_err(|error| {
            ledger.trouble(&format!("metrics of the program itself cannot be collected: {error}"));
        });
        let variable = program.as_ref().ok().map(ProgramSource::variable);
        let source = program.ok().map(|program| Box::new(program) as Box<dyn SeriesSource>);
        (ActiveSource { name: PROGRAM.to_owned(), source, ledger, cpu: Duration::ZERO }, variable)
    }

    fn new(
        choice: &SeriesSourceChoice,
        interval: Duration,
        variables: &[(OsString, OsString)],
    ) -> ActiveSource {
        let mut ledger = SourceLedger::default();
        let source: Option<Box<dyn SeriesSource>> = match choice {
            SeriesSourceChoice::Kernel => Some(Box::new(Kernel::new())),
            SeriesSourceChoice::Process => Some(Box::new(ProcessSource::new())),
            SeriesSourceChoice::Counters(names) => Some(Box::new(Counters::new(names))),
            SeriesSourceChoice::Command(text) => match CommandSource::start(text, variables) {
                Ok(command) => Some(Box::new(command)),
                Err(error) => {
                    ledger.trouble(&format!("it could not be started: {error}"));
                    None
                }
            },
            SeriesSourceChoice::Prometheus(url) => match Prometheus::start(url, interval) {
                Ok(target) => Some(Box::new(target)),
                Err(what) => {
                    ledger.trouble(&what);
                    None
                }
            },
        };
        ActiveSource { name: choice.to_string(), source, ledger, cpu: Duration::ZERO }
    }
}

/// What the thread works with.
struct CollectionLoop {
    collectors: Vec<ActiveSource>,
    log: LogBuilder,
    broken: Option<longpole_recording::Error>,
    program: Arc<AtomicU32>,
    /// The first process as the sources were told, 0 for none.
    told: u32,
}

impl CollectionLoop {
    fn round(&mut self) {
        let pid = self.program.load(Ordering::Relaxed);
        let is_new = std::mem::replace(&mut self.told, pid) != pid;
        for collector in &mut self.collectors {
            let Some(source) = &mut collector.source else { continue };
            if is_new {
                source.program(pid);
            }
            let before = clock::thread_cpu();
            let ActiveSource { name, ledger, .. } = collector;
            let mut sink = Sink { log: &mut self.log, collector: name, ledger, broken: &mut self.broken };
            if let Err(error) = source.look(clock::now(), &mut sink) {
                collector.ledger.trouble(&format!("ended: {error}"));
                collector.source = None;
            }
            collector.cpu += clock::thread_cpu().saturating_sub(before);
        }
    }

    fn end(mut self, interval: Duration) -> Vec<OutsideAccount> {
        let sources = |all: &mut Self, end: fn(&mut Box<dyn SeriesSource>)| {
            all.collectors.iter_mut().filter_map(|one| one.source.as_mut()).for_each(end);
        };
        sources(&mut self, |source| source.ending());
        sources(&mut self, |source| source.stop());
        self.round();
        if let Err(error) = self.log.flush() {
            self.broken.get_or_insert(error);
        }
        let broken = self.broken.map(|error| format!("the series could not be written: failed to {error}"));
        let account = |collector: ActiveSource| {
            let used = collector.source.as_ref().and_then(|source| source.used_interval());
            let elsewhere = collector.source.as_ref().map_or(Duration::ZERO, |source| source.cpu_elsewhere());
            let cpu_seconds = (collector.cpu + elsewhere).as_secs_f64();
            let mut account = collector.ledger.into_account(collector.name);
            account.troubles.extend(broken.iter().map(|what| Trouble { what: what.clone(), count: 1 }));
            OutsideAccount {
                cpu_seconds,
                interval_seconds: Some(used.unwrap_or(interval).as_secs_f64()),
                ..account
            }
        };
        let is_told = |account: &OutsideAccount| {
            account.collector != PROGRAM || account.series > 0 || !account.troubles.is_empty()
        };
        self.collectors.into_iter().map(account).filter(is_told).collect()
    }
}
