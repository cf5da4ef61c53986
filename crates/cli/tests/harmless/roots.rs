//! Programs that go where the agent's file is not: nothing is said of it on their standard error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_testkit::skipped;

use crate::run::{assert_same, build, run};

/// Puts a program, and the libraries and the loader that it needs, into another root.
fn install(program: &Path, into: &Path, root: &Path) {
    let libraries = run(Command::new("ldd").arg(program)).stdout;
    let libraries = libraries.split_whitespace().filter(|word| word.starts_with('/'));
    let copy = |from: &Path, to: PathBuf| {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    for library in libraries {
        copy(Path::new(library), root.join(&library[1..]));
    }
    copy(program, root.join(into));
}

#[test]
fn executions_in_another_root() {
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return skipped("only root can change its root");
    }
    let root = tempfile::tempdir().unwrap();
    install(&build("plain.c"), Path::new("plain"), root.path());
    install(Path::new("/bin/sh"), Path::new("bin/sh"), root.path());
    assert_same(&build("roots.c"), &[root.path().to_str().unwrap()]);
}

#[test]
fn a_sandbox_without_the_folder_of_the_library() {
    let sandbox = Path::new("/usr/bin/bwrap");
    let mounts: Vec<&str> =
        "--ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin"
            .split(' ')
            .collect();
    let is_usable = Command::new(sandbox).args(&mounts).arg("true").output();
    if !is_usable.is_ok_and(|output| output.status.success()) {
        return skipped("bwrap is not installed, or may not be used here");
    }
    let script = "echo in; ls / | tr '\\n' ' '; sh -c 'exit 3'";
    assert_same(sandbox, &[&mounts[..], &["sh", "-c", script]].concat());
}
