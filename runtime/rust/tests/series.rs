//! The memory for metrics is laid out in the C header as in the crate; without a recorder, and switched off, its calls
//! do nothing.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_runtime::interface::series::{
    ENTRIES, LINK, MAGIC, NAME_BYTES, SLOTS, SeriesHeader, SeriesMemory, SeriesSlot, TimedValue, UNIT_BYTES,
    UNSET, VARIABLE,
};
use longpole_runtime::{Metric, MetricNode, Samples, now};

fn c_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../c")
}

fn compile(source: &str, compiler: &str, flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (path, program) = (folder.path().join("main.c"), folder.path().join("program"));
    std::fs::write(&path, source).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(c_folder()).args(flags);
    let status = command.arg("-o").arg(&program).arg(&path).status().unwrap();
    assert!(status.success(), "{command:?}");
    (folder, program)
}

#[test]
fn layout_is_that_of_the_c_header() {
    let mut text = String::from("#include \"longpole_series.h\"\n");
    let mut equal =
        |c: &str, rust: usize| writeln!(text, "_Static_assert({c} == {rust}ull, \"{c}\");").unwrap();
    equal("sizeof(struct longpole_memory)", size_of::<SeriesMemory>());
    equal("sizeof(struct longpole_metric)", size_of::<SeriesSlot>());
    equal("sizeof(struct longpole_entry)", size_of::<TimedValue>());
    equal("LONGPOLE_SLOTS", SLOTS);
    equal("LONGPOLE_ENTRIES", ENTRIES);
    equal("LONGPOLE_MAGIC", MAGIC as usize);
    equal("LONGPOLE_UNSET", UNSET as usize);
    equal("sizeof(((struct longpole_metric *)0)->name)", NAME_BYTES);
    equal("sizeof(((struct longpole_metric *)0)->unit)", UNIT_BYTES);
    let mut offset = |c: &str, rust: usize| equal(&format!("offsetof(struct longpole_{c})"), rust);
    offset("memory, slots", offset_of!(SeriesMemory, slots));
    offset("memory, entries", offset_of!(SeriesMemory, entries));
    offset("memory, version", offset_of!(SeriesHeader, version));
    offset("memory, size", offset_of!(SeriesHeader, size));
    offset("memory, recorder", offset_of!(SeriesHeader, recorder));
    offset("memory, stopped", offset_of!(SeriesHeader, stopped));
    offset("memory, refused_series", offset_of!(SeriesHeader, refused_series));
    offset("memory, refused_values", offset_of!(SeriesHeader, refused_values));
    offset("memory, tickets", offset_of!(SeriesHeader, tickets));
    offset("memory, taken", offset_of!(SeriesHeader, taken));
    offset("metric, count", offset_of!(SeriesSlot, count));
    offset("metric, value", offset_of!(SeriesSlot, value));
    offset("metric, state", offset_of!(SeriesSlot, state));
    offset("metric, samples", offset_of!(SeriesSlot, samples));
    offset("metric, node", offset_of!(SeriesSlot, node));
    offset("metric, id", offset_of!(SeriesSlot, id));
    offset("metric, created", offset_of!(SeriesSlot, created));
    offset("metric, name", offset_of!(SeriesSlot, name));
    offset("metric, unit", offset_of!(SeriesSlot, unit));
    offset("metric, label", offset_of!(SeriesSlot, label));
    offset("entry, sequence", offset_of!(TimedValue, sequence));
    offset("entry, slot", offset_of!(TimedValue, slot));
    offset("entry, value", offset_of!(TimedValue, value));
    offset("entry, time", offset_of!(TimedValue, time));
    for (kind, number) in
        [("GAUGE", Samples::Gauge), ("COUNTER", Samples::Counter), ("AMOUNT", Samples::Amount)]
    {
        equal(&format!("(int)LONGPOLE_{kind}"), number as usize);
    }
    text += "int main(void) { return 0; }\n";
    compile(&text, "gcc", &[]);
    let header = std::fs::read_to_string(c_folder().join("longpole_series.h")).unwrap();
    assert!(header.contains(&format!("\"{}\"", VARIABLE.to_str().unwrap())));
    assert!(header.contains(&format!("\"{}\"", std::str::from_utf8(LINK).unwrap())));
}

const CALLS: &str = "#include <errno.h>\n#include <stdio.h>\n#include \"longpole_series.h\"\n\
    int main(void)\n{\n\
    struct longpole_metric *metric;\n\
    errno = 77;\n\
    metric = longpole_metric_at(longpole_thread(0), \"m\", \"s\", LONGPOLE_GAUGE);\n\
    longpole_add(metric, 1);\nlongpole_set(metric, 1);\nlongpole_sample_at(metric, 1, longpole_now());\n\
    printf(\"%d %d\", metric == NULL, errno);\nreturn 0;\n}\n";

#[test]
fn c_program_without_a_recorder_runs_as_ever() {
    let builds: [(&str, &[&str]); 4] = [
        ("gcc", &[]),
        ("gcc", &["-std=gnu99"]),
        ("gcc", &["-static"]),
        ("g++", &["-x", "c++", "-std=c++11"]),
    ];
    for (compiler, flags) in builds {
        let (_folder, program) = compile(CALLS, compiler, flags);
        let output = Command::new(program).env_remove("LONGPOLE_SERIES").output().unwrap();
        assert_eq!(output.stdout, b"1 77", "{compiler} {flags:?}");
    }
}

#[test]
fn nothing_is_left_of_the_calls_of_a_program_built_with_them_off() {
    let (_folder, program) = compile(CALLS, "gcc", &["-DLONGPOLE_OFF", "-std=c11"]);
    assert_eq!(Command::new(&program).output().unwrap().stdout, b"1 77");
    let symbols = Command::new("nm").arg(&program).output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    assert!(symbols.contains("main") && !symbols.contains("longpole"), "{symbols}");
}

#[test]
fn rust_program_without_a_recorder_runs_as_ever() {
    static METRIC: Metric = Metric::counter(c"m").unit(c"s").at(MetricNode::ThisThread).label(c"part");
    METRIC.add(1);
    METRIC.set(1.0);
    METRIC.sample_at(1.0, now());
    assert!(now() > 0);
}
