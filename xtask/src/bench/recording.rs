//! What recording costs: time per context switch, CPU time, start-up, memory, disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use longpole_recording::RecordingFolder;

use super::child::{Usage, measure};
use super::measurements::{Measurements, ResultPage};
use super::unprivileged::Unprivileged;
use crate::steps::{root, succeed};
use crate::tools::find;

/// The programs that are measured, built, and the binary under test.
pub struct Setting {
    pub longpole: PathBuf,
    pub folder: PathBuf,
    pub rounds: u32,
}

/// A way to run a program.
#[derive(Clone, Copy, PartialEq)]
enum RunMode {
    Bare,
    Bpf,
    Perf,
    Process,
    PerfSched,
}

impl RunMode {
    const RECORDED: [(RunMode, &str); 4] = [
        (RunMode::Bpf, "longpole record"),
        (RunMode::Perf, "longpole record --collector perf"),
        (RunMode::Process, "longpole record as nobody (process)"),
        (RunMode::PerfSched, "perf sched record -g"),
    ];
}

impl Setting {
    /// Builds one C program, with the compiler's flags that others would use.
    fn build(&self, source: &str) -> Result<PathBuf> {
        self.build_with(source, "-fomit-frame-pointer")
    }

    /// The same with this flag.
    pub(super) fn build_with(&self, source: &str, flag: &str) -> Result<PathBuf> {
        let source = root().join(source);
        let mut name = source.file_stem().context("name a source")?.to_owned();
        name.push(flag);
        let program = self.folder.join(name);
        let mut gcc = Command::new("gcc");
        succeed(gcc.args(["-O2", "-g", flag, "-pthread", "-o"]).arg(&program).arg(&source))?;
        Ok(program)
    }

    /// Where recordings are made.
    pub(super) fn recording(&self) -> PathBuf {
        self.folder.join("bench.longpole")
    }

    /// Size of the recording that was made last.
    pub(super) fn recorded_bytes(&self) -> Result<f64> {
        let (folder, _) = RecordingFolder::open(&self.recording())?;
        Ok(folder.size_bytes() as f64)
    }

    fn run(&self, way: RunMode, program: &Path, argument: &str) -> Result<Usage> {
        let mut command = match way {
            RunMode::Bare => return measure(Command::new(program).arg(argument)),
            RunMode::Process => return Unprivileged::prepare(&self.longpole, program)?.run(argument),
            RunMode::Bpf | RunMode::Perf => {
                let mut record = Command::new(&self.longpole);
                let collector = if way == RunMode::Bpf { "bpf" } else { "perf" };
                record.args(["record", "--force", "--collector", collector, "-o"]).arg(self.recording());
                record
            }
            RunMode::PerfSched => {
                let mut perf = Command::new("perf");
                perf.args(["sched", "record", "-g", "-o"]).arg(self.folder.join("perf.data"));
                perf
            }
        };
        measure(command.arg("--").arg(program).arg(argument))
    }

    /// Added time per context switch, and bytes on disk per switch.
    pub fn ping_pong(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build("programs/ping_pong.c")?;
        let chained = self.build_with("programs/ping_pong.c", "-fno-omit-frame-pointer")?;
        let (mut bare, mut with_chain) = <(Measurements, Measurements)>::default();
        let mut added = [(); 4].map(|()| Measurements::default());
        let mut ratio = added.clone();
        let mut bytes = Measurements::default();
        for _ in 0..self.rounds {
            let alone = self.run(RunMode::Bare, &program, "150000")?.number("nanoseconds_per_switch")?;
            bare.push(alone);
            let alone_chained =
                self.run(RunMode::Bare, &chained, "150000")?.number("nanoseconds_per_switch")?;
            let usage = self.run(RunMode::Bpf, &chained, "150000")?;
            with_chain.push(usage.number("nanoseconds_per_switch")? - alone_chained);
            for (index, (way, _)) in RunMode::RECORDED.into_iter().enumerate() {
                if way == RunMode::PerfSched && find("perf").is_none() {
                    continue;
                }
                let usage = self.run(way, &program, "150000")?;
                let time = usage.number("nanoseconds_per_switch")?;
                added[index].push(time - alone);
                ratio[index].push(time / alone);
                if way == RunMode::Bpf {
                    let (folder, _) = RecordingFolder::open(&self.recording())?;
                    bytes.push(folder.size_bytes() as f64 / usage.number("switches")?);
                }
            }
        }
        let rival = added[3].median();
        // The goals of the collector `bpf`: 1.5 µs, and less than the peer in the same rounds.
        let limit = if rival.is_nan() { 1500.0 } else { rival.min(1500.0) };
        page.add("ping-pong, bare: time per switch", "ns", bare, None);
        let name = "ping-pong with frame pointers, longpole record: added";
        page.add(name, "ns", with_chain, Some(limit));
        for (index, (_, name)) in RunMode::RECORDED.iter().enumerate() {
            let goal = (index == 0).then_some(limit);
            page.add(&format!("ping-pong, {name}: added per switch"), "ns", added[index].clone(), goal);
            page.add(&format!("ping-pong, {name}: recorded : bare"), "ratio", ratio[index].clone(), None);
        }
        page.add("ping-pong: bytes on disk per switch", "bytes", bytes, Some(24.0));
        Ok(())
    }

