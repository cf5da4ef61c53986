//! `zeroing` and `slack`: what the run would gain from work that took no time (metrics.md §5).

use longpole_metrics::{By, DetailsDemand, Gain, Gains, Measures, NodeRow as Charged, Weight};

use super::ranking::{RANKED, RankedRow, by_times, mark_ties, placed, table, taken};
use super::{identity, identity_columns, is_estimated, noun};
use crate::findings::threshold::PATH_TOO_SHORT;
use crate::folded::FoldedWork;
use crate::input::{ReportOptions, ReportTables, Sort};
use crate::needs::chain_needs;
use crate::quantity::{count_of, percent, time_text};
use crate::report::Report;
use crate::share::{places, standard_error};
use crate::table::{Show, Shown, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const MEASURES: [&str; 4] = ["zeroing_seconds", "slack_seconds", "critical_path_seconds", "running_seconds"];

/// Which of the two gains ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GainKind {
    Zeroing,
    Slack,
}

impl GainKind {
    fn of(self, gain: &Gain) -> (f64, f64) {
        match self {
            GainKind::Zeroing => (gain.zeroing, gain.zeroing_inclusive),
            GainKind::Slack => (gain.slack, gain.slack_inclusive),
        }
    }

    /// Whole nanoseconds, as rows have them: what is less depends on the order in which it was added up.
    fn shown(self, gain: &Gain) -> (f64, f64) {
        let (own, inclusive) = self.of(gain);
        (own.round(), inclusive.round())
    }

    fn view(self) -> View {
        match self {
            GainKind::Zeroing => View::Zeroing,
            GainKind::Slack => View::Slack,
        }
    }
}

pub(super) static ZEROING: ViewDefinition = ViewDefinition {
    name: "zeroing",
    about: "What the run would gain from work that took no time, whichever path it is on.",
    has_levels: true,
    demand,
    needs: chain_needs,
    build: |input, options| build(GainKind::Zeroing, input, options),
    ..ViewDefinition::PLAIN
};

pub(super) static SLACK: ViewDefinition = ViewDefinition {
    name: "slack",
    about: "How far work on the critical path can be improved before another path is the longest.",
    has_levels: true,
    counts_work_only: true,
    demand,
    needs: chain_needs,
    build: |input, options| build(GainKind::Slack, input, options),
    ..ViewDefinition::PLAIN
};

fn demand(options: &ReportOptions) -> DetailsDemand {
    DetailsDemand { gains: Some(options.gains()), ..DetailsDemand::default() }
}

fn build(kind: GainKind, input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let names: Vec<&str> =
        RANKED.iter().chain(&MEASURES).chain(identity_columns(options.by)).copied().collect();
    let mut report = Report::new(kind.view(), input, options, &names);
    let Some(gains) = &input.details.gains else { return report };
    let ranked = ranked(kind, input, gains, options.sort);
    report.rows = taken(&ranked, options);
    report.drop_empty_columns(&RANKED);
    report.sections.push(TextSection::Headline(title(kind, gains)));
    if let Some(why) = emptiness(kind, gains, &ranked) {
        report.sections.push(TextSection::Blank);
        report.sections.push(TextSection::Paragraph(why));
        return report;
    }
    report.sections.extend(limits(input, gains).map(TextSection::Remark));
    report.sections.push(TextSection::Blank);
    let telling: Vec<RankedRow> = ranked.into_iter().filter(gains_anything).collect();
    report.sections.extend(table(input, &telling, text_columns(kind, gains), options));
    report.sections.extend(remarks(gains, telling.len()).map(TextSection::Remark));
    report
}

fn gains_anything(ranked: &RankedRow) -> bool {
    let is_positive = |name: &str| ranked.row.value(name).is_some_and(|value| value > 0.0);
    is_positive("seconds") || is_positive("inclusive_seconds")
}

