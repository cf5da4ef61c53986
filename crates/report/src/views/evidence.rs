//! `evidence`: the ledger, every count explained (metrics.md §9).

use longpole_trace::{Evidence, MessageTraffic, SourceCounts};

use crate::evidence::{
    outside_percent, overhead_percent, removed_percent, unexplained_wait_percent, warnings,
};
use crate::input::{ReportOptions, ReportTables};
use crate::mpi_evidence;
use crate::name;
use crate::quantity::{count_of, grouped, percent, percent_text, seconds, time_text};
use crate::report::{Report, Row};
use crate::text::{TextSection, wrap};
use crate::unnamed_code;
use crate::view::{View, ViewDefinition};

/// Columns of the names and values; the meanings get the rest.
const NAME_WIDTH: usize = 24;
const VALUE_WIDTH: usize = 14;
const MEANING_WIDTH: usize = 40;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "evidence",
    about: "What the answers rest on: events, samples, losses, and the cost of collecting.",
    has_frame: false,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Evidence, input, options, &["name", "count", "value", "about"]);
    report.rows = rows(input);
    report.drop_empty_columns(&["name", "count", "value", "about"]);
    report
        .sections
        .push(TextSection::Headline("Evidence: what the answers of this recording rest on".to_owned()));
    report.sections.push(TextSection::Remark(super::run_line(input)));
    if let Some(span) = options.phase {
        let text = format!(
            "Phase {}: counts are of the whole recording, times and shares of the phase.",
            span.text()
        );
        report.sections.push(TextSection::Remark(text));
    }
    report.sections.push(TextSection::Blank);
    for row in &report.rows {
        report.sections.extend(ledger_lines(row).into_iter().map(TextSection::Line));
    }
    let warnings = warnings(input);
    report.sections.push(TextSection::Blank);
    if warnings.is_empty() {
        report.sections.push(TextSection::Paragraph("Nothing speaks against the answers.".to_owned()));
    }
    report.sections.extend(warnings.into_iter().map(TextSection::Warning));
    let notes = input.evidence.notes.iter().map(|note| TextSection::Paragraph(format!("Note: {note}")));
    report.sections.extend(notes);
    report
}

/// A count with its meaning beside it, broken over lines.
fn ledger_lines(row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, meaning) in wrap(row.words("about"), MEANING_WIDTH, 0).into_iter().enumerate() {
        let (name, value) = if at == 0 { (row.words("name"), row.words("value")) } else { ("", "") };
        lines.push(format!("{name:NAME_WIDTH$}{value:>VALUE_WIDTH$}  {meaning}"));
    }
    lines
}

fn words(name: &str, value: String, about: &str) -> Row {
    Row::default().text("name", name).text("value", value).text("about", about)
}

fn count(name: &str, count: u64, about: &str) -> Row {
    words(name, grouped(count), about).count("count", count)
}

fn rows(input: &ReportTables<'_>) -> Vec<Row> {
    let mut rows = collected(input);
    rows.extend(samples(input));
    rows.extend(missing(input.evidence));
    rows.extend(understood(input));
    rows.extend(messages(&input.evidence.messages));
    rows.extend(objects(input.evidence));
    rows.extend(cost(input));
    rows.extend(outside(input));
    rows
}

fn collected(input: &ReportTables<'_>) -> Vec<Row> {
    let evidence = input.evidence;
    let rate = format!("{} Hz", evidence.sample_hertz);
    vec![
        words(
            "collector",
            evidence.collector.clone(),
            "what recorded the run: bpf (kernel programs), perf (tracepoints), process (what users may see of their own), agent (what the program can see of itself), an import, otf2 (an imported trace), or a simulation",
        ),
        words("sampling rate", rate, "timer samples asked for, per second and CPU"),
        count("events", evidence.events, "switches, wakes, starts, ends and samples read from the recording"),
        count(
            "switches",
            evidence.switches,
            "times a thread left its CPU; states of threads are exact by them",
        ),
        count("wakes", evidence.wakes, "times a thread was made runnable; the dependences come from them"),
        count("samples", evidence.samples, "times a timer found a thread running"),
        count(
            "observations",
            evidence.observations,
            "samples, switches and wakes with a call path, and where threads told of entering and leaving: what CPU time is charged by",
        ),
    ]
}

