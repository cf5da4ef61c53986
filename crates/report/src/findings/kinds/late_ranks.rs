//! Ranks that come late: others wait in their calls of the message library for what one rank still does.
//!
//! ```text
//!   rank 0  ====~~~~~~|    ~ waits in the call, polling or not      Rank 2 runs `compute` 6 longer than rank 0, 4 longer
//!   rank 1  ======~~~~|                                             than rank 1. With even shares of that, each round
//!   rank 2  ==========|                                             takes the mean: (6 + 4) / 3 less.
//! ```
//! Only running counts: the time for which the late rank had no processor, or waited itself, is no share of work. Waits are
//! explained to the root, so of a chain of ranks the first is the late one, not its neighbour. Ranks that wait for it
//! less than a tenth as long as the one that waits longest take no part.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::{ProcessId, ThreadId};
use longpole_metrics::{By, Category, Node, StepShare, WaitClass, Waits};
use longpole_trace::{ObjectKind, PlaceId, ProcedureId, is_message_library};

use super::polling_ranks::crowded_ranks;
use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit, rank_name,
};
use crate::findings::gain::GainRange;
use crate::findings::next::{MESSAGES, WAITS};
use crate::findings::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::{LATE_RANK, MODEL_ERROR};
use crate::findings::work_answer;
use crate::input::ReportTables;
use crate::quantity::{count_of, percent, time_text};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a rank that comes late",
    when: "other ranks wait in calls that pass messages while a rank runs longer than they do: the sum of what it runs longer, over those that wait, divided by them and itself, give or take 10 %; with more ranks than processors at least what the late rank runs longer than all ranks' work takes on these, and at most its part of the time for which ranks poll more; leads from 5 % of the run",
    advice: "*balance the work*; *parallelise* what the late rank alone does",
    find,
    answer,
};

/// Part of the longest waiter's waiting from which on a rank takes part.
const LEAST_SHARE: f64 = 0.1;

/// Where others wait: for what, in which function of the message library, where that is known, and who called that.
type LatePlace = (ObjectKind, Option<String>, ProcedureId);

/// What others wait for while a rank runs.
#[derive(Debug, Default)]
struct LateRank {
    /// How much longer it runs than each of those that wait, by procedure and by the process that waits; nanoseconds.
    longer: BTreeMap<ProcedureId, BTreeMap<ProcessId, f64>>,
    /// How long others wait for it, by what it does there.
    places: BTreeMap<LatePlace, f64>,
    /// Of `longer`, what only the late rank does.
    alone: f64,
    /// How long others wait since it had no processor.
    lacking: f64,
}

impl LateRank {
    /// What it runs longer than those that wait, over all of these.
    fn sum(&self) -> f64 {
        self.longer.values().flat_map(BTreeMap::values).sum()
    }

    /// Ranks that wait for it, but for those that hardly do.
    fn waiters(&self) -> usize {
        let mut waits: BTreeMap<ProcessId, f64> = BTreeMap::new();
        for (&waiter, amount) in self.longer.values().flatten() {
            *waits.entry(waiter).or_default() += amount;
        }
        let most = waits.values().copied().fold(0.0, f64::max);
        waits.values().filter(|&&amount| amount >= LEAST_SHARE * most).count()
    }

    /// The procedure that most of it is, and how much longer the rank runs it than that which waits most.
    fn procedure(&self) -> Option<(ProcedureId, f64)> {
        let sum = |by: &BTreeMap<ProcessId, f64>| by.values().sum::<f64>();
        let (&id, by) =
            self.longer.iter().max_by(|(a, x), (b, y)| sum(x).total_cmp(&sum(y)).then(b.cmp(a)))?;
        Some((id, by.values().copied().fold(0.0, f64::max)))
    }

    /// Where others wait most.
    fn place(&self) -> Option<&LatePlace> {
        let most = self.places.iter().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)))?;
        Some(most.0)
    }
}

/// The waits in calls that pass messages.
fn in_calls<'a>(
    input: &'a ReportTables<'_>,
    waits: &'a Waits,
) -> impl Iterator<Item = (&'a WaitClass, ObjectKind)> {
    let kind = |class: &WaitClass| {
        let kind = input.objects.get(class.source.object?).kind;
        use ObjectKind::{Communicator, MessageCall, Receiver, Sender};
        matches!(kind, Sender | Receiver | Communicator | MessageCall).then_some(kind)
    };
    waits.classes.iter().filter_map(move |class| Some((class, kind(class)?)))
}

