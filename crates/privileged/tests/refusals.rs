//! What the privileged process refuses to a user who asks it without a recorder, and what it gives away.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, RecvFlags, SendFlags};

const NOBODY: u32 = 65534;
/// cap_syslog (34), cap_perfmon (38), cap_bpf (39): permitted, as `setup` gives them.
const CAPABILITIES: [u32; 5] = [0x0200_0000, 0, 0, 1 << 2 | 1 << 6 | 1 << 7, 0];
const ALL_THREE: &str = "000000c400000000";
const NONE: &str = "0000000000000000";

// The first words of requests, as a stranger would write them.
const OPEN: [u64; 4] = [0, 99, 1024, 1];
const TRACK: u64 = 1;
const FOLLOW: u64 = 2;
const ROUND: u64 = 3;
const WATCH: u64 = 4;
const ALLOW: u64 = 5;
const END: u64 = 7;
const KERNEL_SYMBOLS: u64 = 8;

/// The privileged process of the user nobody.
struct Asked {
    socket: OwnedFd,
    process: Child,
    _folder: tempfile::TempDir,
}

/// An answer: `Err` with the error's number where it is a refusal; else the parts of it.
type Parts = Result<Vec<Vec<u8>>, i32>;

impl Asked {
    fn start() -> Result<Asked, String> {
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return Err("giving files capabilities needs root".into());
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = folder.path().join("longpole-privileged");
        fs::copy(env!("CARGO_BIN_EXE_longpole-privileged"), &file).unwrap();
        give_capabilities(&file)?;
        let (socket, other) = rustix::net::socketpair(
            AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let mut command = Command::new(&file);
        command.stdin(other).uid(NOBODY).gid(NOBODY);
        let process = loop {
            match command.spawn() {
                // Another test forked while the copy was open for writing, and has not called exec yet.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::yield_now()
                }
                spawned => break spawned.unwrap(),
            }
        };
        Ok(Asked { socket, process, _folder: folder })
    }

    /// With the programs loaded.
    fn opened() -> Result<Asked, String> {
        let asked = Asked::start()?;
        match asked.ask(&OPEN) {
            Ok(_) => Ok(asked),
            Err(number) => Err(format!("the programs cannot be loaded here: error {number}")),
        }
    }

    fn ask(&self, words: &[u64]) -> Parts {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        rustix::net::send(&self.socket, &bytes, SendFlags::NOSIGNAL).unwrap();
        let mut whole = Vec::new();
        loop {
            let mut bytes = vec![0; 1 << 17];
            let (length, _) = rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::empty()).unwrap();
            bytes.truncate(length);
            match bytes.first().expect("the process has ended") {
                2 => return Err(i32::from_ne_bytes(bytes[1..5].try_into().unwrap())),
                _ => whole.push(bytes[1..].to_vec()),
            }
            if bytes[0] == 0 {
                return Ok(whole);
            }
        }
    }

    /// The pids of the mappings that are handed on.
    fn mapped(&self) -> Vec<u32> {
        let parts = self.ask(&[ROUND]).unwrap();
        let mut pids = Vec::new();
        for part in &parts[..parts.len() - 1] {
            let mut rest = part.as_slice();
            while rest.len() >= 12 {
                let length = u32::from_ne_bytes(rest[4..8].try_into().unwrap()) as usize;
                pids.push(u32::from_ne_bytes(rest[8..12].try_into().unwrap()));
                rest = &rest[8 + length..];
            }
        }
        pids
    }

    fn capabilities(&self) -> (String, String) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        };
        (of("CapEff:"), of("CapPrm:"))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn give_capabilities(file: &std::path::Path) -> Result<(), String> {
    let value: Vec<u8> = CAPABILITIES.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
    let name = c"security.capability";
    // SAFETY: both texts end in a zero byte and the value's length is its own.
    let result =
        unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if result == 0 { Ok(()) } else { Err("this file system keeps no capabilities of files".into()) }
}

