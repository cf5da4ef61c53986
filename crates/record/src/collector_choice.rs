//! The ladder of collectors: which of them this machine permits, and the best of them.

use std::path::Path;

use longpole_privileged::{BpfError, PrivilegedError, has_capabilities};
use longpole_ring::Mode;

use crate::agent::{AgentCollector, AgentPart, AgentScope, Sampling, WithAgent, obstacle};
use crate::bpf::BpfCollector;
use crate::collector::Collector;
use crate::error::{Error, Result};
use crate::launch::EnvironmentVariable;
use crate::perf::{PerfCollector, PerfError};
use crate::process::{Circumstances, ProcessCollector, remedy as own_remedy};

/// Which collector to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollectorChoice {
    /// The best one that is permitted.
    #[default]
    Auto,
    /// Programs in the kernel.
    Bpf,
    /// The kernel's perf events for all processes.
    Perf,
    /// The kernel's perf events for a process of one's own.
    Process,
    /// The agent in the program, alone.
    Agent,
}

/// A collector, and whether it can be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorAvailability {
    /// `bpf`, `perf`, `process` or `agent`.
    pub name: &'static str,
    /// What it sees and what it misses, in a line.
    pub sees: &'static str,
    /// Whether it works, or why not.
    pub available: std::result::Result<(), CollectorRefusal>,
}

/// Why a collector cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorRefusal {
    /// What the system said.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

/// How to collect, whichever the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Timer samples a second and processor.
    pub hertz: u32,
    /// User memory copied for a stack.
    pub stack_bytes: u32,
    /// Follow frame pointers too.
    pub frame_pointers: bool,
    /// Every call of an instrumented procedure.
    pub calls: bool,
    /// The program passes messages by MPI.
    pub messages: bool,
    /// The program is executed by an emulator: nothing may be put into the code of its libraries, which the emulator would
    /// take for the program's instructions.
    pub is_emulated: bool,
    /// The program or a library that it names joins threads by others than `pthread_join`.
    pub rare_joins: bool,
}

/// Which collectors this machine permits, best first; each is opened for a moment to find out.
#[must_use]
pub fn probe() -> Vec<CollectorAvailability> {
    let settings = Settings { hertz: 97, stack_bytes: 1024, frame_pointers: true, ..Settings::default() };
    let probe = |step: &LadderCollector| step.availability((step.open)(&settings).map(drop));
    let agent = AgentCollector::open(agent_mode(&settings, true), AgentPart::Whole, None).map(drop);
    let agent = agent_availability(agent.map_err(|error| agent_refusal(&error)));
    LADDER.iter().map(probe).chain([agent]).collect()
}

/// When the agent is to be in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentUse {
    /// It cannot be: the program runs already.
    Never,
    /// Where the kernel does not tell why threads wait.
    WhereNeeded,
    /// Always, as far as it stands in for MPI.
    Mpi,
    /// Always.
    Always,
}

/// Opens the collector that was chosen, with the agent beside it where that is wanted; also returns its name and the
/// better ones that were refused.
pub(crate) fn open(
    choice: CollectorChoice,
    settings: &Settings,
    inside: AgentUse,
    sampling: &Sampling,
) -> Result<Opened> {
    let mut refused = Vec::new();
    for step in LADDER.iter().filter(|step| choice == CollectorChoice::Auto || choice == step.choice) {
        match (step.open)(settings) {
            Ok(kernel) => return Opened { refused, ..Opened::of(kernel, step) }.with_agent(inside, settings),
            Err(refusal) => refused.push(step.availability(Err(refusal))),
        }
    }
    if matches!(choice, CollectorChoice::Auto | CollectorChoice::Agent) {
        match open_alone(inside, settings, sampling) {
            Ok(agent) => return Ok(Opened::alone(agent, refused)),
            Err(refusal) => refused.push(agent_availability(Err(refusal))),
        }
    }
    Err(Error::NoCollector { collectors: refused })
}

