//! The programs of `programs/`, compiled for the commands that run them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::steps::{cargo, root, succeed};

/// Compiles `programs/NAME.c`, or `NAME.cpp` where there is none, with these flags beside those of every program; the
/// executable stands in `folder`.
pub fn build(folder: &Path, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let (mut source, program) = (root().join("programs").join(name).with_extension("c"), folder.join(name));
    let mut compiler = Command::new("gcc");
    if !source.exists() {
        source.set_extension("cpp");
        compiler = Command::new("g++");
    }
    succeed(compiler.args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source).args(flags))?;
    Ok(program)
}

/// Compiles `programs/go/NAME.go`; the executable stands in `folder`.
pub fn build_go(folder: &Path, name: &str) -> Result<PathBuf> {
    let (source, program) = (root().join("programs/go").join(name).with_extension("go"), folder.join(name));
    let mut compiler = Command::new("go");
    compiler.args(["build", "-o"]).arg(&program).arg(source);
    // The compiler keeps what it compiled, and never asks for another version of itself.
    compiler.env("GOCACHE", folder.join("cache")).env("GOFLAGS", "-mod=mod").env("GO111MODULE", "off");
    succeed(&mut compiler)?;
    Ok(program)
}

/// Builds the programs of `programs/crates/` into this target folder.
pub fn build_crates(target: &Path) -> Result<()> {
    let mut build =
        cargo(&["build", "--release", "--locked", "--manifest-path", "programs/crates/Cargo.toml"]);
    succeed(build.arg("--target-dir").arg(target))
}
