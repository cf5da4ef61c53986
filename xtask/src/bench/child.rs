//! Runs a program and takes its time, memory and output.

use std::io::Read;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// A finished run.
pub struct Usage {
    /// Elapsed time, seconds.
    pub seconds: f64,
    /// Largest resident memory, bytes, of the program itself or of any child it waited for.
    pub peak_bytes: u64,
    /// What it wrote to stdout.
    pub output: String,
}

impl Usage {
    /// The number after `key` in the output.
    pub fn number(&self, key: &str) -> Result<f64> {
        let line = self.output.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let text = line.with_context(|| format!("find {key} in: {}", self.output))?;
        text.trim().parse().with_context(|| format!("read {key} {text}"))
    }
}

/// Runs the command to its end, which must be a success.
pub fn measure(command: &mut Command) -> Result<Usage> {
    let begin = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start {command:?}"))?;
    let mut errors = child.stderr.take().expect("stderr is piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let mut output = String::new();
    child.stdout.take().expect("stdout is piped").read_to_string(&mut output).context("read stdout")?;
    let (status, peak_bytes) = wait(child.id())?;
    let seconds = begin.elapsed().as_secs_f64();
    let errors = reader.join().expect("the reader does not panic").unwrap_or_default();
    if !status.success() {
        bail!("run {command:?}: {status}\n{output}{errors}");
    }
    Ok(Usage { seconds, peak_bytes, output })
}

/// Waits for a child as `Child::wait` does, and takes its largest resident memory.
fn wait(pid: u32) -> Result<(ExitStatus, u64)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for the call; `pid` is a child that nobody else waits for.
    let result = unsafe { libc::wait4(pid.cast_signed(), &mut status, 0, usage.as_mut_ptr()) };
    if result < 0 {
        return Err(std::io::Error::last_os_error()).context("wait for a child");
    }
    // SAFETY: zero is a valid rusage, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), usage.ru_maxrss.cast_unsigned() * 1024))
}
