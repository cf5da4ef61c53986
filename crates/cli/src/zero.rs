//! `longpole zero`: predictions tested on versions of the real program (metrics.md §5, true zeroing).

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use longpole_answer::{Error, Recording, ReplayQuestion, WhatIfQuestion};
use longpole_recording::MeasuredChange;
use longpole_report::{
    ComparedOutput, MeasuredGain, MeasuredProgram, MeasuredVariant, Report, VersionMedians, build_zero,
    visible,
};
use longpole_trials::{
    FEWEST, OutputDigest, SkippedProcedure, TrialRun, TrueGain, digest_output, measure_without, median,
    status_text, values_for,
};

use crate::answer::{Output, open, refused};
use crate::failure::Failure;
use crate::report::{FoldArg, OutputFormat};
use crate::terminal;

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
    #[arg(long = "variant", value_name = "CHANGE=COMMAND", required_unless_present = "skip", value_parser = variant)]
    pub variants: Vec<ProgramVariant>,
    /// Run the program with this procedure returning at once, with the value 0; can be given several times.
    ///
    /// You vouch that the program does not need its result. The procedure has to be in the program's own file, and calls of it that the compiler
    /// inlined are not skipped.
    #[arg(long, value_name = "PROCEDURE")]
    pub skip: Vec<String>,
    /// Time for all runs: 30s, 5m.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = crate::arguments::kept_time)]
    pub budget: Duration,
    /// Percentage points to which each gain should be known: measuring ends when all are.
    #[arg(long, value_name = "POINTS", default_value = "1", value_parser = points)]
    pub within: f64,
    /// Which procedures are folded into the procedure that called them, in `self:`.
    #[arg(long, value_enum, default_value = "libraries")]
    pub fold: FoldArg,
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

/// A version that runs: its command, and the procedure that it skips.
struct RunnableVersion {
    words: Vec<OsString>,
    skipped: Option<SkippedProcedure>,
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
    let (predicted, refusal) = predict(&recording, args)?;
    let versions = Versions::of(args).map_err(hinted)?;
    let (outputs, status) = versions.outputs().map_err(hinted)?;
    let runs = versions.measure(args, status)?;
    let gains = runs.gains(args.within);
    let skips = args.skip.iter().map(|name| format!("with {name} skipped"));
    let commands = args.variants.iter().map(|variant| variant.command.clone()).chain(skips);
    let variants = commands.zip(gains).zip(runs.changed.iter().zip(outputs));
    let measured = MeasuredProgram {
        command: words(&args.program).join(" "),
        unchanged: medians(&runs.unchanged),
        variants: variants
            .map(|((command, gain), (runs, output))| MeasuredVariant {
                command,
                gain,
                medians: medians(runs),
                output,
            })
            .collect(),
        refusal,
    };
    // What another command gains is nothing that this recording predicts.
    if recording.manifest().command == words(&args.program) {
        keep(&recording, args, &measured.variants);
    }
    let output = Output::new(args.format, args.width);
    output.print(&args.recording, &output.text(&[build_zero(&predicted, &measured)]))
}

