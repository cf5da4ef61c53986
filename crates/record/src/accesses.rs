//! Takes the accesses of an instrumented program from the library in it, and writes them into the recording.
//!
//! In: messages of a socket, one connection for each process (`longpole_access::format`). Out: the log of accesses: these
//! messages, as blocks in the order of their arrival, and at the end what their addresses mean. The library's threads wait
//! while the socket is full, so memory is bounded by its buffer, and what was sent before a process is killed is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use longpole_access::format::{
    BLOCK, LIBRARY, MAPS, MESSAGE_BYTES, MessageHeader, PROTOCOL, SAMPLE, SOCKET_VARIABLE,
};
use longpole_access::unit_sample::SAMPLE_VARIABLE;
use longpole_event::MachineId;
use longpole_recording::{AccessSample, LogName, LogWriter, RecordingFolder};
use longpole_symbols::{AccessInstrumentation, access_instrumentation};

use crate::access_names;
use crate::error::{Error, Result};
use crate::launch::{EnvironmentVariable, caller_s};

/// Milliseconds between two looks whether the run has ended.
const ROUND: i32 = 50;

/// Refuses a program that would not tell of its accesses.
pub(crate) fn look_at(program: &Path) -> Result<()> {
    match access_instrumentation(program, LIBRARY) {
        AccessInstrumentation::Ours => Ok(()),
        found => Err(Error::NotInstrumented { program: program.to_owned(), found }),
    }
}

/// What is known of one process while it runs.
#[derive(Debug, Default)]
pub(crate) struct AccessProcess {
    /// The text of its mappings, as often as it was sent.
    pub(crate) maps: Vec<u8>,
    /// Return addresses of its places.
    pub(crate) code: BTreeSet<u64>,
}

/// What was received.
#[derive(Debug)]
struct AccessIntake {
    log: LogWriter,
    processes: BTreeMap<u32, AccessProcess>,
    refused: u64,
    failure: Option<longpole_recording::Error>,
}

/// A recorder of accesses at work.
#[derive(Debug)]
pub(crate) struct AccessRecorder {
    path: PathBuf,
    sample: Option<AccessSample>,
    is_ending: Arc<AtomicBool>,
    thread: JoinHandle<AccessIntake>,
}

impl AccessRecorder {
    /// Listens for the program, which is to record all units or those of a sample.
    ///
    /// # Errors
    /// Where there is no room for a socket, or for the log.
    pub(crate) fn start(folder: &RecordingFolder, sample: Option<AccessSample>) -> Result<AccessRecorder> {
        let log = folder.create_log(MachineId(0), LogName::Accesses)?;
        let (path, listener) = listen().map_err(Error::system("listen for the program's accesses"))?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let intake = AccessIntake { log, processes: BTreeMap::new(), refused: 0, failure: None };
        let ending = Arc::clone(&is_ending);
        let thread = std::thread::Builder::new()
            .name("accesses".to_owned())
            .spawn(move || intake.receive(listener, &ending))
            .map_err(Error::system("start a thread"))?;
        Ok(AccessRecorder { path, sample, is_ending, thread })
    }

    /// What the program needs to find the recorder, and to know what it is to record.
    pub(crate) fn variables(&self) -> Vec<EnvironmentVariable> {
        let socket = (SOCKET_VARIABLE.into(), self.path.clone().into_os_string());
        let sample = self.sample.map(|AccessSample { one_of, unit, seed }| {
            (SAMPLE_VARIABLE.into(), format!("{one_of},{},{seed}", unit.trailing_zeros()).into())
        });
        std::iter::once(socket).chain(sample).collect()
    }

    /// Takes what is left, and names it. Gives what is to be said of it.
    pub(crate) fn finish(self) -> Vec<String> {
        self.is_ending.store(true, Ordering::Relaxed);
        let intake = self.thread.join();
        let _ = std::fs::remove_file(&self.path);
        let Ok(mut intake) = intake else {
            return vec!["accesses: the recorder of accesses failed".to_owned()];
        };
        let mut notes = Vec::new();
        if let Some(AccessSample { one_of, unit, seed }) = self.sample {
            let units = if unit == 64 { "cache lines of 64".to_owned() } else { format!("units of {unit}") };
            notes.push(format!(
                "accesses: 1 of {one_of} {units} bytes followed, by a hash of their addresses (`--access-sample 1/{one_of}@{seed}`)"
            ));
        }
        for (&pid, process) in &intake.processes {
            if let Err(error) = access_names::write(&mut intake.log, pid, process) {
                intake.failure.get_or_insert(error);
            }
        }
        if let Some(error) = intake.failure {
            notes.push(format!("accesses: they end before the program: {}", crate::error::describe(&error)));
        }
        if intake.processes.is_empty() {
            notes.push("accesses: no process of the program told of any".to_owned());
        }
        if intake.refused > 0 {
            notes.push(format!(
                "accesses: {} messages were refused: the program has another version of {LIBRARY}; link it anew",
                intake.refused
            ));
        }
        notes
    }
}

