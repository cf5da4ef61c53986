//! Programs of C, C++ and Rust under an agent that writes down what it is told, and without one.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use longpole_runtime::interface::Agent;
use longpole_runtime::{ProgramObjectKind, Task, acquired, name, name_thread, region, released, wait};

const C_CALLS: &str = "\
asked
enter before main
leave
enter region
leave
enter scope
leave
spawn 1
begin 1 task
end
thread thread
object 42 4 lock
wait 42 2
waited
acquired 42 1
released 42
";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn build(&self, compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../c/tests");
        let output = self.0.path().join(source.replace('.', "_"));
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(flags).arg("-o").arg(&output);
        let status = command.arg(folder.join(source)).arg("-ldl").status().unwrap();
        assert!(status.success(), "{command:?}");
        output
    }

    fn agent(&self) -> PathBuf {
        self.build("gcc", "fake_agent.c", &["-shared", "-fPIC"])
    }

    /// Runs a program, preloaded with an agent where there is one; gives its output and what the agent was told.
    fn run(&self, program: &mut Command, agent: Option<&Path>) -> (Output, String) {
        let log = self.0.path().join("log");
        std::fs::write(&log, "").unwrap();
        if let Some(agent) = agent {
            program.env("LD_PRELOAD", agent).env("FAKE_AGENT_LOG", &log);
        }
        let output = program.output().unwrap();
        assert!(output.status.success(), "{program:?}: {output:?}");
        (output, std::fs::read_to_string(&log).unwrap())
    }
}

#[test]
fn c_program_tells_the_agent_everything_in_order() {
    let place = Place::new();
    for standard in ["-std=c11", "-std=gnu11"] {
        let program = place.build("gcc", "calls.c", &[standard]);
        let (output, told) = place.run(&mut Command::new(program), Some(&place.agent()));
        assert_eq!(told, C_CALLS);
        assert_eq!(output.stdout, b"77 kept\n");
    }
}

#[test]
fn c_program_without_an_agent_runs_as_ever() {
    let place = Place::new();
    let program = place.build("gcc", "calls.c", &["-std=c11"]);
    let (output, _) = place.run(&mut Command::new(program), None);
    assert_eq!(output.stdout, b"77 kept\n");
}

#[test]
fn nothing_is_left_of_the_calls_of_a_program_built_with_them_off() {
    let place = Place::new();
    let program = place.build("gcc", "calls.c", &["-std=c11", "-DLONGPOLE_OFF"]);
    let (_, told) = place.run(&mut Command::new(&program), Some(&place.agent()));
    assert_eq!(told, "");
    let symbols = Command::new("nm").arg(&program).output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    assert!(symbols.contains("main") && !symbols.contains("longpole"), "{symbols}");
}

#[test]
fn an_agent_of_another_layout_is_as_none() {
    let place = Place::new();
    let (agent, program) = (place.agent(), place.build("gcc", "calls.c", &[]));
    for (variable, value) in [("FAKE_AGENT_VERSION", "2"), ("FAKE_AGENT_SIZE", "40")] {
        let (_, told) = place.run(Command::new(&program).env(variable, value), Some(&agent));
        assert_eq!(told, "asked\n", "{variable}");
    }
    let (_, told) = place.run(Command::new(&program).env("FAKE_AGENT_SIZE", "4000"), Some(&agent));
    assert_eq!(told, C_CALLS, "one that knows more");
}

#[test]
fn exceptions_end_the_regions_and_tasks_of_cpp() {
    let place = Place::new();
    let program = place.build("g++", "guards.cpp", &["-std=c++11"]);
    let (_, told) = place.run(&mut Command::new(program), Some(&place.agent()));
    assert_eq!(told, "asked\nenter outer\nspawn 1\nbegin 1 part\nenter inner\nleave\nend\nleave\n");
}

#[test]
fn rust_program_tells_the_agent_everything_in_order() {
    let place = Place::new();
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "calls", "--include-ignored", "--test-threads=1"]);
    let (_, told) = place.run(&mut program, Some(&place.agent()));
    let expected = "asked\nenter outer\nenter inner\nleave\nleave\nspawn 1\nbegin 1 task\nend\nthread thread\n\
        object 42 4 lock\nwait 42 2\nwaited\nacquired 42 0\nreleased 42\nspawn 2\nbegin 2 future\nend\n\
        begin 2 future\nend\n";
    assert_eq!(told, expected);
}

/// The program of the test above; alone it shows that all goes without an agent.
#[test]
fn calls() {
    let lock = 42_u32;
    {
        let _outer = region(c"outer");
        let _inner = region(c"inner");
    }
    assert_eq!(Task::spawn().run(c"task", || 5), 5);
    name_thread(c"thread");
    name(&lock, c"lock");
    drop(wait(&lock, ProgramObjectKind::SpinLock));
    acquired(&lock, ProgramObjectKind::Mutex);
    released(&lock);
    polled_twice();
}

/// A future that is pending once.
fn polled_twice() {
    let mut is_ready = false;
    let future = std::future::poll_fn(move |_| match std::mem::replace(&mut is_ready, true) {
        true => std::task::Poll::Ready(()),
        false => std::task::Poll::Pending,
    });
    let mut future = Box::pin(Task::spawn().of(c"future", future));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert!(future.as_mut().poll(&mut context).is_ready());
}

#[test]
fn layout_is_that_of_the_c_header() {
    let place = Place::new();
    let source = place.0.path().join("layout.c");
    let fields = [
        ("region_enter", std::mem::offset_of!(Agent, region_enter)),
        ("task_spawn", std::mem::offset_of!(Agent, task_spawn)),
        ("task_end", std::mem::offset_of!(Agent, task_end)),
        ("object_name", std::mem::offset_of!(Agent, object_name)),
        ("released", std::mem::offset_of!(Agent, released)),
    ];
    let mut text = format!(
        "#include \"{}/../c/longpole.h\"\n_Static_assert(sizeof(struct longpole_agent) == {}, \"size\");\n",
        env!("CARGO_MANIFEST_DIR"),
        size_of::<Agent>()
    );
    for (field, offset) in fields {
        text +=
            &format!("_Static_assert(offsetof(struct longpole_agent, {field}) == {offset}, \"{field}\");\n");
    }
    text += &format!("_Static_assert(LONGPOLE_OTHER == {}, \"kind\");\n", ProgramObjectKind::Other as u32);
    std::fs::write(&source, text).unwrap();
    let status = Command::new("gcc").args(["-fsyntax-only"]).arg(&source).status().unwrap();
    assert!(status.success());
}
