//! Calls of MPI of which an answer knows too little.

use longpole_trace::{Evidence, MessageTraffic};

use crate::input::ReportTables;
use crate::quantity::{count_of, grouped, time_text};

/// Calls of MPI that are not understood are said where they take more than this part of the run.
const NOT_UNDERSTOOD: u64 = 50;

/// Functions of which the calls are named.
const NAMED_FUNCTIONS: usize = 8;

/// The functions of calls that are not understood, how many calls, and how long they took.
pub(crate) fn not_understood_calls(traffic: &MessageTraffic) -> String {
    let all = &traffic.not_understood;
    let mut said: Vec<String> = all
        .iter()
        .take(NAMED_FUNCTIONS)
        .map(|function| {
            let took = time_text(function.nanoseconds);
            format!("{}, {}, {took}", function.name, count_of(function.calls, "call"))
        })
        .collect();
    if all.len() > NAMED_FUNCTIONS {
        said.push(format!("and {} more", all.len() - NAMED_FUNCTIONS));
    }
    said.join("; ")
}

/// The same as a warning, where they take much of the run.
pub(crate) fn much_not_understood(input: &ReportTables<'_>) -> Option<String> {
    let traffic = &input.evidence.messages;
    let time: u64 = traffic.not_understood.iter().map(|function| function.nanoseconds).sum();
    let functions = not_understood_calls(traffic);
    (NOT_UNDERSTOOD * time > input.analysis.elapsed).then(|| {
        format!("calls of MPI that are not understood count as waiting, for nobody knows whom: {functions}")
    })
}

/// How many calls of MPI were lost of how many, and what that means.
pub(crate) fn lost_calls(evidence: &Evidence) -> Option<String> {
    let lost = evidence.lost_communications;
    let all = lost + evidence.messages.calls;
    (lost > 0).then(|| {
        format!(
            "{} of {} calls of MPI were lost: no message or collective operation of their ranks behind them is matched, and who waited there for \
             whom is not known",
            grouped(lost),
            grouped(all),
        )
    })
}