fn samples(input: &ReportTables<'_>) -> Vec<Row> {
    let samples = input.analysis.effective_samples;
    let text = |samples: f64| match samples.is_finite() {
        true => grouped(samples.round() as u64),
        false => "exact".to_owned(),
    };
    let row = |name: &str, samples: f64, about: &str| words(name, text(samples), about);
    vec![
        row(
            "effective, CPU",
            samples.cpu,
            "as many observations of equal weight stand behind shares of CPU time; a share p has the error √(p(1−p)/n)",
        ),
        row("effective, NPT", samples.npt, "the same behind shares of normalised processor time"),
        row("effective, path", samples.critical, "the same behind shares of the critical path"),
    ]
}

fn missing(evidence: &Evidence) -> Vec<Row> {
    let defects = &evidence.defects;
    let always = [
        count(
            "lost events",
            evidence.lost_events,
            "switches, wakes, starts and ends that came too fast to be kept; states and waits are wrong by them",
        ),
        count(
            "lost samples",
            evidence.lost_samples,
            "samples that came too fast to be kept; they only widen the errors",
        ),
        count(
            "lost stacks",
            evidence.lost_stacks,
            "events whose call path was lost; their time goes to the thread's next known path",
        ),
        count(
            "without a stack",
            evidence.without_stack,
            "switches and wakes that have no call path, lost or never taken",
        ),
    ];
    let seldom = [
        count(
            "lost threads",
            evidence.lost_threads,
            "threads that did not fit the collector's table and are missing altogether",
        ),
        count(
            "lost calls",
            evidence.lost_calls,
            "entries and exits of instrumented procedures that came too fast to be kept; their time is their callers'",
        ),
        count(
            "lost calls of MPI",
            evidence.lost_communications,
            "calls that came too fast to be kept; no message or collective operation behind them is matched",
        ),
        count(
            "contradictions",
            evidence.contradictions,
            "events that cannot follow those before them: signs of losses that nobody counted",
        ),
        count(
            "disordered",
            evidence.disordered,
            "events with a time before their predecessor's; they stand at its time",
        ),
        count(
            "damaged chunks",
            defects.damaged_chunks,
            "pieces of the recording whose checksum is wrong; what stood there is missing",
        ),
        count(
            "undecodable chunks",
            defects.undecodable_chunks,
            "pieces that this version cannot read; what stood there is missing",
        ),
        count(
            "torn bytes",
            defects.torn_bytes,
            "bytes after the last whole piece: the recorder was stopped while it wrote",
        ),
        count(
            "lost definitions",
            evidence.lost_definitions,
            "names and stacks that were lost with damaged pieces",
        ),
    ];
    let did_occur = |row: &Row| row.value("count") > Some(0.0);
    always.into_iter().chain(seldom.into_iter().filter(did_occur)).collect()
}

fn understood(input: &ReportTables<'_>) -> Vec<Row> {
    let evidence = input.evidence;
    let share = |name: &str, value: f64, about: &str| words(name, percent_text(value), about);
    let mut outside =
        "waits ended by a task that is not part of the program; its work is not seen".to_owned();
    if !evidence.outside_wakers.is_empty() {
        let names: Vec<String> = evidence
            .outside_wakers
            .iter()
            .take(3)
            .map(|(name, wakes)| format!("{name} {}", grouped(*wakes)))
            .collect();
        outside = format!("{outside} (most: {})", names.join(", "));
    }
    vec![
        count(
            "unmatched wakes",
            evidence.unmatched_wakes,
            "waits that ended without a recorded wake; each may hide a dependence",
        ),
        count(
            "wakes by interrupts",
            evidence.interrupt_wakes,
            "waits ended by a device, a timer or a packet: nobody's work ended them",
        ),
        count("wakes from outside", evidence.outside_wakes, &outside),
        share(
            "unsymbolised",
            unnamed_code::share(input).0,
            "share of CPU time in code without a name: no symbols found",
        ),
        may_wait(input),
        words(
            "spins of unknown end",
            time_text(input.analysis.spun_for_unknown),
            "busy-waiting of which nothing tells who ended it: the store was not seen; gains of what it waited for can be too small",
        ),
        share(
            "unexplained waiting",
            unexplained_wait_percent(input),
            "share of blocked time of which no cause is known",
        ),
    ]
}

