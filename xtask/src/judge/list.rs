//! The programs that are judged.

use super::program::{ChangedVersion, JudgedChange, JudgedProgram, JudgedSource, ProgramKind};

/// A procedure's own work left out.
macro_rules! without {
    ($name:literal) => {
        JudgedChange { name: $name, set: concat!("self:", $name, "=0"), version: ChangedVersion::Scaled }
    };
}

/// A procedure's own work at half its length.
macro_rules! half {
    ($name:literal) => {
        JudgedChange {
            name: concat!("half of ", $name),
            set: concat!("self:", $name, "=0.5"),
            version: ChangedVersion::Scaled,
        }
    };
}

/// An object that threads wait for no more, in a program compiled with a flag.
macro_rules! no_object {
    ($name:literal, $flag:literal) => {
        JudgedChange {
            name: $name,
            set: concat!("object:", $name, "=0"),
            version: ChangedVersion::Flags(&[$flag]),
        }
    };
}

/// A procedure left out with all that it calls.
macro_rules! without_calls {
    ($name:literal) => {
        JudgedChange { name: $name, set: concat!("procedure:", $name, "=0"), version: ChangedVersion::Scaled }
    };
}

/// A process left out, as this line does.
macro_rules! left_out {
    ($name:literal, $line:literal) => {
        JudgedChange {
            name: $name,
            set: concat!("process:", $name, "=0"),
            version: ChangedVersion::Line($line),
        }
    };
}

const fn compiled(file: &'static str) -> JudgedSource {
    JudgedSource::Compiled { file, flags: &[], environment: &[] }
}

