//! A program whose every name is an attack on the terminal: nothing of it gets there but as an escape.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Recording, Session, find, is_root, longpole, or_skip};

/// A lock, a thread and a procedure, whose names the test overwrites in the file that the compiler made: assemblers refuse
/// such names, loaders do not look at them.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>
pthread_mutex_t lock_named_to_be_overwritten_0 = PTHREAD_MUTEX_INITIALIZER;
volatile unsigned long sum;
__attribute__((noinline)) void procedure_to_be_overwritten_1(void) {
    for (unsigned long i = 0; i < 20000000; i++) sum += i;
}
static void *run(void *unused) {
    prctl(PR_SET_NAME, "\x1b[7m\a\nt\xe2\x80\xae\xc2\x9b");
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock_named_to_be_overwritten_0);
        procedure_to_be_overwritten_1();
        pthread_mutex_unlock(&lock_named_to_be_overwritten_0);
        usleep(100);
    }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
"#;

/// Names of the same length as those above.
const NAMES: [(&str, &str); 2] = [
    ("lock_named_to_be_overwritten_0", "lo\u{1b}[31;5m\u{1b}]0;pwned\u{7}\u{202e}ck\n\t_rrr"),
    ("procedure_to_be_overwritten_1", "pr\u{1b}[2J\u{9b}1m\u{7}\u{2066}oc\r\u{200b}\u{2028}_qqqqq"),
];

/// What every error below quotes.
const EVIL: &str = "e\u{1b}]0;pwned\u{7}\u{9b}\u{202e}\u{2028}\nlongpole: all is well\r\t";

/// The program, in a file whose name is as bad.
fn program(session: &Session) -> Result<PathBuf, String> {
    let folder = session.path();
    fs::write(folder.join("evil.c"), PROGRAM).unwrap();
    let mut compile = Command::new(find("gcc")?);
    compile.current_dir(folder).args(["-O1", "-g", "-pthread", "evil.c", "-o", "evil"]);
    assert!(compile.status().unwrap().success());
    let mut bytes = fs::read(folder.join("evil")).unwrap();
    for (plain, evil) in NAMES {
        assert_eq!(plain.len(), evil.len(), "{plain}");
        let places: Vec<usize> = bytes
            .windows(plain.len())
            .enumerate()
            .filter(|(_, w)| *w == plain.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "{plain} is in the file");
        for at in places {
            bytes[at..at + evil.len()].copy_from_slice(evil.as_bytes());
        }
    }
    let path = folder.join(evil_file());
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    Ok(path)
}

/// A name that is no UTF-8 either.
fn evil_file() -> OsString {
    OsString::from_vec(b"x\x1b[7m\x07\xe2\x80\xae\t\xff".to_vec())
}

/// Characters of an output that a terminal obeys, or reorders the text by.
fn hidden(text: &str) -> Vec<char> {
    let is_hidden = |c: &char| match *c {
        '\n' => false,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}' => true,
        c => c.is_control(),
    };
    text.chars().filter(is_hidden).collect()
}

/// Runs longpole; nothing hidden is in what it writes, and no line is one that a name made up.
fn harmless(session: &Session, arguments: &[&str]) -> (String, String) {
    let run = session.run(longpole().args(arguments));
    for text in [&run.stdout, &run.stderr] {
        assert_eq!(hidden(text), [], "{arguments:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("longpole: all is well")), "{arguments:?}: {text}");
    }
    (run.stdout, run.stderr)
}

fn record(session: &Session, program: &Path) -> Result<Recording, String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    let path = session.path().join("evil.longpole");
    let run =
        session.run(longpole().args(["record", "--locks", "-o"]).arg(&path).arg("--").arg(program).arg(EVIL));
    assert!(run.status.success(), "{run:?}");
    assert_eq!(hidden(&run.stderr), [], "{:?}", run.stderr);
    Ok(Recording { path, run })
}

