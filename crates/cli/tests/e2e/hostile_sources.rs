//! A program whose debug information names other people's files as its sources: neither a recording nor an exported page
//! takes them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Page, Recording, Session, find, is_root, longpole, or_skip};

/// What no copy and no page may hold.
const SECRET: &str = "the reader's own secret";
/// What they may.
const OWN: &str = "a comment of the program itself";

/// Procedures with lines in files that are none of the program's business, and one of its own.
fn source(session: &Path) -> String {
    let busy = |name: &str, line: &str| {
        format!(
            "{line}\n__attribute__((noinline)) void {name}(void) {{ for (unsigned long i = 0; i < 60000000; i++) sum += i; }}\n"
        )
    };
    let elsewhere = |file: &str| format!("#line 1 \"{file}\"");
    let outside = session.join("outside.c");
    [
        format!("/* {OWN} */\nvolatile unsigned long sum;\n"),
        busy("own", ""),
        "int main(void);\nvoid shadow(void), above(void), whole(void), linked(void), key(void);\n".to_owned(),
        "int main(void) { own(); shadow(); above(); whole(); linked(); key(); }\n".to_owned(),
        busy("shadow", &elsewhere("/etc/shadow")),
        busy("above", &elsewhere("../outside.c")),
        busy("whole", &elsewhere(outside.to_str().unwrap())),
        busy("linked", &elsewhere("linked.c")),
        busy("key", &elsewhere("key.pem")),
    ]
    .concat()
}

/// Builds the program in `build/` of the session, beside files that hold the secret.
fn program(session: &Session) -> Result<PathBuf, String> {
    let build = session.path().join("build");
    fs::create_dir(&build).unwrap();
    fs::write(session.path().join("outside.c"), SECRET).unwrap();
    fs::write(build.join("key.pem"), SECRET).unwrap();
    std::os::unix::fs::symlink(session.path().join("outside.c"), build.join("linked.c")).unwrap();
    fs::write(build.join("main.c"), source(session.path())).unwrap();
    let mut compile = Command::new(find("gcc")?);
    compile.current_dir(&build).args(["-O1", "-g", "main.c", "-o", "hostile"]);
    assert!(compile.status().unwrap().success());
    Ok(build.join("hostile"))
}

fn record(session: &Session, options: &[&str]) -> Result<Recording, String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    let path = session.path().join("x.longpole");
    let mut command = longpole();
    command.arg("record").args(options).arg("-o").arg(&path).args(["--", "./hostile"]);
    let run = crate::support::run(command.current_dir(session.path().join("build")));
    assert!(run.status.success(), "{run:?}");
    Ok(Recording { path, run })
}

/// Whether a file of the folder holds the text.
fn is_in(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            is_in(&path, text)
        } else {
            String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text)
        }
    })
}

/// The answers in an exported page.
fn answers(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap();
    let block = &text[text.rfind("id=\"answers\"").unwrap()..];
    let packed = block[block.find('>').unwrap() + 1..].split('<').next().unwrap();
    let mut unpack = Command::new("sh");
    unpack.args(["-c", "base64 -di | gzip -dc"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = unpack.spawn().unwrap();
    let (mut input, packed) = (child.stdin.take().unwrap(), packed.to_owned());
    let writer = std::thread::spawn(move || input.write_all(packed.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_recording_copies_only_sources_of_the_program() {
    let session = Session::beside_others();
    or_skip!(program(&session));
    let recording = or_skip!(record(&session, &["--sources"]));
    assert!(is_in(&recording.path.join("sources"), OWN));
    assert!(!is_in(&recording.path, SECRET));
    let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
    for line in shadow.lines() {
        assert!(!is_in(&recording.path.join("sources"), line), "/etc/shadow");
    }
    let evidence = recording.report("evidence", "procedure");
    let text = format!("{evidence:?}");
    for reason in [
        "/etc/shadow: not the name of a source file",
        "outside.c: outside the program's folders; --source-dir",
    ] {
        assert!(text.contains(reason), "{reason}: {text}");
    }
    let page = Page::of(&recording.path, &[]);
    let whole = session.path().join("outside.c");
    let (status, text) = page.refusal(&format!("api/source?file={}", whole.display()));
    assert!(status == 404 && text.contains("source not included: outside the program's folders"), "{text}");
    drop(page);
    // The user's word counts.
    let dir = session.path().to_str().unwrap();
    fs::remove_dir_all(&recording.path).unwrap();
    let recording = or_skip!(record(&session, &["--sources", "--source-dir", dir]));
    assert!(is_in(&recording.path.join("sources"), SECRET));
}

#[test]
fn an_exported_page_holds_no_file_that_the_recording_names() {
    let session = Session::beside_others();
    or_skip!(program(&session));
    let recording = or_skip!(record(&session, &[]));
    let page = session.path().join("page.html");
    let export = |options: &[&str]| {
        let mut command = longpole();
        command.arg("export").arg(&recording.path).args(["--to", "html", "-o"]).arg(&page).args(options);
        let run = session.run(&mut command);
        assert!(run.status.success(), "{run:?}");
        (answers(&page), run.stderr)
    };
    let (answers, stderr) = export(&[]);
    assert!(answers.contains("\"shadow\"") && !answers.contains(SECRET) && !answers.contains(OWN));
    assert!(!answers.contains("root:") && !stderr.contains("source file"), "{stderr}");
    let build = session.path().join("build");
    let (answers, stderr) = export(&["--source-dir", build.to_str().unwrap()]);
    assert!(answers.contains(OWN) && !answers.contains(SECRET));
    let listed: Vec<&str> =
        stderr.lines().filter(|line| line.contains("the page has the source file")).collect();
    assert!(matches!(listed[..], [line] if line.ends_with("main.c")), "{stderr}");
}
