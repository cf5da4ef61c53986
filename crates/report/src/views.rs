//! One module per view, and what they have in common.

mod call_tree;
mod callers;
mod causality;
mod changes;
mod communication;
mod correlation;
mod critical_path;
mod diff;
mod evidence;
mod gains;
mod guidance;
mod layouts;
mod lock_order;
mod messages;
mod metrics;
mod no_accesses;
mod npt;
mod object_costs;
mod objects;
mod one_object;
mod parallelism;
mod patterns;
mod phases;
mod processors;
mod profile;
mod ranking;
mod rankings;
mod replay;
mod sampled;
mod sharing;
mod source;
mod stack;
mod states;
mod summary;
mod threads;
mod tree;
mod waits;
mod what_if;
mod wholes;
mod zero;

pub(crate) use communication::{doubts as communication_doubts, thread_name};
pub use diff::{EarlierPrediction, build_diff, diff_demand};
pub use layouts::{LayoutTrial, build_layouts};
pub use replay::{build_replay, refusal_text};
pub(crate) use sampled::remark as sample_remark;
pub use what_if::build_what_if;
pub use zero::{
    ComparedOutput, MeasuredDelay, MeasuredGain, MeasuredProgram, MeasuredVariant, VersionMedians,
    build_zero, plot_zero,
};

use longpole_metrics::{By, Measures, Node};
use longpole_trace::{Cause, Program};

use crate::column::blocked_columns;
use crate::findings::Sentence;
use crate::input::{ReportInput, ReportOptions, ReportTables};
use crate::name;
use crate::phase::Span;
use crate::quantity::{count_of, rounded, time_text};
use crate::report::{Report, Row};
use crate::text::TextSection;
use crate::view::ViewDefinition;

/// Rows of a table of text, unless the reader asks for more.
const ROWS_OF_TEXT: usize = 20;

/// Declares the views, in the order of the documentation.
macro_rules! views {
    ($($name:ident => $module:ident :: $definition:ident),* $(,)?) => {
        /// What a report is about.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "`View::about` says it")]
        pub enum View {
            #[default]
            $($name,)*
        }

        impl View {
            /// Every view, in the order of the documentation.
            pub const ALL: &'static [View] = &[$(View::$name),*];

            pub(crate) fn definition(self) -> &'static ViewDefinition {
                match self { $(View::$name => &$module::$definition,)* }
            }
        }
    };
}

views! {
    Summary => summary::VIEW,
    CriticalPath => critical_path::VIEW,
    Zeroing => gains::ZEROING,
    Slack => gains::SLACK,
    Npt => npt::VIEW,
    Profile => profile::VIEW,
    Source => source::VIEW,
    Waits => waits::VIEW,
    Objects => objects::VIEW,
    States => states::VIEW,
    Threads => threads::VIEW,
    Tree => tree::VIEW,
    CallTree => call_tree::VIEW,
    Callers => callers::VIEW,
    Parallelism => parallelism::VIEW,
    Processors => processors::VIEW,
    Messages => messages::VIEW,
    Communication => communication::VIEW,
    Sharing => sharing::VIEW,
    Patterns => patterns::VIEW,
    Causality => causality::VIEW,
    Phases => phases::VIEW,
    Metrics => metrics::VIEW,
    Correlation => correlation::VIEW,
    Rankings => rankings::VIEW,
    Guidance => guidance::VIEW,
    Evidence => evidence::VIEW,
}

/// Builds a view of a recording.
#[must_use]
pub fn build(view: View, input: &ReportInput<'_>, options: &ReportOptions) -> Report {
    let input = &ReportTables::new(*input);
    let definition = view.definition();
    let mut report = if definition.counts_work_only && options.by == By::Object {
        without_objects(view, input, options)
    } else {
        (definition.build)(input, options)
    };
    crate::folded::add_column(&mut report);
    if definition.has_frame {
        add_frame(&mut report, input, options);
    }
    let lacks = crate::needs::lacks(view, input, options);
    report.evidence.notes.extend(lacks.iter().map(|&lack| lack.to_owned()));
    if view != View::Summary {
        report.sections.extend(lacks.into_iter().map(|lack| TextSection::Warning(lack.to_owned())));
    }
    report
}