/// The largest first; those that gain the same, as rows show it, in the order of their nodes.
fn sorted(kind: GainKind, gains: &[Gain], sort: Sort) -> Vec<&Gain> {
    let mut sorted: Vec<&Gain> = gains.iter().collect();
    sorted.sort_by(|a, b| by_times(sort, kind.shown(a), kind.shown(b)).then(a.node.cmp(&b.node)));
    sorted
}

fn ranked(kind: GainKind, input: &ReportTables<'_>, gains: &Gains, sort: Sort) -> Vec<RankedRow> {
    let charged = input.rows(gains.by);
    let sorted = sorted(kind, &gains.gains, sort);
    let ranking = |gain: &&Gain| {
        let (own, inclusive) = kind.shown(gain);
        percent(*sort.of(&own, &inclusive), gains.length as f64)
    };
    let shares: Vec<f64> = sorted.iter().map(ranking).collect();
    let samples = is_estimated(gains.by).then_some(input.analysis.effective_samples.critical);
    let places = places(&shares, samples);
    let rank = |(gain, place): (&Gain, u64)| {
        let (row, name) = identity(input, gain.node);
        let length = gains.length as f64;
        let error = samples.and_then(|samples| standard_error(percent(kind.of(gain).0, length), samples));
        let row = placed(row, (sort, place, error), kind.of(gain), length)
            .fraction("zeroing_seconds", gain.zeroing);
        let found = charged.binary_search_by_key(&gain.node, |row| row.node);
        match found {
            Ok(at) => {
                let charged = charged[at].clone();
                let running = charged.own.running as f64;
                let folded = FoldedWork::of(input, gain.node, running, &|measures| measures.running as f64);
                let name = name + &folded.suffix();
                let row = folded
                    .add_to(input, row)
                    .fraction("slack_seconds", gain.slack)
                    .time("critical_path_seconds", charged.own.critical(gains.weight))
                    .time("running_seconds", charged.own.running);
                RankedRow { charged, row, name }
            }
            Err(_) => {
                let none = Measures::default;
                let charged = Charged { node: gain.node, own: none(), inclusive: none() };
                RankedRow { charged, row, name }
            }
        }
    };
    let mut ranked: Vec<RankedRow> = sorted.into_iter().zip(places).map(rank).collect();
    mark_ties(&mut ranked);
    ranked
}

fn title(kind: GainKind, gains: &Gains) -> String {
    let length = time_text(gains.length);
    let noun = noun(gains.by);
    let whole = match gains.weight {
        Weight::Cpu => format!("the critical path ({length} of CPU time)"),
        Weight::Elapsed => format!("the elapsed time ({length})"),
    };
    match (kind, gains.by) {
        (GainKind::Zeroing, By::Object) => {
            format!("Zeroing: by how much {whole} would be shorter if nobody had to wait for one {noun}")
        }
        (GainKind::Zeroing, _) => {
            format!("Zeroing: by how much {whole} would be shorter if the work of one {noun} took no time")
        }
        (GainKind::Slack, _) => format!(
            "Slack: by how much {whole} would be shorter if the work of one {noun} on it alone took no time"
        ),
    }
}

/// What the numbers cannot promise.
fn limits(input: &ReportTables<'_>, gains: &Gains) -> impl Iterator<Item = String> {
    let order = "Everything still happens in the recorded order; in the shorter run, locks may change hands in another.";
    let stays = match gains.weight {
        Weight::Cpu => " Waits for devices and for CPUs count for nothing: `--weight elapsed` keeps them.",
        Weight::Elapsed => {
            " Time without a CPU, on devices, and in waits that no thread explains stays as it was."
        }
    };
    let totals = input.totals();
    let (ready, work) = (totals.ready as f64, totals.running as f64);
    let is_crowded = gains.weight == Weight::Cpu && percent(ready, work) > PATH_TOO_SHORT;
    let crowded = is_crowded.then(|| {
        format!(
            "Threads were ready without a CPU for {} in all: with no more CPUs than now the gain is of CPU time, not all of it of elapsed time.",
            time_text(totals.ready)
        )
    });
    std::iter::once(format!("{order}{stays}")).chain(crowded)
}

