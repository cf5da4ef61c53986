//! Builds the programs of `programs/`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's folder of programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

/// Builds one file of `programs/` into `folder`, by the compiler its ending asks for. `flags` come after
/// the usual ones (`-O2 -g`). `Err` where that compiler is missing.
pub fn build(folder: &Path, source: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let (stem, ending) = source.split_once('.').expect("a source has an ending");
    let program = folder.join(stem);
    let compiler = match ending {
        "c" => "gcc",
        "cpp" => "g++",
        "rs" => "rustc",
        _ => panic!("no compiler for {source}"),
    };
    let mut command = Command::new(find(compiler)?);
    match ending {
        "rs" => command.args(["--edition", "2024", "-O", "-g"]),
        _ => command.args(["-O2", "-g", "-pthread"]),
    };
    command.arg(programs().join(source)).arg("-o").arg(&program).args(flags);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(program)
}

/// The path of a program, on the PATH or where Debian keeps PostgreSQL's.
pub fn find(program: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let found = folders.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{program} is not installed"))
}
