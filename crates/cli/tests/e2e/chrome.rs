//! Traces in Chrome's JSON format with known answers: threads that launch work of a GPU and wait for it, ranks of a job, and a real
//! program of PyTorch.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::support::{Recording, Session, longpole};

/// A trace that is written.
#[derive(Debug, Default)]
struct ChromeScript {
    events: Vec<String>,
    launches: u32,
    rank: Option<(u32, u32)>,
}

impl ChromeScript {
    /// A slice of thread 1, milliseconds.
    fn host(&mut self, name: &str, (from, to): (u64, u64)) {
        let (at, length) = (from * 1000, (to - from) * 1000);
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "cpu_op", "pid": 77, "tid": 1, "name": "{name}", "ts": {at}, "dur": {length}.0}}"#
        ));
    }

    /// A launch by thread 1, and what stream 7 then does.
    fn launch(&mut self, (from, to): (u64, u64), name: &str, (begin, end): (u64, u64), more: &str) {
        self.launches += 1;
        let (launch, at) = (self.launches, from * 1000);
        let (length, begin, work) = ((to - from) * 1000, begin * 1000, (end - begin) * 1000);
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "pid": 77, "tid": 1, "name": "cudaLaunchKernel", "ts": {at}, "dur": {length},
                "args": {{"correlation": {launch}}}}}"#
        ));
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "name": "{name}", "ts": {begin}, "dur": {work},
                "args": {{"correlation": {launch}, "stream": 7{more}}}}}"#
        ));
    }

    fn write(&self, path: &Path) {
        let mut text = String::from("{");
        if let Some((rank, size)) = self.rank {
            let _ = write!(
                text,
                r#""distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {size}}}, "#
            );
        }
        let _ = write!(text, "\"traceEvents\": [{}]}}", self.events.join(",\n"));
        std::fs::write(path, text).expect("it can be written");
    }
}

fn import(session: &Session, trace: &Path, options: &[&str]) -> Recording {
    let name = trace.file_name().expect("it has a name").to_string_lossy().into_owned() + ".longpole";
    let output = session.path().join(name);
    let run = session.run(longpole().arg("import").arg(trace).arg("-o").arg(&output).args(options));
    assert!(run.status.success(), "{}", run.stderr);
    Recording::at(&output)
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../record/tests/fixtures/chrome").join(name)
}

/// In each of ten rounds the thread prepares 30 ms, launches for 1 ms what takes 20 ms, and waits for it.
#[test]
fn the_critical_path_leads_from_a_thread_to_its_gpu_and_back() {
    let (session, mut script) = (Session::beside_others(), ChromeScript::default());
    script.host("train", (0, 510));
    for round in 0..10 {
        let begin = round * 51;
        script.host("prepare", (begin, begin + 30));
        script.launch((begin + 30, begin + 31), "gemm", (begin + 31, begin + 51), "");
        script.host("cudaStreamSynchronize", (begin + 31, begin + 51));
    }
    let trace = session.path().join("gpu.json");
    script.write(&trace);
    let recording = import(&session, &trace, &[]);
    let path = recording.report("critical-path", "procedure");
    for (name, milliseconds) in [("prepare", 300.0), ("gemm", 200.0), ("cudaLaunchKernel", 10.0)] {
        path.assert_percent(name, milliseconds / 5.1, 0.01);
    }
    // The GPU waits for the thread for all of what it prepares but for the first time, when it has not begun.
    let waits = recording.report("waits", "procedure");
    let found: Vec<_> = waits.rows().map(|row| (row["count"].as_u64(), row["seconds"].as_f64())).collect();
    assert!(found.contains(&(Some(10), Some(0.2))), "{found:?}");
}

/// A thread that launches ahead does not hold the GPU up.
#[test]
fn work_of_a_gpu_that_was_launched_ahead_is_the_critical_path() {
    let (session, mut script) = (Session::beside_others(), ChromeScript::default());
    script.host("train", (0, 210));
    for round in 0..10 {
        script.launch((round, round + 1), "gemm", (1 + round * 20, 21 + round * 20), "");
    }
    script.host("cudaDeviceSynchronize", (10, 201));
    let trace = session.path().join("ahead.json");
    script.write(&trace);
    let path = import(&session, &trace, &[]).report("critical-path", "procedure");
    path.assert_percent("gemm", 200.0 / 2.1, 0.5);
}