#[test]
fn names_of_a_program_reach_the_terminal_as_escapes() {
    let session = Session::beside_others();
    let program = or_skip!(program(&session));
    let recording = or_skip!(record(&session, &program));
    let path = recording.path.to_str().unwrap();
    for level in ["procedure", "line", "thread", "process", "machine", "object"] {
        harmless(&session, &["report", path, "--view", "profile", "--by", level]);
    }
    let (all, _) = harmless(&session, &["report", path, "--view", "all", "--all"]);
    for escape in [
        r"\x1b[2J\x9b1m\x07\u{2066}oc\r\u{200b}\u{2028}",
        r"\x1b]0;pwned\x07\u{202e}ck\n\t_rrr",
        r"\x1b[7m\x07\nt\u{202e}",
    ] {
        assert!(all.contains(escape), "{escape}: {all}");
    }
    harmless(&session, &["report", path, "--view", "waits", "--explain", "1"]);
    harmless(
        &session,
        &["report", path, "--curve", "cpu_seconds", "--node", &format!("procedure:{}", NAMES[1].1)],
    );
    harmless(&session, &["what-if", path, "--set", &format!("procedure:{}=0.5", NAMES[1].1)]);
    let (json, _) = harmless(&session, &["report", path, "--view", "profile", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = answer["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["procedure"] == NAMES[1].1), "JSON keeps names: {json}");
}

#[test]
fn errors_quote_names_as_escapes() {
    let session = Session::beside_others();
    let quoted = r"e\x1b]0;pwned\x07\x9b\u{202e}\u{2028}\nlongpole: all is well\r\t";
    let drawn = session.path().join("drawn.longpole");
    longpole_testkit::Drawing::example().write(&drawn).unwrap();
    let (drawn, evil_option) = (drawn.to_str().unwrap(), format!("--{EVIL}"));
    let metrics = session.path().join(EVIL.replace('/', "_"));
    fs::write(&metrics, format!("nonsense {EVIL}")).unwrap();
    let cases: &[&[&str]] = &[
        &["report", EVIL],
        &["report", drawn, "--of", EVIL, "--view", "parallelism"],
        &["report", drawn, "--phase", EVIL],
        &["report", drawn, "--view", EVIL],
        &["report", drawn, "--top", EVIL],
        &["report", drawn, "--curve", EVIL],
        &["report", drawn, "--curve", "cpu_seconds", "--node", EVIL],
        &["report", drawn, "--define", EVIL, "--view", "metrics"],
        &["report", drawn, "--metric", EVIL, "--view", "metrics"],
        &["report", drawn, "--metrics", metrics.to_str().unwrap(), "--view", "metrics"],
        &["report", drawn, "--metrics", "/nowhere\u{1b}[7m", "--view", "metrics"],
        &["report", &evil_option],
        &["what-if", drawn, "--set", EVIL],
        &["explain", EVIL],
        &["export", drawn, "--to", EVIL],
        &["export", drawn, "--to", "html", "--source-dir", EVIL],
        &["export", drawn, "--to", "html", "-o", "/dev/null/\u{1b}[7m\u{202e}"],
        &["export", drawn, "--to", "csv", "-o", "/dev/null/\u{1b}[7m\u{202e}"],
        &["view", EVIL, "--no-open"],
        &["import", EVIL],
        &["doctor", EVIL],
        &["record", "--collect", EVIL, "--", "true"],
        &["record", "--duration", EVIL, "--", "true"],
        &["record", "--", EVIL],
        &[EVIL],
    ];
    for arguments in cases {
        let (stdout, stderr) = harmless(&session, arguments);
        assert!(stdout.is_empty() && !stderr.is_empty(), "{arguments:?}: {stdout}");
        // An error in a text shows the line that it is in, with blanks for controls.
        let shown = [quoted, r"\x1b[7m", r"\x1b]0;pwned", "understand "];
        let is_named = shown.iter().any(|shown| stderr.contains(shown));
        assert!(is_named, "{arguments:?}: {stderr}");
    }
}
