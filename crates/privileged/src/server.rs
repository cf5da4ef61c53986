//! The privileged process: takes requests, checks each, and answers it.
//!
//! Its caller can be anybody who may execute the file, so nothing that a request says is believed. No capability is in effect but while
//! it is used, and none is left when the programs are loaded:
//!
//! ```text
//!                     cap_syslog   cap_bpf     cap_perfmon
//!   begin             permitted    permitted   permitted
//!   KernelSymbols     in effect    permitted   permitted
//!   Open              permitted    in effect   in effect
//!   afterwards        given up     given up    given up
//! ```
//! Probes of C libraries are for recorders with `cap_sys_admin` only: at a place that is not the beginning of an instruction one would
//! damage the programs of all users, so kernels ask for more than `cap_perfmon`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::ExitCode;

use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::family::Family;
use crate::mapping_rings::RingMapping;
use crate::message::{MOST_BYTES, MessageSocket, ReceivedMessage};
use crate::privacy::Privacy;
use crate::programs::{KernelPrograms, ProgramSettings};
use crate::request::PrivilegedRequest;

/// First byte of an answer that is whole.
pub(crate) const DONE: u8 = 0;
/// First byte of an answer of which more follows.
pub(crate) const MORE: u8 = 1;
/// First byte of a refusal; the system's error number and a text follow.
pub(crate) const REFUSED: u8 = 2;

/// Serves the requests that come through the standard input, until its other end is closed.
#[must_use]
pub fn serve() -> ExitCode {
    let Ok(capabilities) = confine() else { return ExitCode::FAILURE };
    // SAFETY: nothing else of this process uses its standard input.
    let socket = MessageSocket::of(unsafe { OwnedFd::from_raw_fd(0) });
    let mut server = RequestServer::new(socket, capabilities);
    loop {
        match server.socket.receive() {
            Ok(Some(message)) => {
                if server.answer(&message).is_err() {
                    return ExitCode::FAILURE;
                }
            }
            Ok(None) => return ExitCode::SUCCESS,
            Err(_) => return ExitCode::FAILURE,
        }
    }
}

/// Lets nobody look into this process, and takes all capabilities out of effect.
fn confine() -> io::Result<HeldCapabilities> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    rustix::thread::set_no_new_privs(true)?;
    // Each processor has several events.
    let files = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files })?;
    let useful = CapabilitySet::PERFMON | CapabilitySet::BPF | CapabilitySet::SYSLOG;
    let permitted = rustix::thread::capabilities(None)?.permitted & useful;
    let held = HeldCapabilities { permitted };
    held.set(CapabilitySet::empty())?;
    Ok(held)
}

/// The capabilities that this process may still put into effect.
#[derive(Debug)]
struct HeldCapabilities {
    permitted: CapabilitySet,
}

impl HeldCapabilities {
    fn set(&self, effective: CapabilitySet) -> io::Result<()> {
        let (permitted, inheritable) = (self.permitted, CapabilitySet::empty());
        let effective = effective & permitted;
        Ok(rustix::thread::set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?)
    }

    /// Does something with these in effect, which are so in this thread and those that it creates meanwhile.
    fn with<T>(&self, capabilities: CapabilitySet, body: impl FnOnce() -> T) -> io::Result<T> {
        if !self.permitted.contains(capabilities) {
            return Err(not_permitted());
        }
        self.set(capabilities)?;
        let result = body();
        self.set(CapabilitySet::empty())?;
        Ok(result)
    }

    /// Gives up all, for ever.
    fn give_up(&mut self) -> io::Result<()> {
        self.permitted = CapabilitySet::empty();
        self.set(CapabilitySet::empty())
    }
}

/// What is answered with: bytes, and descriptors beside them.
#[derive(Debug, Default)]
struct PrivilegedAnswer {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// Why a request is refused.
#[derive(Debug)]
struct PrivilegedRefusal {
    number: i32,
    reason: String,
}

impl From<io::Error> for PrivilegedRefusal {
    fn from(error: io::Error) -> PrivilegedRefusal {
        PrivilegedRefusal { number: error.raw_os_error().unwrap_or(libc::EIO), reason: error.to_string() }
    }
}

fn not_permitted() -> io::Error {
    io::Error::from_raw_os_error(libc::EPERM)
}

struct RequestServer {
    socket: MessageSocket,
    capabilities: HeldCapabilities,
    programs: Option<KernelPrograms>,
    has_ended: bool,
    family: Family,
    /// Of the rings, not selected from yet.
    news: Vec<crate::mapping_rings::RingNews>,
    has_lost: bool,
}

impl RequestServer {
    fn new(socket: MessageSocket, capabilities: HeldCapabilities) -> RequestServer {
        RequestServer {
            socket,
            capabilities,
            programs: None,
            has_ended: false,
            family: Family::of(Privacy::of_caller()),
            news: Vec::new(),
            has_lost: false,
        }
    }

