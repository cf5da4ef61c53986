//! `parallelism --of NAME`: one procedure, thread or object by the number of busy threads, its parts stacked
//! (metrics.md §3; Q figure 1).

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{ObjectId, PathId, ProcedureId};

use super::objects::procedure_of;
use super::{identity, npt};
use crate::find::FoundNodes;
use crate::input::{ReportOptions, ReportTables};
use crate::name;
use crate::quantity::{percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::View;

const COLUMNS: [&str; 7] = ["level", "seconds", "percent", "part", "procedure", "module", "file"];
/// Parts that have a letter of their own in the text.
const LETTERS: &[char] = &['A', 'B', 'C', 'D', 'E', 'F', 'G'];
const SELF: char = '█';
const OTHERS: char = '·';
/// Length of the longest bar.
const BAR: usize = 50;
/// Lines of the graph; with more levels several share a line.
const LINES: usize = 16;

/// A part of the whole, with its time by the number of busy threads.
struct StackPart {
    /// The procedure that it is of; `None`: not known, or nobody.
    procedure: Option<ProcedureId>,
    is_self: bool,
    times: Vec<f64>,
}

impl StackPart {
    fn whole(&self) -> f64 {
        self.times.iter().sum()
    }
}

/// What is stacked.
struct ParallelismStack {
    title: String,
    remark: &'static str,
    /// How parts that are not self come in.
    word: &'static str,
    parts: Vec<StackPart>,
}

pub(super) fn build(input: &ReportTables<'_>, options: &ReportOptions, of: &FoundNodes) -> Report {
    let mut report = Report::new(View::Parallelism, input, options, &COLUMNS);
    let stack = match of {
        FoundNodes::Procedure(id) => of_procedure(input, *id),
        FoundNodes::Threads(ids) => of_threads(input, ids),
        FoundNodes::Objects(ids) => of_objects(input, ids),
        FoundNodes::Lines(_) | FoundNodes::File(_) | FoundNodes::Processes(_) => return report,
    };
    let whole: f64 = stack.parts.iter().map(StackPart::whole).sum();
    report.rows = rows(input, &stack, whole);
    report.sections.push(TextSection::Headline(stack.title.clone()));
    report.sections.push(TextSection::Remark(stack.remark.to_owned()));
    report.sections.push(TextSection::Blank);
    if whole == 0.0 {
        let none = "No time was charged: it never ran, or nobody waited for it.";
        report.sections.push(TextSection::Paragraph(none.to_owned()));
        return report;
    }
    report.sections.extend(graph(&stack).into_iter().map(TextSection::Line));
    report.sections.push(TextSection::Blank);
    report.sections.push(legend(input, &stack, whole));
    report
}

/// Sums times by part, the largest first, self before all.
fn parts(sums: BTreeMap<(bool, Option<ProcedureId>), Vec<f64>>) -> Vec<StackPart> {
    let part = |((is_self, procedure), times)| StackPart { procedure, is_self, times };
    let mut parts: Vec<StackPart> = sums.into_iter().map(part).filter(|part| part.whole() > 0.0).collect();
    parts.sort_by(|a, b| {
        b.is_self.cmp(&a.is_self).then(b.whole().total_cmp(&a.whole())).then(a.procedure.cmp(&b.procedure))
    });
    parts
}

fn add(sums: &mut Vec<f64>, times: &[f64]) {
    if sums.len() < times.len() {
        sums.resize(times.len(), 0.0);
    }
    sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
}

/// What the last call of the procedure on the path called, or started by way of the C library; the procedure itself
/// where the path ends in it.
fn child(input: &ReportTables<'_>, path: PathId, of: ProcedureId) -> Option<(bool, ProcedureId)> {
    let (mut inner, mut starter) = (None, None);
    for place in input.paths.places_of(path) {
        if place.procedure == of {
            let child = inner.or(starter);
            return Some(child.map_or((true, of), |child| (false, child)));
        }
        match name::is_starter(&input.paths.procedure_named_by(place.procedure).name) {
            true => starter = Some(place.procedure),
            false => inner = Some(place.procedure),
        }
    }
    None
}

fn of_procedure(input: &ReportTables<'_>, id: ProcedureId) -> ParallelismStack {
    let mut sums: BTreeMap<(bool, Option<ProcedureId>), Vec<f64>> = BTreeMap::new();
    let mut of_path: BTreeMap<PathId, Option<(bool, ProcedureId)>> = BTreeMap::new();
    for charge in input.analysis.charges.iter().filter(|charge| !charge.measures.npt_terms.is_empty()) {
        let child = of_path.entry(charge.path).or_insert_with(|| child(input, charge.path, id));
        if let Some((is_self, procedure)) = *child {
            add(sums.entry((is_self, Some(procedure))).or_default(), &charge.measures.npt_terms);
        }
    }
    let parts = parts(sums);
    let whole: f64 = parts.iter().map(StackPart::whole).sum();
    let title = format!(
        "`{}` with all it called and started: {} of normalised processor time, {} of the run's",
        name::procedure(input.paths, input.program, id),
        time_text(whole.round() as u64),
        percent_text(percent(whole, npt::npt(input.totals()))),
    );
    ParallelismStack { title, remark: NPT_REMARK, word: "called", parts }
}

const NPT_REMARK: &str = "Each line: normalised processor time while so many threads were busy. Time at U=1 is serial: parallelise it, or run it beside other work. Time at many: do less work.";

fn of_threads(input: &ReportTables<'_>, ids: &[ThreadId]) -> ParallelismStack {
    let mut sums: BTreeMap<(bool, Option<ProcedureId>), Vec<f64>> = BTreeMap::new();
    for charge in input.analysis.charges.iter().filter(|charge| ids.contains(&charge.thread)) {
        let place = input.paths.innermost(charge.path);
        let key = (false, place.map(|place| place.procedure));
        add(sums.entry(key).or_default(), &charge.measures.npt_terms);
    }
    let parts = parts(sums);
    let whole: f64 = parts.iter().map(StackPart::whole).sum();
    let who = match ids {
        [one] => format!("`{}`", name::thread(input.program, *one)),
        several => format!(
            "{} threads `{}`",
            several.len(),
            several.first().map_or("", |id| input.program.threads[id.index()].name.as_str())
        ),
    };
    let title = format!(
        "{who}: {} of normalised processor time, {} of the run's",
        time_text(whole.round() as u64),
        percent_text(percent(whole, npt::npt(input.totals()))),
    );
    ParallelismStack { title, remark: NPT_REMARK, word: "in", parts }
}

fn of_objects(input: &ReportTables<'_>, ids: &[ObjectId]) -> ParallelismStack {
    let mut sums: BTreeMap<(bool, Option<ProcedureId>), Vec<f64>> = BTreeMap::new();
    for (&place, spread) in input.details.contention.iter().flat_map(|contention| &contention.wanted) {
        let times = sums.entry((false, procedure_of(input, place))).or_default();
        for &(level, time) in spread.levels() {
            let mut at_level = vec![0.0; level as usize + 1];
            at_level[level as usize] = time as f64;
            add(times, &at_level);
        }
    }
    let parts = parts(sums);
    let whole: f64 = parts.iter().map(StackPart::whole).sum();
    let object = ids.first().map(|id| input.objects.get(*id));
    let title = format!(
        "`{}` ({}): threads waited for it during {} of the run's {}",
        object.map_or("", |object| object.name.as_str()),
        object.map_or("", |object| object.kind.name()),
        time_text(whole.round() as u64),
        time_text(input.analysis.elapsed),
    );
    let remark = "Each line: elapsed time for which one thread or more waited for it while so many others were busy, by the procedure that then ended a wait.";
    ParallelismStack { title, remark, word: "handed over", parts }
}

fn rows(input: &ReportTables<'_>, stack: &ParallelismStack, whole: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for part in &stack.parts {
        for (level, &time) in part.times.iter().enumerate().filter(|(_, time)| **time > 0.0) {
            let identity = part
                .procedure
                .map(|id| identity(input, longpole_metrics::Node::Procedure(id)).0)
                .unwrap_or_default();
            let row = identity
                .count("level", level as u64)
                .fraction("seconds", time)
                .percent("percent", percent(time, whole))
                .text("part", word_of(stack, part));
            rows.push(row);
        }
    }
    rows.sort_by_key(|row| row.value("level").unwrap_or(0.0) as u64);
    rows
}