/// Work is charged to procedures and threads: an answer by object has no rows, and says where there are some.
fn without_objects(view: View, input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(view, input, options, identity_columns(By::Object));
    let why = format!(
        "`{view}` counts work, and objects do none: `--view objects` shows how long threads waited for them."
    );
    report.sections.push(TextSection::Paragraph(why));
    report
}

/// What stands around every view but the summary: the run at the top, doubts at the end.
fn add_frame(report: &mut Report, input: &ReportTables<'_>, options: &ReportOptions) {
    let phase = options.phase.map(|span| TextSection::Remark(phase_line(span)));
    let head = [TextSection::Remark(run_line(input)), TextSection::Blank];
    let lead = crate::evidence::leading_warning(input);
    let mut warnings = crate::evidence::warnings(input);
    warnings.retain(|warning| lead.as_ref() != Some(warning));
    let kept = crate::evidence::kept_part(input).map(TextSection::Remark);
    let head = lead.map(TextSection::Warning).into_iter().chain(kept).chain(phase).chain(head);
    report.sections.splice(0..0, head);
    if !warnings.is_empty() {
        report.sections.push(TextSection::Blank);
        report.sections.extend(warnings.into_iter().map(TextSection::Warning));
    }
}

/// The procedure that was charged most while `level` threads were busy, and its share of that.
pub(crate) fn most_charged_while(input: &ReportTables<'_>, level: usize) -> Option<(Node, f64)> {
    parallelism::most_charged(input.rows(By::Procedure), level)
}

/// The row with a sentence: as text, and in the spans that it is made of.
fn with_sentence(row: Row, input: &ReportTables<'_>, sentence: &Sentence) -> Row {
    row.text("text", sentence.text()).list("spans", sentence.rows(input))
}

/// The part of the run that a report is about.
fn phase_line(span: Span) -> String {
    format!("Phase {}: all that follows is of this part of the run.", span.text())
}

/// The run in one line.
fn run_line(input: &ReportTables<'_>) -> String {
    let totals = input.totals();
    let program = input.program;
    let machines = match program.machines.len() {
        0 | 1 => String::new(),
        several => format!("{several} machines, "),
    };
    format!(
        "{}: {} elapsed, {} CPU, on average {:.2} busy; {machines}{}",
        name::shorten(&name::command(program), 60),
        time_text(input.analysis.elapsed),
        time_text(totals.running + totals.spinning),
        input.effective_parallelism(),
        census(program, ""),
    )
}

/// What the program ran on and as; `machines` stands behind the processors.
pub(crate) fn census(program: &Program, machines: &str) -> String {
    let (cpus, online) = (program.cpus(), program.online_cpus());
    let all = count_of(u64::from(online), "CPU");
    let cpus = match program.quota() {
        Some(quota) => format!("{} of {all} (quota)", rounded(quota.processors)),
        None if cpus < online => format!("{cpus} of {all} (affinity)"),
        None => all,
    };
    let processes = count_of(program.processes.len() as u64, "process");
    let threads = count_of(program.threads.len() as u64, "thread");
    format!("{cpus}{machines}, {processes}, {threads}")
}

/// The cells that say what a row is about, and its name for people.
pub(crate) fn identity(input: &ReportTables<'_>, node: Node) -> (Row, String) {
    let (program, paths) = (input.program, input.paths);
    match node {
        Node::Procedure(id) => {
            let procedure = paths.procedure_named_by(id);
            let row = Row::default()
                .text("procedure", &procedure.name)
                .text("module", &procedure.module)
                .text("file", &procedure.file);
            (row, name::procedure(paths, program, id))
        }
        Node::Line(id, line) => {
            let (row, name) = identity(input, Node::Procedure(id));
            let file = row.words("file").rsplit('/').next().unwrap_or("").to_owned();
            match line {
                0 => (row, name),
                line => (row.count("line", u64::from(line)), format!("{name} {file}:{line}")),
            }
        }
        Node::Thread(id) => {
            let thread = &program.threads[id.index()];
            let (row, _) = identity(input, Node::Process(thread.process));
            let row = row.text("thread", &thread.name).count("tid", u64::from(thread.tid));
            (row, name::thread(program, id))
        }
        Node::Process(id) => {
            let process = &program.processes[id.index()];
            let (row, _) = identity(input, Node::Machine(process.machine));
            let row = row
                .text("process", &process.name)
                .text("process_title", &process.title)
                .count("pid", u64::from(process.pid));
            (row, name::process(program, id))
        }
        Node::ProcessProcedure(process, procedure) => {
            let (row, name) = identity(input, Node::Procedure(procedure));
            let of = program.processes[process.index()].clone();
            let row = row
                .text("process", &of.name)
                .text("process_title", &of.title)
                .count("pid", u64::from(of.pid));
            (row, format!("{}: {name}", name::process(program, process)))
        }
        Node::Machine(id) => {
            let machine = program.machines.get(id.index()).map_or("", |machine| machine.name.as_str());
            (Row::default().text("machine", machine), machine.to_owned())
        }
        Node::Object(id) => {
            let object = input.objects.get(id);
            let row = Row::default().text("object", &object.name).text("kind", object.kind.name());
            (row, object.name.clone())
        }
    }
}

