//! Patterns and causality graphs of real programs, by closed forms and by a graph that was derived by hand.

use serde_json::{Map, Value};

use super::{build, number, record};
use crate::support::{Answer, Recording, Session, longpole, or_skip, run};

const PATTERNS: [(&str, &str); 8] = [
    ("cold", "cold_percent"),
    ("read-only", "read_only_percent"),
    ("false sharing", "false_sharing_percent"),
    ("migratory", "migratory_percent"),
    ("SPSC", "spsc_percent"),
    ("SPMC", "spmc_percent"),
    ("MPSC", "mpsc_percent"),
    ("MPMC", "mpmc_percent"),
];

/// Shares are of the same requests: they sum to 100, and those of the list are those of the columns.
fn assert_shares(row: &Map<String, Value>) {
    let share = |column: &str| row[column].as_f64().unwrap();
    let sum: f64 = PATTERNS.iter().map(|(_, column)| share(column)).sum();
    assert!((sum - 100.0).abs() < 0.001, "{sum} %: {row:?}");
    let listed = row["patterns"].as_array().unwrap();
    for one in listed {
        let (_, column) = PATTERNS.iter().find(|(name, _)| one["pattern"] == *name).unwrap();
        assert_eq!(one["percent"].as_f64().unwrap(), share(column), "{row:?}");
    }
    let requests: u64 = listed.iter().map(|one| one["requests"].as_u64().unwrap()).sum();
    assert_eq!(requests, number(row, "requests"), "{row:?}");
    let seconds: f64 = listed.iter().map(|one| one["request_seconds"].as_f64().unwrap()).sum();
    assert!((seconds - row["request_seconds"].as_f64().unwrap()).abs() < 1e-12, "{row:?}");
}

fn patterns(recording: &Recording, options: &[&str]) -> Answer {
    let answer = recording.report_with("patterns", "object", options);
    for row in answer.rows() {
        assert_shares(row);
        let classes = row["classes"].as_array().unwrap();
        let objects = classes.iter().map(|class| class.as_object().unwrap());
        objects.clone().for_each(assert_shares);
        for column in ["units", "requests", "transfers", "data_transfers"] {
            let sum: u64 = objects.clone().map(|class| number(class, column)).sum();
            assert_eq!(sum, number(row, column), "{column} of {row:?}");
        }
    }
    // The same requests as by object in the other view.
    let others = recording.report_with("communication", "object", options);
    for other in others.rows() {
        let row = answer.rows().find(|row| row["object"] == other["object"]).expect("the same objects");
        for (_, column) in PATTERNS {
            assert_eq!(row[column], other[column], "{column}");
        }
        assert_eq!(
            (&row["requests"], &row["request_seconds"]),
            (&other["requests"], &other["request_seconds"])
        );
    }
    answer
}

fn of_object<'a>(answer: &'a Answer, object: &str) -> &'a Map<String, Value> {
    answer.rows().find(|row| row["object"] == object).unwrap_or_else(|| panic!("no {object}"))
}

/// Requests of each pattern, or transfers of data.
fn listed(row: &Map<String, Value>, list: &str, count: &str) -> Vec<(String, u64)> {
    let pattern = |one: &Value| (one["pattern"].as_str().unwrap().to_owned(), one[count].as_u64().unwrap());
    row[list].as_array().unwrap().iter().map(pattern).collect()
}

/// Asserts patterns of the units' requests, but for first references, and of the data's transfers; and how many units there
/// are of each class.
fn assert_patterns(
    row: &Map<String, Value>,
    units: &[(&str, u64)],
    data: &[(&str, u64)],
    classes: &[(&str, u64)],
    about: &str,
) {
    let expected = |of: &[(&str, u64)]| -> Vec<(String, u64)> {
        of.iter().filter(|(_, count)| *count > 0).map(|&(name, count)| (name.to_owned(), count)).collect()
    };
    let mut found = listed(row, "patterns", "requests");
    found.retain(|(pattern, _)| !matches!(pattern.as_str(), "cold" | "read-only"));
    assert_eq!(found, expected(units), "{about}");
    assert_eq!(listed(row, "data_patterns", "transfers"), expected(data), "{about}");
    let mut found = listed(row, "classes", "units");
    let mut expected = expected(classes);
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{about}");
}

