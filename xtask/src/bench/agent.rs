//! What the agent costs in the program: a lock and unlock, a thread, a program whose threads contend.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::child::measure;
use super::measurements::{Measurements, ResultPage};
use super::recording::Setting;

/// Ways to have the agent in the program: beside the kernel's collector, and alone.
const WAYS: [(&[&str], &str); 2] = [(&["bpf", "--locks"], "--locks"), (&["agent"], "--collector agent")];

impl Setting {
    /// A number that a program prints, run bare or by `record --collector WAY...`.
    fn number(&self, way: &[&str], program: &Path, argument: &str, key: &str) -> Result<f64> {
        if way.is_empty() {
            return measure(Command::new(program).arg(argument))?.number(key);
        }
        let mut record = Command::new(&self.longpole);
        record
            .args(["record", "--quiet", "--force", "--collector"])
            .args(way)
            .arg("-o")
            .arg(self.recording());
        measure(record.arg("--").arg(program).arg(argument))?.number(key)
    }

    /// Time added to a pair of lock and unlock that nobody contends for, by one thread.
    pub fn agent_locks(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build_with("benches/lock_pair.c", "-fno-omit-frame-pointer")?;
        let (mut bare, mut mutex) = (Measurements::default(), [(); 2].map(|()| Measurements::default()));
        let others = ["rwlock", "spin", "semaphore", "once", "c11"];
        let mut other = others.map(|_| Measurements::default());
        for _ in 0..self.rounds {
            let alone = self.number(&[], &program, "mutex", "nanoseconds")?;
            bare.push(alone);
            for (figures, (way, _)) in mutex.iter_mut().zip(WAYS) {
                figures.push(self.number(way, &program, "mutex", "nanoseconds")? - alone);
            }
            for (figures, kind) in other.iter_mut().zip(others) {
                let alone = self.number(&[], &program, kind, "nanoseconds")?;
                figures.push(self.number(WAYS[0].0, &program, kind, "nanoseconds")? - alone);
            }
        }
        page.add("agent: uncontended lock and unlock of a mutex, bare", "ns", bare, None);
        for (figures, (_, name)) in mutex.into_iter().zip(WAYS) {
            page.add(&format!("agent: the same, {name}: added"), "ns", figures, Some(20.0));
        }
        for (figures, kind) in other.into_iter().zip(others) {
            page.add(&format!("agent: {kind}, --locks: added to a pair"), "ns", figures, Some(20.0));
        }
        Ok(())
    }

    /// Time added to the creation and join of a thread; beside the kernel's collector, by the agent alone.
    pub fn agent_threads(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build_with("benches/thread_pair.c", "-fno-omit-frame-pointer")?;
        let (mut bare, mut beside, mut alone) = <(Measurements, Measurements, Measurements)>::default();
        for _ in 0..2 * self.rounds {
            let time = |way: &[&str]| self.number(way, &program, "", "microseconds");
            let (without, by_bpf) = (time(&[])?, time(&["bpf"])?);
            bare.push(without);
            beside.push(time(&["bpf", "--locks"])? - by_bpf);
            alone.push(time(&["agent"])? - without);
        }
        page.add("agent: creation and join of a thread, bare", "µs", bare, None);
        page.add("agent: the same, --locks: added to that of bpf", "µs", beside, Some(10.0));
        page.add("agent: the same, --collector agent: added", "µs", alone, Some(10.0));
        Ok(())
    }

    /// Elapsed time of threads that contend for a lock.
    pub fn agent_contended(&self, page: &mut ResultPage) -> Result<()> {
        let program = self.build_with("benches/contended.c", "-fno-omit-frame-pointer")?;
        for percent in ["10", "50"] {
            let (mut beside, mut alone) = <(Measurements, Measurements)>::default();
            // Some per cent are looked for: each recorded run stands between two others.
            for _ in 0..3 * self.rounds {
                let time = |way: &[&str]| self.number(way, &program, percent, "seconds");
                let (before, by_agent, after) = (time(&[])?, time(&["agent"])?, time(&[])?);
                alone.push((by_agent / f64::midpoint(before, after) - 1.0) * 100.0);
                let (before, by_both, after) = (time(&["bpf"])?, time(&["bpf", "--locks"])?, time(&["bpf"])?);
                beside.push((by_both / f64::midpoint(before, after) - 1.0) * 100.0);
            }
            let what = format!("agent: 4 threads, {percent} % of their work in one lock");
            page.add(&format!("{what}, --collector agent: slower"), "%", alone, Some(3.0));
            page.add(&format!("{what}, --locks: slower than bpf"), "%", beside, Some(3.0));
        }
        Ok(())
    }
}
