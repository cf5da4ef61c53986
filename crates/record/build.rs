//! Builds what is embedded: the libraries that are loaded into recorded programs (the agent, and the one of programs that are
//! instrumented for their accesses), and the program that has capabilities after `longpole setup`. Makes the readers of what
//! the kernel programs write.

mod record_layouts;

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
        "access/src",
        "access/Cargo.toml",
        "emulate/src",
        "emulate/Cargo.toml",
        "privileged/src",
        "privileged/Cargo.toml",
        "record/bpf/longpole.bpf.o",
        "record/record_layouts.rs",
        "record/bpf/records.h",
        "ring/src",
        "ring/Cargo.toml",
        "../runtime/rust/src",
        "../runtime/rust/Cargo.toml",
    ] {
        println!("cargo:rerun-if-changed={}", crates.join(watched).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    for (features, name) in [("locks", "longpole-agent.so"), ("preload", "longpole-agent-mpi.so")] {
        build(&crates, &out, ("agent", features), name);
    }
    build(&crates, &out, ("access", "runtime"), "liblongpole-access.so");
    build(&crates, &out, ("emulate", "plugin"), "longpole-emulate.so");
    build_program(&crates, &out);
    let header =
        std::fs::read_to_string(crates.join("record/bpf/records.h")).expect("the header can be read");
    std::fs::write(out.join("record_layouts.rs"), record_layouts::readers_of(&header))
        .expect("the readers can be written");
}

/// Builds the library with these features and puts it there under this name.
fn build(crates: &Path, out: &Path, (library, features): (&str, &str), name: &str) {
    let target = out.join("agent");
    // Programs are linked with the second one: the loader knows it by its name, wherever the file is.
    let flags = match library {
        "access" => format!("{FLAGS}\u{1f}-Clink-arg=-Wl,-soname,{name}"),
        _ => FLAGS.to_owned(),
    };
    let arguments = ["rustc", "--lib", "--crate-type", "cdylib", "--features", features];
    run(&arguments, &crates.join(library), &target, &flags);
    let built = target.join("agent").join(format!("liblongpole_{library}.so"));
    std::fs::copy(built, out.join(name)).expect("the built library can be copied");
}

/// Builds the privileged process's program.
fn build_program(crates: &Path, out: &Path) {
    let target = out.join("privileged");
    run(&["build", "--bin", "longpole-privileged"], &crates.join("privileged"), &target, "-Cstrip=symbols");
    let built = target.join("agent").join("longpole-privileged");
    std::fs::copy(built, out.join("longpole-privileged")).expect("the built program can be copied");
}

/// Runs cargo on a package, with the profile of what is embedded.
fn run(arguments: &[&str], package: &Path, target: &Path, flags: &str) {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(arguments)
        .args(["--profile", "agent", "--locked", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags);
    // What wraps the compiler for the workspace's own crates (lints, coverage) is not for what is embedded.
    for wrapper in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(wrapper);
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "{} could not be built: {status}", package.display());
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
