//! `longpole doctor`: what this machine permits, what follows from it, and how to get more.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use longpole_record::setup::{CAPABILITIES, privileged_file};
use longpole_record::{CollectorAvailability, probe, tracefs};
use longpole_report::visible;
use longpole_symbols::has_frame_pointers;

use crate::arguments::Doctor;
use crate::terminal::print;

/// Runs the command.
pub fn run(options: &Doctor) -> Result<ExitCode> {
    let mut text = machine();
    let collectors = probe();
    text.push_str(&ladder(&collectors));
    if let Some(program) = &options.program {
        text.push_str(&look_at(program)?);
    }
    print(&text)?;
    let can_record = collectors.iter().any(|collector| collector.available.is_ok());
    Ok(if can_record { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "not known".into());
    let types = Path::new("/sys/kernel/btf/vmlinux").exists();
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid").unwrap_or_else(|| "not known".into());
    let pointers = read("/proc/sys/kernel/kptr_restrict").unwrap_or_else(|| "not known".into());
    // SAFETY: geteuid has no preconditions and cannot fail.
    let user = if unsafe { libc::geteuid() } == 0 { "root" } else { "not root" };
    let mut text = String::from("This machine\n");
    let mut line = |name: &str, value: &str, meaning: &str| {
        let _ = writeln!(text, "  {name:<22} {value:<22} {meaning}");
    };
    line("kernel", &kernel, "");
    line("type information", if types { "yes" } else { "no" }, "/sys/kernel/btf/vmlinux; bpf needs it");
    line("user", user, "");
    line("capabilities", &held_capabilities(), "of this process, out of those that help");
    let beside = std::env::current_exe().map(|binary| privileged_file(&binary));
    let is_set_up = beside.as_ref().is_ok_and(|file| file.is_file());
    let file = beside.unwrap_or_default();
    let meaning =
        format!("{}: does for bpf what needs capabilities; made by `longpole setup`", file.display());
    line("privileged process", if is_set_up { "set up" } else { "not set up" }, &meaning);
    line(
        "perf_event_paranoid",
        &paranoid,
        "2: users see their own programs; more: on Debian and Ubuntu nothing",
    );
    line("kptr_restrict", &pointers, "1: kernel addresses need cap_syslog; 2: nobody sees them");
    let (state, meaning) = match tracefs::find() {
        Ok(path) => (path.display().to_string(), ""),
        Err(_) => ("not readable".to_owned(), "the perf collector needs it, or `longpole setup` once"),
    };
    line("tracepoints", &state, meaning);
    text
}

fn held_capabilities() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let held: Vec<_> = CAPABILITIES
        .iter()
        .filter(|&&(number, _)| mask & (1 << number) != 0)
        .map(|&(_, name)| name)
        .collect();
    if held.is_empty() { "none".into() } else { held.join(" ") }
}

fn ladder(collectors: &[CollectorAvailability]) -> String {
    let mut text = String::from("\nCollectors, best first\n");
    let mut chosen = false;
    for collector in collectors {
        let is_best = collector.available.is_ok() && !chosen;
        chosen |= is_best;
        let state = match &collector.available {
            Ok(()) if is_best => "works, and `record` takes it".to_owned(),
            Ok(()) => "works".to_owned(),
            Err(refusal) => format!("does not work: {}", refusal.reason),
        };
        let _ = writeln!(text, "  {:<8} {state}", collector.name);
        if let Err(refusal) = &collector.available {
            let _ = writeln!(text, "           to get it: {}", refusal.remedy);
        }
        let _ = writeln!(text, "           sees {}", collector.sees);
    }
    if !chosen {
        text.push_str(
            "  Nothing can be recorded here by this user. A perf.data made elsewhere can be imported.\n",
        );
    }
    text
}

fn look_at(program: &Path) -> Result<String> {
    let found = has_frame_pointers(program).with_context(|| format!("look at {}", program.display()))?;
    let name = |path: &Path| visible(&path.to_string_lossy()).into_owned();
    let mut text = format!("\n{}\n", name(program));
    let share = |share: Option<f64>| match share {
        Some(share) => format!("{:.0} % of its functions keep them", 100.0 * share),
        None => "not known: it has no function that uses the stack".into(),
    };
    let _ = writeln!(text, "  frame pointers: {}", share(found.program));
    let follows = if found.program_has() {
        "deep stacks cost little: 1 KiB of stack is copied at a wait, and the chain gives the rest"
    } else {
        "stacks are unwound from copies of the stack: more bytes are copied at a wait, and stacks deeper than the copy \
         end early (--stack-bytes; or compile with -fno-omit-frame-pointer)"
    };
    let _ = writeln!(text, "  so: {follows}");
    for (library, kept) in &found.libraries {
        let _ = writeln!(text, "  {}: {}", name(library), share(*kept));
    }
    Ok(text)
}
