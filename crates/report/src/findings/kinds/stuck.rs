//! Programs that cannot go on: deadlocks, waits that nobody can end, locks that are never given back (metrics.md §6).
//!
//! ```text
//!   first    holds accounts ──wants──► journal  ─┐       who holds a lock: the lock's own memory said so while it
//!   second   holds journal  ──wants──► accounts ─┘       was waited for
//! ```
//! In: the waits that nothing ended, and the owners of locks. Out: at most one finding, the surest.

use longpole_event::ThreadId;
use longpole_metrics::FinalWait;
use longpole_trace::Cause;

use crate::findings::RankedWork;
use crate::findings::finding::{
    Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit, Prediction,
};
use crate::findings::next::{PATH_WITH_WAITS, PROFILE, WAITS};
use crate::findings::placed_waits::waiting_for;
use crate::input::ReportTables;
use crate::name;
use crate::quantity::{count_of, percent, time_text};

/// Share of the run that a wait must have lasted to be told, where it is not certain that it would last for ever, percent.
const LONG: f64 = 10.0;
/// The same where its holder may still go on.
const MOST: f64 = 50.0;
/// Procedures of a call path that are named.
const PROCEDURES: usize = 3;
/// Threads that are named one by one.
const THREADS: usize = 4;

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a program that cannot go on",
    when: "a deadlock; every thread that is left waits for another; a lock is never given back (§6). It leads, alone",
    advice: "none: the answer names the threads, what they wait for, and who holds it",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    let finding = |_| Finding {
        kind: &KIND,
        limit: Limit::Idle,
        subject: FindingSubject::Work,
        change: None,
        predicted_by: Prediction::Metrics,
        weight: f64::MAX,
        free: f64::MAX,
        leads: true,
        stands_for: None,
        evidence: Vec::new(),
    };
    stuck(basis.input).map(finding).into_iter().collect()
}

fn answer(basis: &FindingBasis<'_, '_>, _: &Finding) -> LeadingAnswer {
    let Stuck { headline, reasons } = stuck(basis.input).unwrap_or_default();
    LeadingAnswer {
        headline: headline.into(),
        reasons: reasons.into_iter().map(Into::into).collect(),
        ranked_by: Some(RankedWork::CriticalPath),
        next: vec![WAITS, PATH_WITH_WAITS, PROFILE],
    }
}

/// The finding, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stuck {
    /// The answer in one sentence.
    headline: String,
    /// Who waits where for what; then what else is to be known.
    reasons: Vec<String>,
}

/// Why the program cannot go on, where it cannot.
fn stuck(input: &ReportTables<'_>) -> Option<Stuck> {
    let facts = StuckFacts { input, waits: &input.analysis.final_waits };
    facts.deadlock().or_else(|| facts.all_wait()).or_else(|| facts.never_given_back())
}

#[derive(Clone, Copy)]
struct StuckFacts<'a> {
    input: &'a ReportTables<'a>,
    waits: &'a [FinalWait],
}

impl<'a> StuckFacts<'a> {
    /// Threads each of which waits for a lock that the next holds, and the last for one of the first.
    fn deadlock(self) -> Option<Stuck> {
        let cycle = self.waits.iter().find_map(|wait| self.cycle_from(wait))?;
        let time = cycle.iter().map(|wait| wait.until.since(wait.since)).min()?;
        let told: Vec<String> = cycle
            .iter()
            .enumerate()
            .map(|(index, wait)| {
                let owner = cycle[(index + 1) % cycle.len()].thread;
                let whose = if owner == wait.thread { "itself".to_owned() } else { self.thread(owner) };
                format!("{} waits for {}, which {whose} holds", self.thread(wait.thread), self.object(wait))
            })
            .collect();
        let headline = format!("Deadlock: {}; so for {}, to the end.", told.join(", and "), time_text(time));
        let mut reasons = vec![self.places(&cycle)];
        let behind =
            self.waits.iter().filter(|wait| !cycle.contains(wait) && self.leads_to(wait, &cycle)).count();
        if behind > 0 {
            reasons.push(format!("{} more wait for these locks.", count_of(behind as u64, "thread")));
        }
        Some(Stuck { headline, reasons })
    }

