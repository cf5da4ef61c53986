//! Where CPython keeps what a thread executes: what is known of each version is what a C compiler makes of that version's headers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_symbols::{Mapping, PythonFiles, PythonLayout};

const OFFSETS: &str = r#"
#define _GNU_SOURCE
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#if PY_VERSION_HEX >= 0x03080000
#include "internal/pycore_pystate.h"
#elif PY_VERSION_HEX >= 0x03070000
#include "internal/pystate.h"
#endif
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
#endif
#define SAY(name, type, field) printf("%s %zu\n", name, offsetof(type, field));
int main(void) {
#if PY_VERSION_HEX >= 0x03070000
    SAY("interpreters", _PyRuntimeState, interpreters.head)
#endif
    SAY("next_interpreter", PyInterpreterState, next)
#if PY_VERSION_HEX >= 0x030B0000
    SAY("threads", PyInterpreterState, threads.head)
#else
    SAY("threads", PyInterpreterState, tstate_head)
#endif
    SAY("next_thread", PyThreadState, next)
    SAY("interpreter", PyThreadState, interp)
    SAY("handle", PyThreadState, thread_id)
#if PY_VERSION_HEX >= 0x030D0000
    SAY("frame", PyThreadState, current_frame)
#elif PY_VERSION_HEX >= 0x030B0000
    SAY("frame", PyThreadState, cframe)
    SAY("indirect", _PyCFrame, current_frame)
#else
    SAY("frame", PyThreadState, frame)
#endif
#if PY_VERSION_HEX >= 0x030B0000
    SAY("previous", _PyInterpreterFrame, previous)
    SAY("name", PyCodeObject, co_qualname)
#else
    SAY("previous", PyFrameObject, f_back)
    SAY("code", PyFrameObject, f_code)
    SAY("name", PyCodeObject, co_name)
#endif
#if PY_VERSION_HEX >= 0x030D0000
    SAY("code", _PyInterpreterFrame, f_executable)
#elif PY_VERSION_HEX >= 0x030B0000
    SAY("code", _PyInterpreterFrame, f_code)
#endif
#if PY_VERSION_HEX >= 0x030C0000
    SAY("begins_loop", _PyInterpreterFrame, owner)
    printf("own frames %d\n", FRAME_OWNED_BY_CSTACK);
#elif PY_VERSION_HEX >= 0x030B0000
    SAY("begins_loop", _PyInterpreterFrame, is_entry)
#endif
    SAY("file", PyCodeObject, co_filename)
    SAY("line", PyCodeObject, co_firstlineno)
    SAY("length", PyVarObject, ob_size)
#if PY_VERSION_HEX >= 0x03000000
    SAY("length", PyASCIIObject, length)
    SAY("state", PyASCIIObject, state)
    printf("ascii_text %zu\ntext %zu\n", sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject));
#else
    SAY("ascii_text", PyStringObject, ob_sval)
    SAY("text", PyStringObject, ob_sval)
#endif
}
"#;

/// Offsets by what they are of, as the headers have them; `None` without headers or a compiler.
fn compiled(headers: &Path) -> Option<BTreeMap<String, u64>> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("offsets.c"), folder.path().join("offsets"));
    std::fs::write(&source, OFFSETS).unwrap();
    let include = format!("-I{}", headers.display());
    let internal = format!("-I{}/internal", headers.display());
    let built =
        Command::new("gcc").args(["-w", &include, &internal, "-o"]).arg(&program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        return None;
    }
    let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let offset = |line: &str| {
        let (name, offset) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), offset.parse().unwrap())
    };
    Some(printed.lines().map(offset).collect())
}

fn known(layout: &PythonLayout) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("interpreters", layout.interpreters),
        ("next_interpreter", layout.next_interpreter),
        ("threads", layout.threads),
        ("next_thread", layout.next_thread),
        ("interpreter", layout.interpreter),
        ("handle", layout.handle),
        ("frame", layout.frame),
        ("indirect", layout.indirect.unwrap_or(0)),
        ("previous", layout.previous),
        ("code", layout.code),
        ("begins_loop", layout.begins_loop),
        ("own frames", 3),
        ("file", layout.file),
        ("name", layout.name),
        ("line", layout.line),
        ("length", layout.length),
        ("state", layout.state),
        ("ascii_text", layout.ascii_text),
        ("text", layout.text),
    ])
}

/// Files of interpreters with their headers.
fn interpreters() -> Vec<(PathBuf, PathBuf)> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let entries =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = vec![("/usr/bin/python3.11".into(), "/usr/include/python3.11".into())];
    for version in entries(home.join(".pyenv/versions")) {
        let is_library = |path: &PathBuf| path.to_string_lossy().ends_with(".so.1.0");
        let library = entries(version.join("lib")).find(is_library);
        found.extend(library.zip(entries(version.join("include")).next()));
    }
    found
}

#[test]
fn memory_is_laid_out_as_the_headers_of_each_version_say() {
    let mut compared = 0;
    for (file, headers) in interpreters() {
        let Some(compiled) = compiled(&headers) else { continue };
        let mapping =
            Mapping { start: 0, end: 4096, file_offset: 0, path: file.clone(), build_id: Vec::new() };
        let Some(found) = PythonFiles::default().look(std::process::id(), &mapping) else { continue };
        let known = known(&found.unwrap().layout);
        for (name, offset) in compiled {
            assert_eq!(known[name.as_str()], offset, "{name} of {}", file.display());
        }
        compared += 1;
    }
    if compared == 0 {
        eprintln!("skipped: no interpreter of Python with its headers is installed");
    }
}