/// What is not known at both ends, of programs that pass messages.
fn messages(traffic: &MessageTraffic) -> Vec<Row> {
    if *traffic == MessageTraffic::default() {
        return Vec::new();
    }
    let unmatched = traffic.unmatched_sends + traffic.unmatched_receives + traffic.resized;
    let mut rows = vec![
        count(
            "unmatched messages",
            unmatched,
            "messages of which one end only was seen, or both with different lengths; each may hide a dependence",
        ),
        count(
            "incomplete collectives",
            traffic.incomplete_collectives,
            "collective operations of which not all members were seen; nobody is known to be waited for",
        ),
    ];
    if !traffic.not_understood.is_empty() {
        let calls = traffic.not_understood.iter().map(|function| function.calls).sum();
        let about = format!(
            "calls of MPI of which it is not known for whom they wait; their time counts as waiting that nobody ends: {}",
            mpi_evidence::not_understood_calls(traffic)
        );
        rows.push(count("MPI calls not understood", calls, &about));
    }
    rows
}

/// CPU time of which the code does not say whether it is work.
fn may_wait(input: &ReportTables<'_>) -> Row {
    let sum: u64 = input.evidence.may_wait.iter().map(|(_, time)| time).sum();
    let mut about =
        "CPU time in loops that may be waiting: their code does not decide it, and it counts as work"
            .to_owned();
    let most: Vec<String> = input
        .evidence
        .may_wait
        .iter()
        .take(3)
        .map(|&(id, time)| format!("{} {}", name::procedure(input.paths, input.program, id), time_text(time)))
        .collect();
    if !most.is_empty() {
        about = format!("{about} (most: {})", most.join(", "));
    }
    words("may be waiting", time_text(sum), &about)
}

/// What is known of the objects that threads waited for.
fn objects(evidence: &Evidence) -> Vec<Row> {
    vec![
        count(
            "waits for an object",
            evidence.waits_for_objects,
            "waits whose object is known for sure: a lock by its address, a thread, a file",
        ),
        count(
            "waits at a place",
            evidence.waits_by_place,
            "waits whose object is known by the place of the wait only: objects used at one place look like one",
        ),
        count(
            "waits without an object",
            evidence.waits_without_object,
            "waits for something, of which nothing tells what it is",
        ),
    ]
}

/// Source files that were not kept, of which the reasons are shown.
const REFUSED_SOURCES: usize = 5;

/// What became of the source files, where they were to be kept.
fn sources(evidence: &Evidence) -> Vec<Row> {
    let Some(SourceCounts { kept, missing, left_out, refused }) = &evidence.sources else {
        return Vec::new();
    };
    let left_out = (*left_out > 0).then(|| {
        let about = "source files that are named and were not kept";
        let shown = refused.iter().take(REFUSED_SOURCES).map(String::as_str).collect::<Vec<_>>().join("; ");
        let about = if shown.is_empty() { about.to_owned() } else { format!("{about}, such as {shown}") };
        count("sources left out", *left_out, &about)
    });
    let always = [
        count("sources kept", *kept, "source files that the recording has copies of"),
        count(
            "sources missing",
            *missing,
            "source files that are named and were not there when the run ended",
        ),
    ];
    always.into_iter().chain(left_out).collect()
}

fn cost(input: &ReportTables<'_>) -> Vec<Row> {
    let evidence = input.evidence;
    let overhead = overhead_percent(input).map_or("not measured".to_owned(), percent_text);
    let told = evidence.overhead_nanoseconds;
    let told = (told > 0).then(|| {
        words(
            "overhead removed",
            percent_text(removed_percent(input)),
            "time that the collector took in the program's threads, as a share of their CPU time; it is part of no other number",
        )
    });
    let is_measured = evidence.recorder_cpu_seconds > 0.0;
    let measured = |text: String| if is_measured { text } else { "not measured".to_owned() };
    let recorder = measured(time_text((evidence.recorder_cpu_seconds * 1e9) as u64));
    let bytes_text = |bytes: u64| match bytes as f64 / 1024.0 {
        kibibytes if kibibytes < 1024.0 => format!("{kibibytes:.1} KiB"),
        kibibytes => format!("{:.1} MiB", kibibytes / 1024.0),
    };
    let measured = vec![
        words(
            "cost in the program",
            overhead,
            "time of the collector's kernel programs as a share of the program's CPU time",
        ),
        words("recorder's CPU time", recorder, "CPU time of the recorder beside the program while it ran"),
        words(
            "recorder's memory",
            measured(bytes_text(evidence.recorder_peak_bytes)),
            "largest resident memory of the recorder",
        ),
        words("recording's size", bytes_text(evidence.recording_bytes), "bytes on disk"),
    ];
    told.into_iter().chain(measured).chain(sources(evidence)).collect()
}

