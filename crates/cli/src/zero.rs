//! `longpole zero`: predictions tested on versions of the real program (metrics.md §5, true zeroing).

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use longpole_answer::{Choice, Error, Recording, ReplayQuestion, WhatIfQuestion};
use longpole_recording::MeasuredChange;
use longpole_report::{Fold, MeasuredProgram, MeasuredVariant, Report, build_zero, plot_zero, visible};
use longpole_trials::DelayMode;

use crate::answer::{Output, open, refused};
use crate::arguments::choice;
use crate::failure::Failure;
use crate::report::OutputFormat;
use crate::terminal;

mod experiments;
mod versions;

use experiments::ProcedureExperiment;
use versions::Versions;

/// Whether changed versions of a program gain what its recording predicts.
#[derive(Args, Clone, Debug)]
pub struct ZeroArgs {
    /// The recording that predicts.
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
    /// A version of the program that you built with a change; can be given several times.
    ///
    /// CHANGE=COMMAND or CHANGE@FACTOR=COMMAND. CHANGE is what is left out, as `what-if --set` names it: a procedure with all that it calls,
    /// self:PROCEDURE, object:NAME, thread:NAME or process:NAME; FACTOR is what is left of its time [default: 0].
    #[arg(long = "variant", value_name = "CHANGE=COMMAND", value_parser = variant)]
    pub variants: Vec<ProgramVariant>,
    /// Run the program with this procedure returning at once, with the value 0; can be given several times.
    ///
    /// You vouch that the program does not need its result. The procedure has to be in the program's own file, and calls of it that the compiler
    /// inlined are not skipped.
    #[arg(long, value_name = "PROCEDURE")]
    pub skip: Vec<String>,
    /// Run the program with a procedure that takes longer, by a part of its CPU time; can be given several times.
    ///
    /// PROCEDURE@0.25, PROCEDURE alone (0.25), or PROCEDURE@0.1,0.5 for two versions; with all that it calls and all threads that it starts,
    /// or self:PROCEDURE; or hold:LOCK, what threads do while they hold the lock that is this variable. Threads are sampled, and one that is in the procedure works on for that part of its CPU time since its last
    /// sample. The program is not changed. It needs symbols, and cannot be static or Go. Without --variant, --skip, --slow and --virtual, the first
    /// procedures in the recording's list of changes are slowed down.
    #[arg(long, value_name = "PROCEDURE[@FACTOR,…]", value_parser = experiments::slow_downs)]
    pub slow: Vec<Vec<ProcedureExperiment>>,
    /// Run the program with a virtual speed-up of a procedure: all others are delayed by a part of its CPU time; can be given several times.
    ///
    /// Written as for --slow; PROCEDURE alone is 0.25. When a thread is sampled in the procedure, all other threads of the program pause for that part of
    /// its CPU time since its last sample, unless they wait for one that has paused. The elapsed time less these delays is compared with
    /// what is predicted of a procedure that takes (1 − FACTOR) of its time. Needs what --slow needs.
    #[arg(long = "virtual", value_name = "PROCEDURE[@FACTOR,…]", value_parser = experiments::virtual_speed_ups)]
    pub speed_up: Vec<Vec<ProcedureExperiment>>,
    /// Time for all runs: 30s, 5m.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = crate::arguments::kept_time)]
    pub budget: Duration,
    /// Percentage points to which each gain should be known: measuring ends when all are.
    #[arg(long, value_name = "POINTS", default_value = "1", value_parser = points)]
    pub within: f64,
    /// Which procedures are folded into the procedure that called them, in `self:`.
    #[arg(long, value_parser = choice::<Fold>(), default_value = Fold::default().word())]
    pub fold: Fold,
    /// Also draw predicted ranges and measured intervals into this file, as SVG.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
    /// The unchanged program and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// A version of the program, as the command line names it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramVariant {
    /// As `what-if --set` takes it.
    change: String,
    command: String,
}

fn variant(text: &str) -> Result<ProgramVariant, String> {
    let (change, command) =
        text.split_once('=').ok_or("it needs `=` and a command, as in solve='./program-without-solve'")?;
    let (subject, factor) = match change.rsplit_once('@') {
        Some((subject, factor)) if factor.trim_end_matches('%').parse::<f64>().is_ok() => (subject, factor),
        _ => (change, "0"),
    };
    if subject.trim().is_empty() || command.trim().is_empty() {
        return Err("it needs a change and a command, as in solve='./program-without-solve'".to_owned());
    }
    Ok(ProgramVariant { change: format!("{subject}={factor}"), command: command.trim().to_owned() })
}

fn points(text: &str) -> Result<f64, String> {
    let points: f64 = text.parse().map_err(|_| format!("{} is no number", visible(text)))?;
    if points > 0.0 { Ok(points) } else { Err("it has to be more than 0".to_owned()) }
}

