//! `record --on HOST,HOST`: network namespaces with names, boots and times of their own stand for machines, and sshd on the loopback
//! address.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{
    Collector, Recording, Run, Session, find, heed_interrupts, is_root, longpole, or_skip, run,
};

/// Two machines with a cable between them: namespaces of the network, with names, and a boot each, so that their clocks have to be
/// compared as those of different machines. In truth both have this machine's: the second one's is 5,000 s ahead by its time namespace
/// only, which its recorder takes out.
struct NamespaceMachines {
    shell: PathBuf,
}

const MACHINES: [(&str, &str); 2] = [("longpole-m0", "10.74.13.1"), ("longpole-m1", "10.74.13.2")];

/// Makes what it runs another machine's: a name, a boot.
const SHELL: &str = r#"#!/bin/sh
[ "$1" = longpole-m0 ] || shift_time="--time --monotonic 5000 --boottime 5000 --fork"
exec ip netns exec "$1" unshare --uts --mount $shift_time sh -c '
    hostname "$1" && mount --bind "$2/boot-$1" /proc/sys/kernel/random/boot_id && exec sh -c "$3"' sh "$1" "${0%/*}" "$2"
"#;

fn execute(line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    let output = command.args(words).output().map_err(|error| format!("{line}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {said}")) }
}

impl NamespaceMachines {
    fn start(folder: &Path) -> Result<NamespaceMachines, String> {
        if !is_root() {
            return Err("network namespaces need root".into());
        }
        find("ip")?;
        find("unshare")?;
        NamespaceMachines::remove();
        let shell = folder.join("shell");
        fs::write(&shell, SHELL).unwrap();
        execute(&format!("chmod +x {}", shell.display()))?;
        let machines = NamespaceMachines { shell };
        for (name, _) in MACHINES {
            execute(&format!("ip netns add {name}"))?;
            execute(&format!("ip -n {name} link set lo up"))?;
            let boot = fs::read("/proc/sys/kernel/random/uuid").unwrap();
            fs::write(folder.join(format!("boot-{name}")), boot).unwrap();
        }
        let [(first, _), (second, _)] = MACHINES;
        execute(&format!("ip link add cable netns {first} type veth peer name cable netns {second}"))?;
        for (name, address) in MACHINES {
            execute(&format!("ip -n {name} address add {address}/24 dev cable"))?;
            execute(&format!("ip -n {name} link set cable up"))?;
        }
        Ok(machines)
    }

    fn remove() {
        for (name, _) in MACHINES {
            let _ = execute(&format!("ip netns delete {name}"));
        }
    }

    fn record(&self, hosts: &[&str], output: &Path, command: &[&str]) -> Command {
        let mut record = record_on(hosts, output);
        record.arg("--remote-shell").arg(&self.shell).arg("--").args(command);
        record
    }
}

impl Drop for NamespaceMachines {
    fn drop(&mut self) {
        NamespaceMachines::remove();
    }
}

fn record_on(hosts: &[&str], output: &Path) -> Command {
    let mut record = longpole();
    let binary = record.get_program().to_owned();
    record.args(["record", "--on", &hosts.join(","), "--output"]).arg(output);
    record.arg("--remote-longpole").arg(binary);
    record
}

fn manifest(recording: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(recording.join("recording.json")).unwrap()).unwrap()
}

/// The machines of a recording, by name.
fn machines(recording: &Path) -> Vec<String> {
    let manifest = manifest(recording);
    let machines = manifest["machines"].as_array().unwrap();
    machines.iter().map(|machine| machine["name"].as_str().unwrap().to_owned()).collect()
}

fn left_over() -> Vec<PathBuf> {
    let entries = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.join("part.longpole").exists() || path.join("gate").exists()).collect()
}

#[test]
fn a_command_runs_on_each_host_and_knows_on_which() {
    let session = Session::alone();
    let machines_here = or_skip!(NamespaceMachines::start(session.path()));
    let [(first, _), (second, _)] = MACHINES;
    let output = session.path().join("run.longpole");
    // No program begins before all recorders are ready: what each does first is to look for the other one's.
    let script = "[ $(ls -d /tmp/longpole-*/ready | wc -l) = 2 ] || exit 9; echo $LONGPOLE_HOST_INDEX $LONGPOLE_HOST $LONGPOLE_HOSTS $(hostname) \"$0\"; pwd >&2; exit $((3 * LONGPOLE_HOST_INDEX))";
    let run =
        session.run(&mut machines_here.record(&[first, second], &output, &["sh", "-c", script, "it's"]));
    assert_eq!(run.status.code(), Some(3), "{}", run.stderr);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    let of = |index, name| format!("{index} {name} {first},{second} {name} it's");
    assert_eq!(lines, [of(0, first), of(1, second)]);
    let here = format!("{}\n", session.path().display());
    assert_eq!(run.stderr.matches(&here).count(), 2, "where the command was given: {}", run.stderr);
    assert_eq!(machines(&output), [first, second]);
    assert!(run.stderr.contains("2 recordings on 2 machines"), "{}", run.stderr);
    assert_eq!(left_over(), [] as [PathBuf; 0]);
}

