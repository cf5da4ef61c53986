//! Ideas that more than one metric rests on.

use super::Topic;

/// Every idea that can be explained.
pub const TOPICS: &[Topic] = &[
    Topic {
        name: "thread-states",
        title: "States of a thread",
        explanation: "At each moment a thread is running (on a processor, doing useful work), spinning (on a processor, only waiting for memory to change), ready (could run, but has no processor) or blocked (waiting for something: the cause). The times in the four states add up to the thread's life.",
        source: "§1",
    },
    Topic {
        name: "charging",
        title: "How time is charged to procedures",
        explanation: "A thread is looked at when a timer finds it running, when it stops, when it wakes or creates another and when it ends. The CPU time between two looks is charged to the call path of the later one, so that the charges of a thread add up to its CPU time exactly. A wait is charged to the path at which it began.",
        source: "§1",
    },
    Topic {
        name: "call-path",
        title: "Logical call paths",
        explanation: "A call path is the chain of procedures that led to a piece of work. It begins, for a thread, with the path at which the thread was created, so that work done by threads counts for the procedures that started them. Inclusive figures count a procedure once, however often it is on the path.",
        source: "§1, Q §3.3",
    },
    Topic {
        name: "program-activity-graph",
        title: "The program activity graph",
        explanation: "The run as a graph: each thread is a line of arcs (pieces of work and waits), and where one thread enabled another to go on there is a dependence between their lines: it created it, ended while the other waited for that, released a lock, signalled, arrived last at a barrier, sent a message. All metrics are sweeps over this graph in the order of time.",
        source: "§1, M §2",
    },
    Topic {
        name: "critical-path",
        title: "The critical path",
        explanation: "The longest chain of work from the start of the run to its end, in which each piece had to wait for the one before it. Shortening what is not on it gains nothing. Shortening what is on it gains at most that much: another chain may be nearly as long. By CPU weight only useful CPU time counts; by elapsed weight also time without a processor, waits for devices and timers, and messages under way.",
        source: "§4, I §2.1, M §2.2",
    },
    Topic {
        name: "slack",
        title: "Slack",
        explanation: "How far something on the critical path can be improved before another path is the longest: the length of the critical path less the longest path when the thing's work on it takes no time. A balanced program has none, because its other paths are as long; zeroing then says more.",
        source: "§5, M §2.4",
    },
    Topic {
        name: "zeroing",
        title: "Logical zeroing",
        explanation: "What the critical path would lose if some work took no time: all of a procedure's work is left out on all paths, and the longest one is found again. The order of events stays the recorded one, so it is an estimate; running the program without that work (true zeroing) is the judge.",
        source: "§5, M §2.5",
    },
    Topic {
        name: "what-if",
        title: "What if",
        explanation: "The critical path and the elapsed time with some work made shorter or longer: `longpole what-if --set procedure:NAME=0.5`. Procedures, lines, objects, threads and processes can be changed, several at once; work that two changes meet is multiplied by both factors.",
        source: "§5, I §2.1",
    },
    Topic {
        name: "replay",
        title: "Replay",
        explanation: "The recorded run executed again, with some work, locks or processors changed: `longpole what-if --replay --set procedure:NAME=0.5`, `--set object:LOCK=0`, `--cpus 1,2,4,8`. Locks go to whoever comes first in the new timing, processors by turns as long as the recorded ones. The unchanged run has to come out as recorded within 2 %, or the replay is refused. Gains are ranges over the ways in which locks can be handed on.",
        source: "§5",
    },
    Topic {
        name: "npt",
        title: "Normalised processor time",
        explanation: "Processor time weighted by how alone it was: while U threads are busy, each is charged 1/U of the time that passes. It tells serial work from parallel work: a procedure with little CPU time that runs while everyone else waits ranks high. It sees no dependences, so it undervalues work that runs beside other work and is waited for later. The critical path sees those; where both agree, trust them.",
        source: "§3, Q eq. 1, M §2.3",
    },
    Topic {
        name: "profile",
        title: "Profiles",
        explanation: "CPU time by procedure, as gprof (busy-waiting included) and as IPS-2 (useful work alone, and the waits beside it, by cause). They say where processors spend their time, which is what limits a program that keeps all of them busy; they do not say what a parallel program waits for.",
        source: "§2, M §2.1, I §2.1",
    },
    Topic {
        name: "parallelism",
        title: "Parallelism",
        explanation: "Effective parallelism U is the number of threads that do useful work, nominal parallelism N the number that could use a processor. N above U: threads spin, or there are too few processors. U near 1 for long: a serial part.",
        source: "§1, Q §3",
    },
    Topic {
        name: "spinning",
        title: "Spinning",
        explanation: "A thread that waits in a loop keeps a processor and does nothing useful. Such loops are found by decoding the code around the samples: a short loop that pauses, or that only reads memory it does not change.",
        source: "§1",
    },
    Topic {
        name: "error",
        title: "Errors of estimated shares",
        explanation: "Totals of CPU time are exact; their division among procedures and lines is estimated from timer samples, stratum by stratum. The standard error of a row is what the samples' spread within the strata gives. A row that expects fewer than 5 samples has none. Rows whose difference is within its error are tied: their order may be chance.",
        source: "§1",
    },
    Topic {
        name: "dependence",
        title: "Dependences",
        explanation: "Where one thread enabled another to go on: create, join, unlock, signal, barrier, post, message, or a wake whose reason is not known. A wait that no thread of the program ended (a device, a timer, a user) has none.",
        source: "§1",
    },
    Topic {
        name: "phases",
        title: "Phases",
        explanation: "A part of the run that is treated as a run of its own: threads begin as they are at its begin, and work is divided at its ends, so that the times of two halves add up to those of the whole. `--phase A..B` takes seconds or percent, or the name of a procedure: from its first to its last observation. The view `phases` proposes parts between which the number of busy threads changes.",
        source: "§8, I §2.1",
    },
    Topic {
        name: "remedies",
        title: "What to change, and how",
        explanation: "The summary has one list of changes, each with the range of what the run would gain from it alone; the first is what its answer is about. Nothing is promised below the run's own noise (2 %, 1 ms), and no procedure is advised from fewer than 30 observations. Parallelise: a procedure runs alone most of its time. Shorten: it runs in company, less work helps. Hold the lock shorter: it works with a lock that others wait for. Split the lock: many short holders. Balance the work: threads wait for the slowest at barriers. Overlap the io: the critical path waits for devices. Wait for the event: it sleeps. More CPUs, or free the CPUs: it waits for processors.",
        source: "§12, Q §3.1–3.2",
    },
    Topic {
        name: "trust",
        title: "Which metric to trust",
        explanation: "No metric is the best for every program. What leads the summary's answer decides which ranking to follow. Balanced threads that seldom wait: critical path, normalised processor time and CPU time agree, slack says nothing, zeroing gives the size of gains. Much waiting for each other: the critical path. Processors always busy: CPU time. Much waiting for devices and pages: the path by elapsed time. Spinning: times of threads, gprof misleads. Other programs on the CPUs: CPU time. Few observations: places within the error are ties. The view `guidance` measures the program and says which holds.",
        source: "§11, M §4.4",
    },
    Topic {
        name: "evidence",
        title: "Evidence",
        explanation: "Every answer rests on what was collected. What was lost, could not be matched, has no name or was estimated is counted, and the cost of collecting is measured, in every recording.",
        source: "§9",
    },
    Topic {
        name: "waiting-map",
        title: "The waiting map: every wait explained",
        explanation: "A wait is explained by what the thread that ended it did since both last synchronised, less what the waiting thread did too; a wait for a lock by what its holders did meanwhile. Where those waited themselves, the explanation of that wait stands in its place: that leads to the roots. Explanations add up to the wait. Equal ones at one place are put together and ranked: longpole report --view waits. Waits that nobody wants explained (joins, timers, users, spare threads, shutdown) are told apart.",
        source: "§6, C §2.1, §3.4",
    },
];