impl AccessIntake {
    fn receive(mut self, listener: OwnedFd, is_ending: &AtomicBool) -> AccessIntake {
        let mut connections: Vec<OwnedFd> = Vec::new();
        let mut message = vec![0; MESSAGE_BYTES];
        loop {
            let descriptors = std::iter::once(&listener).chain(&connections);
            let mut polled: Vec<libc::pollfd> = descriptors
                .map(|one| libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 })
                .collect();
            // SAFETY: as many descriptors as are said.
            let found = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, ROUND) };
            if found <= 0 {
                if is_ending.load(Ordering::Relaxed) {
                    return self;
                }
                continue;
            }
            let mut ended = Vec::new();
            for (index, connection) in connections.iter().enumerate() {
                if polled[index + 1].revents != 0 && !self.take(connection, &mut message) {
                    ended.push(index);
                }
            }
            ended.into_iter().rev().for_each(|index| drop(connections.swap_remove(index)));
            if polled[0].revents & libc::POLLIN != 0 {
                // SAFETY: a listening socket; the descriptor that it gives is ours.
                unsafe {
                    let (no_address, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
                    let one = libc::accept4(listener.as_raw_fd(), no_address, no_length, libc::SOCK_CLOEXEC);
                    if one >= 0 {
                        connections.push(OwnedFd::from_raw_fd(one));
                    }
                }
            }
        }
    }

    /// Takes one message; false where the process has ended, or nothing more can be written.
    fn take(&mut self, connection: &OwnedFd, message: &mut [u8]) -> bool {
        // SAFETY: the buffer is as long as is said.
        let count = unsafe {
            libc::recv(connection.as_raw_fd(), message.as_mut_ptr().cast(), message.len(), libc::MSG_DONTWAIT)
        };
        let Ok(count) = usize::try_from(count) else {
            return io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
        };
        if count == 0 {
            return false;
        }
        let message = &message[..count];
        let Some(header) = MessageHeader::decode(message).filter(|header| header.protocol == PROTOCOL) else {
            self.refused += 1;
            return true;
        };
        let process = self.processes.entry(header.pid).or_default();
        let bytes = count - 8 * header.places as usize;
        match header.kind {
            BLOCK => {
                let places = message[bytes..].chunks_exact(8);
                let code = places.filter_map(|place| place.try_into().ok()).map(u64::from_le_bytes);
                process.code.extend(code.map(|place| place & ((1 << 48) - 1)));
            }
            MAPS => {
                process.maps.extend(&message[longpole_access::format::HEADER_BYTES..]);
                return true;
            }
            SAMPLE => {}
            _ => return true,
        }
        match self.log.push_block(message) {
            Ok(()) => true,
            Err(error) => {
                self.failure.get_or_insert(error);
                false
            }
        }
    }
}

/// A socket with a name of its own.
fn listen() -> io::Result<(PathBuf, OwnedFd)> {
    let folder = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(caller_s).map(PathBuf::from);
    let mut refusal = io::Error::from(io::ErrorKind::NotFound);
    for folder in folder.chain([PathBuf::from("/tmp")]) {
        for attempt in 0..16 {
            let path = folder.join(format!("longpole-access-{}-{attempt}.socket", std::process::id()));
            match listen_at(&path) {
                Ok(listener) => return Ok((path, listener)),
                Err(error) => refusal = error,
            }
        }
    }
    Err(refusal)
}

fn listen_at(path: &Path) -> io::Result<OwnedFd> {
    /// Processes that can be about to connect.
    const BACKLOG: i32 = 128;
    let bytes = OsString::from(path);
    // SAFETY: a value of plain numbers; the calls are given what they are said to be given.
    unsafe {
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as u16;
        if bytes.len() >= address.sun_path.len() {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        for (room, &byte) in address.sun_path.iter_mut().zip(bytes.as_bytes()) {
            *room = byte.cast_signed();
        }
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let size = size_of::<libc::sockaddr_un>() as u32;
        if libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) != 0
            || libc::listen(socket.as_raw_fd(), BACKLOG) != 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(socket)
    }
}
