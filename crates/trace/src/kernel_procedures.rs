//! What the names of the kernel's procedures tell of a wait.

use crate::state::Cause;

/// Whether a kernel procedure on the stack of a blocked thread writes to a file, a pipe or a socket.
pub(crate) fn is_kernel_write(name: &str) -> bool {
    ["_write", "_send", "sendmsg"].iter().any(|part| name.contains(part))
}

/// What a kernel procedure on the stack of a blocked thread tells.
pub(crate) fn by_kernel_procedure(name: &str) -> Option<Cause> {
    const NAMES: &[(&str, Cause)] = &[
        ("futex_", Cause::Futex),
        ("__futex_", Cause::Futex),
        ("do_futex", Cause::Futex),
        ("pipe_", Cause::Pipe),
        ("anon_pipe_", Cause::Pipe),
        ("fifo_", Cause::Pipe),
        ("unix_", Cause::Socket),
        ("tcp_", Cause::Socket),
        ("udp_", Cause::Socket),
        ("inet_", Cause::Socket),
        ("sk_wait", Cause::Socket),
        ("__skb_wait", Cause::Socket),
        ("sock_", Cause::Socket),
        ("__sys_recv", Cause::Socket),
        ("__sys_send", Cause::Socket),
        ("__sys_accept", Cause::Socket),
        ("ep_poll", Cause::Poll),
        ("do_epoll_wait", Cause::Poll),
        ("do_poll", Cause::Poll),
        ("do_sys_poll", Cause::Poll),
        ("do_select", Cause::Poll),
        ("eventfd_", Cause::Poll),
        ("timerfd_", Cause::Timer),
        ("do_nanosleep", Cause::Sleep),
        ("hrtimer_nanosleep", Cause::Sleep),
        ("do_wait", Cause::Child),
        ("kernel_wait", Cause::Child),
        ("wait_for_vfork", Cause::Child),
        ("kernel_clone", Cause::Child),
        ("do_semtimedop", Cause::Semaphore),
        ("do_msg", Cause::Message),
        ("wq_sleep", Cause::Message),
        ("flock_", Cause::Lock),
        ("fcntl_setlk", Cause::Lock),
        ("sigsuspend", Cause::Signal),
        ("do_sigtimedwait", Cause::Signal),
        ("__x64_sys_pause", Cause::Signal),
        ("n_tty_", Cause::Terminal),
        ("do_signal_stop", Cause::Stopped),
        ("ptrace_stop", Cause::Stopped),
        ("exc_page_fault", Cause::PageFault),
        ("asm_exc_page_fault", Cause::PageFault),
        ("handle_mm_fault", Cause::PageFault),
        ("io_schedule", Cause::Io),
        ("folio_wait", Cause::Io),
        ("jbd2_", Cause::Io),
        ("ext4_", Cause::Io),
        ("xfs_", Cause::Io),
        ("btrfs_", Cause::Io),
        ("vfs_fsync", Cause::Io),
        ("do_fsync", Cause::Io),
        ("rwsem_down", Cause::Kernel),
        ("__mutex_lock", Cause::Kernel),
    ];
    NAMES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|&(_, cause)| cause)
}
