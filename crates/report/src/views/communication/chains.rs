//! `communication --explain N`: R ← I ← W of a row in full, and the ways back to the same thread's previous copy (C §2.2).

use std::collections::{BTreeMap, BTreeSet};

use longpole_communication::{
    AccessPattern, CallPathFlow, PatternTallies, RecordedCommunication, RequestChains, WayBack, WayEnd,
    WaysBack,
};

use super::{path_text as call_path, place_name, thread_name};
use crate::input::ReportTables;
use crate::name::shorten;
use crate::quantity::{count_of, grouped, percent, percent_text, time_text};
use crate::report::Row;
use crate::text::TextSection;

/// Columns that an explained row has besides those of all rows.
pub(super) const COLUMNS: [&str; 4] = ["chains", "ways", "followed", "cut"];
/// Chains and ways of the text.
const SHOWN: usize = 6;
/// Callers of a place in the text.
const CALLERS: usize = 8;
/// Characters of a place's name.
const PLACE_WIDTH: usize = 66;
/// Characters of a synchronisation's name and of a write's place, so that both have room in a line.
const THROUGH_WIDTH: usize = 20;
const WRITE_WIDTH: usize = 28;
/// Threads that are named one by one.
const THREADS: usize = 3;

/// Requests that agree in all call paths, of any thread.
#[derive(Default)]
struct RequestChain<'a> {
    flows: Vec<&'a CallPathFlow>,
}

impl RequestChain<'_> {
    fn sum(&self, value: impl Fn(&CallPathFlow) -> u64) -> u64 {
        self.flows.iter().map(|flow| value(flow)).sum()
    }

    fn patterns(&self) -> PatternTallies {
        let mut sum = PatternTallies::default();
        self.flows.iter().for_each(|flow| sum.merge(&flow.patterns));
        sum
    }
}

/// What is explained.
pub(super) struct ExplainedRow<'a> {
    pub(super) number: usize,
    pub(super) name: &'a str,
    /// The row as the view has it.
    pub(super) row: Row,
    /// Indexes of its flows.
    pub(super) flows: BTreeSet<usize>,
}

/// The row with its chains, and its text.
pub(super) fn explain(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    chains: &RequestChains,
    explained: ExplainedRow<'_>,
) -> (Row, Vec<TextSection>) {
    let mut by_path: BTreeMap<_, RequestChain<'_>> = BTreeMap::new();
    for flow in chains.flows.iter().filter(|flow| explained.flows.contains(&flow.flow)) {
        by_path.entry((flow.read_path, flow.written)).or_default().flows.push(flow);
    }
    let mut found: Vec<RequestChain<'_>> = by_path.into_values().collect();
    // Transfers first, then first references.
    found.sort_by_key(|chain| {
        (chain.flows[0].written.is_none(), std::cmp::Reverse(chain.sum(|flow| flow.cost)))
    });
    let ways = chains.ways(&explained.flows);
    let whole: u64 = found.iter().map(|chain| chain.sum(|flow| flow.cost)).sum();
    let rows = found.iter().map(|chain| chain_row(input, answer, (chains, chain), whole)).collect();
    let ways_rows = ways.ways.iter().map(|way| way_row(answer, way, &ways)).collect();
    let ExplainedRow { number, name, row, .. } = explained;
    let title = format!(
        "Row {number}: {name}: {}, {} of them transfers, {}",
        count_of(row.value("requests").unwrap_or(0.0) as u64, "request"),
        grouped(row.value("transfers").unwrap_or(0.0) as u64),
        time_text(whole),
    );
    let mut sections = vec![TextSection::Blank, TextSection::Headline(title)];
    for (at, chain) in (1..).zip(found.iter().take(SHOWN)) {
        sections.extend(chain_text(input, answer, (chains, chain), (at, whole)));
    }
    if found.len() > SHOWN {
        let rest: u64 = found[SHOWN..].iter().map(|chain| chain.sum(|flow| flow.cost)).sum();
        let left = count_of((found.len() - SHOWN) as u64, "more cause");
        let share = percent_text(percent(rest as f64, whole as f64));
        sections.push(TextSection::Blank);
        sections.push(TextSection::Remark(format!("{left}, {share} of the cost; `--format json` has them.")));
    }
    sections.extend(ways_text(answer, &ways));
    let row = row
        .list("chains", rows)
        .list("ways", ways_rows)
        .count("followed", ways.followed)
        .count("cut", ways.cut);
    (row, sections)
}

