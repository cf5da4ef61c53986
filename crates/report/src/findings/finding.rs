//! What a finding is: its subject, what to do about it, what that would gain, and what it rests on.

use longpole_event::ProcessId;
use longpole_metrics::{Node, PinnedSet};
use longpole_trace::{CodePlace, ObjectId, ObjectKind, ProcedureId, Process};

use super::facts::RunFacts;
use super::gain::{GainBounds, GainRange};
use super::kinds::shared_lines::SharedMemory;
use super::leading::RankedWork;
use super::next::NextCommand;
use super::placed_waits::PlacedWait;
use super::sentence::{Sentence, ShareInWords, sentence};
use super::work_by_procedure::WorkByProcedure;
use crate::input::ReportTables;

/// What findings are made from.
pub(crate) struct FindingBasis<'s, 'a> {
    pub input: &'s ReportTables<'a>,
    pub facts: RunFacts,
    pub bounds: GainBounds,
    pub work: WorkByProcedure,
}

impl<'s, 'a> FindingBasis<'s, 'a> {
    pub(crate) fn of(input: &'s ReportTables<'a>) -> FindingBasis<'s, 'a> {
        let facts = RunFacts::of(input);
        FindingBasis { input, bounds: GainBounds::of(&facts), facts, work: WorkByProcedure::of(input) }
    }

    /// How long one thread takes for so much work where it gets a processor as seldom as threads of the program do.
    pub(crate) fn displaced(&self, work: f64) -> f64 {
        let used = (self.facts.cpu + self.facts.spinning) as f64;
        if used > 0.0 { work * (self.facts.usable as f64 / used).max(1.0) } else { work }
    }
}

/// What limits the run if a finding leads the answer: it decides which ranking to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// Work of the program.
    Work,
    /// Nothing can be said of procedures.
    Unknown,
    /// Waits that no thread of the program ends: for a clock, a user, another program.
    Idle,
    /// Devices and pages.
    Devices,
    /// Processors, all of which the program uses.
    Processors,
    /// Processors that it may use, and threads that may not.
    Pinning,
    /// Processors that it does not get.
    OtherPrograms,
    /// Busy waits.
    Spinning,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FindingSubject {
    /// A procedure.
    Procedure(ProcedureId),
    /// A process.
    Process(ProcessId),
    /// Objects of one kind and name, by the first of them.
    Object(ObjectId),
    /// Calls from this procedure about objects of this kind that are not known.
    Calls(ObjectKind, ProcedureId),
    /// A kind of waiting at a place.
    Wait(PlacedWait),
    /// What a rank does while others wait for it: the rank, and the procedure that most of it is.
    LateRank(ProcessId, ProcedureId),
    /// Threads that this procedure creates together.
    Fork(ProcedureId),
    /// So many processes that live for a short time.
    ShortProcesses(u64),
    /// So many parallel regions; where the largest of them begins.
    ParallelRegions(CodePlace, u64),
    /// Memory that threads use at the same time.
    SharedMemory(SharedMemory),
    /// Threads that may run on these processors only.
    Pinned(PinnedSet),
    /// The lack of processors.
    Processors,
    /// Busy waits at an unknown place.
    Spinning,
    /// So many ranks that poll for messages.
    PollingRanks(u64),
    /// All work.
    Work,
}

/// `rank 3`; of other processes what a person would call them, with the number where several are called so.
pub(crate) fn rank_name(input: &ReportTables<'_>, id: ProcessId) -> Sentence {
    let process = &input.program.processes[id.index()];
    let name = process.rank.map_or_else(|| own_label(input, process), |rank| format!("rank {rank}"));
    Sentence::named(Node::Process(id), name)
}

fn own_label(input: &ReportTables<'_>, process: &Process) -> String {
    let label = process.label();
    let is_alone = input.program.processes.iter().filter(|other| other.label() == label).count() == 1;
    if is_alone { label.to_owned() } else { format!("{label} [{}]", process.pid) }
}

