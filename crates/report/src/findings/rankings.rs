//! Which ranking to follow for this program, and why (metrics.md §11; M §4.4).
//!
//! No metric is the best one for every program. What leads the answer decides what to follow, so the guidance cannot
//! contradict the answer: of the rules that *lead* the first one that holds is taken, and what leads the answer is part of
//! its condition. Every other rule that holds adds its remark. The definitions list the rules from this table.

use super::finding::Limit;
use super::sentence::{Sentence, ShareInWords, sentence};
use super::threshold::{
    BALANCED, BESIDE, DEVICES, FEW_OBSERVATIONS, FEWEST_OBSERVATIONS, IDLE, KERNEL, LOSSES, OVERHEAD, READY,
    SOME_WAITING, SPINNING, WAITING,
};
use super::{FindingBasis, RunFacts};
use crate::quantity::grouped;
use crate::view::View;

/// A ranking of procedures, by its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// The critical path by CPU time.
    CriticalPath,
    /// The critical path by elapsed time.
    Elapsed,
    /// Normalised processor time.
    Npt,
    /// CPU time.
    Profile,
    /// Logical zeroing.
    Zeroing,
    /// Slack.
    Slack,
    /// Explained waits.
    Waits,
    /// Times of threads.
    Threads,
}

impl Ranking {
    /// Every ranking.
    pub(crate) const ALL: &'static [Ranking] = &[
        Ranking::CriticalPath,
        Ranking::Elapsed,
        Ranking::Npt,
        Ranking::Profile,
        Ranking::Zeroing,
        Ranking::Slack,
        Ranking::Waits,
        Ranking::Threads,
    ];

    /// The view that shows it.
    pub(crate) fn view(self) -> &'static str {
        match self {
            Ranking::CriticalPath | Ranking::Elapsed => "critical-path",
            Ranking::Npt => "npt",
            Ranking::Profile => "profile",
            Ranking::Zeroing => "zeroing",
            Ranking::Slack => "slack",
            Ranking::Waits => "waits",
            Ranking::Threads => "threads",
        }
    }

    /// The arguments of `longpole report` that show it.
    pub(crate) fn arguments(self) -> String {
        let weight = if self == Ranking::Elapsed { " --weight elapsed" } else { "" };
        format!("--view {}{weight}", self.view())
    }
}

/// What to think of a ranking, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Look at this first.
    Follow,
    /// Says the same, or adds to it.
    Agrees,
    /// True of a part.
    Partly,
    /// Says nothing here.
    Silent,
    /// Ranks the wrong things first.
    Misleads,
}

impl Verdict {
    /// The word in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Follow => "follow",
            Verdict::Agrees => "agrees",
            Verdict::Partly => "partly",
            Verdict::Silent => "says nothing",
            Verdict::Misleads => "misleads",
        }
    }
}

/// What the rules decide from: the facts, and what limits the run by the answer.
pub(crate) struct Situation<'f> {
    pub facts: &'f RunFacts,
    /// What limits the run by the finding that leads; `None` where nothing was found.
    pub limit: Option<Limit>,
}

impl Situation<'_> {
    /// Whether the answer is about the program's work.
    fn is_work(&self) -> bool {
        matches!(self.limit, Some(Limit::Work) | None)
    }

    /// Whether the processors are the limit.
    fn is_of_processors(&self) -> bool {
        self.limit == Some(Limit::Processors) || (self.is_work() && self.facts.is_cpu_bound())
    }

    /// Of what the answer goes by: CPU time, worked or spun, needs no path.
    fn has_samples(&self) -> bool {
        let is_of_cpu_time = self.is_of_processors() || self.limit == Some(Limit::Spinning);
        let samples = if is_of_cpu_time { self.facts.cpu_samples } else { self.facts.samples };
        samples + self.facts.reported as f64 >= FEWEST_OBSERVATIONS
    }
}

/// A rule.
pub(super) struct RankingRule {
    /// When it holds, as the definitions say it.
    pub condition: &'static str,
    /// Whether it decides what to follow; others only add to that.
    pub leads: bool,
    pub holds: fn(&Situation<'_>) -> bool,
    pub sentence: fn(&RunFacts) -> Sentence,
    pub says: &'static [(Ranking, Verdict, &'static str)],
}