fn open_alone(
    inside: AgentUse,
    settings: &Settings,
    sampling: &Sampling,
) -> std::result::Result<AgentCollector, CollectorRefusal> {
    if inside == AgentUse::Never {
        return Err(CollectorRefusal {
            reason: "failed to put the agent into a program that runs already".to_owned(),
            remedy: "start the program with `longpole record -- PROGRAM`".to_owned(),
        });
    }
    AgentCollector::open(agent_mode(settings, true), AgentPart::Whole, Some(sampling))
        .map_err(|error| agent_refusal(&error))
}

/// An open collector.
pub(crate) struct Opened {
    pub(crate) collector: Box<dyn Collector>,
    pub(crate) name: &'static str,
    pub(crate) refused: Vec<CollectorAvailability>,
    /// What of the recording is the agent's to tell, where there is one.
    pub(crate) part: Option<AgentScope>,
    /// Variables that the program needs for it.
    pub(crate) variables: Vec<EnvironmentVariable>,
}

impl Opened {
    fn of(kernel: Box<dyn Collector>, step: &LadderCollector) -> Opened {
        Opened { collector: kernel, name: step.name, refused: Vec::new(), part: None, variables: Vec::new() }
    }

    /// Puts the agent beside the collector where that is wanted. Where it was not asked for, it can also be missing.
    fn with_agent(mut self, inside: AgentUse, settings: &Settings) -> Result<Opened> {
        let tells_causes = self.name == PROCESS;
        let part = match inside {
            AgentUse::Always => AgentPart::Whole,
            AgentUse::WhereNeeded | AgentUse::Mpi if tells_causes => AgentPart::Whole,
            AgentUse::Mpi => AgentPart::Mpi,
            AgentUse::WhereNeeded | AgentUse::Never => return Ok(self),
        };
        match AgentCollector::open(agent_mode(settings, tells_causes), part, None) {
            Ok(agent) => {
                self.variables = agent.environment();
                self.part = Some(if tells_causes { AgentScope::Causes } else { AgentScope::Locks });
                self.collector = Box::new(WithAgent { kernel: self.collector, agent });
            }
            Err(source) if inside == AgentUse::Always => {
                return Err(Error::System { operation: "put the agent where programs can load it", source });
            }
            Err(error) => self.refused.push(agent_availability(Err(agent_refusal(&error)))),
        }
        Ok(self)
    }

    /// Looks at the program that is about to run: what has to be known where the agent cannot be in it.
    pub(crate) fn look_at(&mut self, program: &Path) -> Option<String> {
        let obstacle = self.part.and_then(|_| obstacle(program))?;
        if obstacle.is_heard() {
            self.variables.clear();
        }
        Some(obstacle.finding(program))
    }

    /// Bytes of memory that go with a stack.
    pub(crate) fn stack_bytes(&self, settings: &Settings) -> u32 {
        if self.name == AGENT { agent_mode(settings, true).stack_bytes } else { settings.stack_bytes }
    }

    fn alone(agent: AgentCollector, refused: Vec<CollectorAvailability>) -> Opened {
        let variables = agent.environment();
        Opened { collector: Box::new(agent), name: AGENT, refused, part: Some(AgentScope::All), variables }
    }
}

const AGENT: &str = "agent";
const PROCESS: &str = "process";

fn agent_availability(available: std::result::Result<(), CollectorRefusal>) -> CollectorAvailability {
    let sees = "what the program does through the C library: locks, waits, threads; no samples, and not whether a thread \
                had a processor";
    CollectorAvailability { name: AGENT, sees, available }
}

fn agent_mode(settings: &Settings, waits: bool) -> Mode {
    /// A thread's ring holds this many bytes of stacks a few dozen times.
    const MOST_STACK_BYTES: u32 = 2048;
    Mode {
        waits,
        calls: settings.calls,
        messages: settings.messages,
        frame_pointers: settings.frame_pointers,
        stack_bytes: settings.stack_bytes.min(MOST_STACK_BYTES) & !7,
    }
}

fn agent_refusal(error: &std::io::Error) -> CollectorRefusal {
    let remedy = "let files be executed in one of /tmp, /dev/shm, /var/tmp, or the current folder";
    CollectorRefusal {
        reason: format!("failed to put the agent where programs can load it: {error}"),
        remedy: remedy.to_owned(),
    }
}

type OpenCollector = fn(&Settings) -> std::result::Result<Box<dyn Collector>, CollectorRefusal>;

