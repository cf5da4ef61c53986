//! The recorder's end: starts the privileged process and asks it.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aya::maps::MapData;

use crate::access::PrivilegedError;
use crate::mapping_rings::RingMapping;
use crate::message::MessageSocket;
use crate::programs::{CollectorMaps, KernelFacts, ProgramSettings};
use crate::request::PrivilegedRequest;
use crate::server::{DONE, MORE, REFUSED, parse_mappings};

/// Name of the file beside the recorder's own that has the capabilities.
pub const PRIVILEGED_FILE: &str = "longpole-privileged";

/// Where the file would be.
fn path() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(PRIVILEGED_FILE))
}

/// Whether there is such a file.
pub(crate) fn is_set_up() -> bool {
    path().is_ok_and(|path| path.is_file())
}

/// A list of the kernel's symbols with their addresses, where the privileged process can have it. `contents` is what its file holds.
#[must_use]
pub fn kernel_symbols(contents: &[u8]) -> Option<File> {
    let process = PrivilegedProcess::start(contents).ok()?;
    let mut answer = process.ask(&PrivilegedRequest::KernelSymbols, |_| {}).ok()?;
    answer.descriptors.pop().map(File::from)
}

/// What was answered.
struct ProcessAnswer {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// The privileged process of this recorder. It ends when this is dropped.
#[derive(Debug)]
pub struct PrivilegedProcess {
    socket: MessageSocket,
    child: Child,
    /// The last mappings, when the programs have ended.
    last: Option<Vec<RingMapping>>,
}

impl PrivilegedProcess {
    /// Starts it. `contents` is what its file holds if it belongs to this recorder.
    ///
    /// # Errors
    /// [`PrivilegedError`].
    pub fn start(contents: &[u8]) -> Result<PrivilegedProcess, PrivilegedError> {
        let path = path().map_err(PrivilegedError::NotStarted)?;
        if fs::read(&path).map_err(PrivilegedError::NotStarted)? != contents {
            return Err(PrivilegedError::OtherVersion { path });
        }
        let (socket, other) = MessageSocket::pair().map_err(PrivilegedError::NotStarted)?;
        let mut command = Command::new(&path);
        command.env_clear().stdin(other).stdout(Stdio::null()).stderr(Stdio::null());
        // Signals of the terminal are for the program.
        let leave = || rustix::process::setsid().map(|_| ()).map_err(io::Error::from);
        // SAFETY: the closure makes a system call only.
        let child = unsafe { command.pre_exec(leave) }.spawn().map_err(PrivilegedError::NotStarted)?;
        Ok(PrivilegedProcess { socket, child, last: None })
    }

    /// CPU time that it has used, where the system tells.
    pub(crate) fn cpu_time(&self) -> Duration {
        let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        let pid = self.child.id().cast_signed();
        // SAFETY: the system writes one clock and one time through the pointers.
        let failed = unsafe {
            libc::clock_getcpuclockid(pid, &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        if failed {
            return Duration::ZERO;
        }
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    /// Has the programs loaded and attached.
    pub(crate) fn open(
        &self,
        settings: ProgramSettings,
    ) -> Result<(CollectorMaps, KernelFacts), PrivilegedError> {
        let answer = self.ask(&PrivilegedRequest::Open(settings), |_| {})?;
        let facts = KernelFacts::parse(&answer.bytes).ok_or(PrivilegedError::Gone)?;
        let maps: Vec<MapData> =
            answer.descriptors.into_iter().map(MapData::from_fd).collect::<Result<_, _>>().map_err(
                |error| PrivilegedError::Refused {
                    number: libc::EPERM,
                    reason: format!("use its maps: {error}"),
                },
            )?;
        let [ring, counters, executable, pythons] = maps.try_into().map_err(|_| PrivilegedError::Gone)?;
        Ok((CollectorMaps { ring, counters, executable, pythons }, facts))
    }

    /// Asks for something without an answer.
    pub(crate) fn tell(&self, request: &PrivilegedRequest) -> io::Result<()> {
        self.ask(request, |_| {}).map(drop).map_err(PrivilegedError::into_io)
    }

    /// The mappings of the followed processes, and whether some may have been lost.
    pub(crate) fn round(
        &mut self,
        request: &PrivilegedRequest,
        take: &mut dyn FnMut(RingMapping),
    ) -> io::Result<bool> {
        if let Some(last) = &mut self.last {
            std::mem::take(last).into_iter().for_each(take);
            return Ok(false);
        }
        let answer = self.ask(request, |bytes| parse_mappings(bytes).into_iter().for_each(&mut *take));
        Ok(answer.map_err(PrivilegedError::into_io)?.bytes.first() == Some(&1))
    }

    /// Has the programs detached. The last mappings come with the next round.
    pub(crate) fn end(&mut self) {
        let mut last = Vec::new();
        let _ = self.round(&PrivilegedRequest::End, &mut |mapping| last.push(mapping));
        self.last.get_or_insert(last);
    }

    /// Sends a request and waits for its answer; `take` is for all but its last part.
    fn ask(
        &self,
        request: &PrivilegedRequest,
        mut take: impl FnMut(&[u8]),
    ) -> Result<ProcessAnswer, PrivilegedError> {
        self.socket.send(&request.to_bytes(), &[]).map_err(|_| PrivilegedError::Gone)?;
        loop {
            let message = self.socket.receive().ok().flatten().ok_or(PrivilegedError::Gone)?;
            match message.bytes.split_first() {
                Some((&MORE, bytes)) => take(bytes),
                Some((&DONE, bytes)) => {
                    return Ok(ProcessAnswer { bytes: bytes.to_vec(), descriptors: message.descriptors });
                }
                Some((&REFUSED, bytes)) => {
                    let (number, reason) = bytes.split_first_chunk().ok_or(PrivilegedError::Gone)?;
                    let reason = String::from_utf8_lossy(reason).into_owned();
                    return Err(PrivilegedError::Refused { number: i32::from_ne_bytes(*number), reason });
                }
                _ => return Err(PrivilegedError::Gone),
            }
        }
    }
}
