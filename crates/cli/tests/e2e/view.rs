//! `longpole view` and `longpole export --to html`: what the page is answered, who is refused, and what bad luck does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longpole_testkit::Drawing;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Page, Run, longpole, run};

/// Two workers wait for a lock that a third one holds most of the time; names are such as no document should hold.
const DRAWING: &str = "\
unit 10000000
cpus 2
1 = mutex m
H = main:3 > hold<img/src=x:7
W = main:4 > work:9
boss     HHHHHHHHHHWWWWWWWWWW
one      WW11111111HHHHHHHHWW
two      WWWW11111111111111HH
boss@10 -> one unlock
one@18 -> two unlock
";

/// A drawn run, recorded in a folder of its own.
fn drawn(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    Drawing::parse(DRAWING).unwrap().write(&path).unwrap();
    (folder, path)
}

fn view(recording: &Path, options: &[&str]) -> Run {
    run(longpole().arg("view").arg(recording).arg("--no-open").args(options))
}

/// What `longpole COMMAND REC --format json` prints.
fn printed(command: &str, recording: &Path, options: &[&str]) -> Value {
    let run = run(longpole().arg(command).arg(recording).args(["--format", "json"]).args(options));
    assert!(run.status.success(), "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_page_is_answered_what_the_command_line_prints() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    for (question, options) in [
        ("view=summary", &["--view", "summary"][..]),
        (
            "view=critical-path&by=line&weight=elapsed",
            &["--view", "critical-path", "--by", "line", "--weight", "elapsed"],
        ),
        ("view=waits&explain=1", &["--view", "waits", "--explain", "1"]),
        ("view=objects&all=1&io=idle", &["--view", "objects", "--all", "--io", "idle"]),
        ("view=npt&phase=20%25..60%25&top=2", &["--view", "npt", "--phase", "20%..60%", "--top", "2"]),
        ("view=parallelism&of=procedure%3Awork", &["--view", "parallelism", "--of", "procedure:work"]),
    ] {
        let answer = page.answer(&format!("api/report?{question}"));
        assert!(answer["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{question}: {answer}");
        assert_eq!(answer, printed("report", &recording, options), "{question}");
    }
    let answer = page.answer("api/what-if?set=procedure%3Awork%3D0.5&set=thread%3Aone%3D0");
    let changes = ["--set", "procedure:work=0.5", "--set", "thread:one=0"];
    assert_eq!(answer, printed("what-if", &recording, &changes));
}

#[test]
fn the_head_tells_what_was_recorded_without_reading_it() {
    let (_folder, recording) = drawn("<b>name.longpole");
    let page = Page::of(&recording, &[]);
    let head = page.answer("api/recording");
    assert_eq!(head["name"], "<b>name.longpole");
    assert_eq!(head["command"], serde_json::json!(["drawn"]));
    assert_eq!(head["elapsed_seconds"], 0.2);
    assert_eq!(head["is_export"], false);
    let views = head["views"].as_array().unwrap();
    assert!(views.iter().any(|view| view["name"] == "critical-path" && view["about"] != ""), "{head}");
    let help = page.answer("api/help");
    assert!(help["metrics"].as_array().unwrap().iter().any(|metric| metric["name"] == "npt_seconds"));
    assert!(help["topics"].as_array().unwrap().len() > 10);
}

#[test]
fn the_timeline_tells_who_did_what_when() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    let frame = page.answer("api/timeline?bins=20");
    assert_eq!(frame["thread_count"], 3);
    let threads = frame["threads"].as_array().unwrap();
    let one = threads.iter().find(|thread| thread["thread"] == "one").unwrap();
    let states = |bin: u64| {
        let mut left = bin;
        let runs: Vec<u64> =
            one["runs"].as_array().unwrap().iter().map(|run| run.as_u64().unwrap()).collect();
        let run = runs
            .chunks(2)
            .find(|run| {
                let is_here = left < run[0];
                left = left.saturating_sub(run[0]);
                is_here
            })
            .unwrap();
        let mix = &frame["mixes"][run[1] as usize];
        frame["states"][mix[0][0].as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!([states(1), states(5), states(12)], ["running", "blocked_lock", "running"]);
    let wakes = page.answer("api/wakes?from=0.09&to=0.11");
    assert_eq!(wakes["total"], 1, "{wakes}");
    assert_eq!(wakes["wakes"][0]["thread"], one["id"]);
    let moment = page.answer(&format!("api/moment?thread={}&time=0.05", one["id"]));
    assert_eq!(moment["state"], "blocked_lock", "{moment}");
    let objects = page.answer("api/report?view=objects");
    assert_eq!(moment["object"], objects["rows"][0]["object"], "{moment}");
    let curve = page.answer("api/curve?metric=cpu_seconds&node=thread%3Aone&bins=2");
    // Two and then eight of the first ten columns run; all of the others.
    assert_eq!(curve["values"], serde_json::json!([0.2, 1.0]), "{curve}");
}

#[test]
fn a_question_that_makes_no_sense_is_refused_with_a_word() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    for (path, status, word) in [
        ("api/report", 400, "needs `view`"),
        ("api/report?view=nptt", 400, "`nptt`"),
        ("api/report?view=npt&by=lock", 400, "`lock`"),
        ("api/report?view=npt&phase=5s..6s", 400, "`5s..6s`"),
        ("api/report?view=parallelism&of=procedure%3Aworc", 400, "work"),
        ("api/report?view=waits&explain=99", 404, "--view waits"),
        ("api/report?view=npt&bogus=1", 400, "`bogus`"),
        ("api/what-if?set=work", 400, "needs `=`"),
        ("api/timeline", 400, "needs `bins`"),
        ("api/timeline?bins=10&from=2&to=1", 400, "`from`"),
        ("api/moment?thread=99&time=0.1", 404, "thread 99"),
        ("api/curve?metric=x&node=program&bins=2", 400, "`x`"),
        ("api/nothing", 404, "`nothing`"),
    ] {
        let (found, text) = page.refusal(path);
        assert_eq!(found, status, "{path}: {text}");
        assert!(text.contains(word), "{path}: {text}");
    }
}

#[test]
fn who_lacks_the_token_or_the_address_gets_nothing() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    let (host, token) = (format!("127.0.0.1:{}", page.port), page.token.clone());
    let wrong: String = token.chars().rev().collect();
    for path in [
        "/".to_owned(),
        "/api/recording".to_owned(),
        format!("/{wrong}/api/recording"),
        format!("/{}/", &token[1..]),
    ] {
        let reply = page.send(&path, &host);
        assert_eq!(reply.status, 403, "{path}");
        assert!(!reply.text().contains("drawn") && !reply.text().contains(&token), "{}", reply.text());
    }
    let path = format!("/{token}/api/recording");
    for host in [
        "evil.example",
        &format!("evil.example:{}", page.port),
        "127.0.0.1",
        &format!("127.0.0.1:{}", page.port ^ 1),
    ] {
        assert_eq!(page.send(&path, host).status, 421, "{host}");
    }
    for host in [host, format!("localhost:{}", page.port), format!("[::1]:{}", page.port)] {
        assert_eq!(page.send(&path, &host).status, 200, "{host}");
    }
}

