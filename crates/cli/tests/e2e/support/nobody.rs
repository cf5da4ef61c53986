//! A user without any privilege.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Recording, Run, Session, find, is_root, longpole};

const UID: &str = "65534";

/// The user nobody, with a copy of longpole and a folder of their own.
pub struct Nobody<'a> {
    session: &'a Session,
    setpriv: PathBuf,
    binary: PathBuf,
    home: PathBuf,
}

impl<'a> Nobody<'a> {
    /// Prepares the folder; an error is why nobody can do nothing here.
    pub fn in_session(session: &'a Session) -> Result<Nobody<'a>, String> {
        if !is_root() {
            return Err("giving up root needs root".into());
        }
        let setpriv = find("setpriv")?;
        // Where cargo keeps the binary, another user may not look.
        let binary = session.path().join("longpole");
        let home = session.path().join("home");
        if !home.exists() {
            fs::copy(longpole().get_program(), &binary).unwrap();
            fs::create_dir(&home).unwrap();
        }
        fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
        Ok(Nobody { session, setpriv, binary, home })
    }

    /// Whether the kernel lets users watch their own programs.
    pub fn may_have_perf_events() -> Result<(), String> {
        let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        match level.trim().parse::<i32>() {
            Ok(level) if level <= 2 => Ok(()),
            _ => Err(format!("perf_event_paranoid is {:?}", level.trim())),
        }
    }

    /// Their folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A command that runs as nobody, without capabilities.
    pub fn command<P: AsRef<OsStr>>(&self, program: P) -> Command {
        let mut command = Command::new(&self.setpriv);
        command.args(["--reuid", UID, "--regid", UID, "--clear-groups", "--inh-caps", "-all"]);
        command.arg(program.as_ref()).current_dir(&self.home).env("NO_COLOR", "1");
        command
    }

    /// `longpole` as nobody.
    pub fn longpole(&self) -> Command {
        self.command(&self.binary)
    }

    /// Runs a command of theirs to its end.
    pub fn run(&self, command: &mut Command) -> Run {
        self.session.run_elsewhere(command)
    }

    /// `longpole record` with these options.
    pub fn record<P: AsRef<OsStr>>(&self, options: &[&str], command: &[P]) -> Recording {
        let path = self.home.join("own.longpole");
        let mut record = self.longpole();
        record.args(["record", "--force", "-o"]).arg(&path).args(options).arg("--").args(command);
        let run = self.run(&mut record);
        let made = path.join("recording.json").is_file();
        assert!(made, "no recording; stdout:\n{}\nstderr:\n{}", run.stdout, run.stderr);
        Recording { path, run }
    }

    /// The session they are in.
    pub fn session(&self) -> &Session {
        self.session
    }
}

/// Has every `perf_event_open` of the command fail with this error, as containers do.
pub fn deny_perf_events(command: &mut Command, error: i32) {
    let allow = libc::SECCOMP_RET_ALLOW;
    let refuse = libc::SECCOMP_RET_ERRNO | error.cast_unsigned();
    let number = u32::try_from(libc::SYS_perf_event_open).unwrap();
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let filter = [
        // The number of the system call is the first word of what a filter sees.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: number,
        },
        statement(libc::BPF_RET | libc::BPF_K, refuse),
        statement(libc::BPF_RET | libc::BPF_K, allow),
    ];
    let install = move || {
        let program = libc::sock_fprog { len: 4, filter: filter.as_ptr().cast_mut() };
        // SAFETY: plain system calls; the kernel copies the program, which lives until they return.
        let result = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(install) };
}
