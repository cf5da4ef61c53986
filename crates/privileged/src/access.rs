//! What a recorder does with the kernel's programs, in its own process or through the privileged one.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::thread::CapabilitySet;

use crate::breakpoints::WatchedMemory;
use crate::mapping_rings::{RingMapping, RingNews};
use crate::process::{PrivilegedProcess, is_set_up};
use crate::programs::{BpfError, CollectorMaps, KernelFacts, KernelPrograms, ProgramSettings};
use crate::request::PrivilegedRequest;

/// Why the kernel's programs cannot be used; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum PrivilegedError {
    /// They were not loaded by this process.
    #[error(transparent)]
    Own(#[from] BpfError),
    /// The file is not that of this recorder.
    #[error("use {}, which another version of longpole has put there", path.display())]
    OtherVersion {
        /// The file with the capabilities.
        path: PathBuf,
    },
    /// It could not be executed.
    #[error("start the privileged process")]
    NotStarted(#[source] io::Error),
    /// It refused a request, or failed at it.
    #[error("{reason} (in the privileged process)")]
    Refused {
        /// The system's error number.
        number: i32,
        /// What failed.
        reason: String,
    },
    /// It has ended.
    #[error("ask the privileged process, which has ended")]
    Gone,
}

impl PrivilegedError {
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            PrivilegedError::Refused { number, .. } => io::Error::from_raw_os_error(number),
            other => io::Error::other(other),
        }
    }
}

/// Whether this process may load tracing programs: `cap_bpf` and `cap_perfmon`, or `cap_sys_admin`.
#[must_use]
pub fn has_capabilities() -> bool {
    let held = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    held.contains(CapabilitySet::SYS_ADMIN) || held.contains(CapabilitySet::BPF | CapabilitySet::PERFMON)
}

/// The loaded programs.
#[derive(Debug)]
pub enum KernelAccess {
    /// This process has the capabilities.
    Own(Box<KernelPrograms>),
    /// Another one has them.
    Process(Box<PrivilegedProcess>),
}

impl KernelAccess {
    /// Loads and attaches the programs; they record no task before [`KernelAccess::track`]. `contents` is what the file of the privileged
    /// process holds.
    ///
    /// # Errors
    /// [`PrivilegedError`].
    pub fn open(
        settings: &ProgramSettings,
        contents: &[u8],
    ) -> Result<(KernelAccess, CollectorMaps, KernelFacts), PrivilegedError> {
        if has_capabilities() || !is_set_up() {
            let (programs, maps, facts) = KernelPrograms::open(settings, false)?;
            return Ok((KernelAccess::Own(Box::new(programs)), maps, facts));
        }
        let process = PrivilegedProcess::start(contents)?;
        let (maps, facts) = process.open(*settings)?;
        Ok((KernelAccess::Process(Box::new(process)), maps, facts))
    }

    /// CPU time of the privileged process, which is not part of that of this process.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        match self {
            KernelAccess::Own(_) => Duration::ZERO,
            KernelAccess::Process(process) => process.cpu_time(),
        }
    }

    /// Records this task, and whatever it creates, from now on.
    ///
    /// # Errors
    /// When there is no room for it, or the caller may not look into it.
    pub fn track(&mut self, pid: u32, tid: u32) -> io::Result<()> {
        match self {
            KernelAccess::Own(programs) => programs.track(tid),
            KernelAccess::Process(process) => process.tell(&PrivilegedRequest::Track { pid, tid }),
        }
    }

    /// Hands over the mappings of this process, which was created when records were lost.
    ///
    /// # Errors
    /// When the caller may not look into it.
    pub fn follow(&mut self, pid: u32) -> io::Result<()> {
        match self {
            KernelAccess::Own(_) => Ok(()),
            KernelAccess::Process(process) => process.tell(&PrivilegedRequest::Follow { pid }),
        }
    }

    /// Has joins seen that processes make through these functions of a C library, of [`crate::USUAL_JOIN`] and [`crate::RARE_JOINS`]; how
    /// many of them it has. The privileged process does not do that.
    ///
    /// # Errors
    /// When it is no file, or too large.
    pub fn attach_library(&mut self, library: &File, joins: &[&str]) -> io::Result<usize> {
        match self {
            KernelAccess::Own(programs) => programs.attach_library(library, joins),
            KernelAccess::Process(_) => Ok(0),
        }
    }

    /// Gives the clocks other intervals, and hands over the mappings since the last round. Whether some may have been lost.
    ///
    /// # Errors
    /// When the privileged process has ended.
    pub fn round(&mut self, take: &mut dyn FnMut(RingMapping)) -> io::Result<bool> {
        match self {
            KernelAccess::Own(programs) => Ok(programs.round(&mut |news| {
                if let RingNews::Mapping(mapping) = news {
                    take(mapping);
                }
            })),
            KernelAccess::Process(process) => process.round(&PrivilegedRequest::Round, take),
        }
    }

    /// Watches another word for stores, of which each processor may tell one.
    ///
    /// # Errors
    /// What the kernel said; `EPERM` for what is not user memory.
    pub fn watch(&mut self, index: u32, word: WatchedMemory) -> io::Result<()> {
        match self {
            KernelAccess::Own(programs) => programs.watch(index as usize, word),
            KernelAccess::Process(process) => process.tell(&PrivilegedRequest::Watch { index, word }),
        }
    }

    /// Lets each processor tell so many more stores.
    ///
    /// # Errors
    /// What the kernel said; `EPERM` for too many.
    pub fn allow(&mut self, index: u32, stores: Vec<u32>) -> io::Result<()> {
        match self {
            KernelAccess::Own(programs) => programs.allow(index as usize, &stores),
            KernelAccess::Process(process) => process.tell(&PrivilegedRequest::Allow { index, stores }),
        }
    }

    /// Watches the word no longer.
    pub fn pause(&mut self, index: u32) {
        let _ = match self {
            KernelAccess::Own(programs) => programs.pause(index as usize),
            KernelAccess::Process(process) => process.tell(&PrivilegedRequest::Pause { index }),
        };
    }

    /// Detaches the programs. What was collected until now can still be read.
    pub fn end(&mut self) {
        match self {
            KernelAccess::Own(programs) => programs.end(),
            KernelAccess::Process(process) => process.end(),
        }
    }
}