fn word_of(stack: &ParallelismStack, part: &StackPart) -> &'static str {
    match part {
        StackPart { is_self: true, .. } => "self",
        StackPart { procedure: None, .. } => "nobody",
        _ => stack.word,
    }
}

/// The mark of a part, by its place.
fn mark(parts: &[StackPart], at: usize) -> char {
    let has_self = parts.first().is_some_and(|part| part.is_self);
    match at.checked_sub(usize::from(has_self)) {
        None => SELF,
        Some(index) => LETTERS.get(index).copied().unwrap_or(OTHERS),
    }
}

/// A line per number of busy threads, or per several where they are many.
fn graph(stack: &ParallelismStack) -> Vec<String> {
    let levels = stack.parts.iter().map(|part| part.times.len()).max().unwrap_or(0);
    let first =
        usize::from(stack.parts.iter().all(|part| part.times.first().is_none_or(|&time| time == 0.0)));
    let step = levels.saturating_sub(first).div_ceil(LINES).max(1);
    let begins: Vec<usize> = (first..levels).step_by(step).collect();
    let sums = |begin: usize| -> Vec<f64> {
        let of_part = |part: &StackPart| part.times.iter().skip(begin).take(step).sum();
        stack.parts.iter().map(of_part).collect()
    };
    let largest =
        begins.iter().map(|&begin| sums(begin).iter().sum::<f64>()).fold(f64::MIN_POSITIVE, f64::max);
    let line = |&begin: &usize| {
        let sums = sums(begin);
        let label = match step {
            1 => begin.to_string(),
            _ => format!("{begin}–{}", (begin + step - 1).min(levels - 1)),
        };
        let time = time_text(sums.iter().sum::<f64>().round() as u64);
        format!("{label:>7} {time:>8}  {}", stacked(&stack.parts, &sums, largest))
    };
    let title = format!("{:>7} {:>8}", "U", "");
    std::iter::once(title).chain(begins.iter().map(line)).collect()
}

