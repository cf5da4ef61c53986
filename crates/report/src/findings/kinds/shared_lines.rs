//! Cache lines that threads on several processors use at the same time, and write.
//!
//! ```text
//!   apart     thread 1 writes | ======== ........ ........ |      no byte is used by both: each fetches the line again and again
//!             thread 2 writes | ........ ======== ........ |      though it needs nothing of the other
//!   the same  both write      | ======== ........ ........ |      a counter, say, that all add to
//! ```
//! Samples tell that threads are at such code together, not how long the line takes to come: a sample there may be work that would
//! be as long alone. So the run gains at most the CPU time of these samples, and maybe nothing.

use std::collections::BTreeSet;

use longpole_trace::{LineUser, SharedLine};

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::sentence::{Sentence, ShareInWords, sentence};
use crate::findings::threshold::SHARED_LINES;
use crate::findings::work_answer;
use crate::input::ReportTables;
use crate::quantity::{count_of, percent};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "a cache line that threads use at the same time, one of them by writing",
    when: "samples found threads on several CPUs at code that accesses it, within three intervals of the timer: up to the CPU time of these samples, and to what the CPUs leave without it; how long the line takes from CPU to CPU is not known",
    advice: "*give each thread a cache line*, *give each thread its own*",
    find,
    answer,
};

/// Memory that threads share, of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedMemory {
    /// The variable, where it has a name.
    variable: Option<String>,
    /// Where threads use it most.
    procedure: Option<String>,
}

/// The lines of one variable, or of unnamed memory at one place.
#[derive(Debug)]
struct SharedLines<'a> {
    memory: SharedMemory,
    samples: u64,
    /// Of lines of which several threads use the same bytes.
    same_bytes: u64,
    threads: BTreeSet<u32>,
    lines: Vec<&'a SharedLine>,
}

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    shared(basis.input).iter().filter_map(|(shared, part)| finding(basis, shared, *part)).collect()
}

/// The memory of which threads share cache lines in enough of the samples to be told.
pub(crate) fn shared_memory(input: &ReportTables<'_>) -> Vec<SharedMemory> {
    shared(input).into_iter().map(|(shared, _)| shared.memory).collect()
}

/// Lines that threads share in enough of the samples to be told, by their memory, each with its part of all samples, percent.
fn shared<'a>(input: &ReportTables<'a>) -> Vec<(SharedLines<'a>, f64)> {
    let machines = &input.program.machines;
    let mut all = 0;
    let mut found: Vec<SharedLines<'_>> = Vec::new();
    for samples in machines.iter().filter_map(|machine| machine.shared_lines.as_ref()) {
        all += samples.samples;
        for line in &samples.lines {
            let memory = SharedMemory::of(line);
            match found.iter_mut().find(|known| known.memory == memory) {
                Some(known) => known.add(line),
                None => found.push(SharedLines::of(memory, line)),
            }
        }
    }
    let with_part = found.into_iter().map(|shared| {
        let part = percent(shared.samples as f64, all as f64);
        (shared, part)
    });
    with_part.filter(|&(_, part)| part >= SHARED_LINES).collect()
}

fn finding(basis: &FindingBasis<'_, '_>, shared: &SharedLines<'_>, part: f64) -> Option<Finding> {
    let time = (part / 100.0).min(1.0) * basis.facts.cpu as f64;
    let gain = GainRange::up_to(time, &basis.bounds).with_work_less(time, &basis.bounds);
    let is_apart = 2 * shared.same_bytes < shared.samples;
    let advice = if is_apart { Advice::SeparateLines } else { Advice::OwnCopies };
    let subject = FindingSubject::SharedMemory(shared.memory.clone());
    let found = Finding::advised(basis, (&KIND, Limit::Work), subject, (advice, gain), false)?;
    Some(found.with(shared.evidence(is_apart, part)))
}

impl SharedMemory {
    fn of(line: &SharedLine) -> SharedMemory {
        let variable = line.variable.as_deref().map(|name| match name.rsplit_once("+0x") {
            Some((variable, _)) => variable.to_owned(),
            None => name.to_owned(),
        });
        SharedMemory { variable, procedure: line.procedure.clone() }
    }