    /// Answers a request; an error where the caller is gone.
    fn answer(&mut self, message: &ReceivedMessage) -> io::Result<()> {
        let refused = match PrivilegedRequest::parse(&message.bytes) {
            Some(request) => match self.serve(request) {
                Ok(PrivilegedAnswer { mut bytes, descriptors }) => {
                    bytes.insert(0, DONE);
                    let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
                    return self.socket.send(&bytes, &descriptors);
                }
                Err(refusal) => refusal,
            },
            None => PrivilegedRefusal { number: libc::EINVAL, reason: "this is no request".to_owned() },
        };
        let mut bytes = vec![REFUSED];
        bytes.extend(refused.number.to_ne_bytes());
        bytes.extend(refused.reason.into_bytes());
        bytes.truncate(MOST_BYTES);
        self.socket.send(&bytes, &[])
    }

    fn serve(&mut self, request: PrivilegedRequest) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        match request {
            PrivilegedRequest::Open(settings) => self.open(&settings),
            PrivilegedRequest::KernelSymbols => self.kernel_symbols(),
            PrivilegedRequest::Track { pid, tid } => {
                may_watch(pid, tid)?;
                self.running()?.track(tid)?;
                self.follow(pid)
            }
            PrivilegedRequest::Follow { pid } => {
                may_watch(pid, pid)?;
                self.follow(pid)
            }
            PrivilegedRequest::Round => self.round(),
            PrivilegedRequest::Watch { index, word } => {
                self.done(|programs| programs.watch(index as usize, word))
            }
            PrivilegedRequest::Allow { index, stores } => {
                self.done(|programs| programs.allow(index as usize, &stores))
            }
            PrivilegedRequest::Pause { index } => self.done(|programs| programs.pause(index as usize)),
            PrivilegedRequest::End => self.end(),
        }
    }

    /// The programs, while they run.
    fn running(&mut self) -> io::Result<&mut KernelPrograms> {
        self.programs.as_mut().filter(|_| !self.has_ended).ok_or_else(not_permitted)
    }

    fn done(
        &mut self,
        body: impl FnOnce(&mut KernelPrograms) -> io::Result<()>,
    ) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        body(self.running()?)?;
        Ok(PrivilegedAnswer::default())
    }

    fn open(&mut self, settings: &ProgramSettings) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        if self.programs.is_some() {
            return Err(not_permitted().into());
        }
        let needed = CapabilitySet::PERFMON | CapabilitySet::BPF;
        let opened = self.capabilities.with(needed, || KernelPrograms::open(settings, true))?;
        self.capabilities.give_up()?;
        let (programs, maps, facts) =
            opened.map_err(|error| PrivilegedRefusal { number: libc::EIO, reason: chain(&error) })?;
        self.programs = Some(programs);
        let maps = [&maps.ring, &maps.counters, &maps.executable, &maps.pythons];
        let descriptors = maps.map(|map| map.fd().as_fd().try_clone_to_owned());
        let descriptors = descriptors.into_iter().collect::<io::Result<_>>()?;
        Ok(PrivilegedAnswer { bytes: facts.to_bytes(), descriptors })
    }

    fn kernel_symbols(&self) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        let open = || File::open("/proc/kallsyms");
        let file = self.capabilities.with(CapabilitySet::SYSLOG, open)??;
        Ok(PrivilegedAnswer { bytes: Vec::new(), descriptors: vec![file.into()] })
    }

    fn follow(&mut self, pid: u32) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        self.read_rings()?;
        self.family.follow(pid, &self.news);
        Ok(PrivilegedAnswer::default())
    }

    fn read_rings(&mut self) -> io::Result<()> {
        let programs = self.programs.as_mut().ok_or_else(not_permitted)?;
        let news = &mut self.news;
        self.has_lost |= programs.round(&mut |record| news.push(record));
        Ok(())
    }

    fn round(&mut self) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        self.read_rings()?;
        let news = std::mem::take(&mut self.news);
        let mut selected = self.family.select(news, self.has_ended);
        let has_lost = std::mem::take(&mut self.has_lost);
        if has_lost {
            self.family.lose(&mut selected, |pid| may_watch(pid, pid).is_ok());
        }
        self.send_mappings(&selected)?;
        Ok(PrivilegedAnswer { bytes: vec![has_lost.into()], ..PrivilegedAnswer::default() })
    }

    fn end(&mut self) -> Result<PrivilegedAnswer, PrivilegedRefusal> {
        self.running()?.end();
        self.has_ended = true;
        self.round()
    }

    /// Sends them, in as many messages as they need.
    fn send_mappings(&self, mappings: &[RingMapping]) -> io::Result<()> {
        let mut bytes = vec![MORE];
        for mapping in mappings {
            let record = to_bytes(mapping);
            if bytes.len() + record.len() > MOST_BYTES {
                self.socket.send(&bytes, &[])?;
                bytes.truncate(1);
            }
            bytes.extend(record);
        }
        if bytes.len() > 1 { self.socket.send(&bytes, &[]) } else { Ok(()) }
    }
}

