//! What a person would call a run of a program, from its arguments: `cc1 f3.c`, `python3 train.py`, `java Main`.
//!
//! The name of the program's file and one argument: the first that names a file, else a subcommand or the name of what is run.
//! Arguments can hold secrets, so that most are left out: options and what follows an option that is not known to take no value,
//! assignments, what has a `@`, a colon or a blank, and all but the last part of a path. Where no argument says anything, an option of one
//! letter tells runs apart: `sort -R`, `sort -n`.

/// Characters of an argument that are kept at most.
const LONGEST: usize = 40;

/// Options whose next argument is not what the program works on.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-include",
    "-imultiarch",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-auxbase",
    "-auxbase-strip",
    "-MF",
    "-MT",
    "-MQ",
    "-plugin",
    "-dynamic-linker",
    "-soname",
    "-rpath",
    "-z",
    "-T",
    "-main-file-name",
    "-resource-dir",
    "-E",
];
/// Options that say of the next argument that it is what runs.
const NAMES_NEXT: &[&str] = &["-jar", "-m", "-quiet", "--"];
/// Endings of the files that programs are run on.
const ENDINGS: &[&str] = &[
    "c", "cc", "cpp", "cxx", "C", "h", "hpp", "i", "ii", "s", "S", "o", "a", "so", "f", "f90", "F90", "rs",
    "go", "py", "pyc", "js", "mjs", "cjs", "ts", "rb", "pl", "sh", "jar", "class", "java", "kt", "lua",
    "php", "R", "jl", "ll", "bc", "m", "ml", "hs", "ex", "exs", "toml", "json", "yaml", "yml", "xml", "conf",
    "ini", "txt", "csv", "sql", "mk", "tex", "wasm",
];

/// The title of a run of `program` with these arguments, the program's own name first; `None` where no argument says anything.
pub(crate) fn process_title(program: &str, arguments: &[&str]) -> Option<String> {
    let name = program.rsplit('/').next().filter(|name| !name.is_empty())?;
    let mut before = None;
    let mut words = Vec::new();
    for &argument in arguments.iter().skip(1) {
        let follows = before.replace(argument);
        let is_other = argument.starts_with('-') || name.ends_with("sed") && is_substitution(argument);
        if is_other || !is_harmless(argument) || follows.is_some_and(takes_value) {
            continue;
        }
        words.push((argument, follows));
    }
    let file = words.iter().find(|(argument, _)| is_file(argument) && !argument.starts_with("/tmp/"));
    // A word behind an option that is not known may be the option's value: a name, a password.
    let is_what = |(_, follows): &&(&str, Option<&str>)| {
        follows.is_none_or(|before| {
            !before.starts_with('-') || NAMES_NEXT.contains(&before) || before.contains('=')
        })
    };
    let Some((argument, _)) = file.or_else(|| words.iter().find(is_what)) else {
        let letter = arguments.iter().skip(1).find(|argument| is_letter(argument))?;
        return Some(format!("{name} {letter}"));
    };
    let last = argument.trim_end_matches('/').rsplit('/').next().filter(|last| !last.is_empty())?;
    Some(format!("{name} {}", last.chars().take(LONGEST).collect::<String>()))
}

/// The arguments as the kernel keeps them: each ends with a zero byte.
pub(crate) fn arguments_of(bytes: &[u8]) -> Vec<&str> {
    let whole = bytes.iter().rposition(|&byte| byte == 0).map_or(bytes, |end| &bytes[..end]);
    whole.split(|&byte| byte == 0).filter_map(|argument| std::str::from_utf8(argument).ok()).collect()
}

/// The title of the process that runs `program` now; `None` where it has ended.
pub(crate) fn title_of_running(pid: u32, program: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    process_title(program, &arguments_of(&bytes))
}

/// Whether it is an option of one letter or digit, but for the one with which shells and interpreters are handed what to do.
fn is_letter(argument: &str) -> bool {
    matches!(argument.as_bytes(), [b'-', letter] if letter.is_ascii_alphanumeric() && *letter != b'c')
}

fn takes_value(option: &str) -> bool {
    WITH_VALUE.contains(&option)
}

fn is_harmless(argument: &str) -> bool {
    !argument.is_empty()
        && !argument.contains(['=', '@', ':', ' ', '\t', '\n', '$', ';', '|'])
        && argument.chars().all(|c| !c.is_control())
}

/// `s/the/THE/g`, with any mark between its parts.
fn is_substitution(argument: &str) -> bool {
    let mark = argument.strip_prefix(['s', 'y']).and_then(|parts| parts.chars().next());
    mark.is_some_and(|mark| mark.is_ascii_punctuation() && argument.matches(mark).count() == 3)
}

fn is_file(argument: &str) -> bool {
    let last = argument.rsplit('/').next().unwrap_or(argument);
    last.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(command: &str) -> Option<String> {
        let arguments: Vec<&str> = command.split(' ').collect();
        process_title(&format!("/usr/bin/{}", arguments[0]), &arguments)
    }

    #[test]
    fn a_run_is_called_by_what_it_works_on() {
        for (command, called) in [
            (
                "cc1 -quiet -imultiarch x86_64-linux-gnu f3.c -quiet -dumpbase f3.c -O2 -o /tmp/ccYb.s",
                "cc1 f3.c",
            ),
            ("gcc -O2 -c src/f3.c -o f3.o", "gcc f3.c"),
            ("python3 -u train.py --epochs 3", "python3 train.py"),
            ("python3 -m http.server 80", "python3 http.server"),
            ("java -cp lib/a.jar:b.jar Main 4", "java Main"),
            ("java -Xmx1g -jar server.jar", "java server.jar"),
            ("node /srv/app/server.js", "node server.js"),
            ("git commit -q", "git commit"),
            ("ar rc lib.a f1.o", "ar lib.a"),
            ("sed s/the/THE/g words.txt", "sed words.txt"),
            ("sed src/the", "sed the"),
        ] {
            assert_eq!(title(command).as_deref(), Some(called), "{command}");
        }
        assert_eq!(title("make -j2"), None);
        assert_eq!(title("sed s/the/THE/g"), None);
        assert_eq!(title("sed s,the,THE,"), None);
        assert_eq!(title("sort -n"), Some("sort -n".to_owned()));
        assert_eq!(
            title("as --64 -o f3.o /tmp/ccYb.s"),
            Some("as ccYb.s".to_owned()),
            "nothing better is known"
        );
    }

    #[test]
    fn what_may_be_secret_is_left_out() {
        for command in [
            "sshpass -p hunter2",
            "mysql --password hunter2",
            "curl -u user:hunter2 https://user:hunter2@example.com/x",
            "env TOKEN=hunter2",
            "tool hunter@2",
        ] {
            assert!(title(command).is_none_or(|title| !title.contains("hunter")), "{command}");
        }
        let arguments = ["sh", "-c", "curl -H 'Authorization: hunter2'"];
        assert_eq!(process_title("/bin/sh", &arguments), None);
    }

    #[test]
    fn a_cut_list_of_arguments_loses_its_last_one() {
        assert_eq!(arguments_of(b"cc1\0-quiet\0f3.c\0/home/me/very-lo"), ["cc1", "-quiet", "f3.c"]);
        assert_eq!(arguments_of(b""), [""]);
        let long = "x".repeat(100) + ".c";
        let title = process_title("cc1", &["cc1", &long]).expect("it names a file");
        assert_eq!(title.len(), "cc1 ".len() + LONGEST);
    }
}
