//! `longpole cc`, `longpole c++` and `longpole fortran`: the compiler, so that the program tells of its accesses to memory.
//!
//! Sources are compiled with `-fsanitize=thread`, which makes compilers call a function at each access. Programs are linked
//! without it, and with the library of `longpole record --access` in place of the compiler's own. A command that does both
//! is done in two steps, as no compiler does one without the other.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

/// The language that a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledLanguage {
    C,
    Cxx,
    Fortran,
}

impl CompiledLanguage {
    /// The compiler: what the variable says, or the system's.
    fn compiler(self) -> OsString {
        let (variable, usual) = match self {
            CompiledLanguage::C => ("LONGPOLE_CC", "cc"),
            CompiledLanguage::Cxx => ("LONGPOLE_CXX", "c++"),
            CompiledLanguage::Fortran => ("LONGPOLE_FC", "gfortran"),
        };
        std::env::var_os(variable).filter(|value| !value.is_empty()).unwrap_or_else(|| usual.into())
    }
}

/// What a compiler's command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No program comes of it.
    Compile,
    /// A program or library of objects.
    Link,
    /// Both.
    CompileAndLink,
    /// Neither: a question, such as `--version`.
    Other,
}

/// Options whose value is the next argument.
const WITH_VALUE: [&str; 18] = [
    "-o",
    "-I",
    "-J",
    "-L",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-x",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-l",
    "-T",
];

/// Endings of sources.
const SOURCES: [&str; 23] = [
    "c", "i", "cc", "cpp", "cxx", "c++", "C", "ii", "m", "mm", "f", "for", "ftn", "f90", "f95", "f03", "f08",
    "F", "FOR", "F90", "F95", "F03", "F08",
];

/// Runs the command; its exit status is passed on.
pub fn run(language: CompiledLanguage, arguments: &[OsString]) -> Result<ExitCode> {
    let compiler = language.compiler();
    let sanitize = sanitizer_options(&compiler);
    let own: Vec<OsString> = arguments.iter().filter(|argument| !is_sanitizer(argument)).cloned().collect();
    match stage(&own) {
        Stage::Other => execute(&compiler, &own, &[]),
        Stage::Compile => execute(&compiler, &own, &sanitize),
        Stage::Link => execute(&compiler, &own, &library_options(&own)?),
        Stage::CompileAndLink => {
            let folder = tempfile::tempdir().context("create a folder for objects")?;
            let objects = compile(&compiler, &own, &sanitize, folder.path())?;
            match objects {
                Ok(rest) => execute(&compiler, &rest, &library_options(&own)?),
                Err(failed) => Ok(failed),
            }
        }
    }
}

/// Compiles each source; gives the command with objects in their places, or the status of the one that failed.
fn compile(
    compiler: &OsStr,
    arguments: &[OsString],
    sanitize: &[OsString],
    folder: &Path,
) -> Result<std::result::Result<Vec<OsString>, ExitCode>> {
    let sources = sources(arguments);
    let is_for_linker = |index: &usize| {
        let argument = arguments[*index].as_bytes();
        let is_value =
            *index > 0 && matches!(arguments[index - 1].as_bytes(), b"-o" | b"-L" | b"-l" | b"-Xlinker");
        let is_object = !argument.starts_with(b"-") && (*index == 0 || !takes_value(&arguments[index - 1]));
        is_value
            || is_object
            || matches!(
                argument,
                b"-o" | b"-L" | b"-l" | b"-Xlinker" | b"-shared" | b"-static" | b"-rdynamic" | b"-pie"
            )
            || [&b"-Wl,"[..], b"-l", b"-L"].iter().any(|begin| argument.starts_with(begin))
    };
    let common: Vec<OsString> = (0..arguments.len())
        .filter(|index| !is_for_linker(index))
        .map(|index| arguments[index].clone())
        .collect();
    let mut rest = arguments.to_vec();
    for (number, &source) in sources.iter().enumerate() {
        let object = folder.join(format!("{number}.o")).into_os_string();
        let own = [OsString::from("-c"), arguments[source].clone(), "-o".into(), object.clone()];
        let command = [&common[..], &own].concat();
        let status = execute(compiler, &command, sanitize)?;
        if status != ExitCode::SUCCESS {
            return Ok(Err(status));
        }
        rest[source] = object;
    }
    Ok(Ok(rest))
}