/// All of them, in the order of the page.
pub const PROGRAMS: &[JudgedProgram] = &[
    JudgedProgram {
        name: "busy_lock",
        about: "two threads that hold one lock nearly all the time",
        kinds: &[ProgramKind::LockBound],
        why: "Who has the lock next is decided within microseconds: executions with other latencies differ by 3 points.",
        source: compiled("busy_lock"),
        changes: &[without!("A"), without!("B"), without!("U"), without!("V"), half!("A")],
    },
    JudgedProgram {
        name: "crowded_lock",
        about: "three threads a processor that look things up behind a lock",
        kinds: &[ProgramKind::Crowded, ProgramKind::LockBound],
        why: "",
        source: compiled("crowded_lock"),
        changes: &[
            without!("prepare"),
            without!("look_up"),
            without!("digest"),
            half!("digest"),
            no_object!("table_lock", "-DNO_LOCK"),
        ],
    },
    JudgedProgram {
        name: "solver",
        about: "six threads that take columns of a matrix in their order, with waits and a lock, after a serial start",
        kinds: &[ProgramKind::Crowded, ProgramKind::Synchronised],
        why: "",
        source: compiled("judged_solver"),
        changes: &[
            without!("read_matrix"),
            without!("order_columns"),
            without!("update_column"),
            without!("scale_column"),
            without!("count_entries"),
            without!("print_matrix"),
            half!("update_column"),
        ],
    },
    JudgedProgram {
        name: "join",
        about: "two threads in phases: a serial start, relations made, partitioned and joined, with barriers between",
        kinds: &[ProgramKind::Phased],
        why: "",
        source: compiled("judged_join"),
        changes: &[
            without!("create_pool"),
            without!("make_relation"),
            without!("shuffle"),
            without!("partition"),
            without!("exchange"),
            without!("join_tuples"),
            without!("write_result"),
            half!("partition"),
        ],
    },
    JudgedProgram {
        name: "crowded_join",
        about: "the same with eight threads",
        kinds: &[ProgramKind::Crowded, ProgramKind::Phased],
        why: "",
        source: JudgedSource::Compiled { file: "judged_join", flags: &["-DTHREADS=8"], environment: &[] },
        changes: &[
            without!("create_pool"),
            without!("make_relation"),
            without!("shuffle"),
            without!("partition"),
            without!("exchange"),
            without!("join_tuples"),
            without!("write_result"),
            half!("partition"),
        ],
    },
    JudgedProgram {
        name: "simulator",
        about: "two threads that simulate caches, each on its own part, and meet at the end",
        kinds: &[ProgramKind::Spmd],
        why: "",
        source: compiled("judged_simulator"),
        changes: &[
            without!("next_reference"),
            without!("match_line"),
            without!("update_stack"),
            without!("fetch_line"),
            without!("move_to_top"),
            without!("read_trace"),
            half!("match_line"),
        ],
    },
    JudgedProgram {
        name: "crowded_simulator",
        about: "the same with six threads",
        kinds: &[ProgramKind::Crowded, ProgramKind::Spmd],
        why: "",
        source: JudgedSource::Compiled {
            file: "judged_simulator",
            flags: &["-DTHREADS=6"],
            environment: &[],
        },
        changes: &[
            without!("next_reference"),
            without!("match_line"),
            without!("update_stack"),
            without!("fetch_line"),
            without!("move_to_top"),
            without!("read_trace"),
            half!("match_line"),
        ],
    },
    JudgedProgram {
        name: "spinning_phases",
        about: "two threads that wait busily for each other after each of three phases",
        kinds: &[ProgramKind::Spinning],
        why: "Nothing watches the word before the first busy-waits for it were seen, so who ended these is not known.",
        source: compiled("judged_spins"),
        changes: &[
            without!("relax_inner"),
            without!("relax_border"),
            without!("sum_residual"),
            without!("choose_step"),
            without!("smooth"),
            without!("sharpen"),
            half!("relax_inner"),
        ],
    },
    JudgedProgram {
        name: "openmp_spin",
        about: "OpenMP threads that spin while they wait, with a serial part and a critical section",
        kinds: &[ProgramKind::Spinning],
        why: "",
        source: JudgedSource::Compiled {
            file: "openmp_spin",
            flags: &["-fopenmp"],
            environment: &[("OMP_WAIT_POLICY", "active"), ("OMP_NUM_THREADS", "2")],
        },
        changes: &[
            without!("long_half"),
            without!("short_half"),
            without!("serial_part"),
            without!("update_total"),
            half!("long_half"),
        ],
    },
    JudgedProgram {
        name: "pipeline",
        about: "five stages with a queue of two places between each, on fewer processors",
        kinds: &[ProgramKind::Crowded, ProgramKind::Synchronised],
        why: "The holds of the queues' locks are too short to be told one by one, so these locks keep their recorded order, and with it each stage much of its recorded time.",
        source: compiled("judged_pipeline"),
        changes: &[
            without!("read_block"),
            without!("split_block"),
            without!("compress_block"),
            without!("check_block"),
            without!("write_block"),
            half!("compress_block"),
        ],
    },
    JudgedProgram {
        name: "condition_pipeline",
        about: "three stages with a queue of one place between each",
        kinds: &[ProgramKind::MoreThreads, ProgramKind::Synchronised],
        why: "Which stage queues behind which on a processor follows from microseconds, and the locks of the queues keep their recorded order, as their holds are too short to be told one by one.",
        source: compiled("condition_pipeline"),
        changes: &[
            without!("read_stage"),
            without!("transform_stage"),
            without!("write_stage"),
            half!("transform_stage"),
            half!("write_stage"),
        ],
    },
    JudgedProgram {
        name: "pool",
        about: "eight workers that take tasks of two sizes from a queue and add their results behind a lock",
        kinds: &[ProgramKind::Crowded],
        why: "Which worker queues behind which on a processor follows from microseconds, as its tasks end close to each other.",
        source: compiled("judged_pool"),
        changes: &[
            without!("make_task"),
            without!("solve_small"),
            without!("solve_large"),
            without!("add_result"),
            without!("report_all"),
            half!("solve_large"),
            no_object!("results_lock", "-DNO_LOCK"),
        ],
    },
    JudgedProgram {
        name: "pool_lock",
        about: "the same, with a lock that is held for most of the time",
        kinds: &[ProgramKind::Crowded, ProgramKind::LockBound],
        why: "Who has the lock next is decided within microseconds, and with it who takes which task; executions with other latencies differ by some points.",
        source: JudgedSource::Compiled { file: "judged_pool", flags: &["-DADD_MS=11"], environment: &[] },
        changes: &[
            without!("make_task"),
            without!("solve_small"),
            without!("solve_large"),
            without!("add_result"),
            without!("report_all"),
            half!("solve_large"),
            no_object!("results_lock", "-DNO_LOCK"),
        ],
    },
    JudgedProgram {
        name: "exclusion",
        about: "two threads with work of their own that take one lock for moments all the while",
        kinds: &[],
        why: "",
        source: compiled("exclusion"),
        changes: &[without!("A"), without!("B"), without!("X"), half!("A"), half!("B"), half!("X")],
    },
    JudgedProgram {
        name: "fork_join",
        about: "three threads of different lengths, then one",
        kinds: &[ProgramKind::MoreThreads],
        why: "",
        source: compiled("fork_join"),
        changes: &[without!("P1"), without!("P2"), without!("P3"), without!("D"), half!("P1")],
    },
    JudgedProgram {
        name: "barrier_then_serial",
        about: "three threads that meet after different lengths of work, then one of them works alone",
        kinds: &[ProgramKind::MoreThreads],
        why: "",
        source: compiled("barrier_then_serial"),
        changes: &[without!("P1"), without!("P2"), without!("P3"), without!("Q3"), half!("P1")],
    },
    JudgedProgram {
        name: "nested_wait",
        about: "three threads that wait for each other in a chain",
        kinds: &[ProgramKind::MoreThreads, ProgramKind::Synchronised],
        why: "",
        source: compiled("nested_wait"),
        changes: &[
            without!("start_work"),
            without!("root_work"),
            without!("finish_work"),
            half!("root_work"),
            half!("finish_work"),
        ],
    },
    JudgedProgram {
        name: "archive",
        about: "documents that rayon parses, counts, sorts, compresses and sums (serde_json, flate2, crc32fast), with serial parts around",
        kinds: &[ProgramKind::Real, ProgramKind::Phased],
        why: "",
        source: JudgedSource::Crate { binary: "archive" },
        changes: &[
            without_calls!("parse_document"),
            without_calls!("count_words"),
            without_calls!("sort_lines"),
            without_calls!("compress_document"),
            without_calls!("checksum_document"),
            without_calls!("rank_lines"),
        ],
    },
    JudgedProgram {
        name: "feed",
        about: "six threads that take blocks from a channel, parse, compress and sum them, and enter them into one table",
        kinds: &[ProgramKind::Real, ProgramKind::Crowded, ProgramKind::LockBound],
        why: "What is left out had memory of its own: without enter_words there are 95,000 page faults instead of 118,000, without compress_block 80,000.",
        source: JudgedSource::Crate { binary: "feed" },
        changes: &[
            without_calls!("parse_block"),
            without_calls!("compress_block"),
            without_calls!("checksum_block"),
            without_calls!("enter_words"),
            without_calls!("write_report"),
        ],
    },
    JudgedProgram {
        name: "words",
        about: "text on which rayon works in phases: chunks sorted, counted, searched, hashed, compressed, then a serial report",
        kinds: &[ProgramKind::Real, ProgramKind::Phased],
        why: "",
        source: JudgedSource::Crate { binary: "words" },
        changes: &[
            without_calls!("sort_chunk"),
            without_calls!("count_chunk"),
            without_calls!("search_chunk"),
            without_calls!("hash_chunk"),
            without_calls!("compress_chunk"),
            without_calls!("write_report"),
        ],
    },
    JudgedProgram {
        name: "sqlite",
        about: "SQLite in four threads, each with a database of its own; its allocator has one lock for all of them",
        kinds: &[ProgramKind::Real, ProgramKind::Crowded, ProgramKind::LockBound],
        why: "The allocator's lock is taken millions of times; how often threads collide there differs from run to run, in recorded and in true ones.",
        source: JudgedSource::Compiled { file: "judged_sqlite", flags: &["-lsqlite3"], environment: &[] },
        changes: &[
            without_calls!("sum_groups"),
            without_calls!("find_words"),
            without_calls!("sort_rows"),
            without_calls!("join_tables"),
            without_calls!("walk_tree"),
            without_calls!("write_report"),
        ],
    },
    JudgedProgram {
        name: "compressors",
        about: "zlib, bzip2 and liblzma in two threads that take blocks from a counter, then a serial end",
        kinds: &[ProgramKind::Real, ProgramKind::Phased],
        why: "",
        source: JudgedSource::Compiled {
            file: "judged_compressors",
            flags: &["-lz", "-lbz2", "-llzma"],
            environment: &[],
        },
        changes: &[
            without_calls!("deflate_block"),
            without_calls!("bzip_block"),
            without_calls!("pack_block"),
            without_calls!("sum_block"),
            without_calls!("inflate_blocks"),
        ],
    },
    JudgedProgram {
        name: "async",
        about: "the C++ library (regular expressions, maps, sorting, streams) in eight tasks of std::async, then a serial merge",
        kinds: &[ProgramKind::Real, ProgramKind::Crowded],
        why: "",
        source: compiled("judged_async"),
        changes: &[
            without_calls!("match_lines"),
            without_calls!("count_words"),
            without_calls!("sort_words"),
            without_calls!("print_numbers"),
            without_calls!("shuffle_words"),
            without_calls!("merge_counts"),
        ],
    },
    JudgedProgram {
        name: "parallel_sort",
        about: "libstdc++'s parallel sort, transform, selection and sum (OpenMP), between serial parts",
        kinds: &[ProgramKind::Real, ProgramKind::Phased],
        why: "The path of a team that starts below __parallel_partition lacks select_keys, so select_keys does not have its work. The recording lacks what ends two waits of the team's threads.",
        source: JudgedSource::Compiled {
            file: "judged_sort",
            flags: &["-fopenmp"],
            environment: &[("OMP_WAIT_POLICY", "passive"), ("OMP_NUM_THREADS", "2")],
        },
        changes: &[
            without_calls!("sort_keys"),
            without_calls!("transform_keys"),
            without_calls!("select_keys"),
            without_calls!("sum_keys"),
            without_calls!("check_keys"),
        ],
    },
    JudgedProgram {
        name: "go_records",
        about: "Go's library (SHA-256, gzip, JSON, regular expressions, sorting) in six goroutines that take records from a channel, then a serial report",
        kinds: &[ProgramKind::Real, ProgramKind::Crowded],
        why: "A goroutine goes on on whichever thread is free, but its recorded thread keeps its work and waits. The garbage collector's threads work for what a procedure allocates, and no metric charges that to it.",
        source: JudgedSource::Go { file: "judged_records" },
        changes: &[
            without_calls!("main.hashRecord"),
            without_calls!("main.compressRecord"),
            without_calls!("main.decodeRecord"),
            without_calls!("main.matchRecord"),
            without_calls!("main.sortRecord"),
            without_calls!("main.writeReport"),
        ],
    },
    JudgedProgram {
        name: "sums",
        about: "a pipeline of xz, tr, tee, md5sum and b2sum; a process that is left out is a cat",
        kinds: &[ProgramKind::Real, ProgramKind::Crowded],
        why: "A cat is not nothing: it hands on small pieces, and the run has up to four times as many context switches (6,900, without md5sum 26,800).",
        source: JudgedSource::Installed {
            prepare: "test -f words.xz || (seq 1 12000000 > words && xz -1 -k -T1 words)",
            line: "xz -dc words.xz | tr 1-5 a-e | tee >(md5sum >/dev/null) | b2sum",
        },
        changes: &[
            left_out!("xz", "cat words | tr 1-5 a-e | tee >(md5sum >/dev/null) | b2sum"),
            left_out!("tr", "xz -dc words.xz | cat | tee >(md5sum >/dev/null) | b2sum"),
            left_out!("md5sum", "xz -dc words.xz | tr 1-5 a-e | tee >(cat >/dev/null) | b2sum"),
            left_out!("b2sum", "xz -dc words.xz | tr 1-5 a-e | tee >(md5sum >/dev/null) | cat"),
        ],
    },
];