#[test]
fn a_host_that_does_not_record_keeps_the_program_from_starting_anywhere() {
    let session = Session::alone();
    let machines_here = or_skip!(NamespaceMachines::start(session.path()));
    let [(first, _), _] = MACHINES;
    let (output, ran) = (session.path().join("run.longpole"), session.path().join("ran"));
    let touch = ["touch", ran.to_str().unwrap()];
    let run = session.run(&mut machines_here.record(&[first, "longpole-nowhere"], &output, &touch));
    assert_eq!(run.status.code(), Some(125), "{}", run.stderr);
    let said = "failed to record on longpole-nowhere (exit status: 255): the program was started nowhere";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert!(!ran.exists() && !output.exists(), "{}", run.stderr);
    assert_eq!(left_over(), [] as [PathBuf; 0]);
}

#[test]
fn an_interrupt_ends_the_programs_on_all_hosts() {
    let session = Session::alone();
    let machines_here = or_skip!(NamespaceMachines::start(session.path()));
    let [(first, _), (second, _)] = MACHINES;
    let output = session.path().join("run.longpole");
    let ready = |name| session.path().join(format!("ready-{name}"));
    let script = format!("touch {}/ready-$LONGPOLE_HOST; exec sleep 1000", session.path().display());
    let mut command = machines_here.record(&[first, second], &output, &["sh", "-c", &script]);
    let log = fs::File::create(session.path().join("said")).unwrap();
    let mut child = heed_interrupts(&mut command).stdin(Stdio::null()).stderr(log).spawn().unwrap();
    while ![first, second].into_iter().all(|name| ready(name).exists()) {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // SAFETY: a plain system call on a child that runs.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let status = child.wait().unwrap();
    let said = fs::read_to_string(session.path().join("said")).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert_eq!(machines(&output), [first, second]);
}

#[test]
fn the_critical_path_of_a_client_leads_through_its_server_on_another_machine() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    let machines_here = or_skip!(NamespaceMachines::start(session.path()));
    let program = or_skip!(session.build("client_on_another_machine.c", &[]));
    let [(first, address), (second, _)] = MACHINES;
    let output = session.path().join("run.longpole");
    let program = program.to_str().unwrap();
    let run = session.run(&mut machines_here.record(&[first, second], &output, &[program, address]));
    assert!(run.status.success(), "{}", run.stderr);
    let recording = Recording::at(&output);
    let path = recording.report("critical-path", "procedure");
    let on_path = |procedure| path.sum("procedure", procedure, "seconds");
    let (server, client) = (on_path("look_up"), on_path("make_request"));
    assert!((0.18..0.24).contains(&server), "{server} of 0.2 s: {}", path.table("procedure"));
    assert!((0.04..0.07).contains(&client), "{client} of 0.05 s: {}", path.table("procedure"));
    let by_machine = recording.report("critical-path", "machine");
    let of = |machine| by_machine.sum("machine", machine, "seconds");
    assert!(of(first) > 0.19 && of(second) > 0.04, "{}", by_machine.table("machine"));
    assert_clock_is_within_its_error(&output, &run.stderr);
    assert_waits_lead_to_the_server(&recording);
}

/// The client waits in each of 10 requests while the server looks up for 20 ms.
#[track_caller]
fn assert_waits_lead_to_the_server(recording: &Recording) {
    let waits = recording.report("waits", "procedure");
    // The compiler may have put the one into the other.
    let is_in = |row: &serde_json::Map<_, _>, name: &str| row.get("procedure").is_some_and(|it| it == name);
    let asking = waits.rows().filter(|row| is_in(row, "ask") || is_in(row, "has_read"));
    let causes = asking.flat_map(|row| row["root_causes"].as_array().expect("a list of causes"));
    let look_ups = causes.filter(|cause| cause["procedure"] == "look_up" && cause["side"] == "positive");
    let seconds: f64 = look_ups.filter_map(|cause| cause["seconds"].as_f64()).sum();
    assert!((0.15..0.25).contains(&seconds), "{seconds} of 0.2 s: {}", waits.table("procedure"));
    let messages = recording.report("messages", "procedure");
    let streams: Vec<_> = messages.rows().filter(|row| row["by"] == "stream").collect();
    let both = |key: &str| -> Vec<f64> { streams.iter().filter_map(|row| row[key].as_f64()).collect() };
    assert_eq!((both("messages"), both("bytes")), (vec![110.0; 2], vec![880.0; 2]), "{streams:#?}");
    // The client waits longer than the server.
    assert!((0.15..0.4).contains(&both("seconds")[0]), "{streams:#?}");
}

