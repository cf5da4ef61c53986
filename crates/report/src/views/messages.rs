//! `messages`: what processes sent to each other, and how long they waited for each other.

mod matrix;

use longpole_metrics::By;
use longpole_trace::{Fold, MessageFlow, MessageTraffic};

use crate::input::{ReportOptions, ReportTables};
use crate::mpi_evidence;
use crate::quantity::{count_of, grouped, time_text};
use crate::report::Report;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};
use matrix::{MatrixPair, pairs};

const COLUMNS: [&str; 10] =
    ["by", "from", "from_machine", "to", "to_machine", "messages", "bytes", "waits", "seconds", "percent"];

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "messages",
    about: "What ranks and processes sent to each other, and how long each waited for each other one.",
    fold: Fold::None,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Messages, input, options, &COLUMNS);
    let traffic = &input.evidence.messages;
    let has_machines = input.program.machines.len() > 1;
    let by_machine = options.by == By::Machine;
    let matrix = |by_machine| pairs(&traffic.flows, input.program, by_machine);
    let rows = matrix(by_machine);
    let whole: u64 = rows.iter().map(MatrixPair::waited).sum();
    report.rows.extend(rows.iter().map(|pair| pair.row(input.program, whole)));
    report.sections.extend(head(traffic));
    let most = options.top.unwrap_or(super::ROWS_OF_TEXT);
    if has_machines && !by_machine {
        report.sections.extend(table(input, &matrix(true), whole, most));
    }
    report.sections.extend(table(input, &rows, whole, most));
    if rows.len() > most {
        let left = count_of((rows.len() - most) as u64, "more pair");
        let of = if by_machine { "machines" } else { "processes" };
        report.sections.push(TextSection::Remark(format!("{left} of {of}; `--top` shows them.")));
    }
    report.sections.extend(doubts(traffic).map(TextSection::Warning));
    report
}

/// The first rows of a matrix, as text; nothing for none.
fn table(input: &ReportTables<'_>, pairs: &[MatrixPair], whole: u64, most: usize) -> Vec<TextSection> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let table = TextTable {
        columns: vec![
            shown("%", Show::Percent("percent")),
            shown("waited", Show::Time("seconds")),
            shown("waits", Show::Count("waits")),
            shown("messages", Show::Count("messages")),
            shown("bytes", Show::Count("bytes")),
        ],
        name_title: "to this one ← from that one".to_owned(),
        rows: pairs
            .iter()
            .take(most)
            .map(|pair| (pair.row(input.program, whole), pair.title(input.program)))
            .collect(),
    };
    vec![TextSection::Blank, TextSection::Table(table)]
}

fn head(traffic: &MessageTraffic) -> Vec<TextSection> {
    let (streams, ranks): (Vec<&MessageFlow>, Vec<&MessageFlow>) =
        traffic.flows.iter().partition(|flow| flow.is_stream);
    if traffic.flows.is_empty() {
        let nothing = "Messages: none was recorded. Calls of MPI are recorded where the command is a launcher or linked \
                       with MPI, or with `record --mpi`.";
        return vec![TextSection::Headline(nothing.to_owned())];
    }
    let mut sections = if ranks.is_empty() { Vec::new() } else { of_ranks(traffic, &ranks) };
    if !streams.is_empty() {
        let sum = |of: fn(&MessageFlow) -> u64| streams.iter().map(|flow| of(flow)).sum::<u64>();
        sections.push(TextSection::Headline(format!(
            "Sockets and pipes: {} of {} bytes; processes waited {} for each other",
            count_of(sum(|flow| flow.messages), "write"),
            grouped(sum(|flow| flow.bytes)),
            time_text(sum(|flow| flow.waited_nanoseconds)),
        )));
        let remark = "A process waits for the one that writes what it reads next, in a read, a poll or an epoll. What an MPI \
                      passes between ranks inside is not counted.";
        sections.push(TextSection::Remark(remark.to_owned()));
    }
    sections
}