/// Where ranks poll: in procedures in which they wait in calls that pass messages, and in the library that they call.
pub(crate) struct MessagePolls {
    places: BTreeSet<(ProcessId, ProcedureId)>,
}

impl MessagePolls {
    pub(crate) fn of(input: &ReportTables<'_>) -> MessagePolls {
        let process = |thread: ThreadId| input.program.threads[thread.index()].process;
        let place = |(class, _): (&WaitClass, ObjectKind)| {
            let PlaceId(place) = class.source.place?;
            Some((process(class.source.thread?), input.paths.all_places()[place as usize].procedure))
        };
        let waits = input.details.waits.as_ref();
        let places = waits.into_iter().flat_map(|waits| in_calls(input, waits)).filter_map(place).collect();
        MessagePolls { places }
    }

    /// Whether a thread that spins in this procedure polls for messages.
    pub(crate) fn are_in(&self, input: &ReportTables<'_>, thread: ThreadId, procedure: ProcedureId) -> bool {
        let process = input.program.threads[thread.index()].process;
        let is_rank = input.program.processes[process.index()].rank.is_some();
        let is_library = || is_message_library(&input.paths.procedure_named_by(procedure).module);
        self.places.contains(&(process, procedure)) || is_rank && is_library()
    }
}

fn late_ranks(input: &ReportTables<'_>) -> BTreeMap<ProcessId, LateRank> {
    let mut ranks: BTreeMap<ProcessId, LateRank> = BTreeMap::new();
    let Some(waits) = &input.details.waits else { return ranks };
    let process = |thread: ThreadId| input.program.threads[thread.index()].process;
    // Of calls that are not understood nobody is known to be late.
    let is_known = |kind: ObjectKind| kind != ObjectKind::MessageCall;
    let wanted = in_calls(input, waits).filter(|&(class, kind)| class.unwanted.is_none() && is_known(kind));
    for (class, kind) in wanted {
        let Some(waiter) = class.source.thread.map(process) else { continue };
        let place = class.source.place.map(|place| {
            let procedure = input.paths.all_places()[place.0 as usize].procedure;
            (kind, input.paths.message_call(place), procedure)
        });
        let [positive, negative] = [|share: &StepShare| share.positive, |share: &StepShare| share.negative]
            .map(|of| class.roots.iter().map(of).sum::<f64>());
        if positive <= 0.0 {
            continue;
        }
        // What the waiting thread did instead is no part of the wait.
        let part = ((positive - negative) / positive).clamp(0.0, 1.0);
        let split = class.split.imbalance + class.split.insufficient;
        let alone = if split > 0.0 { class.split.insufficient / split } else { 0.0 };
        for share in class.roots.iter().filter(|share| share.positive > 0.0) {
            let step = waits.steps.step(share.step);
            let Some(group) = step.group.map(|group| waits.steps.group(group)) else { continue };
            let mut of = group.threads.iter().map(|&thread| process(thread));
            let Some(late) = of.next().filter(|&late| late != waiter && of.all(|other| other == late)) else {
                continue;
            };
            let amount = part * share.positive;
            match (step.deed.category, step.deed.scope) {
                (Category::Running, Some(scope)) => {
                    let rank = ranks.entry(late).or_default();
                    *rank.longer.entry(scope.procedure).or_default().entry(waiter).or_default() += amount;
                    rank.alone += alone * amount;
                    if let Some(place) = &place {
                        *rank.places.entry(place.clone()).or_default() += amount;
                    }
                }
                (Category::Ready, _) => ranks.entry(late).or_default().lacking += amount,
                _ => {}
            }
        }
    }
    ranks.retain(|_, rank| !rank.longer.is_empty());
    ranks
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let ranks = late_ranks(basis.input);
    let waited: f64 = ranks.values().map(LateRank::sum).sum();
    ranks.iter().filter_map(|(&process, rank)| finding(basis, process, (rank, waited))).collect()
}