#[test]
fn a_header_without_end_and_a_body_are_refused() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    let head = format!("GET /{}/api/recording HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", page.token, page.port);
    for (rest, status) in [
        (format!("X: {}\r\n\r\n", "a".repeat(1 << 20)), "431"),
        ("Content-Length: 1000000000\r\n\r\nabc".to_owned(), "413"),
        ("Transfer-Encoding: chunked\r\n\r\nfff\r\nabc".to_owned(), "413"),
    ] {
        let reply = page.exchange(&format!("{head}{rest}"));
        // Where the rest was not read any more, the reply can be lost with the connection.
        assert!(reply.is_empty() || reply.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {reply}");
        assert!(!reply.contains("drawn"), "{reply}");
    }
    assert_eq!(page.answer("api/recording")["name"], "x.longpole");
}

#[test]
fn the_token_is_not_in_the_command_line_of_the_browser() {
    let (folder, recording) = drawn("x.longpole");
    let (browser, seen) = (folder.path().join("browser"), folder.path().join("seen"));
    // Writes its arguments, then what a browser finds at the address and who may read it.
    let script = format!(
        "#!/bin/sh\nfile=${{1#file://}}\n{{ echo \"$@\"; stat -c %a \"$file\"; cat \"$file\"; }} > {0}.new\nmv {0}.new {0}\n",
        seen.display()
    );
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut page = Page::in_browser(&recording, &browser, folder.path());
    let told = until(|| fs::read_to_string(&seen).ok());
    let mut lines = told.lines();
    let argument = lines.next().unwrap();
    assert!(argument.starts_with("file:///") && !argument.contains(&page.token), "{argument}");
    assert_eq!(lines.next(), Some("600"));
    let address = format!("http://127.0.0.1:{}/{}/", page.port, page.token);
    assert!(lines.any(|line| line.contains(&format!("url={address}\""))), "{told}");
    // SAFETY: plain system call on the process that was just started.
    unsafe { libc::kill(page.child.id().cast_signed(), libc::SIGINT) };
    assert_eq!(page.child.wait().unwrap().code(), Some(0));
    assert!(!Path::new(argument.strip_prefix("file://").unwrap()).exists());
}

