//! `longpole record --on HOST,HOST`: the same command on several machines, recorded on each, as one recording.
//!
//! ```text
//!   here          ssh a: longpole record -o FOLDER/a.longpole COMMAND ──┐ at the same time; standard input is the
//!                 ssh b: longpole record -o FOLDER/b.longpole COMMAND ──┤ first one's
//!                 all collectors run: the programs start, else none does ┤
//!                 all are over ◄────────────────────────────────────────┘
//!                 ssh a, b: tar of FOLDER ──► parts, then joined; FOLDER is removed over there
//! ```
//! What a host sends is unpacked in a folder of its own and opened like any recording. Ctrl-C is passed on by a second connection,
//! since one that ends does not end what it began.

mod gates;
mod interrupts;
mod remote_shell;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, Result, bail};

use crate::arguments::{Join, RecordArgs, SeriesSourceArgument};
use crate::failure::{Failure, RECORDER_FAILED};
use crate::{join, record, terminal};
use gates::HostGates;
use interrupts::HostInterrupts;
pub use remote_shell::RemoteShell;
use remote_shell::quoted;

/// How often the connections are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Names the remote shell, as `RSYNC_RSH` does for rsync.
const REMOTE_SHELL: &str = "LONGPOLE_RSH";

/// What the shell over there does before it becomes the recorder. Without that folder it stays where it begins.
const RECORD: &str = "umask 077; mkdir \"$LONGPOLE_FOLDER\" || exit 125; mkfifo \"$LONGPOLE_FOLDER/gate\" || exit 125; \
                      cd \"$LONGPOLE_CWD\" 2>/dev/null; echo $$ >\"$LONGPOLE_FOLDER/pid\"; folder=$LONGPOLE_FOLDER; unset LONGPOLE_FOLDER LONGPOLE_CWD; ";

/// A machine of the run.
struct RunHost {
    name: String,
    /// Where its recorder writes, over there.
    folder: String,
    /// How its command ended.
    status: Option<ExitStatus>,
}

/// A run on several machines.
struct HostsRun<'a> {
    options: &'a RecordArgs,
    shell: RemoteShell,
    hosts: Vec<RunHost>,
    /// Where the parts are put together.
    parts: tempfile::TempDir,
}

/// Runs the command.
pub fn run(options: &RecordArgs) -> Result<ExitCode> {
    let mut run = HostsRun::of(options)?;
    if let Recorded::Nowhere(lost) = run.record()? {
        return Err(run.not_started(&lost));
    }
    let mut parts = Vec::new();
    let mut has_failed = false;
    for index in 0..run.hosts.len() {
        match run.fetch(index) {
            Ok(part) => parts.push(part),
            Err(error) => {
                has_failed = true;
                let host = &run.hosts[index];
                let ended = host.status.map_or_else(String::new, |status| format!(" ({status})"));
                terminal::remark(&format!("there is no recording of {}{ended}: {error:#}", host.name));
            }
        }
    }
    if parts.is_empty() {
        return Err(failure(anyhow::anyhow!("record on any of the hosts")));
    }
    run.join(parts)?;
    let failed = run.hosts.iter().filter_map(|host| host.status).map(status_of).find(|&status| status != 0);
    Ok(ExitCode::from(failed.unwrap_or(if has_failed { RECORDER_FAILED } else { 0 })))
}

/// Whether the command ran.
enum Recorded {
    /// On all hosts.
    Everywhere,
    /// On none, as these do not record it.
    Nowhere(Vec<usize>),
}

fn failure(error: anyhow::Error) -> anyhow::Error {
    let hints = vec![
        "longpole has to be there on each host: --remote-longpole PATH says where".into(),
        "--remote-shell names the command that reaches a host: `ssh` where it is not given".into(),
    ];
    Failure { status: RECORDER_FAILED, hints, error }.into()
}

/// As of a shell: 128+n when signal n ended it.
fn status_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    (code & 0xff) as u8
}