/// A collector on the ladder.
struct LadderCollector {
    name: &'static str,
    choice: CollectorChoice,
    sees: &'static str,
    open: OpenCollector,
}

impl LadderCollector {
    fn availability(&self, available: std::result::Result<(), CollectorRefusal>) -> CollectorAvailability {
        CollectorAvailability { name: self.name, sees: self.sees, available }
    }
}

const LADDER: [LadderCollector; 3] = [
    LadderCollector {
        name: "bpf",
        choice: CollectorChoice::Bpf,
        sees: "all states, each wait with its system call, each wake with its waker; costs least",
        open: open_bpf,
    },
    LadderCollector {
        name: "perf",
        choice: CollectorChoice::Perf,
        sees: "the same, but causes of waits only as far as the kernel's procedures tell them; costs more",
        open: open_perf,
    },
    LadderCollector {
        name: PROCESS,
        choice: CollectorChoice::Process,
        sees: "when threads run and wait, and where they run in user code; why they wait and who wakes them as far as the \
               agent in the program tells it, and for futexes if `longpole setup` has kept this kernel's tracepoints",
        open: open_process,
    },
];

fn open_bpf(settings: &Settings) -> std::result::Result<Box<dyn Collector>, CollectorRefusal> {
    match BpfCollector::open(settings) {
        Ok(collector) => Ok(Box::new(collector)),
        Err(error) => Err(CollectorRefusal { remedy: remedy(&error).to_owned(), reason: chain(&error) }),
    }
}

fn open_perf(settings: &Settings) -> std::result::Result<Box<dyn Collector>, CollectorRefusal> {
    match PerfCollector::open(settings) {
        Ok(collector) => Ok(Box::new(collector)),
        Err(error) => Err(CollectorRefusal { remedy: perf_remedy(&error).to_owned(), reason: chain(&error) }),
    }
}

fn open_process(settings: &Settings) -> std::result::Result<Box<dyn Collector>, CollectorRefusal> {
    match ProcessCollector::open(settings) {
        Ok(collector) => Ok(Box::new(collector)),
        Err(error) => {
            let remedy = own_remedy(&error, Circumstances::here()).to_owned();
            Err(CollectorRefusal { remedy, reason: chain(&error) })
        }
    }
}

fn perf_remedy(error: &PerfError) -> &'static str {
    match error {
        PerfError::NoTracepoints(_) | PerfError::NotPermitted(_) => {
            "run as root, or give the binary its capabilities once: sudo longpole setup --perf"
        }
        PerfError::UnknownFormat => "report this kernel's release as a bug of longpole",
        PerfError::System { .. } => "use Linux 5.4 or newer with CONFIG_PERF_EVENTS and tracepoints",
    }
}

const PERMISSION: &str = "run as root, or once: sudo longpole setup";

fn remedy(error: &PrivilegedError) -> &'static str {
    let error = match error {
        PrivilegedError::OtherVersion { .. } => return "put this version's file there: sudo longpole setup",
        PrivilegedError::NotStarted(_) => return "repeat what makes that file: sudo longpole setup",
        // What it was refused, other recorders are not: the file has lost its capabilities.
        PrivilegedError::Refused { .. } | PrivilegedError::Gone => {
            return "repeat `sudo longpole setup` on a file system without nosuid, and use Linux 5.19 or newer";
        }
        PrivilegedError::Own(error) => error,
    };
    match error {
        _ if !has_capabilities() => PERMISSION,
        BpfError::NoTypeInformation(_) => "use a kernel that is built with CONFIG_DEBUG_INFO_BTF",
        BpfError::Load(_) | BpfError::NoTracepoints => "use Linux 5.18 or newer with BPF and BTF tracing",
        BpfError::PerfEvent(_) => "let perf events be used: sysctl kernel.perf_event_paranoid=2",
    }
}

/// An error with all its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = format!("failed to {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let error_text = error.to_string();
        // Libraries often repeat the cause in their own message.
        if !text.contains(&error_text) {
            let first_line = error_text.lines().next().unwrap_or_default();
            text.push_str(": ");
            text.push_str(first_line);
        }
        cause = error.source();
    }
    text
}