/// Keeps in the recording what was measured, for `--view rankings`; where it cannot be written, that is said.
fn keep(recording: &Recording, args: &ZeroArgs, variants: &[MeasuredVariant]) {
    let kept: Vec<MeasuredChange> = changes(args)
        .zip(variants)
        .filter_map(|(change, variant)| {
            let gain = variant.gain?;
            Some(MeasuredChange {
                change,
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
fn changes(args: &ZeroArgs) -> impl Iterator<Item = String> {
    let skips = args.skip.iter().map(|name| format!("procedure:{name}=0"));
    args.variants.iter().map(|variant| variant.change.clone()).chain(skips)
}

/// What the recording predicts of each variant: by replay, else by what-if with the reason.
fn predict(recording: &Recording, args: &ZeroArgs) -> Result<(Report, Option<String>)> {
    let changes: Vec<String> = changes(args).collect();
    let fold = args.fold.into();
    let question = ReplayQuestion { changes: changes.clone(), fold, ..ReplayQuestion::default() };
    let reason = match recording.replay(&question) {
        Ok(report) => return Ok((report, None)),
        Err(error @ (Error::NotReplayed { .. } | Error::NoReplayOf { .. })) => error.to_string(),
        Err(error) => return Err(refused(error)),
    };
    let question = WhatIfQuestion { changes, fold, ..WhatIfQuestion::default() };
    Ok((recording.what_if(&question).map_err(refused)?, Some(format!("failed to {reason}"))))
}

/// The commands of all versions.
struct Versions {
    unchanged: RunnableVersion,
    changed: Vec<RunnableVersion>,
}

/// What the shell does something about.
const OF_SHELL: &str = "|&;<>()$`\\\"'*?[]#~={}%!\n";

impl Versions {
    /// Where one version needs a shell all get one, so that its start is no difference.
    fn of(args: &ZeroArgs) -> Result<Versions> {
        let needs_shell =
            args.variants.iter().any(|variant| variant.command.contains(|letter| OF_SHELL.contains(letter)));
        let shell = |line: &str| vec![OsString::from("/bin/sh"), "-c".into(), line.into()];
        let changed = |variant: &ProgramVariant| match needs_shell {
            true => shell(&variant.command),
            false => variant.command.split_whitespace().map(OsString::from).collect(),
        };
        let unchanged = match needs_shell {
            true => [shell("exec \"$@\""), vec!["sh".into()], args.program.clone()].concat(),
            false => args.program.clone(),
        };
        ensure!(
            !needs_shell || args.skip.is_empty(),
            "skip a procedure beside a variant that needs a shell: all versions would be started by the shell"
        );
        let of = |words| RunnableVersion { words, skipped: None };
        let mut changed: Vec<RunnableVersion> =
            args.variants.iter().map(|variant| of(changed(variant))).collect();
        for name in &args.skip {
            let skipped = Some(SkippedProcedure::find(&args.program[0], name)?);
            changed.push(RunnableVersion { words: args.program.clone(), skipped });
        }
        Ok(Versions { unchanged: of(unchanged), changed })
    }

    /// What each version writes, compared with the unchanged program, and the status with which all end. These runs also fill caches.
    fn outputs(&self) -> Result<(Vec<ComparedOutput>, i32)> {
        let of = |version: &RunnableVersion| -> Result<OutputDigest> {
            Ok(digest_output(&mut version.command(), version.skipped.as_ref())?)
        };
        let (first, second) = (of(&self.unchanged)?, of(&self.unchanged)?);
        ensure!(
            first.status == second.status,
            "run the unchanged program: two runs end differently, with {:#x} and {:#x}",
            first.status,
            second.status
        );
        let compared = |version: &RunnableVersion| -> Result<ComparedOutput> {
            let output = of(version)?;
            ensure!(
                output.status == first.status,
                "run {}: it ends with {}, the unchanged program with {}",
                visible(&words(&version.words).join(" ")),
                status_text(output.status),
                status_text(first.status)
            );
            Ok(match output == first {
                _ if first != second => ComparedOutput::Varies,
                true => ComparedOutput::Equal,
                false => ComparedOutput::Different,
            })
        };
        Ok((self.changed.iter().map(compared).collect::<Result<_>>()?, first.status))
    }

    /// Rounds until all gains are known as well as wanted, or the time is spent; one at least.
    fn measure(&self, args: &ZeroArgs, status: i32) -> Result<VersionRuns> {
        let begin = Instant::now();
        let mut runs = VersionRuns { unchanged: Vec::new(), changed: vec![Vec::new(); self.changed.len()] };
        loop {
            let round = runs.unchanged.len();
            runs.add_round(self, status).context("measure the versions")?;
            let spent = begin.elapsed();
            let next = spent + spent / (round as u32 + 1);
            if next > args.budget || runs.is_known(args.within) {
                return Ok(runs);
            }
        }
    }
}

impl RunnableVersion {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    fn measure(&self, status: i32) -> Result<TrialRun> {
        Ok(measure_without(&mut self.command(), status, self.skipped.as_ref())?)
    }
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

/// The runs of all versions, in the order of the rounds.
struct VersionRuns {
    unchanged: Vec<TrialRun>,
    changed: Vec<Vec<TrialRun>>,
}

impl VersionRuns {
    /// The unchanged program in the middle of the others, which begin with another one each round.
    fn add_round(&mut self, versions: &Versions, status: i32) -> Result<()> {
        let (round, count) = (self.unchanged.len(), versions.changed.len());
        for place in 0..count {
            if place == count / 2 {
                self.unchanged.push(versions.unchanged.measure(status)?);
            }
            let index = (place + round) % count;
            self.changed[index].push(versions.changed[index].measure(status)?);
        }
        Ok(())
    }

    fn is_known(&self, within: f64) -> bool {
        let is_narrow = |gain: &Option<MeasuredGain>| {
            gain.as_ref().is_some_and(|gain| gain.interval.is_some() && gain.needed.is_none())
        };
        self.gains(within).iter().all(is_narrow)
    }

    fn gains(&self, within: f64) -> Vec<Option<MeasuredGain>> {
        let gain = |runs: &Vec<TrialRun>| {
            let TrueGain { percent, interval, best_percent, pairs, measured } =
                TrueGain::of(&self.unchanged, runs)?;
            let width = interval.high - interval.low;
            Some(MeasuredGain {
                percent,
                interval: (pairs >= FEWEST).then_some((interval.low, interval.high)),
                best_percent,
                pairs,
                measured,
                needed: (pairs >= FEWEST && width > 2.0 * within)
                    .then(|| values_for(2.0 * within, (pairs, width))),
            })
        };
        self.changed.iter().map(gain).collect()
    }
}

fn medians(runs: &[TrialRun]) -> VersionMedians {
    let of =
        |field: fn(&TrialRun) -> f64| median(&runs.iter().map(field).collect::<Vec<_>>()).unwrap_or_default();
    VersionMedians {
        elapsed_seconds: of(|run| run.elapsed_seconds),
        cpu_seconds: of(|run| run.cpu_seconds),
        page_faults: of(|run| run.page_faults as f64),
        switches: of(|run| run.switches as f64),
    }
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
                budget: Duration::ZERO,
                within: 1.0,
                fold: FoldArg::Libraries,
                format: OutputFormat::default(),
                width: None,
                program: vec!["./p".into(), "a b".into()],
            };
            let versions = Versions::of(&args).unwrap();
            (versions.unchanged.words.len(), versions.changed[1].words.clone())
        };
        assert_eq!(of("./a"), (2, vec!["./b".into(), "2".into()]));
        assert_eq!(of("./a | ./c"), (6, vec!["/bin/sh".into(), "-c".into(), "./b 2".into()]));
    }
}
