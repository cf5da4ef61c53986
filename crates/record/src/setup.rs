//! What `longpole setup` does for the users of a machine: a file with capabilities beside the recorder's own.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use longpole_privileged::PRIVILEGED_FILE;

/// What the file holds.
pub(crate) static PRIVILEGED_CONTENTS: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/longpole-privileged"));

/// Capabilities that recording needs, by number and name (capability.h).
///
/// `cap_perfmon` and `cap_bpf` for the collectors, `cap_syslog` for the kernel's addresses.
pub const CAPABILITIES: &[(u32, &str)] = &[(34, "cap_syslog"), (38, "cap_perfmon"), (39, "cap_bpf")];

/// Whether a program's capabilities are in effect when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantedAtStart {
    /// It puts each into effect where it needs it.
    Permitted,
    /// All are.
    Effective,
}

/// The file of the privileged process of a recorder.
#[must_use]
pub fn privileged_file(recorder: &Path) -> PathBuf {
    recorder.with_file_name(PRIVILEGED_FILE)
}

/// Puts the file of the privileged process beside the recorder's, with capabilities. The same users may execute it, and root alone may
/// write it. The recorder itself has none any more.
///
/// # Errors
/// What the system said, of which file.
pub fn install(recorder: &Path) -> io::Result<PathBuf> {
    let file = privileged_file(recorder);
    let of = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"))
    };
    let metadata = fs::metadata(recorder).map_err(of(recorder))?;
    let new = file.with_extension("new");
    // What has been there, or a link to elsewhere, is not written to.
    let _ = fs::remove_file(&new);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&new)
        .and_then(|mut file| io::Write::write_all(&mut file, PRIVILEGED_CONTENTS))
        .and_then(|()| std::os::unix::fs::chown(&new, Some(0), Some(metadata.gid())))
        .and_then(|()| fs::set_permissions(&new, fs::Permissions::from_mode(metadata.mode() & 0o555 | 0o600)))
        .and_then(|()| grant(&new, GrantedAtStart::Permitted))
        .and_then(|()| fs::rename(&new, &file));
    written.inspect_err(|_| _ = fs::remove_file(&new)).map_err(of(&file))?;
    revoke(recorder).map_err(of(recorder))?;
    Ok(file)
}

/// Takes the capabilities of a file away.
fn revoke(file: &Path) -> io::Result<()> {
    let path = CString::new(file.as_os_str().as_bytes())?;
    // SAFETY: both texts end in a zero byte.
    let result = unsafe { libc::removexattr(path.as_ptr(), c"security.capability".as_ptr()) };
    let error = io::Error::last_os_error();
    if result == 0 || error.raw_os_error() == Some(libc::ENODATA) { Ok(()) } else { Err(error) }
}

/// Sets the file's capabilities (`struct vfs_cap_data`, revision 2).
///
/// # Errors
/// What the system said.
pub fn grant(binary: &Path, at_start: GrantedAtStart) -> io::Result<()> {
    const REVISION_2: u32 = 0x0200_0000;
    let mut permitted = [0_u32; 2];
    for &(number, _) in CAPABILITIES {
        permitted[(number / 32) as usize] |= 1 << (number % 32);
    }
    let effective = u32::from(at_start == GrantedAtStart::Effective);
    let words = [REVISION_2 | effective, permitted[0], 0, permitted[1], 0];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = CString::new(binary.as_os_str().as_bytes())?;
    // SAFETY: both strings end in a zero byte and the value's length is its own.
    let result = unsafe {
        libc::setxattr(path.as_ptr(), c"security.capability".as_ptr(), value.as_ptr().cast(), value.len(), 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has names of the kernel's addresses looked up through the privileged process, where this process may not see them itself.
pub fn use_privileged_names() {
    longpole_symbols::set_kernel_symbols(|| {
        // SAFETY: no arguments.
        let is_root = unsafe { libc::geteuid() } == 0;
        if is_root { None } else { longpole_privileged::kernel_symbols(PRIVILEGED_CONTENTS) }
    });
}
