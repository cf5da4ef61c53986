//! Jobs of the programs of `programs/mpi/`, by implementation.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_trace::{ItemKind, State, Timelines, Trace};

use crate::support::{Recording, Session, find, longpole, programs};

/// An implementation of MPI, as Debian installs several of them beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MpiImplementation {
    OpenMpi,
    Mpich,
}

impl MpiImplementation {
    pub(super) const ALL: [MpiImplementation; 2] = [MpiImplementation::OpenMpi, MpiImplementation::Mpich];

    /// Its tool of this name.
    pub(super) fn tool(self, name: &str) -> Result<PathBuf, String> {
        match self {
            // Where it is the only one it may have the plain name.
            MpiImplementation::OpenMpi => find(&format!("{name}.openmpi")).or_else(|_| find(name)),
            MpiImplementation::Mpich => find(&format!("{name}.mpich")),
        }
    }

    /// Compiles `programs/mpi/FILE` with these flags.
    pub(super) fn build(self, folder: &Path, file: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let source = programs().join("mpi").join(file);
        let is_fortran = source.extension().is_some_and(|extension| extension == "F90");
        let program = folder.join(source.file_stem().unwrap());
        if is_fortran {
            find("gfortran").or_else(|_| find("gfortran-12"))?;
        }
        let mut compiler = Command::new(self.tool(if is_fortran { "mpifort" } else { "mpicc" })?);
        compiler.args(["-O2", "-g", "-w"]).args(flags).arg("-o").arg(&program).arg(source);
        if is_fortran {
            compiler.arg("-fno-inline");
        }
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(program)
    }

    /// Records so many ranks of a program.
    pub(super) fn record_ranks(self, session: &Session, job: &Job<'_>) -> Result<Recording, String> {
        let Job { file, flags, ranks, arguments, options, before, may_fail } = *job;
        let program = self.build(session.path(), file, flags)?;
        let mut command: Vec<OsString> = vec![program.clone().into()];
        command.extend(arguments.iter().map(OsString::from));
        let recording = (program.with_extension("longpole"), options);
        self.launch(session, (before, ranks), (&command, recording), may_fail)
    }

    /// Records so many ranks of this command.
    pub(super) fn record_command<P: AsRef<OsStr>>(
        self,
        session: &Session,
        ranks: u32,
        command: &[P],
    ) -> Result<Recording, String> {
        let command: Vec<OsString> = command.iter().map(|word| word.as_ref().to_owned()).collect();
        self.launch(session, (&[], ranks), (&command, (session.path().join("command.longpole"), &[])), false)
    }

    fn launch(
        self,
        session: &Session,
        (before, ranks): (&[&str], u32),
        (command, (path, options)): (&[OsString], (PathBuf, &[&str])),
        may_fail: bool,
    ) -> Result<Recording, String> {
        let launcher = self.tool("mpirun")?;
        let mut record = longpole();
        record.args(["record", "--force", "-o"]).arg(&path).args(options).arg("--").args(before);
        record.arg(launcher);
        if self == MpiImplementation::OpenMpi {
            record.arg("--oversubscribe");
        }
        record.args(["-n", &ranks.to_string()]).args(command);
        record.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let run = session.run(&mut record);
        assert!(may_fail || run.status.success(), "{}", run.stderr);
        Ok(Recording::at(&path))
    }

    /// Records three ranks of a program in C.
    pub(super) fn record(
        self,
        session: &Session,
        name: &str,
        arguments: &[&str],
    ) -> Result<Recording, String> {
        let file = format!("{name}.c");
        self.record_ranks(session, &Job { file: &file, arguments, ..Job::default() })
    }
}

/// What to build and record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) file: &'a str,
    pub(super) flags: &'a [&'a str],
    pub(super) ranks: u32,
    pub(super) arguments: &'a [&'a str],
    /// Of `record`.
    pub(super) options: &'a [&'a str],
    /// What starts the launcher.
    pub(super) before: &'a [&'a str],
    /// The program fails, as it should.
    pub(super) may_fail: bool,
}

impl Default for Job<'_> {
    fn default() -> Self {
        Job { file: "", flags: &[], ranks: 3, arguments: &[], options: &[], before: &[], may_fail: false }
    }
}

/// How long this rank's threads were ready without a processor: others wait so much longer for it, and it comes so much later itself.
pub(crate) fn without_processor(recording: &Recording, rank: u32) -> f64 {
    let trace = Trace::open(&recording.path).unwrap();
    let (mut since, mut sum) = (BTreeMap::new(), 0);
    trace
        .for_each(&mut |item| match item.what {
            _ if trace.program().process_of(item.thread).rank != Some(rank) => {}
            ItemKind::State(State::Ready) => _ = since.entry(item.thread).or_insert(item.time),
            ItemKind::State(_) => {
                sum += since.remove(&item.thread).map_or(0, |since| item.time.since(since));
            }
            _ => {}
        })
        .unwrap();
    sum as f64 / 1e9
}

/// Seconds for which this rank waited for this object, polling or not.
pub(crate) fn waited(recording: &Recording, rank: u32, object: &str) -> f64 {
    let trace = Trace::open(&recording.path).unwrap();
    let (program, objects) = (trace.program(), trace.objects());
    let (mut awaited, mut since, mut sum) = (None, None, 0);
    let is_its = |thread: longpole_event::ThreadId| {
        let process = program.process_of(thread);
        process.rank == Some(rank) && program.threads[thread.index()].tid == process.pid
    };
    trace
        .for_each(&mut |item| match item.what {
            _ if !is_its(item.thread) => {}
            ItemKind::Await(id) => awaited = Some(objects.get(id).name.clone()),
            ItemKind::State(State::Spinning | State::Blocked(_)) if awaited.is_some() => {
                since.get_or_insert(item.time);
            }
            // Ready in between it waits on.
            ItemKind::State(State::Ready) => {}
            ItemKind::State(_) => {
                let (name, begin) = (awaited.take(), since.take());
                if name.as_deref() == Some(object) {
                    sum += begin.map_or(0, |begin| item.time.since(begin));
                }
            }
            _ => {}
        })
        .unwrap();
    sum as f64 / 1e9
}