#[test]
fn a_ring_is_handed_from_one_to_one_unit_and_datum() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_ring"));
    let answer = patterns(&record(&session, &program, &["1000"]), &[]);
    let row = of_object(&answer, "ring");
    assert_patterns(row, &[("SPSC", 984)], &[("SPSC", 984)], &[("SPSC", 16)], "ring");
    assert_eq!([number(row, "producers"), number(row, "consumers")], [1, 2]);
    assert_eq!(row["used_percent"], 12.5);
}

#[test]
fn a_counter_migrates_and_counters_on_one_line_are_not_shared_but_their_line() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 100;
    let one = or_skip!(build(&session, "gcc", "shared_counter"));
    let many = or_skip!(build(&session, "gcc", "shared_counters"));
    for threads in [2_u64, 4, 8] {
        let (of, rounds) = (threads.to_string(), ROUNDS.to_string());
        let (transfers, about) = (threads * ROUNDS - threads, format!("{threads} threads"));
        let answer = patterns(&record(&session, &one, &[&of, &rounds]), &[]);
        let migrates = [("migratory", transfers)];
        assert_patterns(of_object(&answer, "counter"), &migrates, &migrates, &[("migratory", 1)], &about);

        let answer = patterns(&record(&session, &many, &[&of, &rounds]), &[]);
        let row = of_object(&answer, "counters");
        assert_patterns(row, &[("false sharing", transfers)], &[], &[("false sharing", 1)], &about);
        assert_eq!(number(row, "data_transfers"), 0, "{about}");

        let answer = patterns(&record(&session, &many, &[&of, &rounds, "padded"]), &[]);
        assert_patterns(of_object(&answer, "counters"), &[], &[], &[("cold", threads)], &about);
    }
}

#[test]
fn structs_share_a_line_at_two_of_four_offsets() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_structs"));
    for (offset, transfers) in [(0, 0), (16, 198), (32, 198), (48, 0)] {
        let answer = patterns(&record(&session, &program, &[&offset.to_string(), "100"]), &[]);
        let row = of_object(&answer, "memory");
        assert_eq!(number(row, "transfers"), transfers, "offset {offset}");
        let mut found = listed(row, "patterns", "requests");
        found.retain(|(pattern, _)| pattern != "cold");
        let all = (transfers > 0).then(|| ("false sharing".to_owned(), transfers));
        assert_eq!(found, all.into_iter().collect::<Vec<_>>(), "offset {offset}");
        assert_eq!(number(row, "data_transfers"), 0, "offset {offset}");
        let shared: u64 = listed(row, "classes", "units")
            .iter()
            .filter(|(name, _)| name != "cold")
            .map(|(_, units)| units)
            .sum();
        assert_eq!(shared, u64::from(transfers > 0), "offset {offset}");
    }
}

#[test]
fn lines_between_barriers_have_as_many_consumers_as_neighbours() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 50;
    let program = or_skip!(build(&session, "gcc", "shared_rounds"));
    for threads in [2_u64, 4, 8] {
        let arguments = [threads.to_string(), ROUNDS.to_string()];
        let answer = patterns(&record(&session, &program, &["broadcast", &arguments[0], &arguments[1]]), &[]);
        let name = if threads == 2 { "SPSC" } else { "SPMC" };
        let all = [(name, (threads - 1) * (ROUNDS - 1))];
        assert_patterns(of_object(&answer, "lines"), &all, &all, &[(name, 1)], &arguments[0]);

        // The first and the last line have one reader, those between them have two.
        let recording = record(&session, &program, &["neighbours", &arguments[0], &arguments[1]]);
        let answer = patterns(&recording, &[]);
        let all = [("SPSC", 2 * (ROUNDS - 1)), ("SPMC", 2 * (threads - 2) * (ROUNDS - 1))];
        let classes = [("SPSC", 2), ("SPMC", threads - 2)];
        assert_patterns(of_object(&answer, "lines"), &all, &all, &classes, &arguments[0]);

        // The places are the same, whichever threads are there: all lines have one graph.
        let answer = recording.report("causality", "object");
        let row = of_object(&answer, "lines");
        assert_eq!(number(row, "units"), threads);
        let requests = 2 * (threads - 1) * (ROUNDS - 1);
        let found = edges(row);
        assert_eq!(found[0], edge("put", "barrier barrier", "take", requests, requests));
        let mut firsts = [cold("put", threads), cold("take", 2 * (threads - 1))];
        firsts.sort_by_key(|edge| std::cmp::Reverse(edge.3));
        assert_eq!(found[1..], firsts);
    }
}

