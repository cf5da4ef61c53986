//! PostgreSQL, recorded: a server of its own, pgbench against it, and the sums that must agree afterwards.
//!
//! The regression tests' SQL is in no package, so what is checked is what pgbench's transactions keep true: every delta
//! that was written to an account was written to its branch, its teller and the history.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::SuiteRunner;
use super::outcome::SuiteOutcome;
use crate::steps::succeed_silently;
use crate::tools::find;

const SUMS: &str = "select case when (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history) \
    and (select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history) \
    and (select sum(tbalance) from pgbench_tellers) = (select sum(delta) from pgbench_history) \
    and (select count(*) from pgbench_history) = 4000 then 'sums passed' else 'sums differ' end";

/// Runs server and clients.
pub fn run(way: &SuiteRunner<'_>) -> Result<SuiteOutcome> {
    let data = way.folder.join("data");
    let socket = way.folder.to_str().context("name the folder")?.to_owned();
    succeed_silently(&mut as_other_user(
        &program("initdb")?,
        &["-A", "trust", "-U", "tester", "-D", &path(&data)?],
    ))?;
    let server = ["-D", &path(&data)?, "-k", &socket, "-h", "", "-F"];
    // A recorder without the kernel's help is the other user, too: only his processes can share his memory.
    let mut recorded = if way.needs_root() {
        let server = as_other_user(&program("postgres")?, &server);
        let mut command = way.command(&path(server.get_program().as_ref())?);
        command.args(server.get_args());
        command
    } else {
        let command = way.command(&program("postgres")?);
        let mut recorded = as_other_user(&path(command.get_program().as_ref())?, &[]);
        recorded.args(command.get_args()).args(server).current_dir(way.folder);
        recorded
    };
    let mut server =
        recorded.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("start the server")?;
    let result = clients(&socket);
    // The fast shutdown: open sessions are ended.
    stop(&data)?;
    let status = server.wait().context("wait for the server")?;
    way.finish()?;
    Ok(SuiteOutcome::of_lines(&result?, status.code()))
}

/// What a server refuses to do without.
const PRIVILEGES: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

fn as_other_user(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(PRIVILEGES).arg("env").arg("HOME=/").arg(program).args(arguments).stdin(Stdio::null());
    command
}

fn program(name: &str) -> Result<String> {
    let found = find(name).with_context(|| format!("find {name}"))?;
    path(&found)
}

fn path(path: &std::path::Path) -> Result<String> {
    Ok(path.to_str().context("name a path")?.to_owned())
}

fn clients(socket: &str) -> Result<String> {
    let server = ["-h", socket, "-U", "tester"];
    let sql = |text: &str| {
        let mut command = as_other_user(&program("psql")?, &server);
        let output = command.args(["-d", "postgres", "-At", "-c", text]).output().context("run psql")?;
        Ok::<_, anyhow::Error>(output)
    };
    let begin = Instant::now();
    while !sql("select 1")?.status.success() {
        if begin.elapsed() > Duration::from_secs(60) {
            bail!("reach the server");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let bench = |arguments: &[&str]| {
        let all = [&server[..], arguments, &["postgres"]].concat();
        as_other_user(&program("pgbench")?, &all).output().context("run pgbench")
    };
    let made = bench(&["-i", "-s", "2", "-q"])?;
    let ran = bench(&["-c", "8", "-j", "2", "-t", "500", "-n"])?;
    let lines = [
        if made.status.success() { "pgbench -i passed\n" } else { "pgbench -i failed\n" }.to_owned(),
        if ran.status.success() { "pgbench passed\n" } else { "pgbench failed\n" }.to_owned(),
        String::from_utf8_lossy(&sql(SUMS)?.stdout).into_owned(),
    ];
    Ok(lines.concat())
}

fn stop(data: &std::path::Path) -> Result<()> {
    let number = std::fs::read_to_string(data.join("postmaster.pid")).context("find the server")?;
    let pid: i32 = number.lines().next().unwrap_or_default().trim().parse().context("find the server")?;
    // SAFETY: the pid of the server that was started above.
    unsafe { libc::kill(pid, libc::SIGINT) };
    Ok(())
}