/// Both machines have one clock in truth: nothing is to be added to the second one's.
#[track_caller]
fn assert_clock_is_within_its_error(recording: &Path, said: &str) {
    let manifest = manifest(recording);
    let machine = &manifest["machines"][1];
    let error = machine["clock_error_nanoseconds"].as_f64().unwrap_or_else(|| panic!("{said}"));
    // Messages without work between them bound it; the server's 20 ms do not.
    assert!(error < 5e6, "{error} ns: {said}");
    let number = |key: &str| machine["clock"][key].as_f64().unwrap();
    for end in ["begin_nanoseconds", "end_nanoseconds"] {
        let since = manifest["outcome"][end].as_f64().unwrap() - number("reference_nanoseconds");
        let off = number("offset_nanoseconds") + number("drift") * since;
        assert!(off.abs() <= error, "off by {off} ns at {end}, not by {error} at most: {said}");
    }
}

/// sshd on the loopback address, with a key of its own.
struct LoopbackSsh {
    server: Child,
    shell: String,
}

impl LoopbackSsh {
    fn start(folder: &Path) -> Result<LoopbackSsh, String> {
        if !is_root() {
            return Err("sshd needs root here".into());
        }
        find("ssh")?;
        let (sshd, keygen) = (find("sshd")?, find("ssh-keygen")?);
        let at = |name: &str| folder.join(name).display().to_string();
        for key in ["host-key", "user-key"] {
            let mut generate = Command::new(&keygen);
            generate.args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]);
            assert!(generate.status().unwrap().success());
        }
        fs::create_dir_all("/run/sshd").unwrap();
        fs::copy(at("user-key.pub"), at("authorized")).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Command::new(sshd);
        server.args(["-D", "-e", "-f", "/dev/null", "-h", &at("host-key"), "-p", &port.to_string()]);
        server.args(["-o", "ListenAddress=127.0.0.1", "-o", "StrictModes=no", "-o", "PermitRootLogin=yes"]);
        server.args(["-o", &format!("AuthorizedKeysFile={}", at("authorized")), "-o", "UsePAM=no"]);
        let log = fs::File::create(at("sshd.log")).unwrap();
        let server = server.stdin(Stdio::null()).stderr(log).spawn().map_err(|error| error.to_string())?;
        let shell = format!(
            "ssh -F none -p {port} -i {} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectionAttempts=5",
            at("user-key")
        );
        let ssh = LoopbackSsh { server, shell };
        let reached = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            execute(&format!("{} 127.0.0.1 true", ssh.shell)).is_ok()
        });
        let log = fs::read_to_string(at("sshd.log")).unwrap();
        if reached { Ok(ssh) } else { panic!("sshd lets nobody in: {log}") }
    }
}

impl Drop for LoopbackSsh {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn by_ssh(shell: &str, output: &Path, command: &[&str]) -> Run {
    let mut record = record_on(&["127.0.0.1", "localhost"], output);
    // The name of localhost can be an address of version 6, at which this server is not.
    record.env("LONGPOLE_RSH", format!("{shell} -o HostName=127.0.0.1")).arg("--").args(command);
    run(&mut record)
}

#[test]
fn ssh_is_a_way_to_hosts() {
    let session = Session::alone();
    let ssh = or_skip!(LoopbackSsh::start(session.path()));
    let output = session.path().join("run.longpole");
    let run = by_ssh(&ssh.shell, &output, &["sh", "-c", "echo \"$LONGPOLE_HOST  $1\"", "sh", "it's  $HOME"]);
    assert!(run.status.success(), "{}", run.stderr);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["127.0.0.1  it's  $HOME", "localhost  it's  $HOME"], "{}", run.stderr);
    assert!(run.stderr.contains("2 recordings on 1 machine"), "one boot: {}", run.stderr);
    let summary = Recording::at(&output).report("summary", "procedure");
    assert_eq!(summary.number("recording", "machines"), 1.0);
}
