//! Columns of rows: their keys in JSON and CSV, their units and titles.
//!
//! What a number means stands in the registry of the metrics; only columns that structure a report (its
//! parts, ranks, texts) are described here.

use longpole_metrics::registry::{MetricUnit, blocked_metric, metric};
use longpole_trace::Cause;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// A column of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Key in the rows; stable.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: MetricUnit,
    /// Title for people.
    pub title: &'static str,
    /// What it means.
    pub explanation: &'static str,
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut column = serializer.serialize_struct("Column", 4)?;
        column.serialize_field("name", self.name)?;
        column.serialize_field("unit", unit_name(self.unit))?;
        column.serialize_field("title", self.title)?;
        column.serialize_field("explanation", self.explanation)?;
        column.end()
    }
}

/// A unit in JSON; empty for words and counts.
pub(crate) fn unit_name(unit: MetricUnit) -> &'static str {
    unit.name()
}

macro_rules! structure {
    ($($name:literal $unit:ident $title:literal $explanation:literal;)*) => {
        /// Columns that structure reports.
        pub(crate) const STRUCTURE: &[Column] = &[
            $(Column { name: $name, unit: MetricUnit::$unit, title: $title, explanation: $explanation }),*
        ];
    };
}

structure! {
    "section" Text "Section" "Part of the summary that the row belongs to: `answer`, `change`, `trust`, `busy`, `outside`, `procedure`, `thread`, `wait`, `warning` or `next`; of the guidance: `answer`, `ranking` or `measure`; of one object: `queue`, `length`, `acquisition`, `holder`, `places` or `threads`; of what-if: `change`, `together` or `path`, the procedures of the path after all changes; of a replay also `processors` and `lock`; of layouts `recorded`, `change`, `together` or `object`; of the rankings `correlation`, a metric with the gains that were measured.";
    "part" Text "Part" "`self`, or whom the row's part of the whole is charged to: `called` by the procedure, `in` it (a thread's procedures), `handed over` by, `nobody`.";
    "folded" Text "Folded" "What of the row's own was done in procedures of the kernel, of libraries and in inlined helpers that are folded into it: `procedure`, `module`, `action` (what it does, in words), `percent` of the row's own.";
    "processor" Count "Processor" "Number of the processor on its machine; absent in the rows of all processors together.";
    "activity" Text "Activity" "What the processor did: `useful` work of the program, the `kernel` on its behalf, `spinning`, the `collector` in the program, `other programs`, `ready elsewhere` (free, while the thread that it got next was ready), `idle`.";
    "by" Text "By" "`MPI`, or `stream`: TCP and unix sockets and pipes, matched by byte position.";
    "from" Text "From" "The rank or process that sent, or that the other waited for; of `communication`, whose writes were behind the transfers: a list of `procedure` with `percent` of their cost.";
    "from_machine" Text "From machine" "The machine of `from`, where there are several.";
    "to_machine" Text "To machine" "The machine of `to`, where there are several.";
    "through" Text "Through" "The synchronisation at which the copies became invalid, or `unordered`: a list of `object` with `percent` of the transfers' cost.";
    "requests" Count "Requests" "Accesses of a thread to a unit (a cache line, a page) of which it has no valid copy, in the simulation.";
    "transfers" Count "Transfers" "Requests that are not the thread's first reference to the unit: another thread's write took its copy.";
    "requests_low" Count "Transfers, from" "The fewest transfers over all orders of the program's threads that its synchronisation permits.";
    "requests_high" Count "Transfers, to" "The most of them.";
    "requests_at_least" Count "Requests, at least" "Where only one unit in so many was followed, and requests are an estimate: the lower end of the range that holds the true number for 9 of 10 choices of units.";
    "requests_at_most" Count "Requests, at most" "The upper end; absent where nothing bounds it.";
    "transfers_at_least" Count "Transfers, at least" "The lower end of the same range of transfers; those of followed units at least.";
    "transfers_at_most" Count "Transfers, at most" "The upper end; no more than the accesses to units that were not followed permit. Absent where nothing bounds it.";
    "transfers_before" Count "Transfers, as recorded" "Transfers in the recorded layout of the data.";
    "transfers_gain_percent" Percent "Fewer transfers" "Transfers that the layout saves, per cent of those in the recorded one; negative where it makes more.";
    "virtual_seconds" Seconds "Virtual time" "Virtual time of the simulation until the last thread ended: accesses, requests, and what locks and barriers cost; no other work.";
    "virtual_gain_seconds" Seconds "Virtual gain" "Virtual time that the layout saves of that.";
    "virtual_gain_percent" Percent "Virtual gain" "The same per cent of the virtual time in the recorded layout.";
    "request_seconds" Seconds "Cost" "Virtual time that requests take: their number times the cost of one in the simulation.";
    "cold_percent" Percent "Cold" "Share of the requests that are the thread's first reference to the unit, and not read-only.";
    "read_only_percent" Percent "Read-only" "Share of the requests that are the first reference of a later thread to a unit that no thread writes after the first one has initialised it.";
    "false_sharing_percent" Percent "False sharing" "Share of the requests that fetch nothing that others wrote, or hardly anything: at least 90 % of the fewer of the bytes used and the bytes written by others are not among the other ones.";
    "migratory_percent" Percent "Migratory" "Share of the requests whose thread reads and then writes at least half of the bytes that the holder before it read and wrote.";
    "spsc_percent" Percent "SPSC" "Share of the requests with a single producer and a single consumer: one thread writes the unit, one other asks for it, between two barriers.";
    "spmc_percent" Percent "SPMC" "The same with several that ask.";
    "mpsc_percent" Percent "MPSC" "The same with several that write, and one that asks.";
    "mpmc_percent" Percent "MPMC" "The same with several of both.";
    "units" Count "Units" "Cache lines or pages with requests for the object, or of the graph.";
    "patterns" Text "Patterns" "The requests by pattern: a list of `pattern` with its `requests`, their `request_seconds`, and `percent` of the requests.";
    "pattern" Text "Pattern" "`cold`, `read-only`, `false sharing`, `migratory`, `SPSC`, `SPMC`, `MPSC` or `MPMC`: of a class of units the one with most of their transfers' cost.";
    "producers" Count "Producers" "Threads whose writes are behind transfers.";
    "consumers" Count "Consumers" "Threads that request.";
    "data_transfers" Count "Data transfers" "Transfers of the data alone: of its words of 8 bytes, simulated as units of their own on the same accesses. 0 where only the unit is shared.";
    "data_patterns" Text "Data patterns" "Those by pattern: a list of `pattern` with `transfers` and `percent` of them.";
    "classes" Text "Classes" "The units of the object by their pattern: a list of rows of the same columns.";
    "chains" Text "Chains" "Of an explained row the causes R ← I ← W: a list of `requests`, `contributions` (requests behind which these writes are, where others' may be too), `request_seconds`, `percent` of the row's cost, `patterns`, `read_path` (call path of the requests, the innermost first), `readers`, `through` with `through_path`, `write_path` and `writers`.";
    "ways" Text "Ways back" "Of an explained row the ways back from its requests to the same thread's previous copy: a list of `percent` of the requests that were followed (one with several ways in equal parts), `steps` (`read` ← `through` ← `write`, from `least` to `most` times one after the other), and `end` at `end_place`.";
    "followed" Count "Followed" "Requests of the row that were followed back.";
    "cut" Count "Cut" "Of them, those with more ways than were followed, or with chains that begin before what was recorded.";
    "transfer_seconds" Seconds "Cost of transfers" "Virtual time that transfers take, without first references.";
    "nodes" Text "Nodes" "Places of the graph: a list of `node` (its number, from 0), `procedure`, `module`, `file`, `line`, and the threads that request there (`readers`) and whose writes there are behind requests (`writers`).";
    "edges" Text "Edges" "Causes of requests: a list of `edge` (its number, from 0), `from` (node of the writes; absent for first references), `to` (node of the requests), `through` (the synchronisation, or `unordered`) with `through_procedure`, `through_file` and `through_line`, `requests`, `contributions` (requests behind which these writes are, where others' are too), `request_seconds`, `percent` of the graph's cost, `patterns` (requests of each), and of its `paths` (different call paths) that of the highest cost: `read_path`, `through_path`, `write_path`, each the innermost place first.";
    "addresses" Text "Addresses" "Where the units are: ranges of addresses.";
    "address" Text "Address" "First address of the unit.";
    "writer" Text "Writer" "The thread whose writes were behind the transfers; absent for first references.";
    "transitions" Text "Transitions" "How often the copy that a request of one edge had fetched was written, and so led to a request of another edge: a list of `from` and `to` (numbers of edges; without `from` a request for other data of the unit), `count` and `percent` of all of them.";
    "used_percent" Percent "Used" "Share of the fetched bytes that were read or written while the copy was valid, in words of 8 bytes.";
    "to" Text "To" "The rank or process that received, or that waited.";
    "messages" Count "Messages" "Messages from the one to the other that were seen at both ends; not those that a collective operation passes inside. Of a stream: writes whose last byte was read.";
    "bytes" Count "Bytes" "Their length in all.";
    "waits" Count "Waits" "Calls in which `to` waited for `from`: a late sender, a late receiver, or the last of those whom a collective operation needs. Of a stream: waits that ended by what `from` wrote, or did in a socket or pipe.";
    "offset" Count "Offset" "Where in the variable the unit begins, in bytes; below 0 where the variable begins inside the unit.";
    "uses" Text "Uses" "What each thread did to the unit: a list of `thread`, ranges of offsets that it has `read` and `written`, and its `accesses`.";
    "given_up_count" Count "Not compared" "Waits of the row that are explained by what was done during them: the paths of both threads since they last met have little in common and are much longer than the wait.";
    "differences" Text "Differences" "The difference of the paths of those waits, by step, as in `causes`.";
    "text" Text "Text" "A sentence of the summary, one of its commands, or a range of numbers of busy threads.";
    "spans" Text "Spans" "The sentence in `text` in its pieces, in their order: each has its `text`, and what it names (`procedure`, `thread`, `process`, `object`), or measures (`seconds`, `percent`, `error_percent`); `code` marks a name or command that is no single thing.";
    "about_spans" Text "Spans of the meaning" "The same of the sentence in `about`.";
    "rank" Count "Rank" "Place in the ranking. Rows whose shares differ by no more than the standard error of their difference share a place (`2=` in text).";
    "cause" Text "Cause" "What threads waited for.";
    "before_seconds" Seconds "Before" "The time in the first recording: of a part of the path by elapsed time, CPU time, waiting, or the length of a phase.";
    "after_seconds" Seconds "After" "The same in the second recording.";
    "change_seconds" Seconds "Change" "After less before. Those of the section `because` add up to that of the elapsed time.";
    "change_error_seconds" Seconds "Change ±" "One standard error of the change, from the samples of both recordings; absent where times are exact.";
    "change_percent" Percent "Change %" "The change as a share of before.";
    "condition" Text "Condition" "What fails the check if it holds, as it was written.";
    "outcome" Text "Outcome" "`passed`, `FAILED`, or `not sure` where noise does not let one say; that is no failure.";
    "change_margin_seconds" Seconds "Margin" "How far the change may be off: a condition holds, or not, if it does by more than that.";
    "before_recordings" Count "Recordings before" "Recordings with which those after are compared.";
    "after_recordings" Count "Recordings after" "Recordings that are checked.";
    "needed_recordings" Count "Needed" "Recordings of each side with which an outcome that is not sure would be, if they vary as these do.";
    "achieved_gain_percent" Percent "Achieved gain %" "How much less time the second run took than the first one, per cent of the latter.";
    "measured_gain_percent" Percent "Measured gain %" "How much less time the changed version takes than the unchanged program, per cent of the latter: the median over pairs of runs of one round.";
    "measured_low_percent" Percent "Measured, from %" "Begin of the interval that holds this median in 95 of 100 cases (sign test).";
    "measured_high_percent" Percent "Measured, to %" "End of that interval.";
    "best_gain_percent" Percent "Best %" "The same of the shortest run of each version.";
    "inside" Text "Inside" "Whether the measured gain lies in the predicted range: `yes`, `no`, `not sure` where only its interval reaches into the range, or `untested` where the samples of a slow-down found another procedure than the recording has.";
    "counted_pairs" Count "Pairs" "Pairs of runs that count: both needed at most 1.2 times the CPU time of their version's median run.";
    "measured_pairs" Count "Pairs measured" "All pairs of runs.";
    "needed_pairs" Count "Pairs needed" "About how many pairs make the interval as narrow as wanted; absent where it is.";
    "unchanged_seconds" Seconds "Unchanged" "Median elapsed time of the version with which the changed one is compared: the unchanged program, or for a slow-down the program that is sampled only.";
    "variant_seconds" Seconds "Changed" "Median elapsed time of the changed version.";
    "unchanged_cpu_seconds" Seconds "CPU unchanged" "Median CPU time of the version with which the changed one is compared.";
    "variant_cpu_seconds" Seconds "CPU changed" "Median CPU time of the changed version.";
    "unchanged_page_faults" Count "Page faults unchanged" "Median number of page faults of the version with which the changed one is compared.";
    "variant_page_faults" Count "Page faults changed" "The same of the changed version.";
    "unchanged_switches" Count "Switches unchanged" "Median number of context switches of the version with which the changed one is compared.";
    "variant_switches" Count "Switches changed" "The same of the changed version.";
    "output" Text "Output" "What the changed version writes to its standard output, compared with the unchanged program: `equal`, `different`, or `varies` where two runs of the unchanged program differ.";
    "variant" Text "Variant" "The command that runs the changed version.";
    "added_seconds" Seconds "Added" "CPU time that a slow-down adds to the run, on all threads, or, less than 0, that a virtual speed-up takes away: median over the runs.";
    "inserted_seconds" Seconds "Inserted" "Delay of all other threads that a virtual speed-up inserts; the elapsed time of the version is less this.";
    "lengthened_ratio" Count "Longer per added s" "By how much the elapsed time grows with each second that is added, or shrinks with each that is taken away: 1 on the critical path, 0 beside it.";
    "sampled_percent" Percent "Sampled %" "The procedure's share of the program's CPU time, by the samples of the experiment.";
    "recorded_percent" Percent "Recorded %" "The same in the recording.";
    "verdict" Text "Verdict" "`more`, `less`, or `none` where the change is within two standard errors, 1 ms, or 2 % of the larger time.";
    "only_in" Text "Only in" "`before` or `after`, where only one recording has it.";
    "before_count" Count "Waits before" "Number of waits in the first recording.";
    "after_count" Count "Waits after" "Number of waits in the second recording.";
    "explanation" Text "Explanation" "Whether the waits have the same kind of cause and the same largest cause in both recordings: `same` or `changed`.";
    "before_class" Text "Class before" "The kind of cause with the largest part in the first recording.";
    "after_class" Text "Class after" "The same in the second recording.";
    "before_cause" Text "Cause before" "The largest root causes in the first recording.";
    "after_cause" Text "Cause after" "The same in the second recording.";
    "disagreement" Text "Disagreement" "The two metrics that are furthest apart about the row, with its shares of them, where they are too far apart (`docs/metrics.md` §13).";
    "pearson" Count "Pearson" "Correlation of the metric's shares with the measured gains, from -1 to 1: 1 where the gains are in proportion to the shares.";
    "spearman" Count "Spearman" "The same of the ranks: 1 where the metric puts the rows in the right order.";
    "pearson_without" Count "Pearson without" "Pearson's correlation without the row that gains most.";
    "spearman_without" Count "Spearman without" "Spearman's correlation without the row that gains most.";
    "elapsed_error_percent" PercentagePoints "Elapsed gain ±" "What is uncertain of `elapsed_gain_percent` beside sampling: twice the share of lost events, where at least 1 % was lost, and the part of the run that an execution without a change misses; the root of the sum of their squares, at most 100. Absent where neither at least 1 % was lost nor 10 % is missed.";
    "gprof_error_percent" PercentagePoints "gprof ±" "One standard error of `gprof_percent`.";
    "ips2_error_percent" PercentagePoints "ips2 ±" "One standard error of `ips2_percent`.";
    "npt_error_percent" PercentagePoints "NPT ±" "One standard error of `npt_percent`.";
    "slack_error_percent" PercentagePoints "Slack ±" "One standard error of `slack_percent`.";
    "zeroing_error_percent" PercentagePoints "Zeroing ±" "One standard error of `zeroing_percent`.";
    "critical_path_error_percent" PercentagePoints "Critical path ±" "One standard error of `critical_path_percent`.";
    "procedure_percent" Percent "Procedure's share" "Share that the named procedure has in the work done while so many threads were busy, or in the phase's normalised processor time.";
    "start_seconds" Seconds "Start" "When the thread was first seen, or the phase begins, counted from the begin of the run.";
    "end_seconds" Seconds "End" "When the thread ended, absent when it lived to the end of the recording; or when the phase ends.";
    "remedy" Text "Remedy" "The kind of change: parallelise, shorten, hold the lock shorter, split the lock, let writers go first, synchronise less often, start fewer, start it earlier, wake only who can go on, let threads work ahead, block and wake less often, use several processes, execute on one thread, balance the work, overlap the io, ask earlier or several at once, speed up its other end, pass more at once, wait for the event, signal it in time, block instead of spinning or balance, yield while waiting or run fewer, more CPUs, unpin, free the CPUs.";
    "predicted_by" Text "Predicted by" "How the gain was found: `replay` (the run replayed, locks go to whoever comes first), `execution` (the graph executed on its processors in the recorded order of locks) or `metrics` (of the recorded run).";
    "argument" Text "Argument" "What to write after `--phase` to see this part of the run alone.";
    "name" Text "Name" "What was counted.";
    "count" Count "Count" "How many.";
    "value" Text "Value" "The count or the measure, with its unit; of a metric, the number that it came to in the run or phase, in `unit`.";
    "metric" Text "Metric" "Name of a metric, as formulas and `--curve` take it.";
    "title" Text "Title" "The metric's title.";
    "origin" Text "Origin" "The collector that an external metric comes from; the formula of a derived one.";
    "node" Text "Node" "What the metric is of.";
    "calculation" Text "Calculation" "How its values over time were summed up: `total`, `average`, `minimum`, `maximum` or `last`.";
    "unit" Text "Unit" "Unit of `value`; of the means that are compared.";
    "minimum" Count "Minimum" "The smallest value of the course.";
    "maximum" Count "Maximum" "The largest value of the course.";
    "course" Count "Course" "The metric over time in bins of equal length, in `course_unit`; null where it has no value.";
    "course_unit" Text "Unit of the course" "Unit of `course`, `minimum` and `maximum`: totals are counted per second.";
    "target" Text "Moves with" "The metric of the program that the series was held against.";
    "strength" Count "Strength" "How strongly the series goes with the target, from −1 (high where it is low) to 1, by a correlation of what both do beside their trends, extreme values clipped. Absent where it may be chance.";
    "lag_seconds" Seconds "Lead" "By how much the series comes before the target; below 0 where it comes after.";
    "bins" Count "Bins" "Bins that were compared.";
    "worth" Count "Worth" "Independent samples that the bins are worth: neighbours that are alike count for less.";
    "while_low" Count "Then" "Mean of the series while parallelism is low, or waiting high.";
    "otherwise" Count "Otherwise" "Mean of the series in the rest of the time.";
    "trivial" Text "Trivial" "The series measures what the target measures, so that going with it says nothing.";
    "curve" Text "Curve" "The course as a line of blocks: the lowest is 0 (or the least value below it), the full one the largest value.";
    "about" Text "Meaning" "What it says about the answers.";
}