impl FindingSubject {
    /// The subject in the list of changes.
    pub(crate) fn text(&self, input: &ReportTables<'_>) -> Sentence {
        match self {
            FindingSubject::Procedure(id) => Sentence::name(input, Node::Procedure(*id)),
            FindingSubject::Process(id) => sentence!["process ", rank_name(input, *id)],
            FindingSubject::Object(id) => {
                let object = input.objects.get(*id);
                let kind = object.kind.name();
                // `lock of file index.db` says what it is.
                let is_said = kind.split(' ').all(|word| object.name.contains(word));
                let of_kind = if is_said { String::new() } else { format!("{kind} ") };
                sentence![of_kind, Sentence::name(input, Node::Object(*id))]
            }
            FindingSubject::Calls(kind, id) => {
                sentence![kind.name(), " in ", Sentence::name(input, Node::Procedure(*id))]
            }
            FindingSubject::Wait(wait) => sentence![wait.cause.name(), " in ", wait.place(input)],
            FindingSubject::LateRank(process, id) => {
                let procedure = Sentence::name(input, Node::Procedure(*id));
                sentence![procedure, " in ", rank_name(input, *process)]
            }
            FindingSubject::Fork(id) => {
                sentence!["threads created in ", Sentence::name(input, Node::Procedure(*id))]
            }
            FindingSubject::ShortProcesses(count) => super::kinds::short_processes::name(*count).into(),
            FindingSubject::ParallelRegions(place, count) => {
                super::kinds::parallel_regions::name(input, *place, *count)
            }
            FindingSubject::SharedMemory(memory) => memory.name(),
            FindingSubject::Pinned(set) => {
                format!("threads pinned to {}", super::kinds::pinned::cpus_of(*set)).into()
            }
            FindingSubject::Processors => "waiting for a CPU".into(),
            FindingSubject::Spinning => "spinning".into(),
            FindingSubject::PollingRanks(count) => format!("{count} ranks that poll").into(),
            FindingSubject::Work => "all work".into(),
        }
    }
}

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Advice {
    /// It runs alone: divide it among threads, or do other work meanwhile.
    Parallelise,
    /// Less work.
    Shorten,
    /// It is done with a lock that others want: less of it, or less with the lock.
    HoldShorter,
    /// Many want a lock: several locks, or none.
    SplitLock,
    /// A semaphore lets a few in at a time to what others wait for: more at a time.
    AdmitMore,
    /// Readers pass a writer that waits: a lock that lets it go first.
    WriterFirst,
    /// An interpreter runs one thread at a time: several processes, or code that needs no interpreter.
    UseProcesses,
    /// Locking or waiting at a barrier itself takes the time: less often, or by cheaper means.
    SynchroniseLess,
    /// All that wait for a condition are woken for what one of them can have: only that one.
    WakeOne,
    /// Threads wait for each other's turn: more room between them.
    WorkAhead,
    /// Blocking and waking take the time: less often.
    WaitLess,
    /// Threads write beside each other in one cache line: each its own line.
    SeparateLines,
    /// Threads write the same memory at the same time: one for each thread, put together at the end.
    OwnCopies,
    /// Dividing the work among threads takes longer than the work: not divided, or in larger pieces.
    ExecuteOnOneThread,
    /// Threads wait for the slowest: even shares.
    Balance,
    /// Waits for devices: other work meanwhile.
    OverlapIo,
    /// Waits for a service: ask before the answer is needed, or for several at once.
    AskEarlier,
    /// Waits for the other end of a pipe, which is not recorded.
    SpeedUpOtherEnd,
    /// Data is held back before it is sent: no waiting for more, or all in one piece.
    SendAtOnce,
    /// Waits for data of other nodes or caches: another layout or schedule, so that less is fetched.
    CommunicateLess,
    /// Starting and ending processes takes the time: fewer, each for more.
    StartFewer,
    /// A process begins late and runs alone at the end: begin it with the first, or divide it.
    StartEarlier,
    /// Modules are imported: fewer of them, or only where they are used.
    ImportLess,
    /// Work and results are handed to other processes: in larger pieces.
    PassMore,
    /// Garbage is collected: less of it, or a heap in which that is seldom.
    AllocateLess,
    /// Waits for the clock: wait for what it is really about.
    AwaitEvent,
    /// Waits that their own time limit ended: tell them when it is so.
    SignalInTime,
    /// Threads spin: let them block, or have nothing to wait for.
    Block,
    /// Ranks poll for messages on processors that others need: let them yield these.
    Yield,
    /// More can run than there are processors.
    MoreProcessors,
    /// Threads wait for CPUs to which they are pinned, beside others: let them run there.
    Unpin,
    /// Threads could run, but others, a quota or pinning keep them from it.
    FreeProcessors,
}

