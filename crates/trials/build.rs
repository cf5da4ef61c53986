//! Builds the library that delays procedures of programs, so that it can be embedded.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The unwinder passes the library's frames.
const FLAGS: &str = "-Cforce-frame-pointers=yes\u{1f}-Cforce-unwind-tables=yes";

fn main() {
    let library = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../delay");
    for watched in ["src", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", library.join(watched).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    let target = out.join("delay");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", "agent", "--features", "preload"])
        .arg("--locked")
        .arg("--manifest-path")
        .arg(library.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS);
    // What wraps the compiler for the workspace's own crates (lints, coverage) is not for the library.
    for wrapper in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(wrapper);
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the library could not be built: {status}");
    std::fs::copy(target.join("agent").join("liblongpole_delay.so"), out.join("longpole-delay.so"))
        .expect("the built library can be copied");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