fn takes_value(argument: &OsStr) -> bool {
    WITH_VALUE.iter().any(|option| argument == *option)
}

/// Places of the sources in a command.
fn sources(arguments: &[OsString]) -> Vec<usize> {
    let is_source = |&index: &usize| {
        let is_value = index > 0 && takes_value(&arguments[index - 1]);
        let ending = Path::new(&arguments[index]).extension().and_then(OsStr::to_str);
        !is_value
            && !arguments[index].as_bytes().starts_with(b"-")
            && ending.is_some_and(|ending| SOURCES.contains(&ending))
    };
    (0..arguments.len()).filter(is_source).collect()
}

fn stage(arguments: &[OsString]) -> Stage {
    let has = |names: &[&str]| arguments.iter().any(|argument| names.iter().any(|name| argument == *name));
    let inputs = (0..arguments.len()).filter(|&index| {
        !arguments[index].as_bytes().starts_with(b"-") && (index == 0 || !takes_value(&arguments[index - 1]))
    });
    if has(&["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"]) {
        Stage::Compile
    } else if inputs.count() == 0 {
        Stage::Other
    } else if sources(arguments).is_empty() {
        Stage::Link
    } else {
        Stage::CompileAndLink
    }
}

fn is_sanitizer(argument: &OsStr) -> bool {
    let argument = argument.as_bytes();
    argument == b"-fsanitize=thread" || argument == b"-ltsan" || argument == b"-static-libtsan"
}

/// What makes the compiler call a function at each access, with lines for the names of places. clang leaves the read of
/// `x += 1` out unless it is told otherwise.
fn sanitizer_options(compiler: &OsStr) -> Vec<OsString> {
    let mut options = vec!["-g", "-fsanitize=thread"];
    let version = Command::new(compiler).arg("--version").output();
    if version.is_ok_and(|output| output.stdout.windows(5).any(|part| part == b"clang")) {
        options.extend(["-mllvm", "-tsan-instrument-read-before-write"]);
    }
    options.into_iter().map(OsString::from).collect()
}

/// What links a program with the library. A library of the program's own gets it from the program.
fn library_options(arguments: &[OsString]) -> Result<Vec<OsString>> {
    if arguments.iter().any(|argument| argument == "-shared" || argument == "-r") {
        return Ok(Vec::new());
    }
    let folder = longpole_record::access_library_folder().context("keep the library of accesses")?;
    let mut runtime_path = OsString::from("-Wl,-rpath,");
    runtime_path.push(&folder);
    // Needed also where only the program's own libraries are instrumented. OpenMP's runtime comes later and is needed though
    // the library has functions of the same names, which call it.
    let has_openmp = arguments.iter().any(|argument| argument.as_bytes().starts_with(b"-fopenmp"));
    let restore = if has_openmp { "-Wl,--no-as-needed" } else { "-Wl,--pop-state" };
    Ok(vec![
        "-L".into(),
        folder.into_os_string(),
        "-Wl,--push-state,--no-as-needed".into(),
        "-l:liblongpole-access.so".into(),
        restore.into(),
        runtime_path,
    ])
}

fn execute(compiler: &OsStr, arguments: &[OsString], more: &[OsString]) -> Result<ExitCode> {
    execute_command(Command::new(compiler).args(arguments).args(more))
}

/// Runs a compiler; its exit status is passed on.
pub fn execute_command(command: &mut Command) -> Result<ExitCode> {
    let status = command
        .status()
        .with_context(|| format!("run the compiler `{}`", Path::new(command.get_program()).display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<OsString> {
        command.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_s_stage_follows_from_its_inputs() {
        assert_eq!(stage(&words("-O2 -c a.c -o a.o")), Stage::Compile);
        assert_eq!(stage(&words("-o a.c.out -pthread a.o b.o")), Stage::Link);
        assert_eq!(stage(&words("-O2 a.c b.o -o out")), Stage::CompileAndLink);
        assert_eq!(stage(&words("--version")), Stage::Other);
        assert_eq!(stage(&words("-include config.c -MF a.c a.o")), Stage::Link);
    }

    #[test]
    fn sources_are_no_values_of_options() {
        let command = words("-include x.c a.cpp -o b.c -l c.c d.C");
        assert_eq!(sources(&command), [2, 7]);
        assert_eq!(sources(&words("-J modules.f90 a.F90 b.f")), [2, 3]);
    }
}