impl Advice {
    /// The kind of change in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Advice::Parallelise => "parallelise",
            Advice::Shorten => "shorten",
            Advice::HoldShorter => "hold the lock shorter",
            Advice::SplitLock => "split the lock",
            Advice::AdmitMore => "hold shorter or let more in",
            Advice::WriterFirst => "let writers go first",
            Advice::UseProcesses => "use several processes",
            Advice::SynchroniseLess => "synchronise less often",
            Advice::WakeOne => "wake only who can go on",
            Advice::WorkAhead => "let threads work ahead",
            Advice::WaitLess => "block and wake less often",
            Advice::SeparateLines => "give each thread a cache line",
            Advice::OwnCopies => "give each thread its own",
            Advice::ExecuteOnOneThread => "execute on one thread",
            Advice::Balance => "balance the work",
            Advice::OverlapIo => "overlap the io",
            Advice::AskEarlier => "ask earlier, or several at once",
            Advice::SpeedUpOtherEnd => "speed up its other end",
            Advice::SendAtOnce => "send it at once (TCP_NODELAY)",
            Advice::CommunicateLess => "communicate less",
            Advice::StartFewer => "start fewer",
            Advice::StartEarlier => "start it earlier",
            Advice::ImportLess => "import less, or later",
            Advice::PassMore => "pass more at once",
            Advice::AllocateLess => "allocate less, or a larger heap",
            Advice::AwaitEvent => "wait for the event",
            Advice::SignalInTime => "signal it in time",
            Advice::Block => "block instead of spinning, or balance",
            Advice::Yield => "yield while waiting, or run fewer",
            Advice::MoreProcessors => "more CPUs",
            Advice::Unpin => "unpin",
            Advice::FreeProcessors => "free the CPUs",
        }
    }
}

/// A kind of finding: an entry of the table.
#[derive(Debug)]
pub(crate) struct FindingKind {
    /// What it is about, as the definitions name it.
    pub what: &'static str,
    /// When there is one, and what it would gain, as the definitions say it.
    pub when: &'static str,
    /// The kinds of change that it advises, as the definitions say it.
    pub advice: &'static str,
    /// All of the kind in a run.
    pub find: fn(&FindingBasis<'_, '_>) -> Vec<Finding>,
    /// The answer where it leads.
    pub answer: fn(&FindingBasis<'_, '_>, &Finding) -> LeadingAnswer,
}

/// How a gain was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prediction {
    /// By the run replayed: locks go to whoever comes first.
    Replay,
    /// By the graph executed anew, in the recorded order of locks.
    Execution,
    /// By metrics of the recorded run.
    Metrics,
}

impl Prediction {
    /// Of a thing that was replayed, or executed.
    pub(super) fn of(is_replayed: bool, is_executed: bool) -> Prediction {
        match (is_replayed, is_executed) {
            (true, _) => Prediction::Replay,
            (false, true) => Prediction::Execution,
            (false, false) => Prediction::Metrics,
        }
    }

    /// As reports name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Prediction::Replay => "replay",
            Prediction::Execution => "execution",
            Prediction::Metrics => "metrics",
        }
    }
}