fn of_ranks(traffic: &MessageTraffic, ranks: &[&MessageFlow]) -> Vec<TextSection> {
    let accesses = match traffic.accesses {
        0 => String::new(),
        accesses => format!(" and {} accesses to windows", grouped(accesses)),
    };
    let bytes: u64 = ranks.iter().map(|flow| flow.bytes).sum();
    let whole: u64 = ranks.iter().map(|flow| flow.waited_nanoseconds).sum();
    let title = format!(
        "Messages: {}{accesses} of {} bytes, {}; ranks waited {} for each other",
        count_of(traffic.matched, "message"),
        grouped(bytes),
        count_of(traffic.collectives, "collective operation"),
        time_text(whole),
    );
    let remark = "A rank waits for one that sends late, receives late, or is the last of those that a collective operation \
                  needs, whether it polls or sleeps. Messages that an operation passes inside are not counted.";
    vec![TextSection::Headline(title), TextSection::Remark(remark.to_owned())]
}

/// What is not known at both ends.
fn doubts(traffic: &MessageTraffic) -> impl Iterator<Item = String> {
    let MessageTraffic { unmatched_sends, unmatched_receives, resized, incomplete_collectives, .. } =
        *traffic;
    let reversed = (traffic.reversed > 0).then(|| {
        format!(
            "{} received before sent, by up to {}: clocks of the machines are not known well enough",
            count_of(traffic.reversed, "message"),
            time_text(traffic.most_reversed_nanoseconds),
        )
    });
    let opaque = (!traffic.not_understood.is_empty()).then(|| {
        let functions = mpi_evidence::not_understood_calls(traffic);
        format!("calls of which it is not known for whom they wait, counted as waiting: {functions}")
    });
    let of =
        |count: u64, what: &str, why: &str| (count > 0).then(|| format!("{}{why}", count_of(count, what)));
    [
        of(unmatched_sends, "message", " sent but not seen to be received"),
        of(unmatched_receives, "message", " received but not seen to be sent"),
        of(
            resized,
            "message",
            " received with another length than sent: matched with the wrong end, and so may be others",
        ),
        of(
            incomplete_collectives,
            "collective operation",
            " without all members; nobody is known to be waited for",
        ),
    ]
    .into_iter()
    .flatten()
    .chain(reversed)
    .chain(opaque)
}

#[cfg(test)]
mod tests {
    use longpole_event::{MachineId, ProcessId};
    use longpole_trace::Machine;

    use super::*;
    use crate::fixture::DrawnRun;

    fn run(traffic: MessageTraffic) -> DrawnRun {
        let mut scene = DrawnRun::of("P1/T1 AAAA\nP2/T2 AAAA");
        scene.evidence.messages = traffic;
        scene
    }

    fn flow((from, to): (u32, u32), waited_nanoseconds: u64) -> MessageFlow {
        let (from, to) = (ProcessId(from), ProcessId(to));
        MessageFlow { from, to, messages: 10, bytes: 4000, waits: 8, waited_nanoseconds, is_stream: false }
    }

    #[test]
    fn streams_are_told_apart_from_messages_of_ranks() {
        let stream = MessageFlow { is_stream: true, ..flow((1, 0), 10_000_000) };
        let scene = run(MessageTraffic {
            matched: 10,
            flows: vec![stream, flow((0, 1), 0)],
            ..MessageTraffic::default()
        });
        let report = scene.report(View::Messages, &ReportOptions::default());
        let by: Vec<_> = report.rows.iter().map(|row| row.words("by")).collect();
        assert_eq!(by, ["stream", "MPI"]);
        let text = scene.text(View::Messages, 200);
        assert!(text.contains("Messages: 10 messages of 4,000 bytes"), "{text}");
        assert!(
            text.contains("Sockets and pipes: 10 writes of 4,000 bytes; processes waited 10.0 ms"),
            "{text}"
        );
    }

