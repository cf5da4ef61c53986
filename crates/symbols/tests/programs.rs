//! Unwinds programs of every kind while they sleep in libc under known callers.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use longpole_symbols::{Registers, Symboliser, Unwinder, UserStack, has_frame_pointers};

fn compile(folder: &Path, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/code/sleeper.c");
    let program = folder.join("sleeper");
    let run = Command::new("gcc").args(options).arg(source).arg("-o").arg(&program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    program
}

/// A program that sleeps, and is killed in the end.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Sleeper {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn().unwrap();
        let sleeper = Sleeper(child);
        for _ in 0..500 {
            // The first field is the number of the system call, once the program sleeps in one.
            let call =
                std::fs::read_to_string(format!("/proc/{}/syscall", sleeper.pid())).unwrap_or_default();
            if [libc::SYS_clock_nanosleep, libc::SYS_nanosleep]
                .iter()
                .any(|number| call.starts_with(&format!("{number} ")))
            {
                return sleeper;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the program does not sleep");
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Registers, so many bytes of stack, and the frame-pointer chain as the kernel would find it.
    fn stack(&self, bytes: usize) -> (Registers, Vec<u8>, Vec<u64>) {
        let registers = registers(self.pid());
        let memory = File::open(format!("/proc/{}/mem", self.pid())).unwrap();
        let mut stack = vec![0; bytes];
        let read = memory.read_at(&mut stack, registers.sp).unwrap();
        stack.truncate(read);
        let mut chain = vec![registers.ip];
        let mut bp = registers.bp;
        loop {
            let mut words = [0; 16];
            if bp < registers.sp || !matches!(memory.read_at(&mut words, bp), Ok(16)) {
                break;
            }
            let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap());
            chain.push(word(8));
            if word(0) <= bp {
                break;
            }
            bp = word(0);
        }
        (registers, stack, chain)
    }

    /// Procedures, innermost first.
    fn procedures(&self, bytes: usize, with_chain: bool) -> Vec<String> {
        let (registers, memory, chain) = self.stack(bytes);
        let mut unwinder = Unwinder::new();
        unwinder.load_maps(self.pid()).unwrap();
        let mut frames = Vec::new();
        let chain = if with_chain { &chain[..] } else { &[] };
        let stack = UserStack { registers: Some(registers), memory: &memory, chain };
        unwinder.unwind(self.pid(), &stack, &mut frames);
        let mut symboliser = Symboliser::new();
        frames
            .iter()
            .map(|frame| {
                let module = &unwinder.modules()[frame.module as usize];
                let named = symboliser.symbolise(module, &[frame.address]);
                named[0].places.last().map_or("?".to_owned(), |place| place.procedure.clone())
            })
            .collect()
    }
}

fn registers(pid: u32) -> Registers {
    let pid = pid as libc::pid_t;
    // SAFETY: the structure is plain numbers, and the calls write no more than it holds.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0), 0);
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0), 0);
        assert_eq!(libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL), pid);
        assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers), 0);
        assert_eq!(libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0), 0);
        Registers { ip: registers.rip, sp: registers.rsp, bp: registers.rbp }
    }
}

/// What remains of the procedures without those of libc between and around.
fn own(procedures: &[String]) -> Vec<&str> {
    let jumps = ["hands_on", "naps", "rare", "mostly_not", "leads"];
    let own = ["innermost", "recursive", "compares", "sorts", "main", "[missing frames]"];
    let own = [&jumps[..], &own].concat();
    procedures.iter().map(String::as_str).filter(|name| own.contains(name)).collect()
}

const KINDS: [&[&str]; 8] = [
    &["-O0"],
    &["-O2", "-fno-omit-frame-pointer"],
    &["-O2", "-fomit-frame-pointer"],
    &["-O2", "-no-pie"],
    &["-O2", "-static"],
    &["-O2", "-static-pie"],
    &["-O2", "-static", "-fno-omit-frame-pointer"],
    &["-O1", "-Wl,-z,noseparate-code"],
];

