//! What was charged to the lines of source files (metrics.md §1; C figure 1a).
//!
//! ```text
//!   charged: main (a.c:3) > push (q.h:9) 5     line     own   inclusive
//!            main (a.c:4) > push (q.h:9) 2     a.c:3      0           5
//!                                              a.c:4      0           2
//!                                              q.h:9      7           7   whichever procedure it was inlined into
//! ```
//! A line that is in several procedures, because it was inlined or is generic, is one. What was charged where no line is
//! known is told by procedure, so that the lines and procedures together have all that the table of procedures has.
//!
//! Time: one addition per charge and per node of the tree of charged paths, and a look at the callers of each.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{CodePlace, PathId, Paths, ProcedureId};

use crate::analysis::{Analysis, Measures};
use crate::rows::outwards;

/// A line of a source file, or a procedure of which no line is known.
#[derive(Clone, Debug)]
pub struct SourceLine {
    /// The procedure; of a line of several the one in which most time passed.
    pub procedure: ProcedureId,
    /// The line in the procedure's file; 0 where it is not known.
    pub line: u32,
    /// Charged to paths that end at the line.
    pub own: Measures,
    /// Charged to paths that pass through the line; once, however often they pass.
    pub inclusive: Measures,
}

/// What tells rows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SourceRowKey {
    /// A line of a file, by the file's number.
    Line(u32, u32),
    /// What has no line.
    Procedure(ProcedureId),
}

/// Every line, and every procedure without lines, that was charged anything by the selected threads; lines in the order of their files' names.
#[must_use]
pub fn source_lines(
    analysis: &Analysis,
    paths: &Paths,
    select: impl Fn(ThreadId) -> bool,
) -> Vec<SourceLine> {
    let files = file_numbers(paths);
    let key = |place: CodePlace| match (files[place.procedure.0 as usize], place.line) {
        (Some(file), line) if line > 0 => SourceRowKey::Line(file, line),
        _ => SourceRowKey::Procedure(place.procedure),
    };
    let mut by_path: BTreeMap<PathId, Measures> = BTreeMap::new();
    for charge in analysis.charges.iter().filter(|charge| select(charge.thread)) {
        by_path.entry(charge.path).or_default().add(&charge.measures);
    }
    let mut lines: BTreeMap<SourceRowKey, (Measures, Measures)> = BTreeMap::new();
    let mut procedures: BTreeMap<(SourceRowKey, ProcedureId), (u64, u64)> = BTreeMap::new();
    for (path, measures) in &by_path {
        if let Some(place) = paths.innermost(*path) {
            lines.entry(key(place)).or_default().0.add(measures);
            procedures.entry((key(place), place.procedure)).or_default().0 += time(measures);
        }
    }
    outwards(paths, by_path, |caller, place, measures| {
        procedures.entry((key(place), place.procedure)).or_default().1 += time(measures);
        if !paths.places_of(caller).any(|outer| key(outer) == key(place)) {
            lines.entry(key(place)).or_default().1.add(measures);
        }
    });
    let named = most(procedures);
    let row = |(key, (own, inclusive))| {
        let line = if let SourceRowKey::Line(_, line) = key { line } else { 0 };
        SourceLine { procedure: named[&key], line, own, inclusive }
    };
    lines.into_iter().map(row).collect()
}

/// What weighs the procedures of a line against each other.
fn time(measures: &Measures) -> u64 {
    measures.cpu() + measures.ready + measures.blocked_in_all()
}

/// The number of each procedure's file, by procedure; files are numbered by their names.
fn file_numbers(paths: &Paths) -> Vec<Option<u32>> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for procedure in paths.procedures().iter().filter(|procedure| !procedure.file.is_empty()) {
        numbers.insert(&procedure.file, 0);
    }
    numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    paths.procedures().iter().map(|procedure| numbers.get(procedure.file.as_str()).copied()).collect()
}

/// The procedure of each line in which most time passed itself, then inclusively; the first of equal ones.
fn most(
    procedures: BTreeMap<(SourceRowKey, ProcedureId), (u64, u64)>,
) -> BTreeMap<SourceRowKey, ProcedureId> {
    let mut best: BTreeMap<SourceRowKey, ((u64, u64), ProcedureId)> = BTreeMap::new();
    for ((key, procedure), times) in procedures {
        let known = best.entry(key).or_insert((times, procedure));
        if times > known.0 {
            *known = (times, procedure);
        }
    }
    best.into_iter().map(|(key, (_, procedure))| (key, procedure)).collect()
}

