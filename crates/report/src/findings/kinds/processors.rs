//! Processors: threads on the elapsed-weighted critical path that could run and have none.
//!
//! With a processor for each the run would be as long as the critical path by CPU time, plus what that leaves out:
//! it gains at most the ready time on the path, and at most what the path by CPU time is shorter than the run. Threads
//! that spin would spin on more processors too: where they use most of the CPU time, nothing is found.

use crate::findings::finding::{
    Advice, Finding, FindingBasis, FindingKind, FindingSubject, LeadingAnswer, Limit,
};
use crate::findings::gain::GainRange;
use crate::findings::next::{LINES, PATH_WITH_WAITS, THREADS, TREE};
use crate::findings::reasons;
use crate::findings::sentence::{ShareInWords, TimeInWords, sentence};
use crate::findings::threshold::CROWDED_OUT;
use crate::findings::{LeadingWork, RankedWork, procedure_answer};

/// The entry of the table.
pub(crate) static KIND: FindingKind = FindingKind {
    what: "time without a CPU",
    when: "threads on the elapsed-weighted critical path are ready, and less CPU time spins than works: up to that time, and up to what the CPU-weighted path is shorter than the run, and where others have the CPUs to what all CPUs leave; leads from 75 % of the run, if others have the CPUs",
    advice: "*more CPUs* if the program got at least 70 % of the CPU time that it could use, else *free the CPUs*",
    find,
    answer,
};

fn find(basis: &FindingBasis<'_, '_>) -> Vec<Finding> {
    finding(basis).into_iter().collect()
}

fn finding(basis: &FindingBasis<'_, '_>) -> Option<Finding> {
    let FindingBasis { facts, bounds, .. } = basis;
    // A cut import does not say how many there were: nothing is known about the lack of them.
    if facts.mostly_spins() || facts.cpus == 0 {
        return None;
    }
    let used = facts.used_percent();
    let (advice, limit) = match facts.is_own_crowd() {
        true => (Advice::MoreProcessors, Limit::Processors),
        false => (Advice::FreeProcessors, Limit::OtherPrograms),
    };
    let longer = (bounds.elapsed - facts.path as f64).max(0.0);
    let lacked = GainRange::up_to((facts.path_ready as f64).min(longer), bounds);
    let gain = if limit == Limit::OtherPrograms { lacked.with_all_work(bounds) } else { lacked };
    let mut found =
        Finding::advised(basis, (&KIND, limit), FindingSubject::Processors, (advice, gain), false)?;
    found.weight = lacked.middle();
    // Little is known of such a run, and it would be another one by itself.
    found.leads = limit == Limit::OtherPrograms && facts.of_run(lacked.high.round() as u64) >= CROWDED_OUT;
    let lacking = sentence![
        "the critical path was without a CPU ",
        ShareInWords(facts.of_run(facts.path_ready)),
        " of the run"
    ];
    Some(found.with(match advice {
        Advice::MoreProcessors => {
            vec![lacking, sentence!["threads were ready ", TimeInWords(facts.ready), " in all"]]
        }
        _ => vec![sentence!["the program got ", ShareInWords(used), " of the CPUs"], lacking],
    }))
}

fn answer(basis: &FindingBasis<'_, '_>, finding: &Finding) -> LeadingAnswer {
    let FindingBasis { input, facts, .. } = basis;
    let work = LeadingWork::largest(input, RankedWork::Cpu);
    let own = work.as_ref().map(|work| sentence!["; its CPU time goes to ", work.sentence("it")]);
    if finding.limit == Limit::Processors {
        // Where the CPUs were free for much of the run, what there was to do for one of them counts.
        let ranked = RankedWork::of(facts);
        if ranked != RankedWork::Cpu
            && let Some(largest) = ranked.largest(input)
        {
            return procedure_answer(basis, ranked, largest);
        }
        let headline = sentence!["The long pole: CPU time. ", reasons::cpu_bound(facts), own, "."];
        let next = vec![LINES, TREE, THREADS];
        let reasons = vec![reasons::ready(facts).unwrap_or_default()];
        return LeadingAnswer { headline, reasons, ranked_by: Some(RankedWork::Cpu), next };
    }
    let share = sentence![ShareInWords(facts.of_run(facts.path_ready)), " of the run"];
    let why = sentence![
        ", though the program used only ",
        ShareInWords(facts.used_percent()),
        " of the CPUs: ",
        reasons::who_has_the_cpus(facts),
    ];
    let headline = sentence!["The long pole: waiting for a CPU — ", share, why, own, "."];
    let mut reasons: Vec<_> = work.iter().flat_map(LeadingWork::circumstances).collect();
    reasons.extend(reasons::spinning(basis));
    reasons.extend(reasons::waiting(basis));
    LeadingAnswer {
        headline,
        reasons,
        ranked_by: Some(RankedWork::Cpu),
        next: vec![PATH_WITH_WAITS, THREADS, TREE],
    }
}
