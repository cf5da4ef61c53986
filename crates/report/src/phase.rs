//! The part of a run that was asked for (metrics.md §8).
//!
//! ```text
//!   1.5s..3s   1.5..3   250ms..1s     from 1.5 s to 3 s after the start
//!   20%..60%                          shares of the elapsed time
//!   ..2s   50%..                      from the start; to the end
//!   load_tables                       from the first to the last observation of a procedure
//!   region:solve                      … of a region or task that the program marked
//! ```

use longpole_event::Time;
use longpole_trace::ProcedureId;

use crate::error::{Error, Result};
use crate::find::{FoundNodes, NameKind, RecordingNames};
use crate::quantity::{percent, percent_text, seconds, time_text};

/// A stretch of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Begin, nanoseconds since the start of the run.
    pub from: u64,
    /// End; later than the begin, and not after the end of the run.
    pub to: u64,
    /// Length of the whole run.
    pub of: u64,
}

impl Span {
    /// The stretch between two times of a run.
    ///
    /// # Errors
    /// [`Error::BadPhase`] when it would be empty, or begins or ends outside of the run.
    pub fn new(text: &str, from: u64, to: u64, of: u64) -> Result<Span> {
        // Where no end is given, it is the run's.
        let is_backwards = to < from && to != of;
        let reason = if is_backwards {
            "it ends before it begins"
        } else if from > of || (from == of && of > 0) {
            "it begins after the end of the run"
        } else if to > of {
            "it ends after the end of the run"
        } else if to == from {
            "it has no length"
        } else {
            return Ok(Span { from, to, of });
        };
        Err(bad(text, reason, of))
    }

    /// Begin.
    #[must_use]
    pub fn begin(&self) -> Time {
        Time::from_nanoseconds(self.from)
    }

    /// End; `None` where it is the end of the run.
    #[must_use]
    pub fn end(&self) -> Option<Time> {
        (self.to < self.of).then(|| Time::from_nanoseconds(self.to))
    }

    /// Begin and end in seconds.
    pub(crate) fn seconds(&self) -> [f64; 2] {
        [seconds(self.from), seconds(self.to)]
    }

    /// `1.50 s to 3.00 s of 5.21 s (29 %)`.
    pub(crate) fn text(&self) -> String {
        let share = percent((self.to - self.from) as f64, self.of as f64);
        let [from, to, of] = [self.from, self.to, self.of].map(time_text);
        format!("{from} to {to} of {of} ({})", percent_text(share))
    }
}

/// What a phase was given as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseArgument {
    /// Times.
    Span(Span),
    /// From the first to the last observation of a procedure or region.
    Procedure(ProcedureId),
}

impl PhaseArgument {
    /// Reads a phase of the run that `names` are of.
    ///
    /// # Errors
    /// [`Error::BadPhase`] for times that are none, or outside of the run; what [`RecordingNames::find`] says of a name.
    pub fn parse(text: &str, names: &RecordingNames<'_>) -> Result<PhaseArgument> {
        let of = names.program.elapsed_nanoseconds;
        let text = text.trim();
        let Some((from, to)) = text.split_once("..") else {
            if text.is_empty() || time(text, of).is_some() {
                return Err(bad(text, "A..B is needed, or the name of a procedure or region", of));
            }
            return match names.find(text, &[NameKind::Procedure, NameKind::Region])? {
                FoundNodes::Procedure(id) => Ok(PhaseArgument::Procedure(id)),
                _ => Err(bad(text, "it is no procedure and no region", of)),
            };
        };
        let point = |text: &str, open: u64| match text.trim() {
            "" => Ok(open),
            point => time(point, of).ok_or_else(|| {
                bad(
                    text,
                    &format!("`{point}` is neither seconds (`1.5s`) nor a share of the run (`20%`)"),
                    of,
                )
            }),
        };
        Span::new(text, point(from, 0)?, point(to, of)?, of).map(PhaseArgument::Span)
    }
}

fn bad(text: &str, reason: &str, of: u64) -> Error {
    Error::BadPhase { text: text.to_owned(), reason: reason.to_owned(), length: time_text(of) }
}

