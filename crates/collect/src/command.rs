//! `cmd:COMMAND`: a program of the user's that prints values, one a line ([`LineReader`]).
//!
//! It is run by `sh` in a process group of its own, and is read without ever being waited for. At the end it is told to
//! end by `SIGTERM`, and killed when it has not after [`GRACE`]; so is everything that it has started, in its group or
//! not. Whatever it does, its status is asked for by its pid alone, and by nobody else.

mod family;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use longpole_event::Time;

use crate::clock;
use crate::examples::shown;
use crate::lines::LineReader;
use crate::sink::Sink;
use crate::source::SeriesSource;
use family::CommandProcesses;

/// Time to end in after `SIGTERM`.
const GRACE: Duration = Duration::from_millis(500);
/// Bytes that are read at a look at least, and at most, and in a second between them. More stays in the pipe, and the
/// command waits.
const LEAST_BYTES: f64 = 65_536.0;
const MOST_BYTES: f64 = 1_048_576.0;
const BYTES_A_SECOND: f64 = 8_388_608.0;
/// Bytes of its last words that are kept.
const LAST_WORDS: usize = 2048;

/// A command, and what came of it.
#[derive(Debug)]
pub(crate) struct CommandSource {
    family: CommandProcesses,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    lines: LineReader,
    /// Output that was read while it was ending.
    rest: Vec<u8>,
    last_words: Vec<u8>,
    looked: Time,
    status: Option<i32>,
    /// When it was told to end.
    ending: Option<Instant>,
    killed: bool,
    is_told: bool,
    cpu: Duration,
}