/// A process that lives until it is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn of(user: u32) -> Sleeper {
        let mut command = Command::new("sh");
        command.args(["-c", "while read line; do /bin/true; done"]).stdin(Stdio::piped());
        let mut sleeper = Sleeper(command.uid(user).gid(user).spawn().unwrap());
        // It has mapped its own code by then.
        sleeper.start_a_program();
        sleeper
    }

    fn pid(&self) -> u64 {
        self.0.id().into()
    }

    /// Has it start a program, and waits until that has ended.
    fn start_a_program(&mut self) {
        let children = || fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        // Field 16 and 17: CPU time of waited-for children; minor faults of them (field 11) always grow.
        let faults = |stat: String| -> u64 {
            stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(8).unwrap().parse().unwrap()
        };
        let before = faults(children());
        io::Write::write_all(&mut self.0.stdin.as_ref().unwrap(), b"go\n").unwrap();
        let begin = Instant::now();
        while faults(children()) == before {
            assert!(begin.elapsed() < Duration::from_secs(30), "no program was started");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

macro_rules! or_skip {
    ($made:expr) => {
        match $made {
            Ok(made) => made,
            Err(why) => return longpole_testkit::skipped(&why),
        }
    };
}

#[test]
fn a_stranger_s_processes_are_refused() {
    let asked = or_skip!(Asked::opened());
    let (own, strange) = (Sleeper::of(NOBODY), Sleeper::of(0));
    assert!(asked.ask(&[TRACK, own.pid(), own.pid()]).is_ok());
    for request in [TRACK, FOLLOW] {
        for pid in [strange.pid(), 1, std::process::id().into()] {
            let words = if request == TRACK { vec![request, pid, pid] } else { vec![request, pid] };
            assert_eq!(asked.ask(&words), Err(libc::EACCES), "{words:?}");
        }
    }
    // A thread of another process than is said.
    assert_eq!(asked.ask(&[TRACK, own.pid(), strange.pid()]), Err(libc::ENOENT));
}

#[test]
fn only_mappings_of_the_followed_are_handed_on() {
    let asked = or_skip!(Asked::opened());
    let (mut own, mut other, mut strange) = (Sleeper::of(NOBODY), Sleeper::of(NOBODY), Sleeper::of(0));
    asked.ask(&[FOLLOW, own.pid()]).unwrap();
    asked.mapped();
    strange.start_a_program();
    other.start_a_program();
    assert_eq!(asked.mapped(), [0; 0]);
    own.start_a_program();
    strange.start_a_program();
    let found = [asked.mapped(), asked.mapped()].concat();
    let first = *found.first().expect("the program has mapped its code");
    assert!(found.iter().all(|&pid| pid == first && u64::from(pid) > own.pid()), "{found:?}");
}

#[test]
fn what_is_not_on_the_list_is_refused() {
    let asked = or_skip!(Asked::opened());
    let kernel = 0xffff_8880_0000_0000;
    assert_eq!(asked.ask(&[WATCH, 0, kernel, 8]), Err(libc::EPERM), "memory of the kernel");
    assert_eq!(asked.ask(&[WATCH, 0, 0x1001, 8]), Err(libc::EPERM), "in two pieces");
    assert_eq!(asked.ask(&[WATCH, 9, 0x1000, 8]), Err(libc::EINVAL), "there are not so many");
    assert_eq!(asked.ask(&[ALLOW, 0, 1000]), Err(libc::EPERM), "too many stores");
    assert_eq!(asked.ask(&OPEN), Err(libc::EPERM), "once is enough");
    assert_eq!(asked.ask(&[77]), Err(libc::EINVAL));
    assert_eq!(asked.ask(&[TRACK, 1]), Err(libc::EINVAL));
    assert!(asked.ask(&[ROUND]).is_ok(), "it goes on");
}

#[test]
fn capabilities_are_in_effect_while_they_are_used_and_given_up_afterwards() {
    let asked = or_skip!(Asked::start());
    assert!(asked.ask(&[77]).is_err(), "it has begun to serve");
    assert_eq!(asked.capabilities(), (NONE.into(), ALL_THREE.into()));
    let _symbols = asked.ask(&[KERNEL_SYMBOLS]).unwrap();
    assert_eq!(asked.capabilities(), (NONE.into(), ALL_THREE.into()));
    if let Err(number) = asked.ask(&OPEN) {
        return longpole_testkit::skipped(&format!("the programs cannot be loaded here: error {number}"));
    }
    assert_eq!(asked.capabilities(), (NONE.into(), NONE.into()));
    assert_eq!(asked.ask(&[KERNEL_SYMBOLS]), Err(libc::EPERM), "that capability is gone");
    asked.ask(&[END]).unwrap();
    assert_eq!(asked.ask(&[END]), Err(libc::EPERM));
}

#[test]
fn nobody_looks_into_it_and_it_ends_with_its_caller() {
    let mut asked = or_skip!(Asked::opened());
    let pid = asked.process.id();
    for name in ["mem", "maps", "environ", "fd/0"] {
        let mut read = Command::new("head");
        read.args(["-c", "1", &format!("/proc/{pid}/{name}")]).stdin(Stdio::null()).stderr(Stdio::null());
        assert!(!read.uid(NOBODY).gid(NOBODY).status().unwrap().success(), "{name} can be read");
    }
    let (end, _) = rustix::net::socketpair(
        AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    drop(std::mem::replace(&mut asked.socket, end));
    let begin = Instant::now();
    while asked.process.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