fn frames(answer: &RecordedCommunication, path: &[usize]) -> Vec<String> {
    path.iter().map(|&place| place_name(&answer.places[place])).collect()
}

/// Threads that asked, and whose writes are behind it.
fn threads(answer: &RecordedCommunication, chain: &RequestChain<'_>) -> [BTreeSet<usize>; 2] {
    let flows = || chain.flows.iter().map(|flow| &answer.flows[flow.flow]);
    let writers = flows().filter_map(|flow| Some(flow.writer?.thread)).collect();
    [flows().map(|flow| flow.reader).collect(), writers]
}

fn chain_row(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    (chains, chain): (&RequestChains, &RequestChain<'_>),
    whole: u64,
) -> Row {
    let path = |path: usize| call_path(answer, &chains.paths[path]);
    let named = |threads: &BTreeSet<usize>| {
        threads.iter().map(|&one| thread_name(input, answer, one)).collect::<Vec<_>>().join(", ")
    };
    let [readers, writers] = threads(answer, chain);
    let first = chain.flows[0];
    let cost = chain.sum(|flow| flow.cost);
    let row = Row::default()
        .count("requests", chain.sum(|flow| flow.requests))
        .count("contributions", chain.sum(|flow| flow.contributions))
        .time("request_seconds", cost)
        .percent("percent", percent(cost as f64, whole as f64))
        .text("patterns", patterns_text(&chain.patterns()))
        .text("read_path", path(first.read_path))
        .text("readers", named(&readers));
    let Some((through, write_path)) = first.written else { return row };
    let row = row.text("write_path", path(write_path)).text("writers", named(&writers));
    match through {
        None => row.text("through", "unordered"),
        Some((through, at)) => {
            row.text("through", &answer.synchronisations[through].0).text("through_path", path(at))
        }
    }
}

/// The requests of each pattern, as `29 migratory, 61 MPMC`.
fn patterns_text(patterns: &PatternTallies) -> String {
    let named = AccessPattern::ALL.into_iter().filter_map(|pattern| {
        let requests = patterns.of(pattern).requests;
        (requests > 0).then(|| format!("{requests} {}", pattern.name()))
    });
    named.collect::<Vec<_>>().join(", ")
}

fn chain_text(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    (chains, chain): (&RequestChains, &RequestChain<'_>),
    (at, whole): (usize, u64),
) -> Vec<TextSection> {
    let first = chain.flows[0];
    let (requests, behind) = (chain.sum(|flow| flow.requests), chain.sum(|flow| flow.contributions));
    let cost = chain.sum(|flow| flow.cost);
    let noun = if first.written.is_some() { "transfer" } else { "first reference" };
    let also = match behind - requests {
        0 => String::new(),
        more => format!(", and a part of {} that other writes are behind too", grouped(more)),
    };
    let share = percent_text(percent(cost as f64, whole as f64));
    let patterns = match patterns_text(&chain.patterns()) {
        text if text.is_empty() || first.written.is_none() => String::new(),
        text => format!("; {text}"),
    };
    let title = format!("{at}. {}{also}: {} ({share}){patterns}", count_of(requests, noun), time_text(cost));
    let mut sections = vec![TextSection::Blank, TextSection::Paragraph(title)];
    let [readers, writers] = threads(answer, chain);
    let by = |threads: &BTreeSet<usize>| match threads.len() {
        count if count > THREADS => count_of(count as u64, "thread"),
        _ => threads.iter().map(|&one| thread_name(input, answer, one)).collect::<Vec<_>>().join(", "),
    };
    sections.extend(path_text(answer, ("R", "asks"), &chains.paths[first.read_path], &by(&readers)));
    if let Some((through, write_path)) = first.written {
        match through {
            None => sections.push(TextSection::Line(
                "   I  unordered: nothing orders the write before the request".into(),
            )),
            Some((through, at)) => {
                let name = shorten(&answer.synchronisations[through].0, PLACE_WIDTH);
                sections.push(TextSection::Line(format!("   I  {name}")));
                sections.extend(path_lines(answer, ("in", &chains.paths[at])));
            }
        }
        sections.extend(path_text(answer, ("W", "writes"), &chains.paths[write_path], &by(&writers)));
    }
    sections
}

/// A place with its callers, and who was there.
fn path_text(
    answer: &RecordedCommunication,
    (letter, does): (&str, &str),
    path: &[usize],
    threads: &str,
) -> Vec<TextSection> {
    let place = path.first().map_or_else(String::new, |&place| place_name(&answer.places[place]));
    let mut sections = vec![TextSection::Line(format!("   {letter}  {}", shorten(&place, PLACE_WIDTH)))];
    sections.extend(path_lines(answer, ("called by", path.get(1..).unwrap_or_default())));
    sections.push(TextSection::Line(format!("        {does}: {}", shorten(threads, PLACE_WIDTH - 8))));
    sections
}

/// Lines of callers, the innermost first.
fn path_lines(answer: &RecordedCommunication, (first, path): (&str, &[usize])) -> Vec<TextSection> {
    let lines = frames(answer, path).into_iter().take(CALLERS).enumerate().map(|(at, frame)| {
        let word = if at == 0 { first } else { "called by" };
        TextSection::Line(format!("        {word} {}", shorten(&frame, PLACE_WIDTH - 10)))
    });
    lines.collect()
}

fn through_name(answer: &RecordedCommunication, through: Option<usize>) -> &str {
    through.map_or("unordered", |through| &answer.synchronisations[through].0)
}

fn end_name(end: WayEnd) -> &'static str {
    match end {
        WayEnd::OwnCopy => "its own previous copy",
        WayEnd::OlderCopy => "another thread's older copy",
        WayEnd::FirstReference => "another thread's first reference",
    }
}

fn way_row(answer: &RecordedCommunication, way: &WayBack, ways: &WaysBack) -> Row {
    let steps = way.steps.iter().map(|&(step, least, most)| {
        Row::default()
            .text("read", place_name(&answer.places[step.read_place]))
            .text("through", through_name(answer, step.through))
            .text("write", place_name(&answer.places[step.write_place]))
            .count("least", least)
            .count("most", most)
    });
    Row::default()
        .percent("percent", percent(way.requests, ways.followed as f64))
        .list("steps", steps.collect())
        .text("end", end_name(way.end.0))
        .text("end_place", place_name(&answer.places[way.end.1]))
}

fn ways_text(answer: &RecordedCommunication, ways: &WaysBack) -> Vec<TextSection> {
    if ways.followed == 0 {
        return Vec::new();
    }
    let title = format!(
        "Ways back to the thread's previous copy, of {} followed. A line is the place of a request, below it what it was for: \
         ← through what ← the write. The next line is the request by which that writer had got its copy.",
        count_of(ways.followed, "request")
    );
    let mut sections = vec![TextSection::Blank, TextSection::Paragraph(title)];
    for way in ways.ways.iter().take(SHOWN) {
        let mut share = format!("{:>7}", percent_text(percent(way.requests, ways.followed as f64)));
        for &(step, least, most) in &way.steps {
            let read = shorten(&place_name(&answer.places[step.read_place]), PLACE_WIDTH);
            let through = shorten(through_name(answer, step.through), THROUGH_WIDTH);
            let write = shorten(&place_name(&answer.places[step.write_place]), WRITE_WIDTH);
            let times = match (least, most) {
                (1, 1) => String::new(),
                (least, most) if least == most => format!(", {least} times"),
                (least, most) => format!(", {least} to {most} times"),
            };
            sections.push(TextSection::Line(format!("{share}  {read}")));
            sections.push(TextSection::Line(format!("           ← {through} ← {write}{times}")));
            share = " ".repeat(7);
        }
        let place = shorten(&place_name(&answer.places[way.end.1]), WRITE_WIDTH);
        sections.push(TextSection::Line(format!("{share}  {place}: {}", end_name(way.end.0))));
    }
    if ways.ways.len() > SHOWN {
        let rest: f64 = ways.ways[SHOWN..].iter().map(|way| way.requests).sum();
        let left = count_of((ways.ways.len() - SHOWN) as u64, "more way");
        let share = percent_text(percent(rest, ways.followed as f64));
        sections.push(TextSection::Remark(format!("{left}, {share}; `--format json` has them.")));
    }
    if ways.cut > 0 {
        let cut = count_of(ways.cut, "request");
        let text =
            format!("{cut} had more ways than were followed, or chains that begin before the recorded ones.");
        sections.push(TextSection::Remark(text));
    }
    sections
}
