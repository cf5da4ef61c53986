//! The embedded BPF object is what its source gives.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::steps::{root, succeed};
use crate::tools::find;

/// Compiles the BPF programs again, where a clang is, and compares the code with the committed object.
pub fn check() -> Result<()> {
    let folder = root().join("crates/record/bpf");
    let source = folder.join("longpole.bpf.c");
    let committed = folder.join("longpole.bpf.o");
    if !source.exists() {
        bail!("find {}", source.display());
    }
    if find("clang").is_none() {
        eprintln!("    no clang here: the committed object is taken as it is");
        return Ok(());
    }
    let made = root().join("target/longpole.bpf.o");
    let mut clang = Command::new("clang");
    clang.args(["-g", "-O2", "-target", "bpf", "-c"]).arg(&source).arg("-o").arg(&made).current_dir(&folder);
    succeed(clang.stderr(Stdio::inherit()))?;
    let ours = std::fs::read(&committed).with_context(|| format!("read {}", committed.display()))?;
    let made = std::fs::read(&made).context("read the new object")?;
    if ours != made {
        bail!("find the committed object up to date; run the build of {} and commit it", source.display());
    }
    Ok(())
}
