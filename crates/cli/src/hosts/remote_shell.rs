//! How a command gets to another machine: by ssh, or by whatever the user names in its place.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Stands for the host in the words of a remote shell.
const HOST: &str = "{host}";

/// What runs a command line on a host. The words are those of a command; the host stands where `{host}` is, else behind them,
/// and the command line for the shell over there is one more argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteShell {
    words: Vec<String>,
}

impl RemoteShell {
    /// Of a command as the user writes it: words between spaces.
    pub fn parse(text: &str) -> Result<RemoteShell, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() { Err("it has no words".to_owned()) } else { Ok(RemoteShell { words }) }
    }

    /// What everybody uses.
    pub fn ssh() -> RemoteShell {
        RemoteShell { words: vec!["ssh".to_owned()] }
    }

    /// The command that runs the script on the host. It is in a process group of its own, since an interrupt from the terminal
    /// would end the connection and not what it has begun.
    pub fn command(&self, host: &str, script: &OsStr) -> Command {
        let words = self.words.iter().map(|word| word.replace(HOST, host));
        let is_placed = self.words.iter().any(|word| word.contains(HOST));
        let words: Vec<String> = words.chain((!is_placed).then(|| host.to_owned())).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(for_any_shell(script)).stdin(Stdio::null()).process_group(0);
        command
    }
}

/// A line that has a POSIX shell run the script, whichever shell reads the line.
fn for_any_shell(script: &OsStr) -> OsString {
    let mut line = OsString::from("exec sh -c ");
    line.push(quoted(script));
    line
}

/// The word as a shell's.
pub fn quoted(word: &OsStr) -> OsString {
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            byte => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(shell: &str, host: &str) -> Vec<String> {
        let command = RemoteShell::parse(shell).unwrap().command(host, OsStr::new("date"));
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_host_stands_where_it_is_named_else_last() {
        assert_eq!(words("ssh -p 22", "a"), ["ssh", "-p", "22", "a", "exec sh -c 'date'"]);
        assert_eq!(
            words("ip netns exec {host} sh -c", "a"),
            ["ip", "netns", "exec", "a", "sh", "-c", "exec sh -c 'date'"]
        );
        assert!(RemoteShell::parse("  ").is_err());
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        for word in ["", "a b", "it's", "$HOME `x` \\ \"", "line\nbreak", "*", "-n", "''"] {
            let mut script = OsString::from("printf %s ");
            script.push(quoted(OsStr::new(word)));
            let shell = RemoteShell::parse("env X={host} sh -c").unwrap();
            let output = shell.command("h", &script).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