    /// The cycle that the owner of what `first` waits for leads back to.
    fn cycle_from(self, first: &'a FinalWait) -> Option<Vec<&'a FinalWait>> {
        let mut cycle = vec![first];
        loop {
            let owner = self.owner(cycle.last()?)?;
            if owner == first.thread {
                return Some(cycle);
            }
            let next = self.wait_of(owner)?;
            if cycle.iter().any(|wait| wait.thread == next.thread) {
                return None;
            }
            cycle.push(next);
        }
    }

    fn leads_to(self, wait: &FinalWait, cycle: &[&FinalWait]) -> bool {
        let mut owner = self.owner(wait);
        for _ in 0..self.waits.len() {
            match owner {
                Some(thread) if cycle.iter().any(|wait| wait.thread == thread) => return true,
                Some(thread) => owner = self.wait_of(thread).and_then(|wait| self.owner(wait)),
                None => return false,
            }
        }
        false
    }

    /// Every thread that is left waits for what only threads of the program do.
    fn all_wait(self) -> Option<Stuck> {
        let until = self.waits.iter().map(|wait| wait.until).min()?;
        let has_ended =
            |thread: ThreadId| self.input.program.threads[thread.index()].end.is_some_and(|end| end < until);
        let all = (0..self.input.program.threads.len()).map(ThreadId::from_index);
        let left: Option<Vec<&FinalWait>> =
            all.filter(|&thread| !has_ended(thread)).map(|thread| self.wait_of(thread)).collect();
        let left = left.filter(|left| left.iter().all(|wait| is_ended_by_threads(wait.cause)))?;
        let time = left.iter().map(|wait| wait.until.since(wait.since)).min()?;
        if !self.is_over() || self.share(time) < LONG {
            return None;
        }
        // Joins follow from the other waits.
        let follows = |wait: &FinalWait| matches!(wait.cause, Cause::Join | Cause::Child);
        let first = left.iter().find(|wait| !follows(wait)).unwrap_or(&left[0]);
        let waits = match left.len() {
            1 => "its only thread waits for what only another would do".to_owned(),
            count => format!("all {count} threads that are left wait for each other"),
        };
        let headline = format!(
            "Nothing can go on: for {}, to the end, {waits}; {} is {} in {}.",
            time_text(time),
            self.thread(first.thread),
            self.waiting(first),
            self.procedure(first),
        );
        let mut places = left.clone();
        places.sort_by_key(|wait| follows(wait));
        let mut reasons = vec![self.places(&places)];
        reasons.push("Only a time-out, a signal or another program could end these waits.".to_owned());
        Some(Stuck { headline, reasons })
    }

    /// A lock that somebody holds to the end while another waits for it.
    fn never_given_back(self) -> Option<Stuck> {
        let owned = self.waits.iter().filter(|wait| wait.cause == Cause::Lock);
        let mut owned: Vec<(&FinalWait, ThreadId)> =
            owned.filter_map(|wait| Some((wait, self.owner(wait)?))).collect();
        owned.sort_by_key(|(wait, _)| (std::cmp::Reverse(wait.until.since(wait.since)), wait.thread));
        let &(wait, owner) = owned.first()?;
        let time = wait.until.since(wait.since);
        if !self.is_over() || self.share(time) < MOST || wait.handed_on.is_some() {
            return None;
        }
        let holder = self.input.program.threads.get(owner.index())?;
        let holds = match self.wait_of(owner) {
            _ if holder.end.is_some_and(|end| end < wait.until) => "which held it when it ended".to_owned(),
            Some(held) => format!("which holds it and is {} in {}", self.waiting(held), self.procedure(held)),
            None => "which holds it".to_owned(),
        };
        let headline = format!(
            "The long pole: {} is never given back — {} waits for it in {} for {}, to the end, for {}, {holds}.",
            self.object(wait),
            self.thread(wait.thread),
            self.procedure(wait),
            time_text(time),
            self.thread(owner),
        );
        let waits: Vec<&FinalWait> = std::iter::once(wait).chain(self.wait_of(owner)).collect();
        Some(Stuck { headline, reasons: vec![self.places(&waits)] })
    }

    /// Whether the program was over when the waits were, or was left as it was: not one that ended by itself, with
    /// threads that waited for more to do.
    fn is_over(self) -> bool {
        self.input.evidence.truncated
            || self.input.evidence.attached
            || self.input.evidence.killed_by.is_some()
    }

    fn share(self, time: u64) -> f64 {
        percent(time as f64, self.input.analysis.elapsed as f64)
    }

    fn wait_of(self, thread: ThreadId) -> Option<&'a FinalWait> {
        self.waits.iter().find(|wait| wait.thread == thread)
    }

