//! Versions of the program, run in turn.

use std::ffi::OsString;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use longpole_report::{
    ComparedOutput, MeasuredDelay, MeasuredGain, MeasuredVariant, VersionMedians, visible,
};
use longpole_trials::{
    AppliedChange, DelayCounts, DelayLibrary, DelayMode, FEWEST, OutputDigest, ProcedureDelay,
    SkippedProcedure, TrialRun, TrueGain, digest_output, measure_changed, median, status_text, values_for,
};

use super::experiments::ProcedureExperiment;
use super::{ProgramVariant, ZeroArgs, words};

/// A version that runs.
pub struct RunnableVersion {
    pub words: Vec<OsString>,
    change: AppliedChange,
    /// What people call it.
    label: String,
}

/// The commands of all versions.
pub struct Versions {
    pub unchanged: RunnableVersion,
    /// The program that is sampled and not delayed, with which slow-downs, and virtual speed-ups, are compared.
    controls: Vec<(DelayMode, RunnableVersion)>,
    pub changed: Vec<RunnableVersion>,
}

/// What the shell does something about.
const OF_SHELL: &str = "|&;<>()$`\\\"'*?[]#~={}%!\n";

impl Versions {
    /// Where one version needs a shell all get one, so that its start is no difference.
    pub fn of(args: &ZeroArgs, experiments: &[ProcedureExperiment]) -> Result<Versions> {
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
            !needs_shell || args.skip.is_empty() && experiments.is_empty(),
            "skip, slow down or speed up a procedure beside a variant that needs a shell: all versions would be started by the shell"
        );
        let of = |words: Vec<OsString>, change, label| RunnableVersion { words, change, label };
        let variant = |variant: &ProgramVariant| {
            of(changed(variant), AppliedChange::Unchanged, variant.command.clone())
        };
        let own = |change, label| of(args.program.clone(), change, label);
        let mut changed: Vec<RunnableVersion> = args.variants.iter().map(variant).collect();
        for name in &args.skip {
            let skipped = SkippedProcedure::find(&args.program[0], name)?;
            changed.push(own(AppliedChange::Skipped(skipped), format!("with {name} skipped")));
        }
        let mut controls: Vec<(DelayMode, RunnableVersion)> = Vec::new();
        if !experiments.is_empty() {
            let library = DelayLibrary::create().context("write the library that delays threads")?;
            for experiment in experiments {
                let delay = experiment.delay(&library, args)?;
                if controls.iter().all(|(mode, _)| *mode != delay.mode) {
                    let control = AppliedChange::Delayed(ProcedureDelay { factor: 0.0, ..delay.clone() });
                    controls.push((delay.mode, own(control, "the program, sampled only".to_owned())));
                }
                changed.push(own(AppliedChange::Delayed(delay), experiment.label()));
            }
        }
        let unchanged = of(unchanged, AppliedChange::Unchanged, words(&args.program).join(" "));
        Ok(Versions { unchanged, controls, changed })
    }

    /// What each version writes, compared with the unchanged program, and the status with which all end. These runs also fill caches.
    pub fn outputs(&self) -> Result<(Vec<ComparedOutput>, i32)> {
        let of = |version: &RunnableVersion| -> Result<OutputDigest> {
            let (output, counts) = digest_output(&mut version.command(), &version.change)?;
            if let AppliedChange::Delayed(_) = version.change {
                check_delay(&version.label, &counts)?;
            }
            Ok(output)
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
                visible(&version.label),
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
    pub fn measure(&self, args: &ZeroArgs, status: i32) -> Result<VersionRuns> {
        let begin = Instant::now();
        let mut runs = VersionRuns {
            unchanged: Vec::new(),
            controls: self.controls.iter().map(|(mode, _)| (*mode, Vec::new())).collect(),
            changed: vec![Vec::new(); self.changed.len()],
            counts: vec![Vec::new(); self.changed.len()],
        };
        loop {
            let round = runs.unchanged.len();
            runs.add_round(self, status).context("measure the versions")?;
            let spent = begin.elapsed();
            let next = spent + spent / (round as u32 + 1);
            if next > args.budget || self.is_known(&runs, args.within) {
                return Ok(runs);
            }
        }
    }

    /// What was measured of each changed version; `told` is what each writes, and the recorded shares of the procedures of experiments, the last ones.
    pub fn measured(
        &self,
        runs: &VersionRuns,
        within: f64,
        (outputs, shares): (Vec<ComparedOutput>, Vec<Option<f64>>),
    ) -> Vec<MeasuredVariant> {
        let others = self.changed.len() - shares.len();
        let shares = std::iter::repeat_n(None, others).chain(shares);
        let versions = self.changed.iter().zip(self.gains(runs, within)).zip(outputs.into_iter().zip(shares));
        let versions = versions.zip(runs.changed.iter().zip(&runs.counts));
        versions
            .map(|(((version, gain), (output, share)), (own, counts))| MeasuredVariant {
                command: version.label.clone(),
                gain,
                medians: medians(own),
                output,
                delay: version.delay().map(|delay| measured_delay(delay, (own, counts), share)),
            })
            .collect()
    }

    fn is_known(&self, runs: &VersionRuns, within: f64) -> bool {
        let is_narrow = |gain: &Option<MeasuredGain>| {
            gain.as_ref().is_some_and(|gain| gain.interval.is_some() && gain.needed.is_none())
        };
        self.gains(runs, within).iter().all(is_narrow)
    }

    fn gains(&self, runs: &VersionRuns, within: f64) -> Vec<Option<MeasuredGain>> {
        let gain = |(version, own): (&RunnableVersion, &Vec<TrialRun>)| {
            let control = version.delay().and_then(|delay| runs.control_runs(delay.mode));
            let compared = control.unwrap_or(&runs.unchanged);
            let TrueGain { percent, interval, best_percent, pairs, measured } = TrueGain::of(compared, own)?;
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
        self.changed.iter().zip(&runs.changed).map(gain).collect()
    }
}

impl RunnableVersion {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    fn measure(&self, status: i32) -> Result<(TrialRun, DelayCounts)> {
        Ok(measure_changed(&mut self.command(), status, &self.change)?)
    }

    fn delay(&self) -> Option<&ProcedureDelay> {
        match &self.change {
            AppliedChange::Delayed(delay) => Some(delay),
            AppliedChange::Unchanged | AppliedChange::Skipped(_) => None,
        }
    }
}

/// Refuses an experiment that did nothing, with the reason.
fn check_delay(label: &str, counts: &DelayCounts) -> Result<()> {
    let label = visible(label);
    if counts.processes == 0 {
        bail!(
            "run {label}: the library that delays threads was not loaded; the program changes its user or takes LD_PRELOAD from its environment"
        );
    }
    if let Some(error) = counts.refusal {
        bail!(
            "run {label}: the system does not let the program be sampled, {} (kernels before 5.13 cannot; else see kernel.perf_event_paranoid)",
            std::io::Error::from_raw_os_error(error)
        );
    }
    ensure!(counts.replaced == 0, "run {label}: the program handles SIGTRAP itself, which samples need");
    ensure!(
        counts.hits > 0,
        "run {label}: no sample was in it; it is never called, or takes too little time"
    );
    Ok(())
}

/// The runs of all versions, in the order of the rounds.
pub struct VersionRuns {
    unchanged: Vec<TrialRun>,
    controls: Vec<(DelayMode, Vec<TrialRun>)>,
    changed: Vec<Vec<TrialRun>>,
    counts: Vec<Vec<DelayCounts>>,
}

impl VersionRuns {
    /// The versions with which others are compared in the middle, the others begin with another one each round.
    fn add_round(&mut self, versions: &Versions, status: i32) -> Result<()> {
        let (round, count) = (self.unchanged.len(), versions.changed.len());
        for place in 0..count {
            if place == count / 2 {
                self.unchanged.push(versions.unchanged.measure(status)?.0);
                for ((_, control), (_, runs)) in versions.controls.iter().zip(&mut self.controls) {
                    runs.push(control.measure(status)?.0);
                }
            }
            let index = (place + round) % count;
            let (run, counts) = versions.changed[index].measure(status)?;
            self.changed[index].push(run);
            self.counts[index].push(counts);
        }
        Ok(())
    }

    /// Of the unchanged program.
    pub fn unchanged(&self) -> VersionMedians {
        medians(&self.unchanged)
    }

    /// Of the program that is sampled only, for experiments of this mode.
    pub fn control(&self, mode: DelayMode) -> Option<VersionMedians> {
        self.control_runs(mode).map(|runs| medians(runs))
    }

    fn control_runs(&self, mode: DelayMode) -> Option<&Vec<TrialRun>> {
        self.controls.iter().find(|own| own.0 == mode).map(|own| &own.1)
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

fn measured_delay(
    delay: &ProcedureDelay,
    (runs, counts): (&[TrialRun], &[DelayCounts]),
    recorded_percent: Option<f64>,
) -> MeasuredDelay {
    let of = |field: fn(&(&TrialRun, &DelayCounts)) -> f64| {
        median(&runs.iter().zip(counts).map(|own| field(&own)).collect::<Vec<_>>()).unwrap_or_default()
    };
    let is_virtual = delay.mode == DelayMode::VirtualSpeedUp;
    MeasuredDelay {
        factor: delay.factor,
        added_seconds: match is_virtual {
            false => of(|(_, counts)| counts.added_seconds),
            true => -delay.factor * of(|(_, counts)| counts.hit_seconds),
        },
        inserted_seconds: is_virtual.then(|| of(|(_, counts)| counts.inserted_seconds)),
        // Of all processes of the program, as the recording has it.
        sampled_percent: of(|(run, counts)| {
            100.0 * counts.hit_seconds / (run.cpu_seconds - counts.added_seconds).max(1e-9)
        }),
        recorded_percent,
        is_user_only: counts.iter().any(|own| own.is_user_only),
    }
}
