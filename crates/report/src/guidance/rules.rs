//! The rules that say which ranking to follow. The definitions list them (metrics.md §11) in these words.

use super::Character;
use crate::quantity::{grouped, percent_text};

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

/// A rule.
pub(super) struct Rule {
    /// When it holds, as the definitions say it.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold it to the definitions"))]
    pub condition: &'static str,
    /// Whether it decides what to follow; others only add to that.
    pub leads: bool,
    pub holds: fn(&Character) -> bool,
    pub sentence: fn(&Character) -> String,
    pub says: &'static [(Ranking, Verdict, &'static str)],
}

/// Observations below which no share of a procedure means anything.
const NO_SAMPLES: f64 = 10.0;
/// Observations below which places are mostly chance.
const FEW_SAMPLES: f64 = 100.0;
/// Shares, percent.
const IDLE: f64 = 50.0;
const DEVICES: f64 = 20.0;
const SOME_DEVICES: f64 = 5.0;
const WAITING: f64 = 20.0;
const SOME_WAITING: f64 = 5.0;
const UNMATCHED: f64 = 50.0;
const BALANCED: f64 = 10.0;
const SPINNING: f64 = 5.0;
const SYSTEM: f64 = 30.0;
const READY: f64 = 10.0;
const LOST: f64 = 1.0;
const OVERHEAD: f64 = 10.0;

use Ranking::{CriticalPath, Elapsed, Npt, Profile, Slack, Threads, Waits, Zeroing};
use Verdict::{Agrees, Follow, Misleads, Partly, Silent};

