//! Starts the program that is recorded, in an order that types force.
//!
//! ```text
//! Command::find ──► Suspended::launch ──► (collectors are opened) ──► resume ──► Running ──► wait
//! ```
//! The child is forked first and waits on a pipe before it executes the program, so that collectors can be
//! opened on it. Until then it ends when the recorder ends (its pipe closes); afterwards it outlives it.
//! Terminal, standard streams, process group and signal dispositions are those of the recorder's caller.

mod environment;

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use environment::Environment;
pub use environment::EnvironmentVariable;
pub(crate) use environment::caller_s;

/// Why a program did not start; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No such program. A shell ends with status 127 then.
    #[error("run {}: there is no such program", program.display())]
    NotFound {
        /// As given.
        program: PathBuf,
    },
    /// The file is there but cannot be executed. A shell ends with status 126 then.
    #[error("run {}", program.display())]
    NotExecutable {
        /// As given.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The system has no room for another process, or the like.
    #[error("start a process")]
    System(#[from] io::Error),
}

/// A program that was found, with its arguments.
#[derive(Clone, Debug)]
pub struct ProgramCommand {
    program: PathBuf,
    file: CString,
    arguments: Vec<CString>,
}

impl ProgramCommand {
    /// Looks the program up as a shell does: a name with a slash is a path, others are sought in `PATH`.
    ///
    /// # Errors
    /// [`LaunchError::NotFound`], [`LaunchError::NotExecutable`].
    pub fn find(command: &[OsString]) -> Result<ProgramCommand, LaunchError> {
        let program = PathBuf::from(command.first().map(OsString::as_os_str).unwrap_or_default());
        let not_found = || LaunchError::NotFound { program: program.clone() };
        let mut refused = None;
        for candidate in candidates(program.as_os_str()) {
            match is_executable(&candidate) {
                Ok(()) => {
                    let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| not_found());
                    let arguments =
                        command.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?;
                    let file = text(candidate.as_os_str())?;
                    return Ok(ProgramCommand { program, file, arguments });
                }
                Err(error) if is_absence(&error) => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(match refused {
            Some(source) => LaunchError::NotExecutable { program, source },
            None => not_found(),
        })
    }

    /// The file that will be executed.
    #[must_use]
    pub fn file(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.file.as_bytes()))
    }
}

