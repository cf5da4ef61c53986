//! A process without any rights that holds the agents' memory open for the program.
//!
//! The kernel lets a process open descriptors of another one through `/proc` only if it has all of that one's capabilities
//! and that one may leave a core file. A recorder with capabilities (`longpole setup`) fails both for its own program. So
//! this binary is run once more, without new privileges and with nothing open but that memory; it ends with the recorder.
//!
//! ```text
//!   recorder (capabilities)     keeper (none)        program
//!        memory ───────────────► descriptor 1 ◄─────── /proc/KEEPER/fd/1
//!        pipe ─────────────────► descriptor 0: at its end the keeper ends
//! ```

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The argument that makes the `longpole` binary be the keeper.
pub const KEEPER_ARGUMENT: &str = "hold-memory";

/// What the binary does with [`KEEPER_ARGUMENT`]: nothing, until the recorder is gone.
pub fn hold_memory() {
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
}

/// Gives up all capabilities of this process, and those that the binary's execution would give it again.
fn drop_capabilities() -> io::Result<()> {
    /// `struct __user_cap_header_struct`: the version whose masks have two words each, and this process.
    const HEADER: [u32; 2] = [0x2008_0522, 0];
    let (header, none) = (HEADER, [0_u32; 6]);
    // SAFETY: the header is followed by two sets of three words, as its version says.
    let status = unsafe {
        match libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) {
            0 => libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            _ => -1,
        }
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The keeper, while the recorder lives.
#[derive(Debug)]
pub(super) struct Keeper(Child);

impl Keeper {
    /// Starts it, where programs of the same user could not open this process's descriptors.
    pub(super) fn where_needed(memory: BorrowedFd<'_>) -> Option<Keeper> {
        // SAFETY: no memory is passed.
        let is_open = unsafe { libc::prctl(libc::PR_GET_DUMPABLE) } == 1;
        if is_open { None } else { Keeper::start(memory).ok() }
    }

    fn start(memory: BorrowedFd<'_>) -> io::Result<Keeper> {
        let memory = memory.as_fd().try_clone_to_owned()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(KEEPER_ARGUMENT).env_clear().stdin(Stdio::piped()).stdout(memory).stderr(Stdio::null());
        let confine = || {
            // Signals of the terminal are not for it.
            // SAFETY: no memory is passed.
            unsafe { libc::setsid() };
            drop_capabilities()
        };
        // SAFETY: the closure makes system calls only.
        Ok(Keeper(unsafe { command.pre_exec(confine) }.spawn()?))
    }

    /// A path under which every process of the same user can open the memory.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/1", self.0.id())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn it_is_not_needed_where_descriptors_can_be_opened() {
        let file = fs::File::open("/proc/self/exe").unwrap();
        // SAFETY: no memory is passed.
        let is_open = unsafe { libc::prctl(libc::PR_GET_DUMPABLE) } == 1;
        assert_eq!(Keeper::where_needed(file.as_fd()).is_none(), is_open);
        let own = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        assert!(!is_open || fs::File::open(own).is_ok());
    }
}