#[test]
fn a_session_ends_with_its_page_where_that_is_asked_for() {
    let (_folder, recording) = drawn("x.longpole");
    let mut page = Page::of(&recording, &["--idle-exit=3"]);
    let head = page.answer("api/recording");
    assert_eq!(head["keep_alive_seconds"], 1.0, "{head}");
    assert_eq!(page.child.wait().unwrap().code(), Some(0));
    let page = Page::of(&recording, &[]);
    assert!(page.answer("api/recording").get("keep_alive_seconds").is_none());
    let refused = view(&recording, &["--idle-exit=0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
}

/// What there is after a while.
fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing after a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_file_is_served_but_those_of_the_page() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    let index = page.ask("");
    assert_eq!(index.status, 200);
    assert!(index.text().contains("<script type=\"module\" src=\"main.js\">"), "{}", index.text());
    assert!(page.ask("main.js").head.contains("content-type: text/javascript"));
    for path in [
        "../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2f..%2fCargo.toml",
        "/etc/passwd",
        "views/..%2f..%2fCargo.toml",
        "tests/package.json",
        "main.js%00.html",
        "recording.json",
    ] {
        let reply = page.ask(path);
        assert!(matches!(reply.status, 400 | 403 | 404), "{path}: {}", reply.text());
        assert!(
            !reply.text().contains("root:") && !reply.text().contains("package"),
            "{path}: {}",
            reply.text()
        );
    }
}

#[test]
fn the_page_is_fenced_in() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    for path in ["", "main.js", "api/recording", "api/nothing", "nowhere"] {
        let head = page.ask(path).head;
        for word in [
            "default-src 'none'",
            "script-src 'self'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(word), "{path}: {head}");
        }
        assert!(!head.contains("unsafe") && !head.contains("access-control-allow"), "{path}: {head}");
    }
}

#[test]
fn sources_are_served_by_the_names_that_the_recording_has() {
    let (folder, recording) = drawn("x.longpole");
    let sources = folder.path().join("sources");
    fs::create_dir(&sources).unwrap();
    fs::write(sources.join("drawn.c"), "int main;\n<b>bold</b>\n").unwrap();
    fs::write(sources.join("secret.c"), "secret").unwrap();
    let page = Page::of(&recording, &["--source-dir", sources.to_str().unwrap()]);
    let source = page.answer("api/source?file=drawn.c");
    assert_eq!(source["lines"], serde_json::json!(["int main;", "<b>bold</b>"]));
    assert_eq!(source["path"], sources.join("drawn.c").to_str().unwrap());
    for file in ["secret.c", "/etc/passwd", "./drawn.c", "sources/../drawn.c"] {
        let (status, text) = page.refusal(&format!("api/source?file={file}"));
        assert_eq!(status, 404, "{text}");
        assert!(text.contains("names no such source file"), "{text}");
    }
    drop(page);
    let page = Page::of(&recording, &[]);
    let (status, text) = page.refusal("api/source?file=drawn.c");
    assert!(status == 404 && text.contains("not included") && text.contains("--source-dir"), "{text}");
    let refused = view(&recording, &["--source-dir", "/no/such/folder"]);
    assert!(!refused.status.success() && refused.stderr.contains("/no/such/folder"), "{}", refused.stderr);
}

#[test]
fn what_is_no_recording_is_told_as_report_tells_it() {
    let (folder, recording) = drawn("x.longpole");
    let empty = folder.path().join("empty.longpole");
    fs::create_dir_all(empty.join("machine-0")).unwrap();
    fs::copy(recording.join("recording.json"), empty.join("recording.json")).unwrap();
    for path in [folder.path().join("nowhere"), folder.path().to_owned(), empty] {
        let (viewed, reported) = (view(&path, &[]), run(longpole().arg("report").arg(&path)));
        assert_eq!(viewed.status.code(), Some(1), "{}", viewed.stderr);
        assert_eq!(viewed.stderr, reported.stderr);
        assert!(viewed.stdout.is_empty(), "{}", viewed.stdout);
    }
}

#[test]
fn two_look_at_one_recording_and_a_taken_port_is_told() {
    let (_folder, recording) = drawn("x.longpole");
    let (first, second) = (Page::of(&recording, &[]), Page::of(&recording, &[]));
    assert!(first.port != second.port && first.token != second.token);
    assert_eq!(first.answer("api/report?view=npt"), second.answer("api/report?view=npt"));
    let third = view(&recording, &["--port", &first.port.to_string()]);
    assert_eq!(third.status.code(), Some(1));
    assert!(third.stderr.contains(&format!("127.0.0.1:{}", first.port)), "{}", third.stderr);
    assert!(third.stderr.contains("hint:") && third.stderr.contains("--port"), "{}", third.stderr);
}