/// Refuses a task that the caller may not look into (`ptrace(2)`, access mode `PTRACE_MODE_READ_FSCREDS`): the kernel is asked as it
/// would be for its mappings, while no capability is in effect.
fn may_watch(pid: u32, tid: u32) -> io::Result<()> {
    File::open(format!("/proc/{pid}/task/{tid}/maps")).map(drop)
}

fn to_bytes(mapping: &RingMapping) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + mapping.body.len());
    bytes.extend(mapping.cpu.to_ne_bytes());
    bytes.extend(mapping.misc.to_ne_bytes());
    bytes.extend(u32::try_from(mapping.body.len()).unwrap_or(0).to_ne_bytes());
    bytes.extend(&mapping.body);
    bytes
}

/// The records in a message, in order; what is cut is left out.
pub(crate) fn parse_mappings(mut bytes: &[u8]) -> Vec<RingMapping> {
    let mut mappings = Vec::new();
    while let Some((&[a, b, c, d, e, f, g, h], rest)) = bytes.split_first_chunk() {
        let length = u32::from_ne_bytes([e, f, g, h]) as usize;
        let Some((body, rest)) = rest.split_at_checked(length) else { break };
        let (cpu, misc) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
        mappings.push(RingMapping { cpu, misc, body: body.to_vec() });
        bytes = rest;
    }
    mappings
}

/// An error with all its causes, without the words that it completes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let error_text = error.to_string();
        let first_line = error_text.lines().next().unwrap_or_default();
        if !text.contains(first_line) {
            text.push_str(": ");
            text.push_str(first_line);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_survive_the_socket_and_cuts_do_no_harm() {
        let mapping = |cpu, body: &[u8]| RingMapping { cpu, misc: 7, body: body.to_vec() };
        let mappings = vec![mapping(1, b"first"), mapping(300, b""), mapping(2, &[9; 5000])];
        let bytes: Vec<u8> = mappings.iter().flat_map(to_bytes).collect();
        assert_eq!(parse_mappings(&bytes), mappings);
        for end in 0..bytes.len() {
            let parsed = parse_mappings(&bytes[..end]);
            assert!(parsed.len() < mappings.len() && mappings.starts_with(&parsed));
        }
    }

    /// A server without capabilities and its client's end.
    fn server() -> (RequestServer, MessageSocket) {
        let (own, other) = MessageSocket::pair().unwrap();
        let capabilities = HeldCapabilities { permitted: CapabilitySet::empty() };
        (RequestServer::new(own, capabilities), MessageSocket::of(other))
    }

    fn error_number(client: &MessageSocket) -> i32 {
        let answer = client.receive().unwrap().unwrap().bytes;
        assert_eq!(answer[0], REFUSED);
        i32::from_ne_bytes(answer[1..5].try_into().unwrap())
    }

    #[test]
    fn what_is_no_request_and_what_needs_the_programs_is_refused() {
        let (mut server, client) = server();
        let mut answer = |bytes: Vec<u8>| {
            server.answer(&ReceivedMessage { bytes, descriptors: Vec::new() }).unwrap();
            error_number(&client)
        };
        assert_eq!(answer(b"open /etc/shadow".to_vec()), libc::EINVAL);
        assert_eq!(answer(PrivilegedRequest::Round.to_bytes()), libc::EPERM);
        assert_eq!(answer(PrivilegedRequest::End.to_bytes()), libc::EPERM);
        assert_eq!(answer(PrivilegedRequest::Pause { index: 0 }.to_bytes()), libc::EPERM);
        let pid = std::process::id();
        assert_eq!(answer(PrivilegedRequest::Track { pid, tid: pid }.to_bytes()), libc::EPERM);
    }
}
