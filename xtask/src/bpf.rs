//! The embedded BPF object is what its source gives.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::{root, succeed};
use crate::tools::find;

/// Compares the hashes of the sources with those kept when the object was made; and, where clang is here,
/// compiles them again. The bytes must be equal only if it is the clang that made the object.
pub fn check() -> Result<()> {
    let folder = root().join("crates/record/bpf");
    succeed(Command::new("sha256sum").args(["--check", "--quiet", "sources.sha256"]).current_dir(&folder))
        .context("find the BPF object up to date; run crates/record/bpf/build.sh and commit what it makes")?;
    if find("clang").is_none() {
        eprintln!("    no clang here: the sources have the hashes kept with the object, and that is all");
        return Ok(());
    }
    fs::create_dir_all(root().join("target")).context("create the target folder")?;
    let made = root().join("target/longpole.bpf.o");
    succeed(Command::new(folder.join("build.sh")).arg(&made))?;
    let committed = fs::read(folder.join("longpole.bpf.o")).context("read the committed BPF object")?;
    let made = fs::read(&made).context("read the new BPF object")?;
    let version = Command::new("clang").arg("--version").output().context("ask clang for its version")?;
    let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_owned();
    let is_made_by_this = committed.windows(version.len().max(1)).any(|bytes| bytes == version.as_bytes());
    if !is_made_by_this {
        eprintln!(
            "    another clang made the object: this one ({version}) compiles the sources, and that is all"
        );
    } else if committed != made {
        bail!(
            "find the committed BPF object equal to a new one; run crates/record/bpf/build.sh and commit it"
        );
    }
    Ok(())
}
