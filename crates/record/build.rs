//! Builds the agent, the library that is preloaded into recorded programs, so that it can be embedded.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chains of frame pointers go through the agent's frames, and unwinding passes them.
const FLAGS: &str = "-Cforce-frame-pointers=yes\u{1f}-Cforce-unwind-tables=yes";

fn main() {
    let crates = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for watched in [
        "agent/src",
        "agent/Cargo.toml",
        "ring/src",
        "ring/Cargo.toml",
        "../runtime/rust/src",
        "../runtime/rust/Cargo.toml",
    ] {
        println!("cargo:rerun-if-changed={}", crates.join(watched).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    for (features, name) in [("locks", "longpole-agent.so"), ("preload", "longpole-agent-mpi.so")] {
        build(&crates, &out, features, name);
    }
}

/// Builds the library with these features and puts it there under this name.
fn build(crates: &Path, out: &Path, features: &str, name: &str) {
    let target = out.join("agent");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", "agent", "--features", features])
        .arg("--locked")
        .arg("--manifest-path")
        .arg(crates.join("agent/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS);
    // What wraps the compiler for the workspace's own crates (lints, coverage) is not for the library.
    for wrapper in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(wrapper);
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the agent could not be built: {status}");
    let built = target.join("agent").join("liblongpole_agent.so");
    std::fs::copy(built, out.join(name)).expect("the built agent can be copied");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
