//! Which collectors.

use std::fmt;
use std::str::FromStr;

/// A collector that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesSourceChoice {
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

impl FromStr for SeriesSourceChoice {
    type Err = BadChoice;

    fn from_str(text: &str) -> Result<SeriesSourceChoice, BadChoice> {
        let list = |text: &str| text.split(',').map(|name| name.trim().to_owned()).collect();
        Ok(match text {
            "kernel" => SeriesSourceChoice::Kernel,
            "process" => SeriesSourceChoice::Process,
            "counters" => SeriesSourceChoice::Counters(Vec::new()),
            _ => match (
                text.strip_prefix("counters="),
                text.strip_prefix("prometheus="),
                text.strip_prefix("cmd:"),
            ) {
                (Some(names), _, _) if !names.is_empty() => SeriesSourceChoice::Counters(list(names)),
                (_, Some(url), _) if !url.is_empty() => SeriesSourceChoice::Prometheus(url.to_owned()),
                (_, _, Some(command)) if !command.trim().is_empty() => {
                    SeriesSourceChoice::Command(command.to_owned())
                }
                _ => return Err(BadChoice(text.to_owned())),
            },
        })
    }
}

impl fmt::Display for SeriesSourceChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeriesSourceChoice::Kernel => formatter.write_str("kernel"),
            SeriesSourceChoice::Process => formatter.write_str("process"),
            SeriesSourceChoice::Counters(names) if names.is_empty() => formatter.write_str("counters"),
            SeriesSourceChoice::Counters(names) => write!(formatter, "counters={}", names.join(",")),
            SeriesSourceChoice::Prometheus(url) => write!(formatter, "prometheus={url}"),
            SeriesSourceChoice::Command(command) => write!(formatter, "cmd:{command}"),
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
            assert_eq!(text.parse::<SeriesSourceChoice>().unwrap().to_string(), text);
        }
        for text in ["", "Kernel", "counters=", "prometheus=", "cmd: ", "kernel=3"] {
            assert!(text.parse::<SeriesSourceChoice>().is_err(), "{text}");
        }
    }
}
