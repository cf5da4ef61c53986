//! Experiments with procedures, slow-downs and virtual speed-ups: which procedures, by how much, and whether what was changed is what the
//! recording knows by that name.

use anyhow::{Result, bail};
use longpole_answer::{Question, Recording};
use longpole_report::{Fold, Report, Row, View, visible};
use longpole_trials::{DelayLibrary, DelayMode, DelayScope, DelayTarget, ProcedureDelay};

use super::ZeroArgs;
use crate::answer::refused;
use crate::terminal;

/// The factor where none is given.
const USUAL: f64 = 0.25;
/// Procedures of the list of changes that are slowed down where nothing is asked for.
const CHOSEN: usize = 4;

/// What takes longer, or virtually less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExperimentSubject {
    /// A procedure with all that it calls.
    Inclusive,
    /// A procedure's own work alone.
    Own,
    /// What is done while a lock is held.
    Holds,
}

impl ExperimentSubject {
    const ALL: [ExperimentSubject; 3] =
        [ExperimentSubject::Inclusive, ExperimentSubject::Own, ExperimentSubject::Holds];

    /// As `what-if --set` calls it.
    fn kind(self) -> &'static str {
        match self {
            ExperimentSubject::Inclusive => "procedure",
            ExperimentSubject::Own => "self",
            ExperimentSubject::Holds => "hold",
        }
    }
}

/// A procedure, or holds of a lock, that takes longer, or virtually less.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcedureExperiment {
    pub mode: DelayMode,
    /// Name of the procedure or the lock.
    pub procedure: String,
    pub subject: ExperimentSubject,
    /// By which part of its CPU time.
    pub factor: f64,
}

/// Slow-downs: `solve`, `self:solve@0.5`, `solve@10%,50%`.
pub fn slow_downs(text: &str) -> Result<Vec<ProcedureExperiment>, String> {
    parse(DelayMode::SlowDown, text)
}

/// Virtual speed-ups, written as slow-downs are.
pub fn virtual_speed_ups(text: &str) -> Result<Vec<ProcedureExperiment>, String> {
    parse(DelayMode::VirtualSpeedUp, text)
}

fn parse(mode: DelayMode, text: &str) -> Result<Vec<ProcedureExperiment>, String> {
    let (name, factors) = match text.rsplit_once('@') {
        // A name can have a version: `memcpy@GLIBC_2.14`.
        Some((name, factors)) if factors.starts_with(|first: char| first.is_ascii_digit()) => {
            (name, factors.split(',').map(factor).collect::<Result<Vec<f64>, String>>()?)
        }
        _ => (text, vec![USUAL]),
    };
    let of_kind = |subject: ExperimentSubject| {
        Some((
            name.strip_prefix(subject.kind())?.strip_prefix(':').filter(|rest| !rest.starts_with(':'))?,
            subject,
        ))
    };
    let (name, subject) =
        ExperimentSubject::ALL.into_iter().find_map(of_kind).unwrap_or((name, ExperimentSubject::Inclusive));
    if name.trim().is_empty() {
        return Err("it needs a procedure, as in solve@0.25".to_owned());
    }
    let procedure = name.trim().to_owned();
    let of = |factor| ProcedureExperiment { mode, procedure: procedure.clone(), subject, factor };
    Ok(factors.into_iter().map(of).collect())
}

fn factor(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let factor = number.parse::<f64>().map_err(|_| format!("{} is no number", visible(text)))? * unit;
    // Longer than a period between two samples, other threads' turns would depend on where samples fall.
    if (0.01..=1.0).contains(&factor) { Ok(factor) } else { Err("a factor is from 0.01 to 1".to_owned()) }
}

impl ProcedureExperiment {
    /// As `what-if --set` takes it.
    pub fn change(&self) -> String {
        let kind = self.subject.kind();
        let left = match self.mode {
            DelayMode::SlowDown => 1.0 + self.factor,
            // 1 − 0.9 is written as 0.1.
            DelayMode::VirtualSpeedUp => (1e6 * (1.0 - self.factor)).round() / 1e6,
        };
        format!("{kind}:{}={left}", self.procedure)
    }

    /// How the version is named.
    pub fn label(&self) -> String {
        let percent = (1000.0 * self.factor).round() / 10.0;
        let subject = match self.subject {
            ExperimentSubject::Inclusive | ExperimentSubject::Own => self.procedure.clone(),
            ExperimentSubject::Holds => format!("holds of {}", self.procedure),
        };
        match self.mode {
            DelayMode::SlowDown => format!("with {subject} {percent} % longer"),
            DelayMode::VirtualSpeedUp => format!("with {subject} virtually {percent} % shorter"),
        }
    }

    /// How it is applied to the program that these words execute.
    pub fn delay(&self, library: &DelayLibrary, args: &ZeroArgs) -> Result<ProcedureDelay> {
        let target = match self.subject {
            ExperimentSubject::Holds => DelayTarget::lock(&args.program[0], &self.procedure)?,
            ExperimentSubject::Inclusive | ExperimentSubject::Own => {
                DelayTarget::procedure(&args.program[0], &self.procedure)?
            }
        };
        if self.mode == DelayMode::VirtualSpeedUp {
            target.check_waits(&args.program[0])?;
        }
        let scope = match (self.subject, args.fold) {
            (ExperimentSubject::Inclusive, _) => DelayScope::Inclusive,
            (ExperimentSubject::Holds, _) => DelayScope::Holding,
            (ExperimentSubject::Own, Fold::Libraries) => DelayScope::Folded,
            (ExperimentSubject::Own, Fold::None | Fold::Kernel) => DelayScope::Exact,
        };
        Ok(ProcedureDelay { library: library.clone(), target, scope, mode: self.mode, factor: self.factor })
    }
}