/// The column with this name.
///
/// # Panics
/// When no column has that name, which is a defect of the view.
pub(crate) fn column(name: &str) -> Column {
    if let Some(metric) = metric(name) {
        let (name, unit, title, explanation) = (metric.name, metric.unit, metric.title, metric.explanation);
        return Column { name, unit, title, explanation };
    }
    let of_structure = STRUCTURE.iter().find(|column| column.name == name);
    *of_structure.unwrap_or_else(|| panic!("the column `{name}` of a view is in the registry"))
}

/// The columns with these names.
pub(crate) fn columns(names: &[&str]) -> Vec<Column> {
    names.iter().map(|name| column(name)).collect()
}

/// Names of the columns of times blocked, by cause, in the order of the causes.
pub(crate) fn blocked_columns() -> impl Iterator<Item = (&'static str, Cause)> {
    Cause::ALL.iter().map(|&cause| (column(&blocked_metric(cause)).name, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_does_not_repeat_the_registry_and_is_explained() {
        for (at, column) in STRUCTURE.iter().enumerate() {
            assert!(metric(column.name).is_none(), "{}", column.name);
            assert!(STRUCTURE[..at].iter().all(|other| other.name != column.name), "{}", column.name);
            assert!(column.explanation.ends_with('.') && !column.title.is_empty(), "{}", column.name);
        }
    }

    #[test]
    fn every_cause_of_waiting_has_a_column() {
        assert_eq!(blocked_columns().count(), Cause::ALL.len());
    }
}
