//! The tests of the page: its model by Node alone, its types, and all of it in a browser; and its pictures for the documentation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::built::{self, BuildProfile};
use crate::steps::{Steps, root, succeed};
use crate::tools;

/// The steps of `cargo xtask test` that are about the page. Without Node or a browser they are skipped, which is added to `skipped`.
pub fn test(steps: &mut Steps, skipped: &mut Vec<String>, complete: bool) {
    let missing: Vec<&str> =
        ["node", "npm", "chromium"].into_iter().filter(|program| tools::find(program).is_none()).collect();
    if !missing.is_empty() && !complete {
        skipped.push(format!("tests of the page: {} missing", missing.join(", ")));
        return;
    }
    steps.step("the page's model", || succeed(&mut node_tests("model")?));
    steps.step("the page's types", || {
        install()?;
        succeed(Command::new(tests().join("node_modules/.bin/tsc")).arg("--project").arg(root().join("ui")))
    });
    steps.step("the page in a browser", || {
        install()?;
        succeed(node_tests("browser")?.env("LONGPOLE", binary()?))
    });
}

/// `cargo xtask screenshots`: every view, light and dark, below `docs/page/`.
pub fn screenshots() -> Result<ExitCode> {
    let mut steps = Steps::new();
    steps.step("screenshots", || {
        install()?;
        let script = tests().join("browser/screenshots.mjs");
        succeed(Command::new("node").arg(script).arg(root().join("docs/page")).env("LONGPOLE", binary()?))
    });
    Ok(steps.finish(&[]))
}

fn tests() -> PathBuf {
    root().join("ui/tests")
}

/// Node running the test files of a folder, two at a time: a browser waits for its pages much of the time.
fn node_tests(folder: &str) -> Result<Command> {
    let mut files = test_files(&tests().join(folder))?;
    files.sort();
    if files.is_empty() {
        bail!("find tests in ui/tests/{folder}");
    }
    let mut command = Command::new("node");
    command.args(["--test", "--test-concurrency=2"]).args(files);
    Ok(command)
}

fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        if path.to_string_lossy().contains(".test.") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Brings what the tests import, as the lock file says, where it is not there yet.
fn install() -> Result<()> {
    let stamp = tests().join("node_modules/.package-lock.json");
    let newer = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if newer(&stamp) > newer(&tests().join("package-lock.json")) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    succeed(npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(tests()))
}

/// The binary that the browser tests drive; built if it is not.
fn binary() -> Result<PathBuf> {
    built::longpole(BuildProfile::Dev)
}