/// Two ranks meet ten times, for 5 ms. Rank 1 comes 40 ms late to eight of the meetings, rank 0 to two: so that their clocks can be compared
/// to 5 ms, both ways.
#[test]
fn of_ranks_the_one_that_comes_late_is_named() {
    let session = Session::beside_others();
    let mut folders = Vec::new();
    for rank in 0..2_u32 {
        let mut script = ChromeScript { rank: Some((rank, 2)), ..ChromeScript::default() };
        script.host("train", (0, 600));
        for round in 0..10 {
            let (begin, end) = (round * 60, round * 60 + 55);
            let is_late = (rank == 0) == (round % 5 == 4);
            let arrived = begin + if is_late { 50 } else { 10 };
            script.host("forward", (begin, arrived - 1));
            let group = r#", "Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]""#;
            script.launch(
                (arrived - 1, arrived),
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                (arrived, end),
                group,
            );
            script.host("cudaStreamSynchronize", (arrived, end));
        }
        let trace = session.path().join(format!("rank{rank}.json"));
        script.write(&trace);
        folders.push(import(&session, &trace, &[]).path.clone());
    }
    let joined = session.path().join("job");
    let run = session.run(longpole().arg("join").args(&folders).arg("-o").arg(&joined));
    assert!(run.status.success(), "{}", run.stderr);
    let messages = Recording::at(&joined).report("messages", "procedure");
    let waits: Vec<_> =
        messages.rows().map(|row| (row["seconds"].as_f64().unwrap_or(0.0), row["waits"].as_u64())).collect();
    let [(of_first, Some(8)), (of_second, Some(2))] = waits[..] else { panic!("{waits:?}") };
    // To 5 ms each.
    assert!((of_first - 0.32).abs() <= 0.04 && (of_second - 0.08).abs() <= 0.01, "{waits:?}");
}

/// `programs/chrome/torch_ranks.py`: rank 1 has `late_work` that rank 0 has not, before each `all_reduce`.
#[test]
fn a_program_of_pytorch_waits_for_its_late_rank() {
    let session = Session::beside_others();
    let folders: Vec<PathBuf> = (0..2)
        .map(|rank| {
            let trace = fixture(&format!("torch-rank{rank}.json.gz"));
            import(&session, &trace, &["--rank", &format!("{rank}/2")]).path.clone()
        })
        .collect();
    let joined = session.path().join("job");
    assert!(session.run(longpole().arg("join").args(&folders).arg("-o").arg(&joined)).status.success());
    let messages = Recording::at(&joined).report("messages", "procedure");
    let row = messages.rows().next().expect("ranks wait");
    let waited = row["seconds"].as_f64().expect("it has a length");
    // Rank 0 is in its five operations for 10.28 s, of which they took 0.15 s on rank 1.
    assert!(row["percent"].as_f64() > Some(99.0) && (waited - 10.2).abs() < 2.0, "{row:?}");
}

#[test]
fn clang_and_node_are_read_and_a_wrong_rank_is_refused() {
    let session = Session::beside_others();
    let clang = import(&session, &fixture("clang.json.gz"), &[]).report("profile", "procedure");
    assert!(
        clang.rows().any(|row| row["procedure"].as_str().is_some_and(|name| name.starts_with("Frontend")))
    );
    let node = import(&session, &fixture("node.json.gz"), &[]).report("profile", "procedure");
    assert!(
        node.rows().any(|row| row["procedure"].as_str().is_some_and(|name| name.starts_with("RunTimers")))
    );
    let refused = session.run(longpole().arg("import").arg(fixture("node.json.gz")).args(["--rank", "2/2"]));
    assert!(!refused.status.success() && refused.stderr.contains("RANK/SIZE"), "{}", refused.stderr);
}