/// Why there is nothing to show.
fn emptiness(kind: GainKind, gains: &Gains, ranked: &[RankedRow]) -> Option<String> {
    if ranked.iter().any(gains_anything) {
        return None;
    }
    let noun = noun(gains.by);
    Some(match (kind, gains.by) {
        (_, By::Object) if ranked.is_empty() => {
            "No thread waited for a lock or another object that the recording names.".to_owned()
        }
        (_, By::Object) => {
            "Nothing: threads waited for objects, but the longest path does not go through such a wait."
                .to_owned()
        }
        _ if ranked.is_empty() => "No work was recorded.".to_owned(),
        (GainKind::Zeroing, _) => {
            format!("Nothing: whichever {noun} is left out, another path is as long.")
        }
        (GainKind::Slack, _) => format!(
            "Nothing: whichever {noun} on the critical path is improved, another path is as long, as in every balanced program. `--view zeroing` leaves the work out on all paths."
        ),
    })
}

fn text_columns(kind: GainKind, gains: &Gains) -> Vec<Shown> {
    let mut columns = vec![
        shown("#", Show::Rank),
        shown("gain %", Show::Estimate("percent", "error_percent")),
        shown("gain", Show::Time("seconds")),
    ];
    if gains.by == By::Object {
        return columns;
    }
    if matches!(gains.by, By::Procedure | By::Line) {
        columns.push(shown("incl %", Show::Percent("inclusive_percent")));
    }
    columns.push(shown("on path", Show::Time("critical_path_seconds")));
    columns.push(match kind {
        GainKind::Zeroing => shown("slack", Show::Time("slack_seconds")).optional(),
        GainKind::Slack => shown("zeroing", Show::Time("zeroing_seconds")).optional(),
    });
    columns.push(shown("CPU", Show::Time("running_seconds")).optional());
    columns
}

/// What the table leaves out.
fn remarks(gains: &Gains, shown: usize) -> impl Iterator<Item = String> {
    let noun = noun(gains.by);
    let without = (gains.gains.len() - shown) as u64;
    let nothing = (without > 0).then(|| {
        let verb = if without == 1 { "gains" } else { "gain" };
        format!("{} {verb} nothing.", count_of(without, noun))
    });
    let small = (gains.left_out > 0).then(|| {
        let count = count_of(gains.left_out as u64, noun);
        format!(
            "Left out: {count} with less than a ten-thousandth of it each, which can gain no more than that."
        )
    });
    nothing.into_iter().chain(small)
}

#[cfg(test)]
mod tests {
    use longpole_event::ThreadId;
    use longpole_metrics::Node;

    use super::*;

    #[test]
    fn rows_that_gain_the_same_to_the_nanosecond_are_in_the_order_of_their_nodes() {
        let gain = |thread: u32, zeroing: f64| Gain {
            node: Node::Thread(ThreadId(thread)),
            zeroing,
            zeroing_inclusive: zeroing,
            slack: 0.0,
            slack_inclusive: 0.0,
        };
        let gains = [gain(1, 7.000_000_1), gain(2, 6.999_999_9), gain(0, 7.0), gain(3, 8.0)];
        for sort in [Sort::Own, Sort::Inclusive] {
            let of = |kind| sorted(kind, &gains, sort).iter().map(|gain| gain.node).collect::<Vec<_>>();
            let nodes = |threads: [u32; 4]| threads.map(|thread| Node::Thread(ThreadId(thread))).to_vec();
            assert_eq!(of(GainKind::Zeroing), nodes([3, 0, 1, 2]));
            assert_eq!(of(GainKind::Slack), nodes([0, 1, 2, 3]));
        }
    }
}