#[test]
fn a_deleted_recording_is_told_and_what_was_answered_stays() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    let before = page.answer("api/report?view=npt");
    fs::remove_dir_all(&recording).unwrap();
    assert_eq!(page.answer("api/report?view=npt"), before);
    let (status, text) = page.refusal("api/report?view=waits");
    assert_eq!(status, 500, "{text}");
    let report = run(longpole().arg("report").arg(&recording));
    assert_eq!(report.stderr.trim_end(), format!("longpole: {text}"));
    assert_eq!(page.answer("api/recording")["name"], "x.longpole");
}

#[test]
fn a_recording_in_the_place_of_the_one_that_was_opened_is_not_answered_from() {
    let (_folder, recording) = drawn("x.longpole");
    let page = Page::of(&recording, &[]);
    page.answer("api/report?view=npt");
    std::thread::sleep(Duration::from_millis(20));
    Drawing::example().write(&recording).unwrap();
    let (status, text) = page.refusal("api/report?view=waits");
    assert_eq!(status, 500);
    assert!(text.contains("has changed") && text.contains("longpole view"), "{text}");
}

#[test]
fn answers_are_remembered_for_the_next_one_and_never_for_another_recording() {
    let (_folder, recording) = drawn("x.longpole");
    let first = Page::of(&recording, &[]).answer("api/report?view=npt");
    let files = |folder: &Path| fs::read_dir(folder.join("cache")).map_or(0, Iterator::count);
    assert_eq!(files(&recording), 1);
    assert_eq!(Page::of(&recording, &[]).answer("api/report?view=npt"), first);
    // The folder's files belong to the recording that was there before.
    let kept = recording.with_extension("kept");
    fs::rename(recording.join("cache"), &kept).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    Drawing::example().write(&recording).unwrap();
    fs::rename(&kept, recording.join("cache")).unwrap();
    let other = Page::of(&recording, &[]).answer("api/report?view=npt");
    assert_ne!(other, first);
    assert_eq!(other, printed("report", &recording, &["--view", "npt"]));
}

#[test]
fn where_the_cache_cannot_be_written_all_is_answered() {
    let (_folder, recording) = drawn("x.longpole");
    fs::write(recording.join("cache"), "a file in the folder's place").unwrap();
    let page = Page::of(&recording, &[]);
    assert_eq!(page.answer("api/report?view=npt"), printed("report", &recording, &["--view", "npt"]));
}

#[test]
fn an_interrupt_ends_it_as_planned() {
    let (_folder, recording) = drawn("x.longpole");
    let mut page = Page::of(&recording, &[]);
    page.answer("api/recording");
    // SAFETY: plain system call on the process that was just started.
    unsafe { libc::kill(page.child.id().cast_signed(), libc::SIGINT) };
    let begin = Instant::now();
    let status = page.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn an_exported_page_holds_its_answers_and_nothing_of_them_as_markup() {
    let (folder, recording) = drawn("x.longpole");
    let file = folder.path().join("x.html");
    let run = run(longpole().arg("export").arg(&recording).args(["--to", "html", "-o"]).arg(&file));
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.stdout.trim(), file.to_str().unwrap());
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains("id=\"answers\""));
    for markup in ["<img", "http://", "https://"] {
        assert!(!page.contains(markup), "{markup}");
    }
    let answers = embedded(&page);
    assert_eq!(answers["recording"]["is_export"], true);
    assert_eq!(answers["report?view=npt"], printed("report", &recording, &["--view", "npt"]));
    let explained = &answers["report?explain=1&view=waits"];
    assert_eq!(*explained, printed("report", &recording, &["--view", "waits", "--explain", "1"]));
    let hold = "report?of=procedure%3Ahold%3Cimg%2Fsrc%3Dx&view=parallelism";
    let options = ["--view", "parallelism", "--of", "procedure:hold<img/src=x"];
    assert_eq!(answers[hold], printed("report", &recording, &options));
    assert_eq!(answers["timeline?bins=4096"]["thread_count"], 3);
    assert_eq!(answers["curve?bins=1024&metric=cpu_seconds&node=program"]["bins"], 1024);
}

/// The answers in an exported page.
fn embedded(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"answers\">").unwrap();
    let (text, _) = rest.split_once("</script>").unwrap();
    let mut decoder = std::process::Command::new("sh");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("answers"), text).unwrap();
    let run = run(decoder.current_dir(folder.path()).args(["-c", "base64 -d answers | gzip -d"]));
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}
