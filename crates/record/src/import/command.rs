//! What `perf record` was asked to record, from its command line.

/// The part of a `perf record` command line that names whose events are in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfCommandLine {
    /// The program that `perf record` ran, with its arguments; empty without one.
    pub program: Vec<String>,
    /// All tasks of the machine were recorded (`-a`, `-C`), not only the program's.
    pub is_system_wide: bool,
}

/// Options of `perf record` whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-e",
    "--event",
    "--filter",
    "-p",
    "--pid",
    "-t",
    "--tid",
    "-r",
    "--realtime",
    "-C",
    "--cpu",
    "-c",
    "--count",
    "-o",
    "--output",
    "-F",
    "--freq",
    "-m",
    "--mmap-pages",
    "--call-graph",
    "-G",
    "--cgroup",
    "-D",
    "--delay",
    "-u",
    "--uid",
    "-j",
    "--branch-filter",
    "-k",
    "--clockid",
    "--proc-map-timeout",
    "--affinity",
    "--max-size",
    "--num-thread-synthesize",
    "--control",
    "--vmlinux",
    "--debuginfod",
    "--cpu-filter",
    "--mmap-flush",
];

impl PerfCommandLine {
    /// Reads the words of the command line.
    #[must_use]
    pub fn parse(words: &[String]) -> PerfCommandLine {
        let mut command = PerfCommandLine::default();
        let mut words = words.iter().skip_while(|word| *word != "record").skip(1);
        while let Some(word) = words.next() {
            if word == "--" {
                command.program = words.cloned().collect();
                break;
            }
            if !word.starts_with('-') || word == "-" {
                command.program = std::iter::once(word).chain(words).cloned().collect();
                break;
            }
            command.is_system_wide |= is_system_wide(word);
            if takes_next(word) {
                words.next();
            }
        }
        command
    }

    /// The name that the kernel gives the program's process: the file's name, at most 15 bytes.
    ///
    /// `None` without a program, and for `sleep`, which only says how long to record the machine.
    #[must_use]
    pub fn process_name(&self) -> Option<String> {
        let file = self.program.first()?.rsplit('/').next()?;
        if file == "sleep" {
            return None;
        }
        let mut end = file.len().min(15);
        while !file.is_char_boundary(end) {
            end -= 1;
        }
        Some(file[..end].to_owned())
    }
}

fn is_system_wide(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => long == "all-cpus" || long.starts_with("cpu=") || long == "cpu",
        // Short options may stand together: -ag.
        None => word == "-C" || word.starts_with("-C") || cluster(word).contains('a'),
    }
}

fn takes_next(word: &str) -> bool {
    if word.starts_with("--") {
        return WITH_VALUE.contains(&word);
    }
    let cluster = cluster(word);
    // The value is the next word if the last letter asks for one and nothing follows it.
    word.len() == 1 + cluster.len()
        && cluster.chars().last().is_some_and(|last| WITH_VALUE.contains(&&*format!("-{last}")))
}

/// The letters of a word of short options, up to the first one with a value.
fn cluster(word: &str) -> &str {
    let letters = &word[1..];
    let end = letters
        .char_indices()
        .find(|(_, letter)| WITH_VALUE.contains(&&*format!("-{letter}")))
        .map_or(letters.len(), |(index, letter)| index + letter.len_utf8());
    &letters[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> PerfCommandLine {
        PerfCommandLine::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    fn command(program: &[&str], is_system_wide: bool) -> PerfCommandLine {
        PerfCommandLine { program: program.iter().map(|&word| word.to_owned()).collect(), is_system_wide }
    }

    #[test]
    fn the_program_follows_the_options() {
        let events = "-e sched:sched_switch,sched:sched_waking,cpu-clock";
        assert_eq!(
            parse(&format!("/usr/bin/perf record {events} -g ./ping -a 3")),
            command(&["./ping", "-a", "3"], false)
        );
        assert_eq!(parse(&format!("perf record -a {events} -g -o x -- ls")), command(&["ls"], true));
        assert_eq!(parse(&format!("perf record {events} -ag sleep 3")), command(&["sleep", "3"], true));
        assert_eq!(parse("perf record -F99 --call-graph dwarf -p 12"), command(&[], false));
        assert_eq!(parse("perf record -ago x.data make -j2"), command(&["make", "-j2"], true));
        assert_eq!(
            parse("perf record --all-cpus --call-graph=dwarf -z sh -c true"),
            command(&["sh", "-c", "true"], true)
        );
        assert_eq!(parse("perf record -C 0-3 sleep 1"), command(&["sleep", "1"], true));
        assert_eq!(parse("perf"), command(&[], false));
    }

    #[test]
    fn an_attached_value_with_an_a_is_no_a_option() {
        assert!(!parse("perf record -opa.data ls").is_system_wide);
        assert!(!parse("perf record -ecpu-clock,sched:sched_waking ls").is_system_wide);
    }

    #[test]
    fn the_process_is_named_after_the_file() {
        assert_eq!(
            parse("perf record /a/b/a-very-long-program-name").process_name().as_deref(),
            Some("a-very-long-pro")
        );
        assert_eq!(parse("perf record -a sleep 10").process_name(), None);
        assert_eq!(parse("perf record -a").process_name(), None);
    }
}