    /// What it is called in the list.
    pub(crate) fn name(&self) -> Sentence {
        match (&self.variable, &self.procedure) {
            (Some(variable), _) => Sentence::code(variable),
            (None, Some(procedure)) => sentence!["memory of ", Sentence::code(procedure)],
            (None, None) => "shared memory".into(),
        }
    }
}

impl<'a> SharedLines<'a> {
    fn of(memory: SharedMemory, line: &'a SharedLine) -> SharedLines<'a> {
        let mut shared =
            SharedLines { memory, samples: 0, same_bytes: 0, threads: BTreeSet::new(), lines: Vec::new() };
        shared.add(line);
        shared
    }

    fn add(&mut self, line: &'a SharedLine) {
        self.samples += line.samples;
        self.same_bytes += if has_same_bytes(&line.users) { line.samples } else { 0 };
        self.threads.extend(line.users.iter().map(|user| user.thread));
        self.lines.push(line);
    }

    fn evidence(&self, is_apart: bool, part: f64) -> Vec<Sentence> {
        let threads = count_of(self.threads.len() as u64, "thread");
        let how = if is_apart { " use different bytes of " } else { " use the same bytes of " };
        let lines = match self.lines.len() as u64 {
            1 => "one cache line".to_owned(),
            lines => count_of(lines, "cache line"),
        };
        let mut evidence =
            vec![sentence![threads, how, lines, ", at once in ", ShareInWords(part), " of the CPU time"]];
        if let (Some(_), Some(procedure)) = (&self.memory.variable, &self.memory.procedure) {
            evidence.push(sentence!["in ", Sentence::code(procedure)]);
        }
        evidence
    }
}

/// Whether a byte that one thread writes is used by another.
fn has_same_bytes(users: &[LineUser]) -> bool {
    let conflicts = |one: &LineUser, other: &LineUser| one.written & (other.read | other.written) != 0;
    users.iter().enumerate().any(|(index, one)| {
        users.iter().enumerate().any(|(other_index, other)| index != other_index && conflicts(one, other))
    })
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let what = finding.evidence.first().cloned();
    let headline = sentence![
        "The long pole may be a shared cache line, ",
        finding.subject.text(basis.input),
        ": ",
        what,
        "."
    ];
    work_answer(basis, headline)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(thread: u32, read: u64, written: u64) -> LineUser {
        LineUser { thread, samples: 10, read, written }
    }

    fn line(variable: Option<&str>, users: [LineUser; 2]) -> SharedLine {
        SharedLine {
            process: 1,
            address: 0x4000,
            variable: variable.map(str::to_owned),
            procedure: Some("count".to_owned()),
            samples: 20,
            users: users.to_vec(),
        }
    }

    #[test]
    fn threads_use_the_same_bytes_where_one_writes_what_another_uses() {
        assert!(!has_same_bytes(&[user(1, 0xff, 0xff), user(2, 0xff00, 0xff00)]));
        assert!(has_same_bytes(&[user(1, 0xff, 0xff), user(2, 0xff, 0)]));
        assert!(has_same_bytes(&[user(1, 0, 0x1), user(2, 0, 0x3)]));
        assert!(!has_same_bytes(&[user(1, 0xff, 0), user(2, 0xff, 0xff00)]), "what both read nobody writes");
    }

    #[test]
    fn lines_of_one_variable_are_one_thing_and_it_is_called_by_what_is_known() {
        let users = [user(1, 0, 0xff), user(2, 0, 0xff00)];
        let [first, second] = ["counters", "counters+0x40"].map(|name| line(Some(name), users));
        let mut shared = SharedLines::of(SharedMemory::of(&first), &first);
        assert_eq!(shared.memory, SharedMemory::of(&second));
        shared.add(&second);
        let evidence: Vec<String> = shared.evidence(true, 51.0).iter().map(Sentence::text).collect();
        let said = "2 threads use different bytes of 2 cache lines, at once in 51 % of the CPU time";
        assert_eq!(evidence, [said, "in `count`"]);
        assert_eq!(shared.memory.name().text(), "`counters`");
        let unnamed = SharedMemory::of(&line(None, users));
        assert_eq!(unnamed.name().text(), "memory of `count`");
    }
}