    #[test]
    fn pairs_of_ranks_are_ordered_by_the_waiting_of_one_for_the_other() {
        let flows = vec![flow((0, 1), 0), flow((1, 0), 30_000_000)];
        let scene = run(MessageTraffic { matched: 20, collectives: 3, flows, ..MessageTraffic::default() });
        let report = scene.report(View::Messages, &ReportOptions::default());
        assert_eq!(report.rows[0].value("seconds"), Some(0.03));
        assert_eq!(report.rows[0].value("percent"), Some(100.0));
        insta::assert_snapshot!("messages", scene.text(View::Messages, 100));
    }

    #[test]
    fn machines_have_the_sums_of_their_processes_and_a_pair_with_themselves() {
        let flows = vec![
            flow((0, 1), 10_000_000),
            flow((1, 0), 0),
            flow((0, 2), 30_000_000),
            flow((1, 2), 50_000_000),
            flow((2, 0), 10_000_000),
        ];
        let mut scene = DrawnRun::of("P1/T1 AAAA\nP2/T2 AAAA\nP3/T3 AAAA");
        scene.evidence.messages = MessageTraffic { matched: 50, flows, ..MessageTraffic::default() };
        let here = scene.timelines.program.machines[0].clone();
        scene.timelines.program.machines.push(Machine { name: "node2".to_owned(), ..here });
        scene.timelines.program.processes[2].machine = MachineId(1);
        let here = scene.timelines.program.machines[0].name.clone();
        let options = ReportOptions { by: By::Machine, ..ReportOptions::default() };
        let report = scene.report(View::Messages, &options);
        let cells = |row: &crate::report::Row| {
            let count = |column| row.value(column).unwrap();
            (
                row.words("from").to_owned(),
                row.words("to").to_owned(),
                count("messages"),
                count("bytes"),
                count("seconds"),
            )
        };
        let there = || "node2".to_owned();
        let expected = [
            (here.clone(), there(), 20.0, 8000.0, 0.08),
            (here.clone(), here.clone(), 20.0, 8000.0, 0.01),
            (there(), here.clone(), 10.0, 4000.0, 0.01),
        ];
        assert_eq!(report.rows.iter().map(cells).collect::<Vec<_>>(), expected);
        assert!(report.rows.iter().filter_map(|row| row.value("percent")).sum::<f64>() > 99.9);
        // By process each row says where both ends are, and the matrix of machines is above it.
        let report = scene.report(View::Messages, &ReportOptions::default());
        let places: Vec<_> =
            report.rows.iter().map(|row| [row.words("from_machine"), row.words("to_machine")]).collect();
        assert_eq!(places[0], [&here[..], "node2"]);
        let text = scene.text(View::Messages, 200);
        let [machines, processes] = [format!("node2 ← {here}"), format!("P3 on node2 ← P2 on {here}")]
            .map(|title| text.find(&title).unwrap_or_else(|| panic!("{title}: {text}")));
        assert!(machines < processes, "{text}");
    }

    #[test]
    fn what_is_known_at_one_end_only_is_said() {
        let flows = vec![flow((0, 1), 0)];
        let scene = run(MessageTraffic {
            matched: 10,
            unmatched_sends: 1,
            resized: 2,
            incomplete_collectives: 3,
            reversed: 4,
            most_reversed_nanoseconds: 5_000,
            flows,
            ..MessageTraffic::default()
        });
        let text = scene.text(View::Messages, 200);
        for part in [
            "1 message sent but not seen",
            "2 messages received with another",
            "3 collective operations without",
            "4 messages received before sent, by up to 5.00 µs",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn calls_that_were_lost_are_told_of_all() {
        let mut scene = run(MessageTraffic { calls: 1_729, ..MessageTraffic::default() });
        scene.evidence.lost_communications = 562;
        let text = scene.text(View::Messages, 200);
        assert!(text.contains("562 of 2,291 calls of MPI were lost"), "{text}");
        let evidence = scene.text(View::Evidence, 200);
        assert!(evidence.contains("562 of 2,291") && evidence.contains("lost calls of MPI"), "{evidence}");
    }

    #[test]
    fn a_run_without_messages_says_how_they_are_recorded() {
        let text = run(MessageTraffic::default()).text(View::Messages, 100);
        assert!(text.contains("none was recorded"), "{text}");
    }
}