/// W, I, R, requests, writes behind them.
type Edge = (String, String, String, u64, u64);

fn edge(write: &str, through: &str, read: &str, requests: u64, contributions: u64) -> Edge {
    (write.into(), through.into(), read.into(), requests, contributions)
}

fn cold(read: &str, requests: u64) -> Edge {
    edge("", "", read, requests, requests)
}

/// The edges of a graph. Costs are 100 ns a request, the shares of the edges sum to 100.
fn edges(row: &Map<String, Value>) -> Vec<Edge> {
    let nodes = row["nodes"].as_array().unwrap();
    let procedure = |edge: &Value, end: &str| match edge.get(end).and_then(Value::as_u64) {
        Some(node) => {
            nodes.iter().find(|one| one["node"] == node).unwrap()["procedure"].as_str().unwrap().to_owned()
        }
        None => String::new(),
    };
    let edges = row["edges"].as_array().unwrap();
    let sum = |column: &str| edges.iter().map(|edge| edge[column].as_f64().unwrap()).sum::<f64>();
    assert!((sum("percent") - 100.0).abs() < 0.001, "{row:?}");
    assert!((sum("request_seconds") - sum("requests") * 1e-7).abs() < 1e-12, "{row:?}");
    edges
        .iter()
        .map(|edge| {
            let count = |column: &str| edge[column].as_u64().unwrap();
            let through = edge.get("through").map_or("", |through| through.as_str().unwrap());
            (
                procedure(edge, "from"),
                through.to_owned(),
                procedure(edge, "to"),
                count("requests"),
                count("contributions"),
            )
        })
        .collect()
}

/// The call paths of each edge, procedures alone. Each edge of this graph has only one.
fn call_paths(row: &Map<String, Value>) -> Vec<[String; 3]> {
    let procedures = |path: &str| {
        let frames: Vec<&str> = path.split(" < ").map(|frame| frame.split(' ').next().unwrap()).collect();
        frames.join(" < ")
    };
    let edges = row["edges"].as_array().unwrap().iter();
    let paths = edges.map(|edge| {
        assert_eq!(edge["paths"], 1, "{edge:?}");
        ["read_path", "through_path", "write_path"]
            .map(|column| procedures(edge.get(column).map_or("", |path| path.as_str().unwrap())))
    });
    paths.collect()
}

#[test]
fn a_sum_under_a_lock_that_is_read_behind_a_barrier_has_the_graph_derived_by_hand() {
    let session = Session::beside_others();
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "shared_sum"));
        for &threads in super::teams(compiler) {
            let rounds = 100 / threads;
            let recording = record(&session, &program, &[&threads.to_string(), &rounds.to_string()]);
            let answer = recording.report("causality", "object");
            let row = of_object(&answer, "sum");
            let others = threads - 1;
            let writes = threads * others / 2;
            let expected = [
                edge("add", "barrier meeting", "look", rounds * others, rounds * writes),
                edge("add", "lock", "add", (rounds - 1) * others, (rounds - 1) * writes),
                cold("add", threads),
            ];
            assert_eq!(edges(row), expected, "{compiler} {threads}");
            assert_eq!(number(row, "transfers"), (2 * rounds - 1) * others);
            assert_eq!(
                call_paths(row),
                [
                    ["look < work", "work", "add < work"],
                    ["add < work", "add < work", "add < work"],
                    ["add < work", "", ""],
                ]
            );
            // Each write had a copy that a request had got.
            let steps = row["transitions"].as_array().unwrap();
            let count: u64 = steps.iter().map(|step| step["count"].as_u64().unwrap()).sum();
            assert_eq!(count, (2 * rounds - 1) * writes, "{compiler} {threads}");
            // In the first round all copies are from first references.
            let first = steps.iter().find(|step| step["from"] == 2 && step["to"] == 0).unwrap();
            assert!(first["count"].as_u64().unwrap() >= writes, "{steps:?}");
            let nodes = row["nodes"].as_array().unwrap();
            let add = nodes.iter().find(|node| node["procedure"] == "add").unwrap();
            for threads_of in ["readers", "writers"] {
                let named = add[threads_of].as_str().unwrap().split(", ").count() as u64;
                assert_eq!(named, threads, "{add:?}");
            }
            let look = nodes.iter().find(|node| node["procedure"] == "look").unwrap();
            assert!(look.get("writers").is_none(), "{look:?}");
        }
    }
}