/// Of a rank, where others wait so long for all that come late.
fn finding(
    basis: &FindingBasis<'_, '_>,
    process: ProcessId,
    (rank, waited): (&LateRank, f64),
) -> Option<Finding> {
    let FindingBasis { facts, bounds, .. } = basis;
    let ((procedure, _), waiters) = (rank.procedure()?, rank.waiters());
    let gain = rank.sum() / (waiters + 1) as f64;
    let mut range = GainRange::of(&[gain], MODEL_ERROR / 100.0 * gain, bounds, bounds.without(0.0));
    if let Some(left) = left_by_processors(basis, process) {
        range.low = range.low.min(left);
        // Early ranks that poll take processors from those that compute, and no longer do with even shares, as far as they waited for this one.
        let polled = rank.sum() / waited * facts.polling as f64 / f64::from(facts.cpus);
        range.high = (range.high + polled).min(bounds.without(0.0)).max(range.high);
    }
    let advice = if 2.0 * rank.alone > rank.sum() { Advice::Parallelise } else { Advice::Balance };
    let subject = FindingSubject::LateRank(process, procedure);
    let mut found = Finding::advised(basis, (&KIND, Limit::Work), subject, (advice, range), false)?;
    found.leads = percent(found.weight, facts.elapsed as f64) >= LATE_RANK;
    let waiting = count_of(waiters as u64, "rank");
    let time = TimeInWords(rank.sum().round() as u64);
    let mut evidence = vec![sentence![waiting, " waited ", time, " in all while it ran"]];
    if percent(rank.lacking, facts.elapsed as f64) >= LATE_RANK {
        let lacking = TimeInWords(rank.lacking.round() as u64);
        evidence.push(sentence!["and ", lacking, " while it had no CPU"]);
    }
    Some(found.with(evidence))
}

/// What even shares leave to gain where more ranks compute than there are processors, which the early ranks use while they do.
fn left_by_processors(basis: &FindingBasis<'_, '_>, late: ProcessId) -> Option<f64> {
    crowded_ranks(basis)?;
    let (program, processors) = (basis.input.program, basis.facts.cpus);
    let running = |id: ProcessId| {
        let rows = basis.input.rows(By::Process).iter();
        rows.filter(|row| row.node == Node::Process(id)).map(|row| row.own.running as f64).sum::<f64>()
    };
    let ids = (0..program.processes.len()).map(ProcessId::from_index);
    let of_all: f64 = ids.filter(|id| program.processes[id.index()].rank.is_some()).map(running).sum();
    Some((running(late) - of_all / f64::from(processors)).max(0.0))
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let FindingBasis { input, facts, .. } = basis;
    let FindingSubject::LateRank(process, _) = finding.subject else { unreachable!("it leads with a rank") };
    let ranks = late_ranks(input);
    let rank = &ranks[&process];
    let (procedure, longer) = rank.procedure().expect("a late rank runs something");
    let at = match rank.place() {
        Some((kind, operation, place)) => {
            let place = Sentence::name(input, Node::Procedure(*place));
            sentence![how(*kind, operation.as_deref()), place]
        }
        None => " comes late".into(),
    };
    let headline = sentence![
        "The long pole: ",
        rank_name(input, process),
        at,
        ". ",
        Sentence::name(input, Node::Procedure(procedure)),
        " runs ",
        TimeInWords(longer.round() as u64),
        " longer there",
        saves(finding, facts.elapsed),
        "."
    ];
    let mut answer = work_answer(basis, headline);
    if facts.polling > 0 {
        let share = ShareInWords(percent(facts.polling as f64, (facts.cpu + facts.spinning) as f64));
        let time = TimeInWords(facts.polling);
        let polls = sentence!["Ranks that wait poll: ", time, " of CPU time (", share, ") is no work."];
        answer.reasons.insert(0, polls);
    }
    answer.next.retain(|next| *next != WAITS);
    answer.next.splice(0..0, [WAITS, MESSAGES]);
    answer
}

/// How a rank is late, up to the name of the procedure in which others wait.
fn how(kind: ObjectKind, operation: Option<&str>) -> Sentence {
    // Of one-sided communication the calls that begin and end accesses wait, for what is no message.
    let is_one_sided = operation.is_some_and(|operation| operation.starts_with("MPI_Win_"));
    let to = match kind {
        ObjectKind::Sender if !is_one_sided => " sends late to ",
        ObjectKind::Receiver => " receives late from ",
        _ => " comes late to ",
    };
    match operation {
        Some(operation) => sentence![to, Sentence::code(operation), " in "],
        None if kind == ObjectKind::Communicator => sentence![to, "the collective operation in "],
        None => to.into(),
    }
}

fn saves(finding: &Finding, elapsed: u64) -> Sentence {
    let Some((_, gain)) = &finding.change else { return Sentence::default() };
    sentence!["; even shares would save ", gain.text(), " of ", time_text(elapsed)]
}