#[test]
fn callers_are_found_through_libc_in_every_kind_of_program() {
    for options in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let sleeper = Sleeper::start(&compile(folder.path(), options), &[]);
        for with_chain in [false, true] {
            let procedures = sleeper.procedures(16 << 10, with_chain);
            assert_eq!(
                own(&procedures),
                ["innermost", "compares", "sorts", "main"],
                "{options:?} {procedures:?}"
            );
        }
    }
}

/// Their frames are gone; the calls that are left tell which functions they were.
#[test]
fn functions_whose_last_act_was_a_call_are_found() {
    let cases: [(&[&str], &[&str]); 3] = [
        (&["jump"], &["innermost", "compares", "sorts", "hands_on", "leads", "main"]),
        (&["jump", "libc"], &["naps", "leads", "main"]),
        // Not twice, though it lies in two places.
        (&["jump", "rarely"], &["innermost", "rare", "mostly_not", "leads", "main"]),
    ];
    for options in [&["-O2"][..], &["-O2", "-fno-omit-frame-pointer"], &["-O2", "-static"]] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path(), options);
        for (arguments, expected) in cases {
            let sleeper = Sleeper::start(&program, arguments);
            let procedures = sleeper.procedures(16 << 10, true);
            assert_eq!(own(&procedures), expected, "{options:?} {arguments:?} {procedures:?}");
        }
    }
}

#[test]
fn the_chain_goes_on_where_the_recorded_memory_ends() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]);
    let sleeper = Sleeper::start(&program, &["30"]);
    let mut expected = vec!["innermost"];
    expected.extend(["recursive"; 31]);
    expected.push("main");
    for bytes in [600, 1024, 2000, 5000] {
        assert_eq!(own(&sleeper.procedures(bytes, true)), expected, "{bytes}");
    }
}

#[test]
fn memory_that_ends_in_libc_leaves_a_marked_gap() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]);
    let sleeper = Sleeper::start(&program, &["3"]);
    let procedures = sleeper.procedures(8, true);
    assert_eq!(own(&procedures)[0], "[missing frames]", "{procedures:?}");
    assert!(own(&procedures).ends_with(&["recursive", "main"]), "{procedures:?}");
}

#[test]
fn without_frame_pointers_a_stack_ends_with_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"]);
    let sleeper = Sleeper::start(&program, &["30"]);
    let procedures = sleeper.procedures(3000, true);
    let own = own(&procedures);
    assert_eq!(own[0], "innermost");
    assert!(own.len() >= 4 && own[1..].iter().all(|name| *name == "recursive"), "{procedures:?}");
}

#[test]
fn a_program_that_was_deleted_while_it_runs_is_unwound_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2"]);
    let sleeper = Sleeper::start(&program, &[]);
    std::fs::remove_file(&program).unwrap();
    let procedures = sleeper.procedures(16 << 10, true);
    assert_eq!(own(&procedures), ["innermost", "compares", "sorts", "main"], "{procedures:?}");
}

#[test]
fn frame_pointers_are_seen_in_the_code() {
    let folder = tempfile::tempdir().unwrap();
    let with = compile(folder.path(), &["-O2", "-fno-omit-frame-pointer"]);
    let found = has_frame_pointers(&with).unwrap();
    assert!(found.program_has(), "{found:?}");
    assert!(found.libraries.iter().any(|(path, _)| path.to_string_lossy().contains("libc.so")), "{found:?}");
    let without = compile(folder.path(), &["-O2", "-fomit-frame-pointer"]);
    assert!(!has_frame_pointers(&without).unwrap().program_has());
    let script = folder.path().join("script");
    std::fs::write(&script, format!("#!{}\n", without.display())).unwrap();
    assert!(!has_frame_pointers(&script).unwrap().program_has());
    let text = folder.path().join("text");
    std::fs::write(&text, "no program").unwrap();
    assert!(has_frame_pointers(&text).is_err());
    assert!(has_frame_pointers(&folder.path().join("absent")).is_err());
}