#[test]
fn a_relaxation_s_pages_are_falsely_shared_where_its_data_has_one_writer() {
    let session = Session::beside_others();
    let program = or_skip!(super::build_with(&session, "gcc", "red_black", &["-fopenmp"]));
    let recording = record(&session, &program, &["tiles", "4", "3"]);
    let options = ["--unit", "8192", "--protocol", "lrc"];
    let answer = patterns(&recording, &options);
    let row = of_object(&answer, "grid");
    assert_eq!((number(row, "units"), number(row, "transfers")), (16, 180));
    assert!(row["false_sharing_percent"].as_f64().unwrap() > 60.0, "{row:?}");
    let data = listed(row, "data_patterns", "transfers");
    // A number of the grid has one writer. Beside the border it has one reader in another tile, at the crossing of the borders
    // two.
    assert!(data.iter().all(|(pattern, _)| pattern == "SPSC" || pattern == "SPMC"), "{data:?}");
    let answer = recording.report_with("causality", "object", &options);
    let row = of_object(&answer, "grid");
    assert_eq!((number(row, "units"), number(row, "transfers")), (16, 180));
    let edges = row["edges"].as_array().unwrap();
    let of = |line: u64| -> u64 {
        let is_of = |edge: &&Value| edge.get("through_line").and_then(Value::as_u64) == Some(line);
        edges.iter().filter(is_of).map(|edge| edge["requests"].as_u64().unwrap()).sum()
    };
    // 36 pages of a sweep: black after red in three rounds, red after black in two.
    assert_eq!((of(66), of(68)), (108, 72));
}

#[test]
fn without_accesses_or_transfers_the_views_say_so() {
    let session = Session::beside_others();
    let plain = or_skip!(session.build("shared_counter.c", &["-pthread"]));
    let folder = session.path().join("none.longpole");
    let recorded = run(longpole().args(["record", "-q", "-o"]).arg(&folder).arg("--").arg(&plain));
    assert!(recorded.status.success(), "{}", recorded.stderr);
    for view in ["patterns", "causality"] {
        let answer = run(longpole().arg("report").arg(&folder).args(["--view", view]));
        assert!(answer.stdout.contains("`longpole record --access`"), "{}", answer.stdout);
    }
    let program = or_skip!(build(&session, "gcc", "shared_counters"));
    let recording = record(&session, &program, &["2", "10", "padded"]);
    let answer =
        run(longpole().arg("report").arg(&recording.path).args(["--view", "causality", "--width", "80"]));
    assert!(answer.stdout.contains("No graph: no thread's write took a unit"), "{}", answer.stdout);
    assert!(answer.stdout.lines().all(|line| line.chars().count() <= 80), "{}", answer.stdout);
}

/// The row in full.
fn explained(recording: &Recording, by: &str, number: &str) -> Map<String, Value> {
    let answer = recording.report_with("communication", by, &["--explain", number]);
    let rows: Vec<_> = answer.rows().collect();
    assert_eq!(rows.len(), 1);
    rows[0].clone()
}

