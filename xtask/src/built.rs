//! The program under test, built.

use std::path::PathBuf;

use anyhow::Result;

use crate::steps::{cargo, root, succeed};

/// How it is built.
#[derive(Clone, Copy, Debug)]
pub enum BuildProfile {
    /// As tests run it.
    Dev,
    /// As users have it.
    Release,
}

/// The folder of what is built.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), Into::into)
}

/// What cargo builds for the end-to-end tests, the binary under test included. It resolves the features of libraries for the targets
/// it is asked for; with these they are those of all the workspace's tests, so that no library is compiled twice.
pub const END_TO_END: [&str; 6] = ["--workspace", "--test", "e2e", "--bin", "xtask", "--locked"];

/// Builds longpole where it is not up to date; its path.
pub fn longpole(profile: BuildProfile) -> Result<PathBuf> {
    let (arguments, folder) = match profile {
        BuildProfile::Dev => ([&["test", "--no-run", "--quiet"], &END_TO_END[..]].concat(), "debug"),
        BuildProfile::Release => {
            (vec!["build", "--release", "--package", "longpole", "--locked", "--quiet"], "release")
        }
    };
    succeed(&mut cargo(&arguments))?;
    Ok(target().join(folder).join("longpole"))
}