/// The experiments that are asked for; slow-downs of the list of changes where nothing is.
pub fn wanted(recording: &Recording, args: &ZeroArgs) -> Result<Vec<ProcedureExperiment>> {
    let asked: Vec<ProcedureExperiment> = args.slow.iter().chain(&args.speed_up).flatten().cloned().collect();
    if !(args.variants.is_empty() && args.skip.is_empty() && asked.is_empty()) {
        return Ok(asked);
    }
    let summary = recording.report(View::Summary, &Question::default()).map_err(refused)?;
    let mut chosen: Vec<ProcedureExperiment> = Vec::new();
    for row in summary.rows.iter().filter(|row| row.words("section") == "change") {
        let procedure = row.words("procedure");
        if procedure.is_empty() || chosen.iter().any(|own| own.procedure == procedure) {
            continue;
        }
        match DelayTarget::procedure(&args.program[0], procedure) {
            Ok(_) => {
                let mode = DelayMode::SlowDown;
                chosen.push(ProcedureExperiment {
                    mode,
                    procedure: procedure.to_owned(),
                    subject: ExperimentSubject::Inclusive,
                    factor: USUAL,
                });
            }
            Err(error) => terminal::remark(&format!("not slowed down: {error}")),
        }
        if chosen.len() == CHOSEN {
            break;
        }
    }
    if chosen.is_empty() {
        bail!(
            "choose procedures to slow down: the list of changes has none that can be; name one with --slow, or a version with --variant"
        );
    }
    Ok(chosen)
}

/// The share of the CPU time that the recording charges to each procedure, per cent.
pub fn recorded_shares(
    recording: &Recording,
    predicted: &Report,
    experiments: &[ProcedureExperiment],
    args: &ZeroArgs,
) -> Result<Vec<Option<f64>>> {
    if experiments.is_empty() {
        return Ok(Vec::new());
    }
    let question = Question { fold: Some(args.fold), all: true, ..Question::default() };
    let profile = recording.report(View::Profile, &question).map_err(refused)?;
    let changes: Vec<&Row> = predicted.rows.iter().filter(|row| row.words("section") == "change").collect();
    let first = changes.len().saturating_sub(experiments.len());
    let share = |(change, slow): (&&Row, &ProcedureExperiment)| {
        let is_it = |row: &&Row| {
            let (name, module) = (row.words("procedure"), row.words("module"));
            let change = change.words("change");
            let change = change.strip_suffix(" itself").unwrap_or(change);
            change == name || change == format!("{name} ({module})")
        };
        let mut rows = profile.rows.iter().filter(is_it);
        let row = rows.next()?;
        // Two procedures of one name: which of them is slowed down is not known.
        if rows.next().is_some() {
            return None;
        }
        row.value(if slow.subject == ExperimentSubject::Own { "percent" } else { "inclusive_percent" })
    };
    Ok(changes[first..].iter().zip(experiments).map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_is_a_procedure_and_factors() {
        use ExperimentSubject::{Holds, Inclusive, Own};
        let slow = |procedure: &str, subject, factor| ProcedureExperiment {
            mode: DelayMode::SlowDown,
            procedure: procedure.to_owned(),
            subject,
            factor,
        };
        assert_eq!(slow_downs("solve"), Ok(vec![slow("solve", Inclusive, USUAL)]));
        assert_eq!(slow_downs("self:solve@0.5"), Ok(vec![slow("solve", Own, 0.5)]));
        assert_eq!(
            slow_downs("procedure:a::b@10%,0.3"),
            Ok(vec![slow("a::b", Inclusive, 0.1), slow("a::b", Inclusive, 0.3)])
        );
        assert_eq!(slow_downs("memcpy@GLIBC"), Ok(vec![slow("memcpy@GLIBC", Inclusive, USUAL)]));
        for text in ["solve@0", "solve@3", "solve@0.1,x", "@0.5", "self:"] {
            assert!(slow_downs(text).is_err(), "{text}");
        }
        assert_eq!(slow("solve", Own, 0.25).change(), "self:solve=1.25");
        assert_eq!(slow("solve", Own, 0.25).label(), "with solve 25 % longer");
        assert_eq!(slow_downs("hold:table_lock@0.5"), Ok(vec![slow("table_lock", Holds, 0.5)]));
        assert_eq!(slow_downs("self::run"), Ok(vec![slow("self::run", Inclusive, USUAL)]));
        assert_eq!(slow("table_lock", Holds, 0.25).change(), "hold:table_lock=1.25");
        assert_eq!(slow("table_lock", Holds, 0.25).label(), "with holds of table_lock 25 % longer");
        let faster = &virtual_speed_ups("solve@0.9").unwrap()[0];
        assert_eq!(faster.change(), "procedure:solve=0.1");
        assert_eq!(faster.label(), "with solve virtually 90 % shorter");
    }
}