impl CommandSource {
    /// Starts the command, with these variables beside the recorder's own.
    pub(crate) fn start(text: &str, variables: &[(OsString, OsString)]) -> io::Result<CommandSource> {
        let mark = family::mark();
        let mut command = std::process::Command::new("/bin/sh");
        command.arg("-c").arg(text).process_group(0);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.env(family::VARIABLE, &mark);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec nothing but one system call is made.
        unsafe {
            command.pre_exec(|| {
                // A recorder that is killed cannot end its commands.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        output.iter().try_for_each(never_wait)?;
        errors.iter().try_for_each(never_wait)?;
        let now = clock::now();
        Ok(CommandSource {
            family: CommandProcesses::new(child.id(), mark),
            output,
            errors,
            lines: LineReader::new(now),
            rest: Vec::new(),
            last_words: Vec::new(),
            looked: now,
            status: None,
            ending: None,
            killed: false,
            is_told: false,
            cpu: Duration::ZERO,
        })
    }

    /// Asks for its status, without waiting.
    fn reap(&mut self) {
        if self.status.is_some() {
            return;
        }
        if let Some((status, cpu)) = self.family.reap() {
            self.status = Some(status);
            self.cpu = self.cpu.max(cpu);
        }
    }

    /// Reads what it has printed, at most so many bytes.
    fn read(&mut self, most: usize, take: &mut dyn FnMut(&mut CommandSource, &[u8])) {
        let Some(mut output) = self.output.take() else { return };
        let is_open = read_some(&mut output, most, &mut |bytes| take(self, bytes));
        self.output = is_open.then_some(output);
    }

    fn read_errors(&mut self) {
        let Some(errors) = &mut self.errors else { return };
        let words = &mut self.last_words;
        let is_open = read_some(errors, LEAST_BYTES as usize, &mut |bytes| {
            words.extend_from_slice(bytes);
            let before = words.len().saturating_sub(LAST_WORDS);
            words.drain(..before);
        });
        if !is_open {
            self.errors = None;
        }
    }

    /// What is to be said of its end, once.
    fn tell(&mut self, sink: &mut Sink<'_>) {
        let Some(status) = self.status else { return };
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        if self.killed {
            return sink.trouble("it did not end when it was told to (SIGTERM), and was killed");
        }
        let (is_exit, code) = (libc::WIFEXITED(status), libc::WEXITSTATUS(status));
        let how =
            if is_exit { format!("status {code}") } else { format!("signal {}", libc::WTERMSIG(status)) };
        let was_told = self.ending.is_some();
        // What ends by the signal that it was sent has done as it should, and a shell says so by 128 + 15.
        let term = libc::SIGTERM;
        let by_our_signal =
            was_told && (!is_exit && libc::WTERMSIG(status) == term || is_exit && code == 128 + term);
        if by_our_signal || was_told && is_exit && code == 0 {
            return;
        }
        let when = if was_told { "it ended" } else { "it ended before the program did" };
        let has_failed = !is_exit || code != 0;
        match self.last_line().filter(|_| has_failed) {
            Some(words) => sink.trouble(&format!("{when}: {how}, and it said `{words}`")),
            None => sink.trouble(&format!("{when}: {how}")),
        }
    }

    fn last_line(&self) -> Option<String> {
        let mut lines = self.last_words.split(|&byte| byte == b'\n').map(shown);
        lines.rfind(|line| !line.is_empty())
    }
}

impl SeriesSource for CommandSource {
    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        let moment = clock::moment();
        // Asked for before the output is read: what it printed before its end has been read then.
        self.reap();
        let passed = now.nanoseconds().saturating_sub(self.looked.nanoseconds()) as f64 / 1e9;
        self.looked = now;
        let most = (passed * BYTES_A_SECOND).clamp(LEAST_BYTES, MOST_BYTES) as usize;
        let had_output = self.output.is_some();
        let rest = std::mem::take(&mut self.rest);
        self.lines.take(&rest, moment, &mut |taken| sink.take(taken));
        self.read(most, &mut |this, bytes| this.lines.take(bytes, moment, &mut |taken| sink.take(taken)));
        self.read_errors();
        if had_output && self.output.is_none() || self.ending.is_some() && self.status.is_some() {
            self.lines.end(moment, &mut |taken| sink.take(taken));
        }
        self.tell(sink);
        Ok(())
    }

    fn cpu_elsewhere(&self) -> Duration {
        self.cpu
    }

    fn ending(&mut self) {
        self.reap();
        self.cpu += self.family.cpu();
        self.ending = Some(Instant::now());
        self.family.signal(libc::SIGTERM);
    }

    fn stop(&mut self) {
        let told = *self.ending.get_or_insert_with(Instant::now);
        loop {
            // What it prints at its end is read, lest it wait for a reader.
            let room = (MOST_BYTES as usize).saturating_sub(self.rest.len());
            self.read(room, &mut |this, bytes| this.rest.extend_from_slice(bytes));
            self.read_errors();
            self.reap();
            if self.status.is_some() && !self.family.is_alive() {
                return;
            }
            if told.elapsed() >= GRACE {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.killed = true;
        self.family.kill();
        // The kernel ends a killed process soon; one that hangs in a device is left to it.
        let until = Instant::now() + GRACE / 2;
        while self.status.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
            self.reap();
        }
        self.status.get_or_insert(libc::SIGKILL);
    }
}

impl Drop for CommandSource {
    fn drop(&mut self) {
        if self.ending.is_none() {
            self.family.kill();
            self.stop();
        }
    }
}

fn never_wait(end: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: plain system calls on a descriptor of ours. The writing end is another description and goes on waiting.
    let failed = unsafe {
        let flags = libc::fcntl(end.as_raw_fd(), libc::F_GETFL);
        flags < 0 || libc::fcntl(end.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads what is there, at most so many bytes; false when nothing will come any more.
fn read_some(from: &mut impl Read, most: usize, take: &mut dyn FnMut(&[u8])) -> bool {
    let mut buffer = [0; 16_384];
    let mut left = most;
    while left > 0 {
        let room = buffer.len().min(left);
        match from.read(&mut buffer[..room]) {
            Ok(0) => return false,
            Ok(count) => {
                take(&buffer[..count]);
                left -= count;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
    true
}
