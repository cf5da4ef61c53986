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

/// Builds longpole where it is not up to date; its path.
pub fn longpole(profile: BuildProfile) -> Result<PathBuf> {
    let (option, folder): (&[&str], _) = match profile {
        BuildProfile::Dev => (&[], "debug"),
        BuildProfile::Release => (&["--release"], "release"),
    };
    succeed(cargo(&["build", "--package", "longpole", "--locked", "--quiet"]).args(option))?;
    Ok(target().join(folder).join("longpole"))
}