/// Call path of the requests, synchronisation with its call path, call path of the writes, requests. Paths without files.
fn chains(row: &Map<String, Value>) -> Vec<([String; 4], u64)> {
    let text = |chain: &Value, key: &str| {
        let path = chain.get(key).map_or("", |path| path.as_str().unwrap());
        let frames = path.split(" < ").map(|frame| frame.split(" shared_").next().unwrap());
        frames.collect::<Vec<_>>().join(" < ")
    };
    let chains = row["chains"].as_array().unwrap();
    let texts = |chain| ["read_path", "through", "through_path", "write_path"].map(|key| text(chain, key));
    chains.iter().map(|chain| (texts(chain), chain["requests"].as_u64().unwrap())).collect()
}

/// Ends of ways with their share of the requests, and most repetitions of their steps.
fn ends(row: &Map<String, Value>) -> Vec<(String, f64, u64)> {
    let most = |way: &Value| {
        way["steps"].as_array().unwrap().iter().map(|step| step["most"].as_u64().unwrap()).max().unwrap()
    };
    let ways = row["ways"].as_array().unwrap();
    let end =
        |way: &Value| (way["end"].as_str().unwrap().to_owned(), way["percent"].as_f64().unwrap(), most(way));
    ways.iter().map(end).collect()
}

#[test]
fn an_explained_row_has_call_paths_and_the_ways_back() {
    let session = Session::beside_others();
    let ring = or_skip!(build(&session, "gcc", "shared_ring"));
    let row = explained(&record(&session, &ring, &["1000"]), "procedure", "1");
    assert_eq!((row["procedure"].as_str(), number(&row, "transfers")), (Some("take"), 984));
    let [of, first] = chains(&row).try_into().unwrap();
    let taking = || "take < consume".to_owned();
    assert_eq!(of, ([taking(), "filled_slots".into(), "consume".into(), "put < produce".into()], 984));
    assert_eq!(first, ([taking(), String::new(), String::new(), String::new()], 16));
    // The producer never asks for a slot again: its copy is from its first reference.
    assert_eq!(ends(&row), [("another thread's first reference".to_owned(), 100.0, 1)]);
    assert_eq!(number(&row, "cut"), 0);

    // Two threads take turns: each request is for what the other wrote, whose copy came by its own last request, which was
    // for what the first one wrote before. The first request of each goes back to a first reference.
    let counter = or_skip!(build(&session, "gcc", "shared_counter"));
    let row = explained(&record(&session, &counter, &["2", "100"]), "object", "1");
    let [of, _] = chains(&row).try_into().unwrap();
    let counting = || "count < work".to_owned();
    assert_eq!(of, ([counting(), "lock".into(), counting(), counting()], 198));
    let ends = ends(&row);
    let sum: f64 = ends.iter().map(|(_, share, _)| share).sum();
    assert!((sum - 100.0).abs() < 0.001, "{ends:?}");
    assert_eq!((number(&row, "followed"), number(&row, "cut")), (198, 0));
    let own = ends.iter().find(|(end, ..)| end == "its own previous copy").unwrap();
    // All but one: the first transfer's writer has its copy from a first reference.
    assert!((own.1 - 100.0 * 197.0 / 198.0).abs() < 0.001 && own.2 == 2, "{ends:?}");
}

#[test]
fn a_row_that_is_not_there_is_refused_and_a_recording_without_accesses_says_why() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_counters"));
    let recording = record(&session, &program, &["2", "10"]);
    let explain = |row: &str| {
        let mut command = longpole();
        command.arg("report").arg(&recording.path).args(["--view", "communication", "--width", "80"]);
        run(command.args(["--explain", row]))
    };
    let refused = explain("99");
    assert!(
        !refused.status.success() && refused.stderr.contains("`communication` has no such row"),
        "{}",
        refused.stderr
    );
    let answer = explain("1").stdout;
    assert!(answer.contains("called by work shared_counters.c:"), "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    let plain = or_skip!(session.build("shared_counter.c", &["-pthread"]));
    let folder = session.path().join("none.longpole");
    let recorded = run(longpole().args(["record", "-q", "-o"]).arg(&folder).arg("--").arg(&plain));
    assert!(recorded.status.success(), "{}", recorded.stderr);
    let answer =
        run(longpole().arg("report").arg(&folder).args(["--view", "communication", "--explain", "1"]));
    assert!(answer.stdout.contains("`longpole record --access`"), "{}", answer.stdout);
}
