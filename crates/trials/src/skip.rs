//! A program in which a procedure returns at once: true zeroing without a rebuilt program.
//!
//! ```text
//!   start ──► stopped at its execution (ptrace) ──► the procedure's first bytes become "return 0" ──► goes on, untraced
//! ```
//! Nothing of longpole is in the program while it runs, and what is not skipped keeps its code. Programs that this one executes are
//! unchanged. Copies of the procedure that the compiler put into its callers (inlining) stay as they are.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use object::Object;

use crate::procedures::{code_of, executed, is_named};

/// `xor eax, eax; ret`
#[cfg(target_arch = "x86_64")]
const RETURN: &[u8] = &[0x31, 0xc0, 0xc3];
/// `mov x0, #0; ret`
#[cfg(target_arch = "aarch64")]
const RETURN: &[u8] = &[0x00, 0x00, 0x80, 0xd2, 0xc0, 0x03, 0x5f, 0xd6];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const RETURN: &[u8] = &[];

/// Type of the auxiliary value that holds the entry point.
const AT_ENTRY: u64 = 9;

/// Why a procedure cannot be skipped.
#[derive(Debug, thiserror::Error)]
pub enum SkipError {
    /// The program's file cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Error,
    },
    /// It is no ELF file.
    #[error("find procedures in {}: it is no program with symbols, such as a script", path.display())]
    NoProgram {
        /// Which.
        path: PathBuf,
    },
    /// No procedure has the name.
    #[error("find `{name}` in {}: it is inlined everywhere, belongs to a library, or the file has no symbols", path.display())]
    NoProcedure {
        /// As it was asked for.
        name: String,
        /// Where.
        path: PathBuf,
    },
    /// Several have it.
    #[error("skip `{name}`: {count} procedures have this name")]
    Ambiguous {
        /// As it was asked for.
        name: String,
        /// How many.
        count: usize,
    },
    /// It is shorter than an instruction that returns.
    #[error("skip `{name}`: its code is too short, or this processor is not supported")]
    TooShort {
        /// As it was asked for.
        name: String,
    },
}

/// Where the code of a procedure is that is to be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedProcedure {
    /// Its address in the program's file.
    address: u64,
    /// That of the program's entry point.
    entry: u64,
}

impl SkippedProcedure {
    /// The procedure of this name, plain or as C++ and Rust write it, in the program that a command of this name executes.
    ///
    /// # Errors
    /// [`SkipError`].
    pub fn find(program: &OsStr, name: &str) -> Result<SkippedProcedure, SkipError> {
        let path = executed(program);
        let bytes = fs::read(&path).map_err(|source| SkipError::Unreadable { path: path.clone(), source })?;
        let file =
            object::File::parse(bytes.as_slice()).map_err(|_| SkipError::NoProgram { path: path.clone() })?;
        let mut found = code_of(&file, |symbol| is_named(symbol, name));
        found.dedup_by_key(|own| own.0);
        match found[..] {
            [] => Err(SkipError::NoProcedure { name: name.to_owned(), path }),
            [(_, size)] if RETURN.is_empty() || size < RETURN.len() as u64 => {
                Err(SkipError::TooShort { name: name.to_owned() })
            }
            [(address, _)] => Ok(SkippedProcedure { address, entry: file.entry() }),
            _ => Err(SkipError::Ambiguous { name: name.to_owned(), count: found.len() }),
        }
    }

    /// Starts the command with the procedure skipped.
    pub(crate) fn start(&self, command: &mut Command) -> Result<Child, Error> {
        let traced = || {
            // SAFETY: a plain system call, safe after fork.
            match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
                -1 => Err(Error::last_os_error()),
                _ => Ok(()),
            }
        };
        // SAFETY: the closure makes one system call, and allocates nothing.
        unsafe { command.pre_exec(traced) };
        let mut child = command.spawn()?;
        let pid = child.id().cast_signed();
        let changed = wait_for_execution(pid).and_then(|()| self.change(pid));
        // SAFETY: plain system calls on a child that is stopped, or gone.
        let detached = unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) };
        let detached = if detached == -1 { Err(Error::last_os_error()) } else { Ok(()) };
        if let Err(error) = changed.and(detached) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(child)
    }

    /// Makes the procedure of a stopped process return at once.
    fn change(&self, pid: i32) -> Result<(), Error> {
        let auxiliary = fs::read(format!("/proc/{pid}/auxv"))?;
        let (words, _) = auxiliary.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let entry = words.chunks(2).find(|pair| pair[0] == AT_ENTRY).and_then(|pair| pair.get(1));
        let entry = entry.ok_or_else(|| Error::new(ErrorKind::NotFound, "no entry point is known"))?;
        let address = self.address.wrapping_add(entry.wrapping_sub(self.entry));
        let memory = File::options().write(true).open(format!("/proc/{pid}/mem"))?;
        memory.write_all_at(RETURN, address)
    }
}

/// Waits until the traced child is stopped at its execution.
fn wait_for_execution(pid: i32) -> Result<(), Error> {
    let mut status = 0;
    // SAFETY: the pointer is to a value that outlives the call.
    if unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
        return Err(Error::last_os_error());
    }
    if libc::WIFSTOPPED(status) { Ok(()) } else { Err(Error::other("it ended before it began")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::wait;
    use std::time::Instant;

    #[test]
    fn a_procedure_that_is_skipped_returns_nothing_and_does_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("p.c"), folder.path().join("p"));
        fs::write(&source, "int f(void);\nint main(void) { return f(); }\n").unwrap();
        let other = folder.path().join("f.c");
        fs::write(&other, "volatile int x; int f(void) { for (int i = 0; i < 1000; i++) x++; return 7; }\n")
            .unwrap();
        let Ok(built) = Command::new("cc").arg("-o").args([&program, &source, &other]).status() else {
            println!("skipped: no compiler");
            return;
        };
        assert!(built.success());
        let status = |skipped: Option<SkippedProcedure>| {
            let mut command = Command::new(&program);
            let begin = Instant::now();
            let child = match skipped {
                Some(procedure) => procedure.start(&mut command).unwrap(),
                None => command.spawn().unwrap(),
            };
            wait(&command, &child, begin).unwrap().1
        };
        assert_eq!(status(None), 7 << 8);
        assert_eq!(status(Some(SkippedProcedure::find(program.as_os_str(), "f").unwrap())), 0);
        let missing = SkippedProcedure::find(program.as_os_str(), "g").unwrap_err().to_string();
        assert!(missing.contains("inlined everywhere"), "{missing}");
        assert!(matches!(SkippedProcedure::find(source.as_os_str(), "f"), Err(SkipError::NoProgram { .. })));
    }
}