    /// CPU time of a program that only computes.
    pub fn fixed_work(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build("benches/fixed_work.c")?;
        let (mut bpf, mut perf) = (Measurements::default(), Measurements::default());
        // A per cent is looked for: twice the rounds, and each recorded run between two bare ones.
        for _ in 0..2 * self.rounds {
            let before = self.run(RunMode::Bare, &program, "500")?.number("cpu_seconds")?;
            let by_bpf = self.run(RunMode::Bpf, &program, "500")?.number("cpu_seconds")?;
            let between = self.run(RunMode::Bare, &program, "500")?.number("cpu_seconds")?;
            let by_perf = self.run(RunMode::Perf, &program, "500")?.number("cpu_seconds")?;
            let after = self.run(RunMode::Bare, &program, "500")?.number("cpu_seconds")?;
            bpf.push(by_bpf / f64::midpoint(before, between));
            perf.push(by_perf / f64::midpoint(between, after));
        }
        page.add("fixed work, longpole record: CPU time recorded : bare", "ratio", bpf, Some(1.01));
        page.add("fixed work, --collector perf: CPU time recorded : bare", "ratio", perf, None);
        Ok(())
    }

    /// Time from the start of the command to the program's `main`.
    pub fn start_up(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build("benches/started.c")?;
        let (mut bare, mut added, mut whole) =
            (Measurements::default(), Measurements::default(), Measurements::default());
        for _ in 0..2 * self.rounds {
            let until_main = |way| -> Result<(f64, f64)> {
                let begin = monotonic_nanoseconds();
                let usage = self.run(way, &program, "")?;
                Ok(((usage.number("started")? - begin) / 1e6, 1e3 * usage.seconds))
            };
            let (alone, alone_whole) = until_main(RunMode::Bare)?;
            let (recorded, recorded_whole) = until_main(RunMode::Bpf)?;
            bare.push(alone);
            added.push(recorded - alone);
            whole.push(recorded_whole - alone_whole);
        }
        page.add("start-up, bare: until main", "ms", bare, None);
        page.add("start-up, longpole record: added until main", "ms", added, Some(150.0));
        page.add("start-up, longpole record: added, answer included", "ms", whole, None);
        Ok(())
    }

    /// Share of a processor that the agent's sampling thread takes at 1 kHz with 64 threads.
    pub fn agent_sampler(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build_with("benches/many_threads.c", "-finstrument-functions")?;
        let mut share = Measurements::default();
        for _ in 0..self.rounds {
            let mut record = Command::new(&self.longpole);
            record.args([
                "record",
                "--quiet",
                "--force",
                "--collector",
                "agent",
                "--frequency",
                "1000",
                "-o",
            ]);
            measure(record.arg(self.recording()).arg("--").arg(&program).arg("3"))?;
            let (_, manifest) = RecordingFolder::open(&self.recording())?;
            let cost = manifest.machines.first().and_then(|machine| machine.cost);
            let seconds =
                cost.and_then(|cost| cost.sampler_cpu_seconds).context("find the sampler's cost")?;
            let outcome = manifest.outcome.context("find the run's end")?;
            let elapsed = (outcome.end_nanoseconds - outcome.begin_nanoseconds) as f64 / 1e9;
            share.push(100.0 * seconds / elapsed);
        }
        page.add("agent: sampling thread, 64 threads at 1 kHz: share of a processor", "%", share, Some(3.0));
        Ok(())
    }

    /// Largest memory of the recorder, for a short and a long run.
    pub fn memory(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build("programs/ping_pong.c")?;
        let bare = self.run(RunMode::Bare, &program, "100000")?.number("nanoseconds_per_switch")?;
        for seconds in [2.0, 20.0] {
            let round_trips = (seconds * 1e9 / bare / 2.0).round();
            let mut peak = Measurements::default();
            self.run(RunMode::Bpf, &program, &round_trips.to_string())?;
            let (_, manifest) = RecordingFolder::open(&self.recording())?;
            let cost = manifest.machines.first().and_then(|machine| machine.cost);
            let bytes = cost.context("find the recorder's cost in the manifest")?.recorder_peak_bytes;
            peak.push(bytes as f64 / f64::from(1 << 20));
            page.add(&format!("memory of the recorder, {seconds} s of ping-pong"), "MiB", peak, Some(64.0));
        }
        Ok(())
    }
}

/// The clock that `started.c` prints.
fn monotonic_nanoseconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