    /// Who holds what the wait is for, as the lock said last; not where another has got it since then.
    fn owner(self, wait: &FinalWait) -> Option<ThreadId> {
        let owners = self.input.program.owners.iter().rev();
        let since = wait.handed_on.unwrap_or(wait.since);
        let mut of_wait = owners.filter(|owned| owned.waiter == wait.thread && owned.time >= since);
        let owned = of_wait.next().filter(|_| wait.cause == Cause::Lock)?;
        // Who waits for it has it no longer.
        let waits_too = |other: &FinalWait| other.object == wait.object && other.since > owned.time;
        (!self.wait_of(owned.owner).is_some_and(waits_too)).then_some(owned.owner)
    }

    fn thread(self, thread: ThreadId) -> String {
        format!("`{}`", name::thread(self.input.program, thread))
    }

    fn object(self, wait: &FinalWait) -> String {
        let object = wait.object.map(|object| self.input.objects.get(object));
        object.map_or_else(|| "a lock".to_owned(), |object| format!("`{}`", object.name))
    }

    /// What the thread waits for, with the name of the thing where it has one.
    fn waiting(self, wait: &FinalWait) -> String {
        let object = wait.object.map(|object| format!(" (`{}`)", self.input.objects.get(object).name));
        format!("{}{}", waiting_for(wait.cause), object.unwrap_or_default())
    }

    fn procedures(self, wait: &FinalWait) -> Vec<String> {
        let is_shown = |&id: &longpole_trace::ProcedureId| {
            !self.input.folding.is_folded(id)
                && !name::is_starter(&self.input.paths.procedure_named_by(id).name)
        };
        let ids = self.input.paths.places_of(wait.path).map(|place| place.procedure).filter(is_shown);
        ids.map(|id| format!("`{}`", name::procedure(self.input.paths, self.input.program, id))).collect()
    }

    fn procedure(self, wait: &FinalWait) -> String {
        self.procedures(wait).into_iter().next().unwrap_or_else(|| "an unknown place".to_owned())
    }

    /// The places of some of the waits.
    fn places(self, waits: &[&FinalWait]) -> String {
        let told: Vec<String> = waits.iter().take(THREADS).map(|wait| self.place(wait)).collect();
        told.join(" ")
    }

    /// Who waits where, since when, and for whom.
    fn place(self, wait: &FinalWait) -> String {
        let path: Vec<String> = self.procedures(wait).into_iter().take(PROCEDURES).collect();
        let path = if path.is_empty() { "an unknown place".to_owned() } else { path.join(" from ") };
        let owner = self.owner(wait).map(|owner| format!(", held by {}", self.thread(owner)));
        format!(
            "{}: {} in {path}, since {}{}.",
            self.thread(wait.thread),
            self.waiting(wait),
            time_text(wait.since.nanoseconds()),
            owner.unwrap_or_default(),
        )
    }
}

/// Whether only threads of the program end such a wait, if no time-out does.
fn is_ended_by_threads(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Lock
            | Cause::Condition
            | Cause::Barrier
            | Cause::Semaphore
            | Cause::Join
            | Cause::Park
            | Cause::Futex
            | Cause::Message
            | Cause::LateSender
            | Cause::LateReceiver
            | Cause::Collective
            | Cause::Child
    )
}
