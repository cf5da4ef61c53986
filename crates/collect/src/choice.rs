//! Which collectors.

use std::fmt;
use std::str::FromStr;

/// A collector that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `kernel`: what the machine does.
    Kernel,
    /// `process`: what the program's processes and threads use.
    Process,
    /// `counters`, `counters=LIST`: perf counters of the program's processes.
    Counters(Vec<String>),
    /// `prometheus=URL`: an exporter's page.
    Prometheus(String),
    /// `cmd:COMMAND`: a program that prints values.
    Command(String),
}

/// What is no collector; completes "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "find a collector named `{0}`: there are kernel, process, counters[=LIST], prometheus=URL and cmd:COMMAND"
)]
pub struct BadChoice(String);

impl FromStr for Choice {
    type Err = BadChoice;

    fn from_str(text: &str) -> Result<Choice, BadChoice> {
        let list = |text: &str| text.split(',').map(|name| name.trim().to_owned()).collect();
        Ok(match text {
            "kernel" => Choice::Kernel,
            "process" => Choice::Process,
            "counters" => Choice::Counters(Vec::new()),
            _ => match (
                text.strip_prefix("counters="),
                text.strip_prefix("prometheus="),
                text.strip_prefix("cmd:"),
            ) {
                (Some(names), _, _) if !names.is_empty() => Choice::Counters(list(names)),
                (_, Some(url), _) if !url.is_empty() => Choice::Prometheus(url.to_owned()),
                (_, _, Some(command)) if !command.trim().is_empty() => Choice::Command(command.to_owned()),
                _ => return Err(BadChoice(text.to_owned())),
            },
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Kernel => formatter.write_str("kernel"),
            Choice::Process => formatter.write_str("process"),
            Choice::Counters(names) if names.is_empty() => formatter.write_str("counters"),
            Choice::Counters(names) => write!(formatter, "counters={}", names.join(",")),
            Choice::Prometheus(url) => write!(formatter, "prometheus={url}"),
            Choice::Command(command) => write!(formatter, "cmd:{command}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_written_as_it_is_asked_for() {
        for text in [
            "kernel",
            "process",
            "counters",
            "counters=cycles,page-faults",
            "prometheus=http://[::1]:9100/metrics",
            "cmd:sh -c 'a b'",
        ] {
            assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
        }
        for text in ["", "Kernel", "counters=", "prometheus=", "cmd: ", "kernel=3"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }
}
