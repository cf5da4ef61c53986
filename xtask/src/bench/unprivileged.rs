//! Recording by a user who has no privilege: what is measured of the collector `process` is what such a user gets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::child::{Usage, measure};

/// longpole and a program, where everybody can run them.
pub struct Unprivileged {
    folder: PathBuf,
    longpole: PathBuf,
    program: PathBuf,
}

impl Unprivileged {
    /// Copies both to a folder in which everybody can write.
    pub fn prepare(longpole: &Path, program: &Path) -> Result<Unprivileged> {
        let folder = std::env::temp_dir().join(format!("longpole-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).context("create a folder for everybody")?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).context("open it for everybody")?;
        let copy = |file: &Path| -> Result<PathBuf> {
            let target = folder.join(file.file_name().context("name a program")?);
            fs::copy(file, &target).with_context(|| format!("copy {}", file.display()))?;
            Ok(target)
        };
        let (longpole, program) = (copy(longpole)?, copy(program)?);
        Ok(Unprivileged { folder, longpole, program })
    }

    /// Records the program as nobody if this is root, else as oneself.
    pub fn run(&self, argument: &str) -> Result<Usage> {
        // SAFETY: geteuid has no preconditions and cannot fail.
        let is_root = unsafe { libc::geteuid() } == 0;
        let mut command = if is_root { Command::new("setpriv") } else { Command::new(&self.longpole) };
        if is_root {
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all"]);
            command.arg(&self.longpole);
        }
        command
            .args(["record", "--force", "--collector", "process", "-o"])
            .arg(self.folder.join("bench.longpole"));
        measure(command.current_dir(&self.folder).arg("--").arg(&self.program).arg(argument))
    }
}

impl Drop for Unprivileged {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
