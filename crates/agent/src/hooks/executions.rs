//! Programs that the process executes: the agent goes along only where the loader will find it.
//!
//! A loader that does not find a library of `LD_PRELOAD` says so on the program's standard error. After a change of the
//! root folder or of the user, and among other mounts, the agent's file may be out of sight: so each execution looks
//! whether it is there, and else takes it out of the environment. A process whose system calls are filtered must not
//! look; the programs that it executes, under the same filter, go without the agent.
//!
//! The variable is cut short where it lies: no memory is needed, which a child of `vfork` could not give back. What
//! others have loaded stays. `execle` is not looked at: its environment comes after arguments of any number.

use core::ffi::{CStr, c_char, c_int, c_void};

use super::missing;
use crate::{hooks, memory, system};

/// The variable, and how the name of the agent's file begins.
const VARIABLE: &[u8] = b"LD_PRELOAD=";
const NAME: &[u8] = b"/longpole-agent-";
const LONGEST_PATH: usize = 512;

type Texts = *const *const c_char;
type EnvironmentPointer = *const *mut c_char;

/// Looks after an environment that a program is about to get.
pub fn before_execution(environment: EnvironmentPointer) {
    if environment.is_null() {
        return;
    }
    let mut at = environment;
    // SAFETY: an environment is an array of texts with a null pointer behind the last.
    while let Some(text) = unsafe { at.read().as_mut() } {
        // SAFETY: as above; a variable that names the agent was put together when the program was started.
        unsafe { look_after(core::ptr::from_mut(text)) };
        // SAFETY: the null pointer was not reached.
        at = unsafe { at.add(1) };
    }
}

fn before_execution_as_it_is() {
    unsafe extern "C" {
        static environ: EnvironmentPointer;
    }
    // SAFETY: reads one word, as libc itself will.
    before_execution(unsafe { environ });
}

/// Takes the agent out of this variable, if it is there and would not be found.
///
/// # Safety
/// A text that can be written where it names the agent.
unsafe fn look_after(variable: *mut c_char) {
    // SAFETY: the caller's.
    let bytes = unsafe { CStr::from_ptr(variable) }.to_bytes();
    let Some(value) = bytes.strip_prefix(VARIABLE) else { return };
    let length = value.iter().position(|&byte| byte == b':' || byte == b' ').unwrap_or(value.len());
    let path = &value[..length];
    if !path.windows(NAME.len()).any(|part| part == NAME) || is_found(path) {
        return;
    }
    let rest = (length + 1).min(value.len());
    // SAFETY: within the text, its end included.
    unsafe {
        let value = variable.add(VARIABLE.len());
        core::ptr::copy(value.add(rest), value, bytes.len() - VARIABLE.len() - rest + 1);
    }
}

fn is_found(path: &[u8]) -> bool {
    let mut text = [0; LONGEST_PATH];
    let Some(room) = text.get_mut(..path.len()).filter(|_| path.len() < LONGEST_PATH) else { return true };
    room.copy_from_slice(path);
    memory::may_call() && CStr::from_bytes_until_nul(&text).is_ok_and(system::is_readable)
}