/// What the outside series cost, and how each of their collectors fared.
fn outside(input: &ReportTables<'_>) -> Vec<Row> {
    let accounts = &input.evidence.outside;
    if accounts.is_empty() {
        return Vec::new();
    }
    let cost = words(
        "outside series' cost",
        percent_text(outside_percent(input)),
        "CPU time of all collectors of outside series as a share of one processor; it is part of the recorder's CPU time but for what commands used",
    );
    let of_each = accounts.iter().map(|account| {
        let name = format!("from {}", account.collector);
        let share = percent_text(percent(account.cpu_seconds, seconds(input.analysis.elapsed)));
        let every = account
            .interval_seconds
            .map(|seconds| format!(", looked at every {}", time_text((seconds * 1e9) as u64)));
        let values = count_of(account.values, "value");
        let mut about = format!("{values}{}, {share} of one processor", every.unwrap_or_default());
        for trouble in &account.troubles {
            let times = if trouble.count > 1 {
                format!(" ({} times)", grouped(trouble.count))
            } else {
                String::new()
            };
            about += &format!("; {}{times}", trouble.what);
        }
        let series = match account.series {
            1 => "1 series".to_owned(),
            several => format!("{} series", grouped(several.into())),
        };
        words(&name, series, &about).count("count", account.series.into())
    });
    std::iter::once(cost).chain(of_each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use longpole_trace::{OutsideAccount, Trouble};

    #[test]
    fn source_files_are_told_of_where_they_were_to_be_kept() {
        let mut scene = DrawnRun::of(LOCK_HOG);
        let count = |scene: &DrawnRun, name: &str| {
            let rows = scene.report(View::Evidence, &ReportOptions::default()).rows;
            rows.iter().find(|row| row.words("name") == name).and_then(|row| row.value("count"))
        };
        assert_eq!(count(&scene, "sources kept"), None);
        scene.evidence.sources = Some(SourceCounts { kept: 7, missing: 2, ..SourceCounts::default() });
        assert_eq!((count(&scene, "sources kept"), count(&scene, "sources missing")), (Some(7.0), Some(2.0)));
        assert_eq!(count(&scene, "sources left out"), None);
        let refused = vec!["/etc/shadow: not the name of a source file".to_owned()];
        scene.evidence.sources = Some(SourceCounts { left_out: 1, refused, ..SourceCounts::default() });
        let rows = scene.report(View::Evidence, &ReportOptions::default()).rows;
        let row = rows.iter().find(|row| row.words("name") == "sources left out").unwrap();
        assert!(row.words("about").ends_with("such as /etc/shadow: not the name of a source file"));
    }

    #[test]
    fn outside_series_say_what_they_cost_and_what_was_refused() {
        let mut scene = DrawnRun::of(LOCK_HOG);
        let rows = |scene: &DrawnRun| scene.report(View::Evidence, &ReportOptions::default()).rows;
        assert!(!rows(&scene).iter().any(|row| row.words("name").starts_with("outside")));
        let trouble = Trouble { what: "`a` was not a number".to_owned(), count: 2 };
        scene.evidence.outside = vec![OutsideAccount {
            collector: "kernel".to_owned(),
            series: 74,
            values: 1200,
            cpu_seconds: 0.0,
            interval_seconds: Some(0.010),
            troubles: vec![trouble],
        }];
        let rows = rows(&scene);
        let row = rows.iter().find(|row| row.words("name") == "from kernel").unwrap();
        assert_eq!(row.words("value"), "74 series");
        assert!(row.words("about").contains("looked at every 10"), "{}", row.words("about"));
        assert!(row.words("about").ends_with("`a` was not a number (2 times)"), "{}", row.words("about"));
    }
}