fn candidates(program: &OsStr) -> Vec<PathBuf> {
    if program.is_empty() {
        return Vec::new();
    }
    if program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|folder| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
        .map(|folder| folder.join(program))
        .collect()
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

fn is_executable(path: &Path) -> io::Result<()> {
    let is_folder = std::fs::metadata(path)?.is_dir();
    if is_folder {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let path =
        CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::ENOENT))?;
    // SAFETY: the path is a terminated string.
    match unsafe { libc::access(path.as_ptr(), libc::X_OK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A child that waits before it executes the program. Dropped, it ends without having run it.
#[derive(Debug)]
pub struct Suspended {
    program: PathBuf,
    child: Running,
    go: OwnedFd,
    /// The child writes the error number here if it cannot execute; closed by a successful execution.
    failure: OwnedFd,
}

impl Suspended {
    /// Forks the child.
    ///
    /// # Errors
    /// [`LaunchError::System`].
    pub fn launch(command: &ProgramCommand) -> Result<Suspended, LaunchError> {
        let (wait, go) = pipe()?;
        let (failure, report) = pipe()?;
        let mut arguments: Vec<_> = command.arguments.iter().map(|text| text.as_ptr()).collect();
        arguments.push(std::ptr::null());
        let mut shell: Vec<_> = vec![c"sh".as_ptr(), command.file.as_ptr()];
        shell.extend(&arguments[1..]);
        let mut child = ChildSetup {
            environment: Environment::of_caller(),
            wait: wait.as_raw_fd(),
            go: go.as_raw_fd(),
            report: report.as_raw_fd(),
            file: command.file.as_ptr(),
            arguments: arguments.as_ptr(),
            shell: shell.as_ptr(),
        };
        // SAFETY: the child calls only functions that are safe after a fork of a program with threads.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error().into()),
            // SAFETY: this is the child; everything it points to was made before the fork.
            0 => unsafe { child.run() },
            _ => {
                let child = Running::adopt(u32::try_from(pid).expect("a pid is positive"), true)?;
                Ok(Suspended { program: command.program.clone(), child, go, failure })
            }
        }
    }

    /// Its pid, which is its tid too.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid
    }

    /// Lets the child execute the program with these variables beside the caller's, and waits until it did.
    ///
    /// # Errors
    /// [`LaunchError::NotFound`], [`LaunchError::NotExecutable`] if the system refuses it.
    pub fn resume(self, variables: &[EnvironmentVariable]) -> Result<Running, LaunchError> {
        let Suspended { program, mut child, go, failure } = self;
        let message = environment::message(variables).unwrap_or_else(|| vec![0; 4]);
        // SAFETY: writes a valid buffer to an open descriptor. A pipe takes this much at once.
        unsafe { libc::write(go.as_raw_fd(), message.as_ptr().cast(), message.len()) };
        let mut number = Vec::new();
        std::fs::File::from(failure).read_to_end(&mut number)?;
        let Ok(number) = <[u8; 4]>::try_from(number) else { return Ok(child) };
        child.wait()?;
        let source = io::Error::from_raw_os_error(i32::from_ne_bytes(number));
        Err(if source.raw_os_error() == Some(libc::ENOENT) && !Path::new(&program).exists() {
            LaunchError::NotFound { program }
        } else {
            LaunchError::NotExecutable { program, source }
        })
    }
}

/// What the child needs after the fork.
struct ChildSetup {
    environment: Environment,
    wait: RawFd,
    go: RawFd,
    report: RawFd,
    file: *const libc::c_char,
    arguments: *const *const libc::c_char,
    shell: *const *const libc::c_char,
}

impl ChildSetup {
    /// Waits for the word, then becomes the program.
    ///
    /// # Safety
    /// Only in a forked child; the pointers have to be valid.
    unsafe fn run(&mut self) -> ! {
        // SAFETY: only calls that are safe between fork and exec, on values made before the fork.
        unsafe {
            // The child has to be the only one without the writing end, or it would not see it closed.
            libc::close(self.go);
            let Some(environment) = self.environment.receive(self.wait) else { libc::_exit(0) };
            // The Rust runtime ignores this signal in the recorder; programs expect it to end them.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::execve(self.file, self.arguments, environment);
            if *libc::__errno_location() == libc::ENOEXEC {
                libc::execve(c"/bin/sh".as_ptr(), self.shell, environment);
            }
            let number = *libc::__errno_location();
            libc::write(self.report, (&raw const number).cast(), size_of::<i32>());
            libc::_exit(127)
        }
    }
}

/// A process that runs: our child, or one we are attached to.
#[derive(Debug)]
pub struct Running {
    pid: u32,
    descriptor: OwnedFd,
    is_child: bool,
    status: Option<ExitStatus>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It is not our child: that it ended is all we know.
    Unknown,
}

impl Running {
    /// A process that runs already.
    ///
    /// # Errors
    /// `ESRCH` if there is none.
    pub fn attach(pid: u32) -> io::Result<Running> {
        Running::adopt(pid, false)
    }

    fn adopt(pid: u32, is_child: bool) -> io::Result<Running> {
        // SAFETY: a plain system call.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let descriptor = RawFd::try_from(descriptor).unwrap_or(-1);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Running { pid, descriptor, is_child, status: None })
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Becomes readable when the process ends.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Passes a signal on.
    pub fn signal(&self, signal: i32) {
        // SAFETY: a plain system call on our own descriptor; a process that has ended is no harm.
        unsafe {
            let none = std::ptr::null::<libc::siginfo_t>();
            libc::syscall(libc::SYS_pidfd_send_signal, self.descriptor.as_raw_fd(), signal, none, 0);
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = if self.is_child { wait_for_child(self.pid)? } else { ExitStatus::Unknown };
        self.status = Some(status);
        Ok(status)
    }
}

fn wait_for_child(pid: u32) -> io::Result<ExitStatus> {
    let pid = libc::pid_t::try_from(pid).expect("a pid fits");
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one int through the pointer.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(if libc::WIFSIGNALED(status) {
        ExitStatus::Signal(libc::WTERMSIG(status))
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    })
}

/// A pipe whose ends are closed by an execution: (reading end, writing end).
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors into the array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made these descriptors.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn run(command: &[&str]) -> Result<ExitStatus, LaunchError> {
        let command: Vec<_> = command.iter().map(OsString::from).collect();
        let suspended = Suspended::launch(&ProgramCommand::find(&command)?)?;
        Ok(suspended.resume(&[])?.wait()?)
    }

    fn script(text: &str, mode: u32) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let path = path.to_str().unwrap().to_owned();
        (folder, path)
    }

    #[test]
    fn the_status_and_the_signal_come_back() {
        assert_eq!(run(&["true"]).unwrap(), ExitStatus::Code(0));
        assert_eq!(run(&["sh", "-c", "exit 42"]).unwrap(), ExitStatus::Code(42));
        assert_eq!(run(&["sh", "-c", "kill -9 $$"]).unwrap(), ExitStatus::Signal(9));
    }

    #[test]
    fn a_missing_program_and_one_that_cannot_run_are_told_apart() {
        assert!(matches!(run(&["no-such-program-anywhere"]), Err(LaunchError::NotFound { .. })));
        assert!(matches!(run(&["/no/such/program"]), Err(LaunchError::NotFound { .. })));
        assert!(matches!(run(&["/"]), Err(LaunchError::NotExecutable { .. })));
        let (_folder, plain) = script("text", 0o644);
        assert!(matches!(run(&[&plain]), Err(LaunchError::NotExecutable { .. })));
        let (_folder, broken) = script("#!/no/such/interpreter\n", 0o755);
        assert!(matches!(run(&[&broken]), Err(LaunchError::NotExecutable { .. })));
    }

    #[test]
    fn a_script_without_a_first_line_runs_in_a_shell() {
        let (_folder, path) = script("exit $1\n", 0o755);
        assert_eq!(run(&[&path, "7"]).unwrap(), ExitStatus::Code(7));
    }

    #[test]
    fn a_suspended_child_ends_without_running_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ran");
        let command = [OsString::from("touch"), mark.clone().into()];
        let Suspended { mut child, go, .. } =
            Suspended::launch(&ProgramCommand::find(&command).unwrap()).unwrap();
        drop(go);
        assert_eq!(child.wait().unwrap(), ExitStatus::Code(0));
        assert!(!mark.exists());
    }
}
