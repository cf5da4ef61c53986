//! The programs of `programs/`, compiled for the commands that run them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::steps::{root, succeed};

/// Compiles `programs/NAME.c` with these flags beside those of every program; the executable stands in `folder`.
pub fn build(folder: &Path, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let (source, program) = (root().join("programs").join(name).with_extension("c"), folder.join(name));
    let mut gcc = Command::new("gcc");
    succeed(gcc.args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source).args(flags))?;
    Ok(program)
}