/// A finding.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub kind: &'static FindingKind,
    pub limit: Limit,
    pub subject: FindingSubject,
    /// What to do, and what the run would gain; `None` where nothing can be advised, and the answer says why.
    pub change: Option<(Advice, GainRange)>,
    /// How that gain was found.
    pub predicted_by: Prediction,
    /// What the finding is worth, nanoseconds: the largest leads.
    pub weight: f64,
    /// What the run gains where nothing is left of the subject, nanoseconds: more than the weight where the change that is
    /// advised takes only a part of it away.
    pub free: f64,
    /// Whether it goes before those that do not, whatever their weight.
    pub leads: bool,
    /// What needs no finding of its own beside this one: the lock that a procedure is to hold shorter.
    pub stands_for: Option<FindingSubject>,
    /// In a few words each, the weightiest first.
    pub evidence: Vec<Sentence>,
}

impl Finding {
    /// A finding with a change, where something is promised of it. `is_divided`: its gain rests on the division of CPU time
    /// among procedures.
    pub(crate) fn advised(
        basis: &FindingBasis<'_, '_>,
        (kind, limit): (&'static FindingKind, Limit),
        subject: FindingSubject,
        (advice, gain): (Advice, GainRange),
        is_divided: bool,
    ) -> Option<Finding> {
        let gain = basis.bounds.promised(gain, is_divided)?;
        Some(Finding {
            kind,
            limit,
            subject,
            change: Some((advice, gain)),
            predicted_by: Prediction::Metrics,
            weight: gain.middle(),
            free: gain.middle(),
            leads: false,
            stands_for: None,
            evidence: Vec::new(),
        })
    }

    /// A finding about a wait on the elapsed-weighted critical path, with a change that gains up to this much.
    pub(crate) fn advised_wait(
        basis: &FindingBasis<'_, '_>,
        of: (&'static FindingKind, Limit),
        wait: &PlacedWait,
        change: (Advice, GainRange),
    ) -> Option<Finding> {
        let found = Finding::advised(basis, of, FindingSubject::Wait(wait.clone()), change, false)?;
        let share = ShareInWords(basis.facts.of_run(wait.time));
        Some(found.with(vec![sentence![share, " of the critical path by elapsed time"]]))
    }

    /// A finding about so much of the run, about which nothing can be advised; `None` for what is lost in noise.
    pub(crate) fn without_advice(
        basis: &FindingBasis<'_, '_>,
        (kind, limit): (&'static FindingKind, Limit),
        subject: FindingSubject,
        time: u64,
    ) -> Option<Finding> {
        let gain = basis.bounds.promised(GainRange::up_to(time as f64, &basis.bounds), false)?;
        let weight = gain.middle();
        Some(Finding {
            kind,
            limit,
            subject,
            change: None,
            predicted_by: Prediction::Metrics,
            weight,
            free: weight,
            leads: false,
            stands_for: None,
            evidence: Vec::new(),
        })
    }

    /// Without its subject the run gains this much, nanoseconds.
    pub(crate) fn without_it(self, free: f64) -> Finding {
        Finding { free, ..self }
    }

    /// Its gain was found in this way.
    pub(crate) fn predicted_by(self, predicted_by: Prediction) -> Finding {
        Finding { predicted_by, ..self }
    }

    /// With this evidence.
    pub(crate) fn with(mut self, evidence: Vec<Sentence>) -> Finding {
        self.evidence = evidence;
        self
    }
}

/// The answer of the summary.
#[derive(Clone, Debug)]
pub(crate) struct LeadingAnswer {
    /// The answer in one sentence.
    pub headline: Sentence,
    /// Why, a sentence each, the weightiest first.
    pub reasons: Vec<Sentence>,
    /// What procedures are ranked by; `None` where none is known.
    pub ranked_by: Option<RankedWork>,
    /// Commands that show more, the best first.
    pub next: Vec<NextCommand>,
}
