//! Views of communication where one unit in so many was followed: the ranges of estimated counts, and what is said of them.

use longpole_communication::{CommunicationSample, FollowedRequests, RecordedCommunication, SampledTotal};

use crate::quantity::grouped;
use crate::report::Row;
use crate::table::{Show, Shown, shown};

/// Columns of ranges; they are there where not all units were followed.
const RANGES: [&str; 4] =
    ["requests_at_least", "requests_at_most", "transfers_at_least", "transfers_at_most"];

/// The columns of ranges, where there are any.
pub(super) fn columns(answer: Option<&RecordedCommunication>) -> &'static [&'static str] {
    if answer.is_some_and(|answer| answer.sample.is_some()) { &RANGES } else { &[] }
}

/// Share of the requests below which it does not matter how many transfers there are.
const LEAST_DOUBTED: f64 = 0.25;

/// Adds the range of the transfers; nothing where all units were followed.
fn with_transfers(row: Row, total: SampledTotal) -> Row {
    let most = Some(total.at_most.round()).filter(|most| most.is_finite());
    row.amount("transfers_at_least", Some(total.at_least.round())).amount("transfers_at_most", most)
}

/// Adds the ranges of requests and transfers, where not all units were followed.
pub(super) fn with_ranges(row: Row, answer: &RecordedCommunication, of: &FollowedRequests) -> Row {
    let Some(sample) = &answer.sample else { return row };
    with_requests(with_transfers(row, sample.transfers(of)), sample, of)
}

/// The same where a transfer counts for each thread whose write is behind it.
pub(super) fn with_ranges_of_pair(row: Row, answer: &RecordedCommunication, of: &FollowedRequests) -> Row {
    let Some(sample) = &answer.sample else { return row };
    with_requests(with_transfers(row, sample.contributions(of)), sample, of)
}

fn with_requests(row: Row, sample: &CommunicationSample, of: &FollowedRequests) -> Row {
    let total = sample.requests(of);
    let most = Some(total.at_most.round()).filter(|most| most.is_finite());
    row.amount("requests_at_least", Some(total.at_least.round())).amount("requests_at_most", most)
}

/// The columns of text behind that of the transfers.
pub(super) fn shown_ranges(answer: &RecordedCommunication) -> Vec<Shown> {
    if answer.sample.is_none() {
        return Vec::new();
    }
    vec![shown("from", Show::Count("transfers_at_least")), shown("to", Show::Count("transfers_at_most"))]
}

/// A range in words: `3,100 to 5,200`.
pub(super) fn range_text(total: SampledTotal) -> String {
    match total.at_most.is_finite() {
        true => {
            format!("{} to {}", grouped(total.at_least.round() as u64), grouped(total.at_most.round() as u64))
        }
        false => format!("{} or more", grouped(total.at_least.round() as u64)),
    }
}

/// What was followed, in a sentence or two.
pub(crate) fn remark(answer: &RecordedCommunication) -> Option<String> {
    let sample = answer.sample.as_ref()?;
    let units = units(sample);
    Some(format!(
        "1 of {} {units} was followed: {} of those that the program touches, with {} of the accesses. Requests and transfers \
         are estimates for all {units}. With 9 of 10 choices of {units} the transfers lie in the range that is found, here \
         {}. In virtual time an access to another one takes as long as those to followed ones on average.",
        sample.one_of,
        grouped(sample.followed_units),
        grouped(sample.followed_accesses),
        range_text(sample.transfers(&sample.followed)),
    ))
}

fn units(sample: &CommunicationSample) -> String {
    if sample.unit == 64 {
        "cache lines".to_owned()
    } else {
        format!("units of {} bytes", grouped(sample.unit))
    }
}

/// What makes the estimates unsure.
pub(super) fn doubts(answer: &RecordedCommunication) -> Vec<String> {
    let Some(sample) = &answer.sample else { return Vec::new() };
    let (units, total) = (units(sample), sample.transfers(&sample.followed));
    let again =
        format!("record with a larger share, `--access-sample 1/{}`, or without", (sample.one_of / 4).max(2));
    if sample.unfollowed_at_most().is_none() {
        return vec![format!(
            "the program did not end by itself and so did not say which other {units} are shared: the transfers may be any number"
        )];
    }
    let width = total.at_most - total.at_least;
    if width <= total.estimate || total.at_most <= LEAST_DOUBTED * answer.requests as f64 {
        return Vec::new();
    }
    let heaviest = sample.highest.first().filter(|one| 2 * one.transfers_at_most > total.estimate as u64);
    let most = match heaviest {
        Some(one) => format!(
            "one that was not followed, in {} at {:#x}, may have up to {} transfers",
            answer.objects[one.object].name,
            one.address,
            grouped(one.transfers_at_most),
        ),
        None => format!(
            "those that were not followed may have up to {}",
            grouped(sample.unfollowed_at_most().unwrap_or(0.0) as u64)
        ),
    };
    vec![format!("too few {units} with transfers were followed for an estimate of all: {most}; {again}")]
}
