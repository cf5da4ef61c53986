//! Programs in unusual surroundings: with few descriptors, with another allocator preloaded, built with a sanitizer, in a
//! folder that is gone, under a name that is no text. And two servers' own kinds of work: redis, and node's workers.

use std::path::Path;

use anyhow::{Context, Result};

use super::SuiteRunner;
use super::outcome::SuiteOutcome;
use crate::programs;

/// Threads that the program makes, and what it prints.
const THREADS: &str = "700";

/// A way to run `$1`, and how it is compiled for that.
struct Surrounding {
    name: &'static str,
    flags: &'static [&'static str],
    script: &'static str,
}

const fn surrounding(name: &'static str, script: &'static str) -> Surrounding {
    Surrounding { name, flags: &[], script }
}

const SURROUNDINGS: [Surrounding; 9] = [
    surrounding("plain", "exec \"$1\" 700"),
    surrounding("few-descriptors", "ulimit -n 16; exec \"$1\" 700"),
    surrounding("jemalloc", "LD_PRELOAD=\"libjemalloc.so.2 $LD_PRELOAD\" exec \"$1\" 700"),
    surrounding("mimalloc", "LD_PRELOAD=\"libmimalloc.so.2.0 $LD_PRELOAD\" exec \"$1\" 700"),
    Surrounding {
        name: "address-sanitizer",
        flags: &["-fsanitize=address"],
        script: "ASAN_OPTIONS=verify_asan_link_order=0 exec \"$1\" 700",
    },
    Surrounding { name: "undefined-sanitizer", flags: &["-fsanitize=undefined"], script: "exec \"$1\" 700" },
    surrounding("deleted-folder", "mkdir gone; cd gone; rmdir ../gone; exec \"$1\" 700"),
    surrounding(
        "name-that-is-no-text",
        "cp \"$1\" \"$(printf 'n\\377me')\"; exec \"./$(printf 'n\\377me')\" 700",
    ),
    surrounding("no-environment", "exec env -i ${LD_PRELOAD:+LD_PRELOAD=\"$LD_PRELOAD\"} \"$1\" 700"),
];

/// Whether the libraries and compilers are here.
pub fn is_here() -> bool {
    let has = |name: &str| Path::new("/usr/lib/x86_64-linux-gnu").join(name).exists();
    crate::tools::find("gcc").is_some() && has("libjemalloc.so.2") && has("libmimalloc.so.2.0")
}

/// Every surrounding.
pub fn run(way: &SuiteRunner<'_>) -> Result<SuiteOutcome> {
    let mut lines = String::new();
    for Surrounding { name, flags, script } in &SURROUNDINGS {
        let program = programs::build(way.folder, "many_threads", flags)?;
        let output = way.command("/bin/sh").args(["-c", script, "sh"]).arg(&program).output();
        let output = output.context("run a shell")?;
        let is_well = output.status.success()
            && String::from_utf8_lossy(&output.stdout).trim() == THREADS
            && output.stderr.is_empty();
        let said = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        lines += &if is_well { format!("{name} passed\n") } else { format!("{name} failed: {said}\n") };
        way.finish()?;
    }
    Ok(SuiteOutcome::of_lines(&lines, None))
}

/// A server with threads for input and output, and a client that counts what it gets.
pub fn redis(way: &SuiteRunner<'_>) -> Result<SuiteOutcome> {
    const SCRIPT: &str = "
        redis-server --port 0 --unixsocket ./s --io-threads 3 --io-threads-do-reads yes --save '' --daemonize no >log 2>&1 &
        for i in $(seq 100); do redis-cli -s ./s ping >answer 2>&1 && break; sleep 0.1; done
        grep -q PONG answer && echo ping passed
        redis-benchmark -s ./s -q -n 20000 -c 20 -r 1000000 -t set,lpush,incr >benchmark 2>&1 && echo benchmark passed
        test \"$(redis-cli -s ./s llen mylist)\" = 20000 && echo list passed
        test \"$(redis-cli -s ./s eval 'local n=0 for i=1,1000 do n=n+i end return n' 0)\" = 500500 && echo script passed
        redis-cli -s ./s shutdown nosave; wait $! && echo shutdown passed";
    by_lines(way, "/bin/sh", &["-c", SCRIPT])
}

/// Threads of node that share memory and pass messages.
pub fn node(way: &SuiteRunner<'_>) -> Result<SuiteOutcome> {
    const SCRIPT: &str = "
        const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
        const work = `const { parentPort, workerData } = require('worker_threads');
            const cells = new Int32Array(workerData);
            for (let i = 0; i < 50000; i++) Atomics.add(cells, 0, 1);
            Atomics.wait(cells, 1, 0, 20);
            parentPort.postMessage(Atomics.load(cells, 0) > 0);`;
        const memory = new SharedArrayBuffer(8);
        const answers = Array.from({ length: 4 }, () => new Promise((good, bad) => {
            const worker = new Worker(work, { eval: true, workerData: memory });
            worker.on('message', good); worker.on('error', bad);
        }));
        Promise.all(answers).then(all => {
            console.log('messages ' + (all.every(Boolean) ? 'passed' : 'failed'));
            console.log('counts ' + (new Int32Array(memory)[0] === 200000 ? 'passed' : 'failed'));
        });";
    by_lines(way, "node", &["-e", SCRIPT])
}

fn by_lines(way: &SuiteRunner<'_>, program: &str, arguments: &[&str]) -> Result<SuiteOutcome> {
    let output = way.command(program).args(arguments).output().with_context(|| format!("run {program}"))?;
    way.finish()?;
    Ok(SuiteOutcome::of_lines(&String::from_utf8_lossy(&output.stdout), output.status.code()))
}