/// The rules; of those that lead, the first that holds.
pub(super) const RULES: &[Rule] = &[
    Rule {
        condition: "fewer than 10 effective observations",
        leads: true,
        holds: |character| character.samples < NO_SAMPLES,
        sentence: |_| {
            "No ranking of procedures means anything here: too few observations. Times of threads need none."
                .to_owned()
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
    Rule {
        condition: "no thread could run for at least 50 % of the run",
        leads: true,
        holds: |character| character.idle >= IDLE,
        sentence: |character| {
            format!(
                "Follow the critical path by elapsed time (--weight elapsed): for {} of the run no thread could run, and rankings by CPU time leave that out.",
                percent_text(character.idle)
            )
        },
        says: &[
            (Elapsed, Follow, "has the waits at their length"),
            (Waits, Agrees, "says what the waits are caused by"),
            (CriticalPath, Partly, "ranks the computing alone"),
            (Npt, Partly, "leaves out the time in which nobody is busy"),
            (Zeroing, Partly, "predicts the computing alone"),
            (Profile, Misleads, "knows nothing of the waits"),
        ],
    },
    Rule {
        condition: "waits for devices and pages are at least 20 % of the elapsed-weighted critical path",
        leads: true,
        holds: |character| character.devices >= DEVICES,
        sentence: |character| {
            format!(
                "Follow normalised processor time or the critical path by elapsed time: {} of that path is waiting for devices and pages, which rankings by CPU time leave out.",
                percent_text(character.devices)
            )
        },
        says: &[
            (Npt, Follow, "waits for devices count as busy"),
            (Elapsed, Follow, "has the waits at their length"),
            (CriticalPath, Misleads, "waits for devices weigh nothing"),
            (Profile, Misleads, "waits for devices are no CPU time"),
            (Zeroing, Misleads, "waits for devices weigh nothing"),
            (Slack, Misleads, "waits for devices weigh nothing"),
        ],
    },
    Rule {
        condition: "useful work fills at least 85 % of the processors' time, or threads queue for them all the time",
        leads: true,
        holds: |character| character.is_cpu_bound,
        sentence: |_| {
            "Follow CPU time (profile): the processors are the limit, so only less work helps. The critical path says what more processors would give."
                .to_owned()
        },
        says: &[
            (Profile, Follow, "all work competes for the processors"),
            (Npt, Agrees, "CPU time divided by the processors"),
            (CriticalPath, Partly, "true with more processors"),
            (Zeroing, Partly, "true with more processors"),
            (Slack, Partly, "true with more processors"),
        ],
    },
    Rule {
        condition: "one thread does all the work",
        leads: true,
        holds: |character| character.workers <= 1,
        sentence: |_| {
            "All rankings agree: one thread does the work, so that CPU time, normalised processor time and critical path are the same."
                .to_owned()
        },
        says: &[
            (CriticalPath, Follow, "all the work is on it"),
            (Npt, Agrees, "the one thread is charged in full"),
            (Profile, Agrees, "all the work counts"),
            (Zeroing, Agrees, "there is no other path"),
            (Slack, Agrees, "there is no other path"),
        ],
    },
    Rule {
        condition: "working threads wait for at least 5 % of their time, and who ended the wait is unknown for at least half of the waits",
        leads: true,
        holds: |character| character.waiting >= SOME_WAITING && character.unmatched >= UNMATCHED,
        sentence: |character| {
            format!(
                "Follow normalised processor time: threads wait {} of their time, but the recording does not know for whom, so that the critical path ends at each wait.",
                percent_text(character.waiting)
            )
        },
        says: &[
            (Npt, Follow, "needs no knowledge of who waits for whom"),
            (Threads, Agrees, "its times need no samples"),
            (CriticalPath, Partly, "its chains end at each wait"),
            (Elapsed, Partly, "its chains end at each wait"),
            (Zeroing, Partly, "its chains end at each wait"),
            (Slack, Partly, "its chains end at each wait"),
            (Waits, Silent, "who ended them was not recorded"),
            (Profile, Misleads, "counts work that nobody waits for like any other"),
        ],
    },
    Rule {
        condition: "working threads wait for each other for at least 20 % of their time",
        leads: true,
        holds: |character| character.waiting >= WAITING,
        sentence: |character| {
            format!(
                "Follow the critical path: threads wait for each other {} of their time ({} waits a second), and it alone knows for whom.",
                percent_text(character.waiting),
                rate(character.waits_per_second)
            )
        },
        says: &[
            (CriticalPath, Follow, "knows who waits for whom"),
            (Zeroing, Agrees, "knows the second longest path too"),
            (Waits, Agrees, "says what the waits are caused by"),
            (Npt, Partly, "undervalues what is waited for later"),
            (Profile, Misleads, "counts work that nobody waits for like any other"),
        ],
    },
    Rule {
        condition: "imbalance below 10 %",
        leads: true,
        holds: |character| character.imbalance < BALANCED,
        sentence: |_| {
            "Rankings by critical path, normalised processor time and CPU time agree: the threads do equal work and seldom wait. Take the size of gains from zeroing, not from slack."
                .to_owned()
        },
        says: &[
            (CriticalPath, Follow, "threads do the same and seldom wait"),
            (Zeroing, Follow, "shortens all threads at once"),
            (Npt, Agrees, "threads do the same and seldom wait"),
            (Profile, Agrees, "threads do the same and seldom wait"),
            (Slack, Silent, "other paths are as long as the critical path"),
        ],
    },
    Rule {
        condition: "otherwise: uneven work, few waits",
        leads: true,
        holds: |_| true,
        sentence: |character| {
            format!(
                "Follow the critical path: the work is uneven (equal shares would take {} off the busiest thread), and only what the longest chain does counts. Slack says when the next chain takes over.",
                percent_text(character.imbalance)
            )
        },
        says: &[
            (CriticalPath, Follow, "the busiest threads are on it"),
            (Slack, Agrees, "says when the next chain takes over"),
            (Zeroing, Agrees, "predicts what is left of the gain"),
            (Npt, Partly, "weighs work in company less"),
            (Profile, Misleads, "counts work of threads that are early anyway"),
        ],
    },
    Rule {
        condition: "balanced (imbalance below 10 %), and several threads work",
        leads: false,
        holds: |character| {
            let is_told = character.waiting < WAITING && !character.is_cpu_bound;
            character.workers > 1
                && character.imbalance < BALANCED
                && !is_told
                && character.samples >= NO_SAMPLES
        },
        sentence: |_| {
            "Slack says nothing: the threads are balanced, so that other paths are as long as the critical one.".to_owned()
        },
        says: &[(Slack, Silent, "other paths are as long as the critical path")],
    },
    Rule {
        condition: "at least 5 % of the CPU time spins",
        leads: false,
        holds: |character| character.spinning >= SPINNING,
        sentence: |character| {
            format!("gprof figures mislead: {} of the CPU time only spins.", percent_text(character.spinning))
        },
        says: &[(Profile, Misleads, "its gprof column counts spinning as work")],
    },
    Rule {
        condition: "waits for devices and pages are 5 to 20 % of the elapsed-weighted critical path",
        leads: false,
        holds: |character| character.devices >= SOME_DEVICES && character.devices < DEVICES,
        sentence: |character| {
            format!(
                "The critical path by CPU time leaves out waits for devices and pages, {} of the path by elapsed time.",
                percent_text(character.devices)
            )
        },
        says: &[(Elapsed, Agrees, "has the waits at their length")],
    },
    Rule {
        condition: "threads wait for a processor for at least 10 % of the run, all together, without the processors being the limit",
        leads: false,
        holds: |character| character.ready >= READY && !character.is_cpu_bound,
        sentence: |_| {
            "Threads waited for processors: the critical path by CPU time is what more processors would give, the one by elapsed time what this machine gives."
                .to_owned()
        },
        says: &[(Elapsed, Agrees, "what this machine gives")],
    },
    Rule {
        condition: "at least 30 % of the CPU time is in the kernel",
        leads: false,
        holds: |character| character.system >= SYSTEM,
        sentence: |character| {
            format!(
                "Read the inclusive columns: {} of the CPU time is in the kernel, on behalf of the program's procedures.",
                percent_text(character.system)
            )
        },
        says: &[],
    },
    Rule {
        condition: "the two largest procedures of the critical path are tied, or fewer than 100 effective observations",
        leads: false,
        holds: |character| {
            character.samples >= NO_SAMPLES && (character.is_tied || character.samples < FEW_SAMPLES)
        },
        sentence: |character| {
            format!(
                "Places within the error are ties ({} observations; a share of 10 % is known to ± {:.1} points): a longer run tells them apart.",
                grouped(character.samples.round() as u64),
                character.error
            )
        },
        says: &[],
    },
    Rule {
        condition: "at least 1 % of the events were lost",
        leads: false,
        holds: |character| character.lost >= LOST,
        sentence: |character| {
            format!(
                "{} of the events were lost: trust CPU time before paths and waits.",
                percent_text(character.lost)
            )
        },
        says: &[
            (CriticalPath, Partly, "lost events are lost dependences"),
            (Elapsed, Partly, "lost events are lost dependences"),
            (Zeroing, Partly, "lost events are lost dependences"),
            (Slack, Partly, "lost events are lost dependences"),
            (Waits, Partly, "lost events are lost dependences"),
        ],
    },
    Rule {
        condition: "collecting cost at least 10 % of the CPU time",
        leads: false,
        holds: |character| character.overhead >= OVERHEAD,
        sentence: |_| {
            "Collecting slowed the program: procedures that wait or wake often look larger than they are."
                .to_owned()
        },
        says: &[],
    },
];

fn rate(waits: f64) -> String {
    if waits >= 10.0 { grouped(waits.round() as u64) } else { format!("{waits:.1}") }
}
