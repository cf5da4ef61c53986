//! `docs/truth.md`: the scores, the misses, and each program's table.

use std::fmt::Write;

use longpole_trials::DISTURBED;

use super::predict::FREQUENCY;
use super::program::{JudgedProgram, ProgramKind};
use super::quiet::TURN_MILLISECONDS;
use super::score::{
    GuidanceCorrelations, JudgedPair, correlations, pairs, ranges, score, without_dominating,
};
use super::verdict::{GROUPS, METRICS, ProgramVerdict};

/// Written by a person who read the tables below it; the tables are made.
const CONCLUSIONS: &str = include_str!("conclusions.md");
/// Percentage points: a larger error is a miss.
const MISS: f64 = 2.0;

/// The page, of the programs that were judged.
pub fn write(judged: &[(&'static JudgedProgram, ProgramVerdict)]) -> String {
    let programs: Vec<Vec<JudgedPair>> = judged.iter().map(|(_, verdict)| pairs(verdict)).collect();
    let mut page = introduction(judged);
    page += &scores(&programs);
    page += &goals(judged, &programs);
    page += &range_lines(&programs);
    page += &misses(judged, &programs);
    page += &correlation_tables(judged, &programs);
    let _ = write!(page, "\n## The paper's conclusions\n\n{CONCLUSIONS}");
    page += "\n## Programs\n";
    for ((program, verdict), pairs) in judged.iter().zip(&programs) {
        page += &program_table(program, verdict, pairs);
    }
    page
}

fn introduction(judged: &[(&'static JudgedProgram, ProgramVerdict)]) -> String {
    let machines: Vec<&str> = distinct(judged.iter().map(|(_, verdict)| verdict.machine.as_str()));
    let dates: Vec<&str> = distinct(judged.iter().map(|(_, verdict)| verdict.date.as_str()));
    let hard: [ProgramKind; 3] = [ProgramKind::Crowded, ProgramKind::Spinning, ProgramKind::LockBound];
    let difficult = judged.iter().filter(|(program, _)| program.kinds.iter().any(|kind| hard.contains(kind)));
    format!(
        "# Predictions against the truth\n\n\
        <!-- written by `cargo xtask judge` from benches/runs/judge/; do not edit -->\n\n\
        Each metric predicts what the run would gain without a procedure. *True zeroing* is the gain of the program that was\n\
        rebuilt without that procedure, or with a part of its work, and measured (J. K. Hollingsworth and B. P. Miller, *Parallel\n\
        Program Performance Metrics: A Comparison and Validation*, 1992, section 3). This page compares the two for {} programs; {} of\n\
        them are crowded, spinning or lock-bound.\n\n\
        * Gains are per cent of the unchanged run's elapsed time. A negative gain is a longer run.\n\
        * The unchanged program and all its changed versions run in turn, round by round. A version's true gain is the median over the\n  \
          pairs of one round; in brackets is the interval that holds this median in 95 of 100 cases (sign test).\n\
        * All runs, the recorded one too, are real-time (`SCHED_RR`, with turns of {TURN_MILLISECONDS} ms), so other programs only get the processors\n  \
          that they leave idle. A pair does not count if one of its runs needed more than {DISTURBED} times the CPU time of its version's\n  \
          median run. Of n rounds the best runs of each n / {GROUPS} are compared: what others do only lengthens runs.\n\
        * Replay follows the recorded policy, so its predictions are of real-time runs. The fair policy is not judged: on a machine with other\n  \
          work its runs are not those of the program alone (`fork_join` took 225 ms each time under `SCHED_RR`, and 236 to 349 ms under the\n  \
          fair policy with the highest weight), and where its threads run is not determined.\n\
        * The predictions are from one recording (`record --locks --frequency {FREQUENCY}`). It is the first one that replay accepts; refused\n  \
          ones are listed.\n\
        * The programs of `programs/` measure their work in the thread's own CPU time. A procedure is left out by the compiler\n  \
          (`programs/work.h`), so the unchanged program has no trace of it. *Real* programs do what Debian packages, crates and the libraries of C++ and\n  \
          Go do, in threads of a small program (`sums` is a pipeline of processes); a procedure that is left out returns at once.\n\
        * gprof is the share of the CPU time, critical path the share of the path, NPT the share of normalised processor time, slack and\n  \
          zeroing the shares of the path. What-if and replay predict the elapsed time on the machine's processors.\n\
        * Measured on {}, on {}. `cargo xtask judge NAME` judges one program again.\n",
        judged.len(),
        difficult.count(),
        machines.join(" and "),
        dates.join(" and "),
    )
}

fn scores(programs: &[Vec<JudgedPair>]) -> String {
    let mut text = "\n## Score\n\n\
        Medians of each program's correlation, over its procedures that were left out; the same without its dominating procedure; all\n\
        procedures of all programs together; and the mean absolute error.\n\n\
        | metric | Pearson | Spearman | Pearson without the dominating | Spearman without | Pearson, all together | Spearman, all together | mean error, points | procedures |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for metric in &METRICS {
        let score = score(programs, metric);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            metric.title,
            both(score.with),
            both(score.without),
            both(score.together),
            number(score.error),
            score.procedures
        );
    }
    text
}

fn goals(judged: &[(&'static JudgedProgram, ProgramVerdict)], programs: &[Vec<JudgedPair>]) -> String {
    let replay = score(programs, &METRICS[6]);
    let zeroing = score(programs, &METRICS[4]);
    let is_reached = |is: bool| if is { "reached" } else { "**missed**" };
    let lowest = |both: GuidanceCorrelations| both.pearson.unwrap_or(0.0).min(both.spearman.unwrap_or(0.0));
    let ranges = ranges(programs.iter().flatten());
    let honest = 100.0 * ranges.honest as f64 / ranges.ranges.max(1) as f64;
    let real = judged.iter().filter(|(program, _)| program.kinds.contains(&ProgramKind::Real)).count();
    format!(
        "\n| goal | reached |\n|---|---|\n\
        | replay, Pearson and Spearman at least 0.98 (medians) | {} |\n\
        | zeroing, Pearson and Spearman at least 0.95 (medians) | {} |\n\
        | mean error of replay at most 2 points | {} |\n\
        | at least 90 % of the ranges hold the truth | {} |\n\
        | at least 16 programs, 8 of them real | {}: {}, {real} |\n",
        is_reached(lowest(replay.with) >= 0.98),
        is_reached(lowest(zeroing.with) >= 0.95),
        is_reached(replay.error.is_some_and(|error| error <= 2.0)),
        is_reached(honest >= 90.0),
        is_reached(judged.len() >= 16 && real >= 8),
        judged.len(),
    )
}

fn range_lines(programs: &[Vec<JudgedPair>]) -> String {
    let score = ranges(programs.iter().flatten());
    let percent = |count: usize| 100.0 * count as f64 / score.ranges.max(1) as f64;
    format!(
        "\n## Ranges\n\n\
        Of {} ranges of replay, {} ({:.0} %) hold the true gain, {} ({:.0} %) touch its interval, and {} ({:.0} %) are narrower than half of their\n\
        middle. Replay refused the recording for {} changes, so these have no range.\n",
        score.ranges,
        score.honest,
        percent(score.honest),
        score.touching,
        percent(score.touching),
        score.useful,
        percent(score.useful),
        score.refused,
    )
}

fn misses(judged: &[(&'static JudgedProgram, ProgramVerdict)], programs: &[Vec<JudgedPair>]) -> String {
    let error = |pair: &JudgedPair| {
        Some((pair.change.predicted.replay.or(pair.change.predicted.what_if)? - pair.truth.percent).abs())
    };
    let mut worst: Vec<(f64, &JudgedPair, &JudgedProgram)> = judged
        .iter()
        .zip(programs)
        .flat_map(|((program, _), pairs)| pairs.iter().map(move |pair| (pair, *program)))
        .filter_map(|(pair, program)| Some((error(pair)?, pair, program)))
        .collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut text = format!(
        "\n## The worst misses\n\n\
        Every error of replay above {MISS} points (of what-if, where replay refused), and every range that does not hold the truth.\n\n\
        | program | change | predicted | range | true gain | why |\n|---|---|---:|---:|---:|---|\n"
    );
    for (error, pair, program) in worst {
        if error <= MISS && pair.change.is_inside(&pair.truth) != Some(false) {
            continue;
        }
        let why = if program.why.is_empty() { "not explained yet" } else { program.why };
        let predicted = &pair.change.predicted;
        let _ = writeln!(
            text,
            "| {} | {} | {}{} | {} | {} | {why} |",
            program.name,
            pair.change.name,
            number(predicted.replay.or(predicted.what_if)),
            if predicted.replay.is_none() { " (what-if)" } else { "" },
            range_cell(pair),
            truth_cell(pair),
        );
    }
    text
}

fn correlation_tables(
    judged: &[(&'static JudgedProgram, ProgramVerdict)],
    programs: &[Vec<JudgedPair>],
) -> String {
    let titles: Vec<&str> = METRICS.iter().map(|metric| metric.title).collect();
    let mut text = format!(
        "\n## Correlation with the truth by program\n\n\
        Pearson / Spearman over the procedures that were left out; the second line of a program is without its dominating procedure. `–`: fewer than\n\
        three procedures, or no difference between them.\n\n\
        | program | {} |\n|---|{}\n",
        titles.join(" | "),
        "---:|".repeat(METRICS.len()),
    );
    for ((program, _), pairs) in judged.iter().zip(programs) {
        let all: Vec<&JudgedPair> = pairs.iter().collect();
        for (title, chosen) in [
            (program.name.to_owned(), all.clone()),
            (format!("{} *", program.name), without_dominating(&all)),
        ] {
            let cells = METRICS.iter().map(|metric| {
                let GuidanceCorrelations { pearson, spearman } = correlations(&chosen, metric);
                format!("{} / {}", correlation(pearson), correlation(spearman))
            });
            let _ = writeln!(text, "| {title} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

fn program_table(program: &JudgedProgram, verdict: &ProgramVerdict, pairs: &[JudgedPair]) -> String {
    let kinds: Vec<&str> = program.kinds.iter().map(|kind| kind.title()).collect();
    let titles: Vec<&str> = METRICS.iter().map(|metric| metric.title).collect();
    let mut text = format!(
        "\n### {}\n\n{}{}{}. Recorded: {:.0} ms; commit {}, {}.\n\n\
        | change | true gain | best | pairs | {} | range | inside |\n|---|---:|---:|---:|{}---:|---|\n",
        program.name,
        capital(program.about),
        if kinds.is_empty() { "" } else { ": " },
        kinds.join(", "),
        1000.0 * verdict.recording.elapsed_seconds,
        verdict.commit,
        verdict.date,
        titles.join(" | "),
        "---:|".repeat(METRICS.len()),
    );
    for pair in pairs {
        let cells = METRICS.iter().map(|metric| number((metric.predicted)(&pair.change.predicted)));
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {} of {} | {} | {} | {} |",
            pair.change.name,
            truth_cell(pair),
            pair.truth.best_percent,
            pair.truth.pairs,
            pair.truth.measured,
            cells.collect::<Vec<_>>().join(" | "),
            range_cell(pair),
            match pair.change.is_inside(&pair.truth) {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "–",
            },
        );
    }
    let unjudged = verdict.changes.iter().filter(|change| verdict.truth(change).is_none());
    for change in unjudged {
        let _ = writeln!(text, "\n{}: every pair of runs was disturbed.", change.name);
    }
    for refusal in &verdict.recording.refusals {
        let _ = writeln!(text, "\nA recording was refused by replay: {refusal}.");
    }
    for order in &verdict.recording.kept_orders {
        let _ = writeln!(text, "\nReplay kept the recorded order of a lock: {order}.");
    }
    text
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = texts.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
}

fn correlation(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

fn both(correlations: GuidanceCorrelations) -> String {
    format!("{} | {}", correlation(correlations.pearson), correlation(correlations.spearman))
}

fn truth_cell(pair: &JudgedPair) -> String {
    let truth = &pair.truth;
    format!("{:.1} ({:.1} to {:.1})", truth.percent, truth.interval.low, truth.interval.high)
}

fn range_cell(pair: &JudgedPair) -> String {
    let predicted = &pair.change.predicted;
    match (predicted.replay_low, predicted.replay_high) {
        (Some(low), Some(high)) => format!("{low:.1} to {high:.1}"),
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::program::{ChangedVersion, JudgedChange, JudgedSource};
    use longpole_trials::TrialRun;

    use super::super::verdict::{ChangeVerdict, JudgedPrediction, JudgedRecording};
    use super::*;

    const fn change(name: &'static str, set: &'static str) -> JudgedChange {
        JudgedChange { name, set, version: ChangedVersion::Scaled }
    }

    const DRAWN: JudgedProgram = JudgedProgram {
        name: "drawn",
        about: "a program that was never run",
        kinds: &[ProgramKind::Crowded, ProgramKind::Real],
        why: "the drawn range is too low",
        source: JudgedSource::Compiled { file: "drawn", flags: &[], environment: &[] },
        changes: &[
            change("large", "self:large=0"),
            change("middle", "self:middle=0"),
            change("small", "self:small=0"),
            change("late", "self:late=0"),
            change("the_lock", "object:the_lock=0"),
        ],
    };

    /// A verdict with true gains of 40, 20, 5, 0 and 10 %, the second one outside of its range, the last one without.
    pub fn drawn() -> ProgramVerdict {
        let run =
            |elapsed_seconds| TrialRun { elapsed_seconds, cpu_seconds: 1.0, page_faults: 100, switches: 10 };
        let gains = [40.0, 20.0, 5.0, 0.0, 10.0];
        let ranges = [Some((38.0, 44.0)), Some((10.0, 15.0)), Some((1.0, 9.0)), Some((-2.0, 2.0)), None];
        let changes = DRAWN.changes.iter().zip(gains.iter().zip(ranges)).map(|(change, (gain, range))| {
            let is_object = change.row().is_none();
            let of = |factor: f64| (!is_object).then_some(gain * factor);
            ChangeVerdict {
                name: change.name.to_owned(),
                set: change.set.to_owned(),
                predicted: JudgedPrediction {
                    gprof: of(0.5),
                    critical_path: of(2.0),
                    npt: of(1.0),
                    slack: of(0.0),
                    zeroing: of(1.0),
                    what_if: Some(gain + 1.0),
                    replay: range.map(|(low, high)| f64::midpoint(low, high)),
                    replay_low: range.map(|range| range.0),
                    replay_high: range.map(|range| range.1),
                },
                runs: (0..9)
                    .map(|round| run((1.0 - gain / 100.0) * (1.0 + f64::from(round - 4) / 1000.0)))
                    .collect(),
            }
        });
        ProgramVerdict {
            program: "drawn".into(),
            date: "2026-11-22".into(),
            machine: "2 CPUs, Linux 6.18".into(),
            commit: "0123456".into(),
            recording: JudgedRecording {
                elapsed_seconds: 1.0,
                refusals: vec!["unchanged, it would take 2.5 % more than recorded".into()],
                kept_orders: Vec::new(),
            },
            unchanged: vec![run(1.0); 9],
            changes: changes.collect(),
        }
    }

    #[test]
    fn a_page_has_scores_misses_with_their_reasons_and_each_programs_table() {
        insta::assert_snapshot!(write(&[(&DRAWN, drawn())]));
    }
}