/// Measures, and writes predictions and measured gains.
pub fn run(args: &ZeroArgs) -> Result<()> {
    let recording = open(&args.recording)?;
    let experiments = experiments::wanted(&recording, args)?;
    let changes = changes(args, &experiments);
    let (predicted, refusal) = predict(&recording, &changes, args)?;
    let versions = Versions::of(args, &experiments).map_err(hinted)?;
    let (outputs, status) = versions.outputs().map_err(hinted)?;
    let runs = versions.measure(args, status)?;
    let shares = experiments::recorded_shares(&recording, &predicted, &experiments, args)?;
    let measured = MeasuredProgram {
        command: words(&args.program).join(" "),
        unchanged: runs.unchanged(),
        sampled: runs.control(DelayMode::SlowDown),
        sampled_virtual: runs.control(DelayMode::VirtualSpeedUp),
        variants: versions.measured(&runs, args.within, (outputs, shares)),
        refusal,
    };
    // What another command gains is nothing that this recording predicts.
    if recording.manifest().command == words(&args.program) {
        keep(&recording, &changes, &measured.variants);
    }
    let report = build_zero(&predicted, &measured);
    let output = Output::new(args.format, args.width);
    output.print(&args.recording, &output.text(std::slice::from_ref(&report)))?;
    // Last: where the file cannot be written, the answer is not lost.
    if let Some(path) = &args.plot {
        std::fs::write(path, plot_zero(&report)).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// Keeps in the recording what was measured, for `--view rankings`; where it cannot be written, that is said.
fn keep(recording: &Recording, changes: &[String], variants: &[MeasuredVariant]) {
    let kept: Vec<MeasuredChange> = changes
        .iter()
        .zip(variants)
        .filter_map(|(change, variant)| {
            let gain = variant.gain?;
            Some(MeasuredChange {
                change: change.clone(),
                command: variant.command.clone(),
                gain_percent: gain.percent,
                interval_percent: gain.interval,
                pairs: gain.pairs,
            })
        })
        .collect();
    if let Err(error) = recording.folder().keep_measured(&kept) {
        terminal::remark(&format!("the measured gains are not kept for `--view rankings`: {error}"));
    }
}

/// What is changed in each version, as `what-if --set` takes it.
fn changes(args: &ZeroArgs, experiments: &[ProcedureExperiment]) -> Vec<String> {
    let variants = args.variants.iter().map(|variant| variant.change.clone());
    let skips = args.skip.iter().map(|name| format!("procedure:{name}=0"));
    variants.chain(skips).chain(experiments.iter().map(ProcedureExperiment::change)).collect()
}

/// What the recording predicts of each variant: by replay, else by what-if with the reason.
fn predict(recording: &Recording, changes: &[String], args: &ZeroArgs) -> Result<(Report, Option<String>)> {
    let (changes, fold) = (changes.to_vec(), args.fold);
    let question = ReplayQuestion { changes: changes.clone(), fold, ..ReplayQuestion::default() };
    let reason = match recording.replay(&question) {
        Ok(report) => return Ok((report, None)),
        Err(error @ (Error::NotReplayed { .. } | Error::NoReplayOf { .. })) => error.to_string(),
        Err(error) => return Err(refused(error)),
    };
    let question = WhatIfQuestion { changes, fold, ..WhatIfQuestion::default() };
    Ok((recording.what_if(&question).map_err(refused)?, Some(format!("failed to {reason}"))))
}

fn words(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn hinted(error: anyhow::Error) -> anyhow::Error {
    let hints = vec![
        "a version has to end as the unchanged program does; its command starts in this folder".to_owned(),
    ];
    Failure { status: 1, hints, error }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_a_change_with_a_command() {
        let of = |text: &str| variant(text).map(|variant| (variant.change, variant.command));
        let is = |change: &str, command: &str| Ok((change.to_owned(), command.to_owned()));
        assert_eq!(of("solve=./without x=1"), is("solve=0", "./without x=1"));
        assert_eq!(of("self:solve@0.5=./half"), is("self:solve=0.5", "./half"));
        assert_eq!(of("memcpy@GLIBC=./v"), is("memcpy@GLIBC=0", "./v"));
        assert!(of("solve").is_err() && of("=./v").is_err() && of("solve= ").is_err());
    }

    #[test]
    fn a_shell_is_there_for_all_versions_or_for_none() {
        let of = |command: &str| {
            let args = ZeroArgs {
                recording: PathBuf::new(),
                variants: vec![variant(&format!("a={command}")).unwrap(), variant("b=./b 2").unwrap()],
                skip: Vec::new(),
                slow: Vec::new(),
                speed_up: Vec::new(),
                plot: None,
                budget: Duration::ZERO,
                within: 1.0,
                fold: Fold::Libraries,
                format: OutputFormat::default(),
                width: None,
                program: vec!["./p".into(), "a b".into()],
            };
            let versions = Versions::of(&args, &[]).unwrap();
            (versions.unchanged.words.len(), versions.changed[1].words.clone())
        };
        assert_eq!(of("./a"), (2, vec!["./b".into(), "2".into()]));
        assert_eq!(of("./a | ./c"), (6, vec!["/bin/sh".into(), "-c".into(), "./b 2".into()]));
    }
}