#[cfg(test)]
mod tests {
    use longpole_testkit::random_timelines;
    use longpole_trace::Procedure;
    use proptest::prelude::*;

    use super::*;
    use crate::drawn::Drawn;
    use crate::{By, MetricOptions, analyse, rows};

    /// Puts every procedure into a file; those of names that begin alike share one.
    fn with_files(drawn: &mut Drawn, file: impl Fn(&str) -> String) {
        let old = drawn.timelines.paths.clone();
        let mut paths = Paths::default();
        for at in 1..old.len() {
            let path = PathId(u32::try_from(at).unwrap());
            let place = old.innermost(path).unwrap();
            let procedure = old.procedure_named_by(place.procedure);
            let procedure = paths.procedure(Procedure { file: file(&procedure.name), ..procedure.clone() });
            let place = paths.place(CodePlace { procedure, line: place.line });
            assert_eq!(paths.path(old.caller(path).unwrap(), place), path);
        }
        drawn.timelines.paths = paths;
    }

    /// `file:line procedure own inclusive` of each row.
    fn shown(drawn: &Drawn) -> Vec<String> {
        let paths = &drawn.timelines.paths;
        let line = |row: &SourceLine| {
            let Procedure { name, file, .. } = paths.procedure_named_by(row.procedure);
            format!("{file}:{} {name} {} {}", row.line, row.own.running, row.inclusive.running)
        };
        source_lines(&drawn.analysis, paths, |_| true).iter().map(line).collect()
    }

    #[test]
    fn a_line_is_one_whichever_procedure_it_was_inlined_into() {
        let mut drawn = Drawn::new("A = main:3 > q_int:9\nB = main:4 > q_bool:9\nC = main:4\nT1 AAAAABBC");
        with_files(&mut drawn, |name| if name == "main" { "a.c".into() } else { "q.h".into() });
        assert_eq!(shown(&drawn), ["a.c:3 main 0 5", "a.c:4 main 1 3", "q.h:9 q_int 7 7"]);
    }

    #[test]
    fn a_line_that_is_on_a_path_twice_counts_once() {
        let mut drawn = Drawn::new("A = f:3 > g:3 > f:3\nT1 AAAA");
        with_files(&mut drawn, |_| "a.c".into());
        assert_eq!(shown(&drawn), ["a.c:3 f 4 4"]);
    }

    #[test]
    fn what_has_no_line_is_told_by_procedure() {
        let mut drawn = Drawn::new("A = main:3 > memcpy\nB = main > memset\nT1 AAAB");
        with_files(&mut drawn, |name| if name == "main" { "a.c".into() } else { String::new() });
        assert_eq!(shown(&drawn), ["a.c:3 main 0 3", "a.c:0 main 0 1", ":0 memcpy 3 3", ":0 memset 1 1"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Lines have all that the table of procedures has.
        #[test]
        fn lines_add_up_to_the_table_of_procedures(timelines in random_timelines(4, 24)) {
            let Ok(analysis) = analyse(&timelines, &MetricOptions::default());
            let mut drawn = Drawn { timelines, analysis };
            with_files(&mut drawn, |name| if name.len() % 2 == 0 { "even.c".into() } else { String::new() });
            let (program, paths) = (&drawn.timelines.program, &drawn.timelines.paths);
            let (mut lines, mut procedures) = (Measures::default(), Measures::default());
            source_lines(&drawn.analysis, paths, |_| true).iter().for_each(|row| lines.add(&row.own));
            let table = rows(&drawn.analysis, program, paths, By::Procedure, |_| true);
            table.iter().for_each(|row| procedures.add(&row.own));
            prop_assert_eq!(lines.running, procedures.running);
            prop_assert_eq!(lines.caused_wait, procedures.caused_wait);
            prop_assert_eq!(lines.critical_cpu, procedures.critical_cpu);
            prop_assert_eq!(lines.blocked_in_all(), procedures.blocked_in_all());
        }
    }
}
