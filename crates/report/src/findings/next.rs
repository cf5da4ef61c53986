//! Commands that show more of what the answer says.

use std::borrow::Cow;

use longpole_trace::ProcedureId;

use crate::find::RecordingNames;
use crate::input::ReportTables;
use crate::unnamed_code::is_mostly_made_at_run_time;

/// A command, and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NextCommand {
    pub command: Cow<'static, str>,
    pub shows: &'static str,
}

const fn next(command: &'static str, shows: &'static str) -> NextCommand {
    NextCommand { command: Cow::Borrowed(command), shows }
}

pub(crate) const PATH_BY_LINE: NextCommand =
    next("longpole report --view critical-path --by line", "the path by line");
pub(crate) const PATH_WITH_WAITS: NextCommand =
    next("longpole report --view critical-path --weight elapsed", "the waits on it");
pub(crate) const PROFILE: NextCommand = next("longpole report --view profile", "CPU time, and all waits");
pub(crate) const THREADS: NextCommand = next("longpole report --view threads", "each thread's time");
pub(crate) const PARALLELISM: NextCommand = next("longpole report --view parallelism", "who ran alone");
pub(crate) const WAITS: NextCommand = next("longpole report --view waits", "why threads waited");
pub(crate) const MESSAGES: NextCommand =
    next("longpole report --view messages", "which rank waited for which");
pub(crate) const COMMUNICATION: NextCommand =
    next("longpole report --view communication", "whose writes are behind the requests");
pub(crate) const EVIDENCE: NextCommand = next("longpole report --view evidence", "what this rests on");
pub(crate) const DOCTOR: NextCommand = next("longpole doctor", "what can be recorded on this machine");
pub(crate) const LINES: NextCommand = next("longpole report --view profile --by line", "CPU time by line");
pub(crate) const TREE: NextCommand = next("longpole report --view tree", "by process and thread");
/// What tells which ranking to follow.
pub(crate) const GUIDANCE: NextCommand = next("longpole report --view guidance", "which ranking to trust");

/// Characters of the longest command: it stands on one line.
const LONGEST: usize = 78;

/// What half of a procedure's work would gain; `None` where its name is too long for a line.
pub(crate) fn what_if(input: &ReportTables<'_>, procedure: ProcedureId) -> Option<NextCommand> {
    let names = RecordingNames { program: input.program, paths: input.paths, objects: input.objects };
    let change = format!("{}=0.5", names.label(procedure)?);
    let command = format!("longpole what-if --set {}", in_shell(&change));
    let is_short = command.chars().count() <= LONGEST;
    is_short.then_some(NextCommand { command: Cow::Owned(command), shows: "if it took half as long" })
}

/// The recording that tells of queues, where a change hangs on one that was not seen; `None` where the command is too long for a line.
pub(crate) fn record_queues(input: &ReportTables<'_>) -> Option<NextCommand> {
    let words = input.program.command.iter().map(|word| in_shell(word)).collect::<Vec<_>>();
    let command = format!("longpole record --locks -- {}", words.join(" "));
    let is_short = !words.is_empty() && command.chars().count() <= LONGEST;
    is_short.then_some(NextCommand { command: Cow::Owned(command), shows: "who shares the work" })
}

/// The recording in which code that is made at run time has names, where the program's first word says how to get them;
/// `None` where such code does little, or the command is too long for a line.
pub(crate) fn record_names(input: &ReportTables<'_>) -> Option<NextCommand> {
    /// Java's options alone fill a line.
    const LONGEST: usize = 160;
    let command = is_mostly_made_at_run_time(input).then(|| with_names(&input.program.command))??;
    let is_short = command.chars().count() <= LONGEST;
    is_short.then_some(NextCommand { command: Cow::Owned(command), shows: "with names of functions" })
}

/// The command with the options by which this program's runtime names its code.
fn with_names(command: &[String]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let options: &[&str] = match program.rsplit('/').next()? {
        "node" | "nodejs" => &["--perf-basic-prof"],
        "java" => &["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"],
        _ => return None,
    };
    let words = std::iter::once(program.as_str()).chain(options.iter().copied());
    let words = words.chain(arguments.iter().map(String::as_str)).map(in_shell);
    Some(format!("longpole record -- {}", words.collect::<Vec<_>>().join(" ")))
}

/// The text as one word of a shell.
pub(crate) fn in_shell(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-+=.,:/@%".contains(c);
    match text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;

    use super::*;
    use crate::change::NamedChange;
    use crate::fixture::DrawnRun;

    #[test]
    fn the_change_that_is_offered_is_understood() {
        let long = "A".repeat(60);
        let drawing =
            format!("A = main:1 > queue::push(int, char const*):2\nB = lock:3\nC = {long}:4\nlock ABC");
        let scene = DrawnRun::with(draw(&drawing));
        let id = |name: &str| scene.timelines.procedure(name);
        let offered = |name: &str| scene.with_source(|input| what_if(input, id(name)));
        let push = offered("queue::push(int, char const*)").expect("it is short enough");
        assert_eq!(push.command, "longpole what-if --set 'procedure:queue::push(int, char const*)=0.5'");
        // There is a thread of that name too.
        assert_eq!(offered("lock").expect("short").command, "longpole what-if --set procedure:lock=0.5");
        assert_eq!(offered(&long), None);
        scene.with_source(|input| {
            let names = RecordingNames { program: input.program, paths: input.paths, objects: input.objects };
            let change = NamedChange::parse("procedure:queue::push(int, char const*)=0.5", &names);
            let subject = longpole_metrics::ChangeSubject::Inclusive(id("queue::push(int, char const*)"));
            assert_eq!(change.map(|change| change.change.subject).ok(), Some(subject));
        });
    }

    #[test]
    fn the_command_is_recorded_anew_with_its_arguments() {
        let scene = DrawnRun::of("main A");
        let command = scene.with_source(|input| record_queues(input).expect("it is short enough").command);
        assert_eq!(command, "longpole record --locks -- ./drawn --fast");
    }

    #[test]
    fn runtimes_that_name_their_code_are_asked_to() {
        let with_names =
            |words: &[&str]| with_names(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            with_names(&["/usr/bin/node", "a b.mjs"]).expect("node can"),
            "longpole record -- /usr/bin/node --perf-basic-prof 'a b.mjs'"
        );
        let java = with_names(&["java", "Main"]).expect("java can");
        assert!(java.ends_with("java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Main"), "{java}");
        assert_eq!(with_names(&["./drawn"]), None);
    }

    #[test]
    fn quotes_within_a_name_stay_what_they_are() {
        assert_eq!(in_shell("<impl Read<'a>>::read"), r"'<impl Read<'\''a>>::read'");
        assert_eq!(in_shell("kitchen::Stove::cook=0.5"), "kitchen::Stove::cook=0.5");
    }
}
