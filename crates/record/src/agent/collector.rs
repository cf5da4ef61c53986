//! The agent as a collector: beside one of the kernel's, or alone.

use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use longpole_event::Time;
use longpole_recording::SharedLineSamples;
use longpole_ring::Mode;

use super::library::{AgentPart, Library};
use super::reader::AgentReader;
use super::sampler::{Samplers, Sampling};
use crate::collector::{Collector, KernelCost};
use crate::raw::{KernelTask, RawEvent};

/// The rings of threads that wait and release without pause fill in a few of these.
const ROUND: Duration = Duration::from_millis(5);
/// The longer rings of threads that tell of every call may fill in a few of these.
const CALLS_ROUND: Duration = Duration::from_millis(1);
/// The variable that tells agents where the memory is.
const VARIABLE: &str = "LONGPOLE_AGENT";

/// Where programs with gcc's address sanitizer look for their options.
const SANITIZER: &str = "ASAN_OPTIONS";

/// Such a program refuses to run where any library was loaded before its own, unless this is said. The agent takes
/// nothing from the sanitizer: what it stands in for calls the sanitizer's functions.
fn sanitizer_options(own: Option<OsString>) -> OsString {
    let mut options = own.filter(|own| !own.is_empty()).map_or_else(OsString::new, |mut own| {
        own.push(":");
        own
    });
    options.push("verify_asan_link_order=0");
    options
}

/// Reads what agents in the program's processes tell.
pub(crate) struct AgentCollector {
    reader: AgentReader,
    library: Library,
    samplers: Option<Samplers>,
    round: Duration,
    is_stopped: bool,
}

impl AgentCollector {
    /// Makes the memory, puts the library where programs can load it, and starts to sample if that is asked for.
    pub(crate) fn open(
        mode: Mode,
        part: AgentPart,
        sampling: Option<&Sampling>,
    ) -> io::Result<AgentCollector> {
        let library = Library::place(part)?;
        let reader = AgentReader::new(mode)?;
        let samplers = sampling.map(|sampling| Samplers::start(reader.memory(), sampling)).transpose()?;
        let round = if mode.calls { CALLS_ROUND } else { ROUND };
        Ok(AgentCollector { reader, library, samplers, round, is_stopped: false })
    }

    /// What the program's environment needs.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("LD_PRELOAD".into(), self.library.preload()),
            (VARIABLE.into(), self.reader.path().into()),
            (SANITIZER.into(), sanitizer_options(std::env::var_os(SANITIZER))),
        ]
    }
}

impl Collector for AgentCollector {
    /// Agents announce themselves.
    fn track(&mut self, _: KernelTask) -> io::Result<()> {
        Ok(())
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        if let Some(samplers) = &self.samplers {
            samplers.take(into);
        }
        self.reader.drain(self.is_stopped, into);
        Ok(())
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        if let Some(samplers) = &mut self.samplers {
            samplers.stop();
        }
        self.reader.close();
    }

    fn alarms(&self) -> Vec<RawFd> {
        Vec::new()
    }

    fn round(&self) -> Option<Duration> {
        /// Readings take at most one part in so many of the recorder's time, unless a ring fills up.
        const SHARE: u32 = 10;
        const LONGEST: Duration = Duration::from_millis(100);
        let spared = (self.reader.took() * SHARE).min(LONGEST);
        Some(if self.reader.is_pressed() { Duration::ZERO } else { self.round.max(spared) })
    }

    fn sampler_cpu(&self) -> Option<Duration> {
        self.samplers.as_ref().map(Samplers::cpu_time)
    }

    /// Processes of the program will go on to look for the library.
    fn outlived(&mut self) {
        self.library.keep();
    }

    fn findings(&self) -> Vec<String> {
        let (processes, without_area) = self.reader.census();
        let mut findings = if processes > 0 { self.reader.findings() } else { Vec::new() };
        if processes == 0 {
            findings.push(
                "the agent was in none of the program's processes: a program that is statically linked, runs with \
                 another user's rights (setuid) or clears its environment cannot be seen from inside"
                    .to_owned(),
            );
        }
        if without_area > 0 {
            findings.push(format!("{without_area} threads found no room to tell anything to the recorder"));
        }
        findings
    }
}

/// A collector of the kernel's, and the agent beside it.
pub(crate) struct WithAgent {
    pub(crate) kernel: Box<dyn Collector>,
    pub(crate) agent: AgentCollector,
}

impl Collector for WithAgent {
    fn track(&mut self, task: KernelTask) -> io::Result<()> {
        self.kernel.track(task)
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        self.kernel.drain(into)?;
        self.agent.drain(into)
    }

    fn behind(&self) -> Option<Time> {
        self.kernel.behind()
    }

    fn kept_back(&self) -> Option<Time> {
        self.kernel.kept_back()
    }

    fn stop(&mut self) {
        self.kernel.stop();
        self.agent.stop();
    }

    fn alarms(&self) -> Vec<RawFd> {
        self.kernel.alarms()
    }

    fn round(&self) -> Option<Duration> {
        self.agent.round()
    }

    fn outlived(&mut self) {
        self.agent.outlived();
    }

    fn kernel_cost(&mut self) -> Option<KernelCost> {
        self.kernel.kernel_cost()
    }

    fn privileged_cpu(&self) -> Duration {
        self.kernel.privileged_cpu()
    }

    fn notes(&self) -> Vec<String> {
        self.kernel.notes()
    }

    fn shared_lines(&self) -> SharedLineSamples {
        self.kernel.shared_lines()
    }

    fn findings(&self) -> Vec<String> {
        self.kernel.findings().into_iter().chain(self.agent.findings()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sanitizer_was_told_stays() {
        assert_eq!(sanitizer_options(None), "verify_asan_link_order=0");
        assert_eq!(sanitizer_options(Some("a=1".into())), "a=1:verify_asan_link_order=0");
    }
}