/// A node of the tree by its name for people.
#[must_use]
pub fn name_of(program: &Program, node: longpole_series::OutsideNode) -> String {
    use longpole_series::OutsideNode as Place;
    match node {
        Place::Program => "the program".to_owned(),
        Place::Machine(id) => {
            program.machines.get(id.index()).map_or(String::new(), |machine| machine.name.clone())
        }
        Place::Process(id) => name::process(program, id),
        Place::Thread(id) => name::thread(program, id),
    }
}

/// What rows are, in a title.
fn noun(by: By) -> &'static str {
    match by {
        By::Procedure | By::ProcessProcedure => "procedure",
        By::Line => "line",
        By::Thread => "thread",
        By::Process => "process",
        By::Machine => "machine",
        By::Object => "object",
    }
}

/// The columns that say what rows of this kind are about.
fn identity_columns(by: By) -> &'static [&'static str] {
    match by {
        By::Procedure => &["procedure", "module", "file"],
        By::Line => &["procedure", "module", "file", "line"],
        By::Thread => &["machine", "process", "process_title", "pid", "thread", "tid"],
        By::Process => &["machine", "process", "process_title", "pid"],
        By::Machine => &["machine"],
        By::Object => &["object", "kind"],
        By::ProcessProcedure => &["process", "process_title", "pid", "procedure", "module", "file"],
    }
}

/// Whether shares of rows of this kind are estimated from samples. Times of threads, processes and
/// machines come from switches and are exact.
fn is_estimated(by: By) -> bool {
    matches!(by, By::Procedure | By::Line)
}

/// Time blocked, whatever for.
fn blocked(measures: &Measures) -> u64 {
    measures.blocked.iter().sum()
}

/// Time blocked for other threads of the program.
fn synchronisation(blocked: &[u64]) -> u64 {
    let is_counted =
        |&(at, _): &(usize, &u64)| Cause::ALL.get(at).is_some_and(|cause| cause.is_synchronisation());
    blocked.iter().enumerate().filter(is_counted).map(|(_, &time)| time).sum()
}

/// Adds the times blocked by cause, where there are any.
fn with_waits(mut row: Row, blocked: &[u64]) -> Row {
    for (column, cause) in blocked_columns() {
        match blocked.get(cause.index()) {
            Some(&time) if time > 0 => row = row.time(column, time),
            _ => {}
        }
    }
    row
}

/// Names of the columns of waits.
fn blocked_names() -> impl Iterator<Item = &'static str> {
    blocked_columns().map(|(name, _)| name)
}

/// The causes of waiting, the longest first, as `lock 1.20 s, join 0.30 s`; at most `most` of them.
fn causes_text(blocked: &[u64], most: usize) -> String {
    let mut causes: Vec<(u64, Cause)> =
        Cause::ALL.iter().filter_map(|&cause| Some((*blocked.get(cause.index())?, cause))).collect();
    causes.retain(|&(time, _)| time > 0);
    causes.sort_by_key(|&(time, cause)| (std::cmp::Reverse(time), cause));
    let texts: Vec<String> =
        causes.iter().take(most).map(|(time, cause)| format!("{cause} {}", time_text(*time))).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