/// What to follow, and what misleads.
#[derive(Clone, Debug)]
pub(crate) struct Guidance {
    /// What to follow, in a sentence or two.
    pub lead: Sentence,
    /// What else to know, the weightiest first.
    pub remarks: Vec<Sentence>,
    /// What to think of each ranking, and why.
    pub verdicts: Vec<(Ranking, Verdict, &'static str)>,
}

/// Applies the rules to a run whose answer is led by what `limit` says.
pub(super) fn guidance(basis: &FindingBasis<'_, '_>, limit: Option<Limit>) -> Guidance {
    let situation = Situation { facts: &basis.facts, limit };
    let holding: Vec<&RankingRule> = RULES.iter().filter(|rule| (rule.holds)(&situation)).collect();
    let lead = holding.iter().find(|rule| rule.leads);
    let others = holding.iter().filter(|rule| !rule.leads);
    let said: Vec<&RankingRule> = lead.into_iter().chain(others).copied().collect();
    let sentence = |rule: &&RankingRule| (rule.sentence)(&basis.facts);
    Guidance {
        lead: lead.map(sentence).unwrap_or_default(),
        remarks: said.iter().filter(|rule| !rule.leads).map(sentence).collect(),
        verdicts: verdicts(&said),
    }
}

/// The least favourable that any rule says of each ranking there is a view for.
fn verdicts(said: &[&RankingRule]) -> Vec<(Ranking, Verdict, &'static str)> {
    let is_shown = |ranking: &&Ranking| ranking.view().parse::<View>().is_ok();
    let verdict = |&ranking: &Ranking| {
        let all = said.iter().flat_map(|rule| rule.says).filter(|(of, ..)| *of == ranking);
        // Of equal ones the first, which is the leading rule's.
        let (_, verdict, why) = all.rev().max_by_key(|(_, verdict, _)| *verdict)?;
        Some((ranking, *verdict, *why))
    };
    Ranking::ALL.iter().filter(is_shown).filter_map(verdict).collect()
}

use Ranking::{CriticalPath, Elapsed, Npt, Profile, Slack, Threads, Waits, Zeroing};
use Verdict::{Agrees, Follow, Misleads, Partly, Silent};

/// The rules; of those that lead, the first that holds.
pub(super) const RULES: &[RankingRule] = &[
    RankingRule {
        condition: "fewer than 30 effective observations, of CPU time where the processors are the limit and else of the critical path, or none with a name",
        leads: true,
        holds: |situation| {
            let is_exact = matches!(
                situation.limit,
                Some(Limit::Idle | Limit::Devices | Limit::Pinning | Limit::OtherPrograms)
            );
            situation.limit == Some(Limit::Unknown) || (!situation.has_samples() && !is_exact)
        },
        sentence: |_| {
            "No ranking of procedures means anything here: too few observations. Times of threads are exact."
                .into()
        },
        says: &[
            (Threads, Follow, "its times need no samples"),
            (CriticalPath, Silent, "too few observations"),
            (Elapsed, Silent, "too few observations"),
            (Npt, Silent, "too few observations"),
            (Profile, Silent, "too few observations"),
            (Zeroing, Silent, "too few observations"),
            (Slack, Silent, "too few observations"),
        ],
    },
    RankingRule {
        condition: "waits that no thread ends lead the answer",
        leads: true,
        holds: |situation| situation.limit == Some(Limit::Idle),
        sentence: |facts| {
            let idle = ShareInWords(facts.of_run(facts.idle));
            sentence![
                "Follow the critical path by elapsed time (--weight elapsed): for ",
                idle,
                " of the run no thread could run, and rankings by CPU time leave that out.",
            ]
        },
        says: &[
            (Elapsed, Follow, "has the waits at their length"),
            (Waits, Agrees, "says what the waits are caused by"),
            (CriticalPath, Partly, "ranks the computing alone"),
            (Npt, Partly, "leaves out the time in which no thread is busy"),
            (Zeroing, Partly, "predicts the computing alone"),
            (Profile, Misleads, "knows nothing of the waits"),
        ],
    },
    RankingRule {
        condition: "waits for devices or pages lead the answer",
        leads: true,
        holds: |situation| situation.limit == Some(Limit::Devices),
        sentence: |facts| {
            sentence![
                "Follow the critical path by elapsed time (--weight elapsed): ",
                ShareInWords(facts.devices_percent()),
                " of it is waiting for devices and pages, which rankings by CPU time leave out.",
            ]
        },
        says: &[
            (Elapsed, Follow, "has the waits at their length"),
            (Npt, Agrees, "waits for devices count as busy"),
            (CriticalPath, Misleads, "waits for devices weigh nothing"),
            (Profile, Misleads, "waits for devices are no CPU time"),
            (Zeroing, Misleads, "waits for devices weigh nothing"),
            (Slack, Misleads, "waits for devices weigh nothing"),
        ],
    },
    RankingRule {
        condition: "time without a CPU leads the answer, and the program used less than 70 % of the CPUs",
        leads: true,
        holds: |situation| matches!(situation.limit, Some(Limit::Pinning | Limit::OtherPrograms)),
        sentence: |_| {
            "Follow CPU time (profile): waits for a CPU made the run longer, and CPU time does not depend on them.".into()
        },
        says: &[
            (Profile, Follow, "CPU time does not depend on other programs"),
            (CriticalPath, Agrees, "what the run would be with CPUs of its own"),
            (Zeroing, Agrees, "what the run would be with CPUs of its own"),
            (Npt, Partly, "fewer threads were busy for want of CPUs"),
            (Elapsed, Partly, "its time without a CPU depends on other programs"),
            (Slack, Partly, "other paths waited for CPUs too"),
        ],
    },
    RankingRule {
        condition: "spinning leads the answer",
        leads: true,
        holds: |situation| situation.limit == Some(Limit::Spinning),
        sentence: |facts| {
            sentence![
                "Follow the times of threads (threads): ",
                ShareInWords(facts.spinning_percent()),
                " of the CPU time spins, and rankings of work leave that out.",
            ]
        },
        says: &[
            (Threads, Follow, "tells spinning from work"),
            (Waits, Agrees, "says what the threads that spin wait for"),
            (CriticalPath, Partly, "ranks the useful work alone"),
            (Npt, Partly, "ranks the useful work alone"),
            (Zeroing, Partly, "predicts the useful work alone"),
            (Slack, Partly, "predicts the useful work alone"),
            (Profile, Misleads, "its gprof column counts spinning as work"),
        ],
    },
    RankingRule {
        condition: "useful work fills at least 85 % of the processors' time, or threads queue for them all the time",
        leads: true,
        holds: |situation| situation.is_of_processors(),
        sentence: |_| {
            "Follow CPU time (profile): the processors are the limit, so only less work helps. The critical path says what more processors would give.".into()
        },
        says: &[
            (Profile, Follow, "all work competes for the processors"),
            (Npt, Agrees, "CPU time divided by the processors"),
            (CriticalPath, Partly, "true with more processors"),
            (Zeroing, Partly, "true with more processors"),
            (Slack, Partly, "true with more processors"),
        ],
    },
    RankingRule {
        condition: "one thread at a time does all the work",
        leads: true,
        holds: |situation| situation.facts.workers <= 1 && situation.facts.parallel_percent < BESIDE,
        sentence: |_| {
            "All rankings agree: one thread at a time does the work, so CPU time, normalised processor time and critical path are the same.".into()
        },
        says: &[
            (CriticalPath, Follow, "all the work is on it"),
            (Npt, Agrees, "the one thread is charged in full"),
            (Profile, Agrees, "all the work counts"),
            (Zeroing, Agrees, "there is no other path"),
            (Slack, Agrees, "there is no other path"),
        ],
    },
    RankingRule {
        condition: "working threads wait for at least 5 % of their time, and who ended the wait is unknown for at least half of the waits",
        leads: true,
        holds: |situation| situation.facts.is_path_in_pieces(),
        sentence: |facts| {
            sentence![
                "Follow normalised processor time: threads wait ",
                ShareInWords(facts.waiting),
                " of their time, but for whom was not recorded, so the critical path ends at each wait.",
            ]
        },
        says: &[
            (Npt, Follow, "needs no knowledge of who waits for whom"),
            (Threads, Agrees, "its times need no samples"),
            (CriticalPath, Partly, "its chains end at each wait"),
            (Elapsed, Partly, "its chains end at each wait"),
            (Zeroing, Partly, "its chains end at each wait"),
            (Slack, Partly, "its chains end at each wait"),
            (Waits, Silent, "who ended them was not recorded"),
            (Profile, Misleads, "counts work that no thread waits for like any other"),
        ],
    },
    RankingRule {
        condition: "working threads wait for each other for at least 20 % of their time",
        leads: true,
        holds: |situation| situation.facts.waiting >= WAITING,
        sentence: |facts| {
            let rate = format!(
                " of their time ({} waits a second each), and it knows for whom.",
                rate(facts.waits_per_second)
            );
            sentence![
                "Follow the critical path: threads wait for each other ",
                ShareInWords(facts.waiting),
                rate
            ]
        },
        says: &[
            (CriticalPath, Follow, "knows who waits for whom"),
            (Zeroing, Agrees, "knows the second longest path too"),
            (Waits, Agrees, "says what the waits are caused by"),
            (Npt, Partly, "undervalues what is waited for later"),
            (Profile, Misleads, "counts work that no thread waits for like any other"),
        ],
    },
    RankingRule {
        condition: "imbalance below 10 %",
        leads: true,
        holds: |situation| situation.facts.imbalance < BALANCED,
        sentence: |facts| {
            let is_free = facts.waiting < SOME_WAITING && facts.spinning_percent() < SPINNING;
            let seldom = if is_free { " and seldom wait" } else { "" };
            sentence![
                "Rankings by critical path, normalised processor time and CPU time agree: the threads do equal work",
                seldom,
                ". Take the size of gains from zeroing, not from slack.",
            ]
        },
        says: &[
            (CriticalPath, Follow, "threads do the same and seldom wait"),
            (Zeroing, Follow, "shortens all threads at once"),
            (Npt, Agrees, "threads do the same and seldom wait"),
            (Profile, Agrees, "threads do the same and seldom wait"),
            (Slack, Silent, "other paths are as long as the critical path"),
        ],
    },
    RankingRule {
        condition: "otherwise: uneven work, few waits",
        leads: true,
        holds: |_| true,
        sentence: |facts| {
            let less = sentence![
                " (if the CPUs shared it equally, the busiest thread would have ",
                ShareInWords(facts.excess),
                " less)"
            ];
            sentence![
                "Follow the critical path: the work is uneven",
                (facts.excess >= BALANCED).then_some(less),
                ", and only what the longest chain does counts. Slack says when the next chain takes over.",
            ]
        },
        says: &[
            (CriticalPath, Follow, "the busiest threads are on it"),
            (Slack, Agrees, "says when the next chain takes over"),
            (Zeroing, Agrees, "predicts what is left of the gain"),
            (Npt, Partly, "weighs work in company less"),
            (Profile, Misleads, "counts work of threads that are early anyway"),
        ],
    },
    RankingRule {
        condition: "balanced (imbalance below 10 %), and several threads work",
        leads: false,
        holds: |situation| {
            let facts = situation.facts;
            let is_said = situation.is_work() && facts.waiting < WAITING && !facts.is_cpu_bound();
            facts.workers > 1 && facts.imbalance < BALANCED && !is_said && situation.has_samples()
        },
        sentence: |_| {
            "Slack says nothing: the threads are balanced, so other paths are as long as the critical one."
                .into()
        },
        says: &[(Slack, Silent, "other paths are as long as the critical path")],
    },
    RankingRule {
        condition: "at least 5 % of the CPU time spins, without leading the answer",
        leads: false,
        holds: |situation| {
            situation.limit != Some(Limit::Spinning) && situation.facts.spinning_percent() >= SPINNING
        },
        sentence: |facts| {
            sentence![
                "gprof figures mislead: ",
                ShareInWords(facts.spinning_percent()),
                " of the CPU time only spins."
            ]
        },
        says: &[(Profile, Misleads, "its gprof column counts spinning as work")],
    },
    RankingRule {
        condition: "waits for devices and pages are at least 5 % of the elapsed-weighted critical path, without leading the answer",
        leads: false,
        holds: |situation| {
            let is_said = matches!(situation.limit, Some(Limit::Devices | Limit::Idle));
            !is_said && situation.facts.devices_percent() >= DEVICES
        },
        sentence: |facts| {
            sentence![
                "The critical path by CPU time leaves out waits for devices and pages, ",
                ShareInWords(facts.devices_percent()),
                " of the path by elapsed time.",
            ]
        },
        says: &[(Elapsed, Agrees, "has the waits at their length")],
    },
    RankingRule {
        condition: "no thread could run for at least 50 % of the run, without such waits leading the answer",
        leads: false,
        holds: |situation| {
            let is_said = matches!(situation.limit, Some(Limit::Devices | Limit::Idle));
            !is_said && situation.facts.of_run(situation.facts.idle) >= IDLE
        },
        sentence: |facts| {
            let idle = ShareInWords(facts.of_run(facts.idle));
            sentence![
                "For ",
                idle,
                " of the run no thread could run: only the path by elapsed time has that."
            ]
        },
        says: &[(Elapsed, Agrees, "has the waits at their length")],
    },
    RankingRule {
        condition: "threads wait for a processor for at least 10 % of the run, all together, without the processors being the limit",
        leads: false,
        holds: |situation| {
            let facts = situation.facts;
            let is_said =
                matches!(situation.limit, Some(Limit::Pinning | Limit::OtherPrograms | Limit::Processors));
            facts.of_run(facts.ready) >= READY && !facts.is_cpu_bound() && !is_said
        },
        sentence: |_| {
            "Threads waited for processors: the critical path by CPU time is what more processors would give, the one by elapsed time what this machine gives.".into()
        },
        says: &[(Elapsed, Agrees, "what this machine gives")],
    },
    RankingRule {
        condition: "at least 30 % of the CPU time is in the kernel",
        leads: false,
        holds: |situation| situation.facts.system >= KERNEL,
        sentence: |facts| {
            sentence![
                "Read the inclusive columns: ",
                ShareInWords(facts.system),
                " of the CPU time is in the kernel, on behalf of the program's procedures.",
            ]
        },
        says: &[],
    },
    RankingRule {
        condition: "the two largest procedures of the critical path are tied, or fewer than 100 effective observations",
        leads: false,
        holds: |situation| {
            let facts = situation.facts;
            situation.has_samples()
                && facts.samples.is_finite()
                && (facts.is_tied || facts.samples < FEW_OBSERVATIONS)
        },
        sentence: |facts| {
            let samples = grouped(facts.samples.round() as u64);
            format!(
                "Places within the error are ties ({samples} observations; a share of 10 % is known to ± {:.1} points): a longer run tells them apart.",
                facts.sample_error
            )
            .into()
        },
        says: &[],
    },
    RankingRule {
        condition: "at least 1 % of the events were lost",
        leads: false,
        holds: |situation| situation.facts.lost >= LOSSES,
        sentence: |facts| {
            sentence![
                ShareInWords(facts.lost),
                " of the events were lost: trust CPU time before paths and waits."
            ]
        },
        says: &[
            (CriticalPath, Partly, "lost events are lost dependences"),
            (Elapsed, Partly, "lost events are lost dependences"),
            (Zeroing, Partly, "lost events are lost dependences"),
            (Slack, Partly, "lost events are lost dependences"),
            (Waits, Partly, "lost events are lost dependences"),
        ],
    },
    RankingRule {
        condition: "collecting cost at least 5 % of the CPU time",
        leads: false,
        holds: |situation| situation.facts.overhead >= OVERHEAD,
        sentence: |_| {
            "Collecting slowed the program: procedures that wait or wake often look larger than they are."
                .into()
        },
        says: &[],
    },
];

#[cfg(test)]
mod tests;

fn rate(waits: f64) -> String {
    if waits >= 10.0 { grouped(waits.round() as u64) } else { format!("{waits:.1}") }
}