/// One bar: each part as long as its share, rounded so that the bar is as long as the sum.
fn stacked(parts: &[StackPart], sums: &[f64], largest: f64) -> String {
    let mut bar = String::new();
    let (mut end, mut drawn) = (0.0, 0);
    for (at, sum) in sums.iter().enumerate() {
        end += sum;
        let until = (end / largest * BAR as f64).round() as usize;
        bar.extend(std::iter::repeat_n(mark(parts, at), until.saturating_sub(drawn)));
        drawn = drawn.max(until);
    }
    bar
}

fn legend(input: &ReportTables<'_>, stack: &ParallelismStack, whole: f64) -> TextSection {
    let lettered = LETTERS.len() + usize::from(stack.parts.first().is_some_and(|part| part.is_self));
    let row = |mark: char, time: f64, word: &str| {
        Row::default()
            .text("mark", mark.to_string())
            .fraction("seconds", time)
            .percent("percent", percent(time, whole))
            .text("part", word)
    };
    let mut rows: Vec<(Row, String)> = stack
        .parts
        .iter()
        .enumerate()
        .take(lettered)
        .map(|(at, part)| {
            let name = part.procedure.map(|id| name::procedure(input.paths, input.program, id));
            let name = name.unwrap_or_else(|| "not known, or nobody in the program".to_owned());
            (row(mark(&stack.parts, at), part.whole(), word_of(stack, part)), name)
        })
        .collect();
    let rest: f64 = stack.parts.iter().skip(lettered).map(StackPart::whole).sum();
    if rest > 0.0 {
        rows.push((row(OTHERS, rest, stack.word), format!("{} others", stack.parts.len() - lettered)));
    }
    let columns = vec![
        shown("", Show::Words("mark")),
        shown("%", Show::Percent("percent")),
        shown("time", Show::Time("seconds")),
        shown("", Show::Words("part")),
    ];
    TextSection::Table(TextTable { columns, name_title: "procedure".to_owned(), rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use crate::style::Style;

    /// `main` runs `load` alone for 4, then `work` in two threads for 4: at U = 2 for 3, then alone for 1.
    const STARTS: &str = "\
cpus 2
L = main > load
M = main
W = main > start > work
boss LLLLMjjjj
one  ____WWWWW
two  ____WWWW_
boss@4 -> one, two create
one@9 -> boss join";

    fn report(drawing: &str, of: FoundNodes) -> Report {
        let scene = DrawnRun::of(drawing);
        scene.report(View::Parallelism, &ReportOptions { of: Some(of), ..ReportOptions::default() })
    }

    fn procedure(drawing: &str, name: &str) -> FoundNodes {
        FoundNodes::Procedure(DrawnRun::of(drawing).timelines.procedure(name))
    }

    #[test]
    fn the_parts_of_a_procedure_are_stacked_by_busy_threads() {
        let report = report(STARTS, procedure(STARTS, "main"));
        let seconds = |level: f64, name: &str| -> f64 {
            let is = |row: &&Row| row.value("level") == Some(level) && row.words("procedure") == name;
            report.rows.iter().filter(is).filter_map(|row| row.value("seconds")).sum()
        };
        assert!((seconds(1.0, "load") - 0.04).abs() < 1e-9);
        let whole: f64 = report.rows.iter().filter_map(|row| row.value("seconds")).sum();
        assert!((whole - 0.09).abs() < 1e-9, "the run is all main's: {whole}");
    }

    #[test]
    fn a_graph_without_colours_tells_its_parts_apart() {
        let report = report(STARTS, procedure(STARTS, "main"));
        let text = report.text(&Style::plain(80));
        assert!(text.contains("`main` with all it called and started: 90.0 ms"), "{text}");
        assert!(
            text.lines().any(|line| line.trim_start().starts_with("1 ") && line.contains("AAAA")),
            "{text}"
        );
        assert!(text.contains("load"), "{text}");
    }

    #[test]
    fn the_lines_of_an_object_add_up_to_the_time_it_was_wanted() {
        let object = DrawnRun::of(LOCK_HOG).timelines.object("table_lock");
        let report = report(LOCK_HOG, FoundNodes::Objects(vec![object]));
        let sum: f64 = report.rows.iter().filter_map(|row| row.value("seconds")).sum();
        // Wanted 1..8, 11..16, 19..24, 27..32; nobody handed over after 24.
        assert!((sum - 0.22).abs() < 1e-9, "{sum}");
        let nobody: f64 = report
            .rows
            .iter()
            .filter(|row| row.words("part") == "nobody")
            .filter_map(|row| row.value("seconds"))
            .sum();
        assert!((nobody - 0.05).abs() < 1e-9, "{nobody}");
    }

    #[test]
    fn the_parts_of_a_thread_are_its_procedures() {
        let thread = DrawnRun::of(LOCK_HOG).timelines.thread("polite1");
        let report = report(LOCK_HOG, FoundNodes::Threads(vec![thread]));
        assert!(report.rows.iter().any(|row| row.words("procedure") == "independent"));
        assert!(report.rows.iter().all(|row| row.words("procedure") != "update"));
    }
}