hooks! {
    /// Executes a program.
    fn execve(path: *const c_char, arguments: Texts, environment: EnvironmentPointer) -> c_int, else missing(), |real| {
        before_execution(environment);
        unsafe { real(path, arguments, environment) }
    }

    /// The same for an open file.
    fn fexecve(descriptor: c_int, arguments: Texts, environment: EnvironmentPointer) -> c_int, else missing(), |real| {
        before_execution(environment);
        unsafe { real(descriptor, arguments, environment) }
    }

    /// The same for a path that begins at an open folder.
    fn execveat(folder: c_int, path: *const c_char, arguments: Texts, environment: EnvironmentPointer, flags: c_int) -> c_int, else missing(), |real| {
        before_execution(environment);
        unsafe { real(folder, path, arguments, environment, flags) }
    }

    /// Executes a program that is sought in `PATH`.
    fn execvpe(file: *const c_char, arguments: Texts, environment: EnvironmentPointer) -> c_int, else missing(), |real| {
        before_execution(environment);
        unsafe { real(file, arguments, environment) }
    }

    /// Executes a program with the environment as it is.
    fn execv(path: *const c_char, arguments: Texts) -> c_int, else missing(), |real| {
        before_execution_as_it_is();
        unsafe { real(path, arguments) }
    }

    /// Executes a program that is sought in `PATH`, with the environment as it is.
    fn execvp(file: *const c_char, arguments: Texts) -> c_int, else missing(), |real| {
        before_execution_as_it_is();
        unsafe { real(file, arguments) }
    }

    /// Executes a program in a new process.
    fn posix_spawn(
        pid: *mut libc::pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Texts,
        environment: EnvironmentPointer,
    ) -> c_int, else libc::ENOSYS, |real| {
        before_execution(environment);
        unsafe { real(pid, path, actions, attributes, arguments, environment) }
    }

    /// The same for a program that is sought in `PATH`.
    fn posix_spawnp(
        pid: *mut libc::pid_t, file: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: Texts,
        environment: EnvironmentPointer,
    ) -> c_int, else libc::ENOSYS, |real| {
        before_execution(environment);
        unsafe { real(pid, file, actions, attributes, arguments, environment) }
    }

    /// Runs a command in a shell and waits for its end.
    fn system(command: *const c_char) -> c_int, else missing(), |real| {
        before_execution_as_it_is();
        unsafe { real(command) }
    }

    /// Runs a command in a shell and reads or writes at its other end.
    fn popen(command: *const c_char, kind: *const c_char) -> *mut c_void, else core::ptr::null_mut(), |real| {
        before_execution_as_it_is();
        unsafe { real(command, kind) }
    }
}

/// Executes a program that is given with its arguments one by one: the hook changes no argument and goes on into the real
/// function as if it had never been there.
macro_rules! execute_listed {
    ($name:ident) => {
        /// Executes a program whose arguments are listed one by one, with the environment as it is.
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg(all(feature = "locks", not(test)))]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            extern "C" fn prepare() -> *mut c_void {
                #[unsafe(link_section = "longpole_real")]
                static REAL: crate::real::NextFunction =
                    crate::real::NextFunction::new(crate::real::text(concat!(stringify!($name), "\0")));
                before_execution_as_it_is();
                REAL.address()
            }
            // Six registers and the number of vector registers in use are the caller's arguments; with the return address
            // they make 64 bytes, and the stack is aligned at the call.
            core::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "push rax",
                "call {prepare}",
                "mov r11, rax",
                "pop rax",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "pop rbp",
                "jmp r11",
                prepare = sym prepare,
            )
        }
    };
}

execute_listed!(execl);
execute_listed!(execlp);

#[cfg(test)]
mod tests {
    use super::*;

    fn after(variable: &str) -> String {
        let mut text = [variable.as_bytes(), b"\0"].concat();
        before_execution([text.as_mut_ptr().cast(), core::ptr::null_mut()].as_ptr());
        CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn an_agent_that_is_not_there_is_taken_out_and_nothing_else() {
        let path = std::env::temp_dir().join(format!("longpole-agent-of-test-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let there = format!("LD_PRELOAD={}:/x.so", path.display());
        let found = after(&there);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found, there);
        assert_eq!(after("LD_PRELOAD=/none/longpole-agent-0-1.so"), "LD_PRELOAD=");
        assert_eq!(after("LD_PRELOAD=/none/longpole-agent-0-1.so:/x.so:/y.so"), "LD_PRELOAD=/x.so:/y.so");
        for others in
            ["LD_PRELOAD=/none/other.so", "LD_PRELOAD=", "PATH=/none/longpole-agent-0", "", "LD_PRELOA"]
        {
            assert_eq!(after(others), others);
        }
    }
}