/// The argument that asks for a stretch of the run, its ends rounded to a power of ten that is at most `grain` nanoseconds;
/// `None` for the run's own end.
pub(crate) fn argument((from, to): (Option<u64>, Option<u64>), grain: u64) -> String {
    let (unit, places) = match from.max(to).unwrap_or(0) {
        time if time >= 1_000_000_000 => ("s", 9),
        time if time >= 1_000_000 => ("ms", 6),
        time if time >= 1_000 => ("us", 3),
        _ => ("ns", 0),
    };
    let digits = (0..places).find(|&digits| 10_u64.pow(places - digits) <= grain).unwrap_or(places) as usize;
    let end = |time: Option<u64>| {
        time.map_or(String::new(), |time| {
            let text = format!("{:.digits$}", time as f64 / 10_f64.powi(places as i32));
            let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            format!("{text}{unit}")
        })
    };
    format!("{}..{}", end(from), end(to))
}

/// Nanoseconds of a point in a run of the length `of`; `None` for what is no such point.
fn time(text: &str, of: u64) -> Option<u64> {
    let units =
        [("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("ns", 1.0), ("%", of as f64 / 100.0), ("s", 1e9), ("", 1e9)];
    let (number, unit) = units.iter().find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let number = number.trim();
    if !number.starts_with(is_number) || !number.chars().all(is_number) {
        return None;
    }
    let number: f64 = number.parse().ok()?;
    Some((number * unit).round() as u64)
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;

    use super::*;

    fn parse(text: &str) -> Result<PhaseArgument> {
        let mut made = draw("A = load\nB = load_rest\nT1 AAAABBBB");
        made.program.elapsed_nanoseconds = 4_000_000_000;
        PhaseArgument::parse(
            text,
            &RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects },
        )
    }

    fn span(text: &str) -> (u64, u64) {
        match parse(text).unwrap() {
            PhaseArgument::Span(span) => (span.from / 1_000_000, span.to / 1_000_000),
            PhaseArgument::Procedure(_) => panic!("{text} is no procedure"),
        }
    }

    #[test]
    fn phases_are_given_in_seconds_or_percent() {
        assert_eq!(span("1.5s..3s"), (1500, 3000));
        assert_eq!(span("1.5 .. 3"), (1500, 3000));
        assert_eq!(span("250ms..1s"), (250, 1000));
        assert_eq!(span("20%..60%"), (800, 2400));
        assert_eq!(span("1..50%"), (1000, 2000));
    }

    #[test]
    fn the_argument_of_a_stretch_is_as_exact_as_needed() {
        assert_eq!(argument((None, Some(1_234_567_890)), 10_000_000), "..1.23s");
        assert_eq!(argument((Some(1_500_000_000), Some(2_000_000_000)), 10_000_000), "1.5s..2s");
        assert_eq!(argument((Some(1_234_567), None), 2_000), "1.235ms..");
        assert_eq!(argument((Some(100_000_000_000), None), 100_000_000_000), "100s..");
    }

    #[test]
    fn an_open_end_is_that_of_the_run() {
        assert_eq!(span("..2s"), (0, 2000));
        assert_eq!(span("50%.."), (2000, 4000));
        assert_eq!(span(".."), (0, 4000));
        assert_eq!(span("0..100%"), (0, 4000));
    }

    #[test]
    fn a_procedure_s_name_is_a_phase() {
        assert!(matches!(parse("load").unwrap(), PhaseArgument::Procedure(_)));
        assert!(matches!(parse("procedure:load_rest").unwrap(), PhaseArgument::Procedure(_)));
        assert!(matches!(parse("laod"), Err(Error::NoSuchName { .. })));
        assert!(matches!(parse("oa"), Err(Error::AmbiguousName { .. })));
    }

    #[test]
    fn what_is_no_phase_is_refused_with_the_length_of_the_run() {
        for (text, reason) in [
            ("3s..1s", "it ends before it begins"),
            ("1s..1s", "it has no length"),
            ("6s..5s", "it ends before it begins"),
            ("5s..1s", "it ends before it begins"),
            ("5s..6s", "it begins after the end"),
            ("5s..", "it begins after the end"),
            ("4s..", "it begins after the end"),
            ("1s..5s", "it ends after the end"),
            ("50%..120%", "it ends after the end"),
            ("a..b", "`a` is neither seconds"),
            ("-1..2", "`-1` is neither seconds"),
            ("1e3..2", "`1e3` is neither seconds"),
            ("2s", "A..B is needed"),
            ("", "A..B is needed"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("4.00 s long"), "{text}: {error}");
        }
    }
}