impl<'a> HostsRun<'a> {
    fn of(options: &'a RecordArgs) -> Result<HostsRun<'a>> {
        let shell = match (&options.remote_shell, std::env::var(REMOTE_SHELL)) {
            (Some(shell), _) => shell.clone(),
            (None, Ok(text)) => RemoteShell::parse(&text)
                .map_err(|reason| anyhow::anyhow!("failed to use {REMOTE_SHELL}: {reason}"))?,
            (None, Err(_)) => RemoteShell::ssh(),
        };
        let id = fs::read_to_string("/proc/sys/kernel/random/uuid").context("failed to make an id")?;
        let mut hosts: Vec<RunHost> = Vec::new();
        for (index, name) in options.on.iter().enumerate() {
            // ssh would take it for an option.
            if name.is_empty() || name.starts_with('-') {
                bail!("failed to record on `{name}`: it is no host");
            }
            let folder = format!("/tmp/longpole-{}-{index}", id.trim());
            hosts.push(RunHost { name: name.clone(), folder, status: None });
        }
        let parts = tempfile::Builder::new().prefix("longpole-parts-").tempdir();
        Ok(HostsRun {
            options,
            shell,
            hosts,
            parts: parts.context("failed to create a folder for the parts")?,
        })
    }

    /// Runs the command on all hosts, to its end on each, once all are recorded.
    fn record(&mut self) -> Result<Recorded> {
        let interrupts = HostInterrupts::hold()?;
        let (mut gates, mut running) = self.start(&interrupts)?;
        let (mut is_open, mut lost) = (false, Vec::new());
        while running.iter().any(Option::is_some) {
            if let Some(signal) = interrupts.wait(LOOK) {
                self.pass_on(signal, &running);
            }
            self.look(&mut running)?;
            if !is_open && lost.is_empty() {
                let ended = running.iter().enumerate().filter(|(_, child)| child.is_none());
                ended.for_each(|(index, _)| gates.ended(index));
                lost = gates.lost();
                is_open = gates.are_ready();
                if is_open {
                    gates.open();
                } else if !lost.is_empty() {
                    gates.refuse();
                }
            }
        }
        if is_open {
            return Ok(Recorded::Everywhere);
        }
        if lost.is_empty() {
            (0..self.hosts.len()).for_each(|index| gates.ended(index));
            lost = gates.lost();
        }
        Ok(Recorded::Nowhere(lost))
    }

    /// Starts the recorders, and what waits for them.
    fn start(&self, interrupts: &HostInterrupts) -> Result<(HostGates, Vec<Option<Child>>)> {
        let mut gates = HostGates::new();
        let mut running: Vec<Option<Child>> = Vec::new();
        for index in 0..self.hosts.len() {
            let mut command = self.shell.command(&self.hosts[index].name, &self.script(index)?);
            // A process group of its own may not read from the terminal.
            if index == 0 && !io::IsTerminal::is_terminal(&io::stdin()) {
                command.stdin(Stdio::inherit());
            }
            interrupts.give_back(&mut command);
            let started = command.spawn();
            let folder = quoted(self.hosts[index].folder.as_ref());
            let script = gates::script(&folder.to_string_lossy());
            gates.watch(self.shell.command(&self.hosts[index].name, script.as_ref()));
            let program = command.get_program().to_string_lossy().into_owned();
            match started {
                Ok(child) => running.push(Some(child)),
                Err(error) => {
                    terminal::remark(&format!(
                        "failed to run {program} for {}: {error}",
                        self.hosts[index].name
                    ));
                    running.push(None);
                }
            }
        }
        Ok((gates, running))
    }

    /// Which commands have ended, and how.
    fn look(&mut self, running: &mut [Option<Child>]) -> Result<()> {
        for (child, host) in running.iter_mut().zip(&mut self.hosts) {
            let Some(found) = child else { continue };
            if let Some(status) = found.try_wait().context("failed to wait for a host")? {
                host.status = Some(status);
                *child = None;
            }
        }
        Ok(())
    }

    /// The program ran nowhere: names the hosts that did not record it, and removes what is on the others.
    fn not_started(&self, lost: &[usize]) -> anyhow::Error {
        for host in &self.hosts {
            // A host that is not reached has no folder.
            let _ = self.removal(host).stderr(Stdio::null()).status();
        }
        let named = lost.iter().map(|&index| {
            let host = &self.hosts[index];
            let ended = host.status.map_or_else(String::new, |status| format!(" ({status})"));
            format!("{}{ended}", host.name)
        });
        let named: Vec<String> = named.collect();
        failure(anyhow::anyhow!("record on {}: the program was started nowhere", named.join(", ")))
    }

    /// The script that records on a host.
    fn script(&self, index: usize) -> Result<OsString> {
        let host = &self.hosts[index];
        let here = std::env::current_dir().context("failed to find the current folder")?;
        let index = index.to_string();
        let variables: [(&str, &OsStr); 5] = [
            ("LONGPOLE_FOLDER", host.folder.as_ref()),
            ("LONGPOLE_CWD", here.as_ref()),
            ("LONGPOLE_HOST", host.name.as_ref()),
            ("LONGPOLE_HOST_INDEX", index.as_ref()),
            ("LONGPOLE_HOSTS", &OsString::from(self.options.on.join(","))),
        ];
        let mut script = OsString::new();
        for (name, value) in variables {
            script.push(format!("export {name}="));
            script.push(quoted(value));
            script.push("; ");
        }
        script.push(RECORD);
        script.push("exec ");
        script.push(quoted(
            self.options.remote_longpole.as_deref().unwrap_or(Path::new("longpole")).as_os_str(),
        ));
        script.push(" record --quiet --gate \"$folder\" --output \"$folder/part.longpole\"");
        for word in self.words() {
            script.push(" ");
            script.push(quoted(&word));
        }
        Ok(script)
    }

    /// The options that hosts have in common, and the program.
    fn words(&self) -> Vec<OsString> {
        let options = self.options;
        let mut words: Vec<String> = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        let collector = clap::ValueEnum::to_possible_value(&options.collector);
        option("collector", collector.map(|value| value.get_name().to_owned()));
        option("frequency", options.hertz.map(|hertz| hertz.to_string()));
        option("stack-bytes", options.stack_bytes.map(|bytes| bytes.to_string()));
        option("collect-interval", options.collect_interval.map(|time| time.as_millis().to_string()));
        option("duration", options.duration.map(|time| time.as_secs_f64().to_string()));
        for wanted in &options.collect {
            let text = match wanted {
                SeriesSourceArgument::Collector(choice) => choice.to_string(),
                SeriesSourceArgument::Nothing => "none".to_owned(),
            };
            option("collect", Some(text));
        }
        for cpu in &options.sampler_cpus {
            option("sampler-cpus", Some(cpu.to_string()));
        }
        let flags = [("--locks", options.locks), ("--mpi", options.mpi), ("--calls", options.calls)];
        words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).to_owned()));
        words.push("--".to_owned());
        words.into_iter().map(OsString::from).chain(options.program.iter().cloned()).collect()
    }

    /// Sends a signal to the recorders that run still; they pass it on to their programs.
    fn pass_on(&self, signal: i32, running: &[Option<Child>]) {
        for (host, _) in self.hosts.iter().zip(running).filter(|(_, child)| child.is_some()) {
            let folder = quoted(host.folder.as_ref());
            let script = format!("kill -{signal} \"$(cat {}/pid)\"", folder.to_string_lossy());
            let mut command = self.shell.command(&host.name, script.as_ref());
            let sent = command.stdout(Stdio::null()).status();
            if !sent.is_ok_and(|status| status.success()) {
                terminal::remark(&format!("{} was not reached to end its process", host.name));
            }
        }
    }

    /// Removes what is on a host.
    fn removal(&self, host: &RunHost) -> Command {
        let folder = quoted(host.folder.as_ref()).to_string_lossy().into_owned();
        self.shell.command(&host.name, format!("rm -rf -- {folder}").as_ref())
    }

    /// Brings a host's part here, and removes it there.
    fn fetch(&self, index: usize) -> Result<PathBuf> {
        let host = &self.hosts[index];
        let folder = quoted(host.folder.as_ref()).to_string_lossy().into_owned();
        let part = self.parts.path().join(index.to_string());
        fs::create_dir(&part).context("failed to create a folder for it")?;
        let mut pack =
            self.shell.command(&host.name, format!("tar -C {folder} -cf - part.longpole").as_ref());
        let mut packing = pack.stdout(Stdio::piped()).spawn().context("failed to fetch it")?;
        let packed = packing.stdout.take().expect("it is piped");
        let mut unpack = Command::new("tar");
        unpack.arg("-C").arg(&part).args(["--no-same-owner", "-xf", "-"]).stdin(packed);
        let unpacked = unpack.output().context("failed to run tar")?;
        let has_packed = packing.wait().context("failed to fetch it")?.success();
        if has_packed && unpacked.status.success() {
            let removed = self.removal(host).status();
            if !removed.is_ok_and(|status| status.success()) {
                terminal::remark(&format!("{} was left on {}", host.folder, host.name));
            }
        }
        // Also what came of a recording that was cut short can be opened, but not joined.
        let recording = part.join("part.longpole");
        let has_come = has_packed && recording.join("recording.json").is_file();
        if has_come { Ok(recording) } else { bail!("nothing came from {}", host.folder) }
    }

    /// Makes one recording of the parts.
    fn join(&self, parts: Vec<PathBuf>) -> Result<()> {
        let output = self.options.output.clone();
        let (force, quiet) = (self.options.force, self.options.quiet);
        let default = || record::default_output(&self.options.program);
        join::join(&Join { parts, output, force }, default, quiet)
    }
}
