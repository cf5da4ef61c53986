//! Where the kernel describes its tracepoints: tracefs, mounted if need be, or the copy that `longpole setup`
//! made for users who may not read it.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where `longpole setup` keeps the descriptions of the tracepoints for everyone.
pub const COPY: &str = "/var/lib/longpole/events";

/// File in [`COPY`] that names the kernel it was made under.
const KERNEL: &str = "kernel";

/// Tracepoints that collectors use.
const TRACEPOINTS: &[&str] = &["sched/sched_switch", "sched/sched_waking", "sched/sched_process_fork"];

/// Tracepoints that tell more, where the kernel has them (`CONFIG_FTRACE_SYSCALLS`).
const FURTHER: &[&str] = &["syscalls/sys_enter_futex", "syscalls/sys_exit_futex"];

const MOUNT_POINTS: &[&str] = &["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The folder with the tracepoints' descriptions: tracefs' `events`, mounted now if nobody did and this
/// process may, or else [`COPY`].
///
/// # Errors
/// Why neither can be read.
pub fn find() -> io::Result<PathBuf> {
    let readable = |folder: &Path| fs::read(folder.join(TRACEPOINTS[0]).join("id")).map(|_| ());
    let events = |point: &&str| Path::new(point).join("events");
    if let Some(found) = MOUNT_POINTS.iter().map(events).find(|folder| readable(folder).is_ok()) {
        return Ok(found);
    }
    if mount(c"/sys/kernel/tracing").is_ok() {
        let mounted = Path::new(MOUNT_POINTS[0]).join("events");
        readable(&mounted)?;
        return Ok(mounted);
    }
    let copy = PathBuf::from(COPY);
    readable(&copy)?;
    if fs::read(copy.join(KERNEL))? != fs::read("/proc/sys/kernel/osrelease")? {
        return Err(io::Error::other("the copy was made under another kernel: run `longpole setup` again"));
    }
    Ok(copy)
}

/// A tracepoint's identity, for `perf_event_attr.config`.
///
/// # Errors
/// Those of [`find`] and of reading; `InvalidData` when the file holds no number.
pub fn id(tracepoint: &str) -> io::Result<u64> {
    let text = fs::read_to_string(find()?.join(tracepoint).join("id"))?;
    text.trim().parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The kernel's description of a tracepoint's record.
///
/// # Errors
/// Those of [`find`] and of reading.
pub fn format(tracepoint: &str) -> io::Result<String> {
    fs::read_to_string(find()?.join(tracepoint).join("format"))
}

/// Copies the descriptions to where every user can read them; the number of tracepoints copied. The copy
/// holds for the running kernel only.
///
/// # Errors
/// Those of reading and writing the files.
pub fn copy_for_users() -> io::Result<usize> {
    let source = find()?;
    let has = |tracepoint: &&&str| source.join(tracepoint).join("id").exists();
    let further: Vec<&str> = FURTHER.iter().filter(has).copied().collect();
    for tracepoint in TRACEPOINTS.iter().chain(&further) {
        let target = Path::new(COPY).join(tracepoint);
        fs::create_dir_all(&target)?;
        for file in ["id", "format"] {
            fs::write(target.join(file), fs::read(source.join(tracepoint).join(file))?)?;
        }
    }
    fs::write(Path::new(COPY).join(KERNEL), fs::read("/proc/sys/kernel/osrelease")?)?;
    Ok(TRACEPOINTS.len() + further.len())
}

fn mount(point: &CStr) -> io::Result<()> {
    // SAFETY: all strings end in a zero byte; no data is passed.
    let result =
        unsafe { libc::mount(c"tracefs".as_ptr(), point.as_ptr(), c"tracefs".as_ptr(), 0, std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
