//! The line protocol: `metric node value [time]`, what a command prints.
//!
//! In: bytes as they come, in pieces of any size. Out: values and faults ([`ParsedItem`]). Nothing that comes is trusted:
//! a line has at most [`MOST_LINE_BYTES`], a second at most [`MOST_VALUES`] values, and what is refused is said by kind.

use longpole_event::{SeriesKind, SeriesNode, Time};
use rustc_hash::FxHashMap;

use crate::examples::Examples;
use crate::sink::SeriesKey;
use crate::splitter::{SplitLine, Splitter};

/// Bytes of a line; longer ones are refused.
const MOST_LINE_BYTES: usize = 4096;
/// Values a second that are kept, on average.
const MOST_VALUES: f64 = 10_000.0;
/// Metrics that one source can describe.
const MOST_DESCRIBED: usize = 10_000;
/// How far a time may lie before the first look, and after now.
const BEFORE: f64 = 60.0;
const AFTER: f64 = 1.0;
/// From here on a time is taken for Unix time: no machine has been up for thirty years.
const UNIX: f64 = 1e9;

/// What a reader of text found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParsedItem<'a> {
    /// A value.
    Value {
        /// Of what.
        key: SeriesKey<'a>,
        /// When.
        time: Time,
        /// How much.
        value: f64,
    },
    /// Something was refused: why, in words that stay the same.
    Trouble(&'a str),
}

/// When something was read, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTime {
    /// `CLOCK_MONOTONIC`.
    pub now: Time,
    /// Unix time of the same moment, nanoseconds.
    pub unix_nanoseconds: u64,
}

impl ReadTime {
    /// The time of `seconds` on either clock; `None` where that is none.
    pub(crate) fn time(&self, seconds: f64) -> Option<Time> {
        if !(0.0..1e18).contains(&seconds) {
            return None;
        }
        let nanoseconds = if seconds < UNIX {
            (seconds * 1e9) as u64
        } else {
            // Whole seconds apart: a double holds Unix time no finer than 240 ns.
            let unix = (seconds.trunc() as u64).checked_mul(1_000_000_000)?;
            let unix = unix.checked_add((seconds.fract() * 1e9) as u64)?;
            // What was before the machine's start is at it.
            (self.now.nanoseconds() + unix).saturating_sub(self.unix_nanoseconds)
        };
        Some(Time::from_nanoseconds(nanoseconds))
    }
}

/// Reads the line protocol.
#[derive(Debug)]
pub struct LineReader {
    begin: Time,
    last: Time,
    /// Values that may still come.
    allowance: f64,
    splitter: Splitter,
    described: FxHashMap<String, DescribedMetric>,
    examples: Examples,
}

#[derive(Clone, Debug, Default)]
struct DescribedMetric {
    unit: String,
    samples: Option<SeriesKind>,
    is_used: bool,
}

impl LineReader {
    /// A reader of what is printed from now on.
    #[must_use]
    pub fn new(now: Time) -> LineReader {
        LineReader {
            begin: now,
            last: now,
            allowance: MOST_VALUES,
            splitter: Splitter::new(MOST_LINE_BYTES),
            described: FxHashMap::default(),
            examples: Examples::default(),
        }
    }

    /// Takes the bytes that came; lines without a time are of this moment.
    pub fn take(&mut self, bytes: &[u8], moment: ReadTime, found: &mut dyn FnMut(ParsedItem<'_>)) {
        let passed = moment.now.nanoseconds().saturating_sub(self.last.nanoseconds()) as f64 / 1e9;
        self.last = moment.now.max(self.last);
        self.allowance = (self.allowance + passed * MOST_VALUES).min(MOST_VALUES);
        self.cut(moment, found, |splitter, each| splitter.take(bytes, each));
    }

    /// Nothing more comes: a last line without an end of line is one.
    pub fn end(&mut self, moment: ReadTime, found: &mut dyn FnMut(ParsedItem<'_>)) {
        self.cut(moment, found, Splitter::end);
    }

    fn cut(
        &mut self,
        moment: ReadTime,
        found: &mut dyn FnMut(ParsedItem<'_>),
        cut: impl FnOnce(&mut Splitter, &mut dyn FnMut(SplitLine<'_>)),
    ) {
        let mut splitter = std::mem::replace(&mut self.splitter, Splitter::new(MOST_LINE_BYTES));
        cut(&mut splitter, &mut |cut| match cut {
            SplitLine::Line(line) => self.line(line, moment, found),
            SplitLine::TooLong(line) => {
                found(ParsedItem::Trouble(self.examples.say(Fault::Long.kind(), line)))
            }
        });
        self.splitter = splitter;
    }

    fn line(&mut self, line: &[u8], moment: ReadTime, found: &mut dyn FnMut(ParsedItem<'_>)) {
        if let Err(fault) = self.try_line(line, moment, found) {
            found(ParsedItem::Trouble(self.examples.say(fault.kind(), line)));
        }
    }

    fn try_line(
        &mut self,
        line: &[u8],
        moment: ReadTime,
        found: &mut dyn FnMut(ParsedItem<'_>),
    ) -> Result<(), Fault> {
        let text = std::str::from_utf8(line).map_err(|_| Fault::Text)?.trim();
        if let Some(description) = text.strip_prefix("#!") {
            return self.describe(description);
        }
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let given = ValueLine::parse(text)?;
        let time = given.seconds.map_or(Ok(moment.now), |seconds| self.time(seconds, moment))?;
        if self.allowance < 1.0 {
            return Err(Fault::Flood);
        }
        self.allowance -= 1.0;
        let described = match self.described.get_mut(given.metric) {
            Some(described) => {
                described.is_used = true;
                (described.unit.as_str(), described.samples.unwrap_or(SeriesKind::Gauge))
            }
            None => ("", SeriesKind::Gauge),
        };
        let (unit, samples) = described;
        let key = SeriesKey { metric: given.metric, unit, samples, node: given.node, label: given.label };
        found(ParsedItem::Value { key, time, value: given.value });
        Ok(())
    }

    fn time(&self, seconds: f64, moment: ReadTime) -> Result<Time, Fault> {
        let time = moment.time(seconds).ok_or(Fault::Time)?;
        let since = |from: Time| (time.nanoseconds() as f64 - from.nanoseconds() as f64) / 1e9;
        if since(moment.now) > AFTER {
            return Err(Fault::Ahead);
        }
        if since(self.begin) < -BEFORE { Err(Fault::Before) } else { Ok(time) }
    }

    /// `NAME unit=faults samples=counter`.
    fn describe(&mut self, text: &str) -> Result<(), Fault> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().filter(|name| is_name(name)).ok_or(Fault::Description)?;
        let mut described = DescribedMetric::default();
        for word in words {
            match word.split_once('=').ok_or(Fault::Description)? {
                ("unit", unit) => described.unit = unit.to_owned(),
                ("samples", samples) => described.samples = Some(samples_named(samples)?),
                _ => return Err(Fault::Description),
            }
        }
        let known = self.described.get(name);
        if known.is_some_and(|known| known.is_used) {
            let is_same = known.is_some_and(|known| {
                known.unit == described.unit
                    && known.samples.unwrap_or(SeriesKind::Gauge)
                        == described.samples.unwrap_or(SeriesKind::Gauge)
            });
            return if is_same { Ok(()) } else { Err(Fault::Late) };
        }
        if known.is_none() && self.described.len() >= MOST_DESCRIBED {
            return Err(Fault::ManyDescriptions);
        }
        self.described.insert(name.to_owned(), described);
        Ok(())
    }
}

/// A line of a value, taken apart.
struct ValueLine<'a> {
    metric: &'a str,
    node: SeriesNode,
    label: &'a str,
    value: f64,
    seconds: Option<f64>,
}

impl<'a> ValueLine<'a> {
    fn parse(text: &'a str) -> Result<ValueLine<'a>, Fault> {
        let mut words = text.split_ascii_whitespace();
        let mut word = || words.next();
        let (Some(metric), Some(node), Some(value)) = (word(), word(), word()) else {
            return Err(Fault::Words);
        };
        let (time, rest) = (word(), word());
        if rest.is_some() {
            return Err(Fault::Words);
        }
        if !is_name(metric) {
            return Err(Fault::Name);
        }
        let (node, label) = parse_node(node).ok_or(Fault::Node)?;
        let number = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = number(value).ok_or(Fault::Number)?;
        let seconds = time.map(|time| number(time).ok_or(Fault::Time)).transpose()?;
        Ok(ValueLine { metric, node, label, value, seconds })
    }
}

/// `program`, `machine`, `process:PID`, `thread:TID`, each with `/LABEL`.
fn parse_node(text: &str) -> Option<(SeriesNode, &str)> {
    let (node, label) = text.split_once('/').unwrap_or((text, ""));
    let id = |text: &str| text.parse::<u32>().ok().filter(|&id| id != 0);
    let node = match node.split_once(':') {
        None if node == "program" => SeriesNode::Program,
        None if node == "machine" => SeriesNode::Machine,
        Some(("process", pid)) => SeriesNode::Process { pid: id(pid)? },
        Some(("thread", tid)) => SeriesNode::Thread { tid: id(tid)? },
        _ => return None,
    };
    Some((node, label))
}

fn samples_named(name: &str) -> Result<SeriesKind, Fault> {
    let all = [SeriesKind::Gauge, SeriesKind::Counter, SeriesKind::Amount];
    all.into_iter().find(|samples| samples.name() == name).ok_or(Fault::Description)
}

/// A name that formulas can use.
pub(crate) fn is_name(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(is_first)
        && bytes.iter().all(|&byte| is_first(byte) || byte.is_ascii_digit())
}

/// Why a line is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Long,
    Text,
    Words,
    Name,
    Node,
    Number,
    Time,
    Ahead,
    Before,
    Description,
    Late,
    ManyDescriptions,
    Flood,
}

impl Fault {
    fn kind(self) -> &'static str {
        match self {
            Fault::Long => "a line of more than 4 KiB",
            Fault::Text => "a line that is no text",
            Fault::Words => "a line that is not `metric node value [time]`",
            Fault::Name => "a metric whose name is not made of letters, digits and `_`",
            Fault::Node => {
                "an unknown node, which is none of program, machine, process:PID and thread:TID (or one of them and /LABEL)"
            }
            Fault::Number => "a value that is no number",
            Fault::Time => "a time that is no number of seconds",
            Fault::Ahead => "a time that is still to come",
            Fault::Before => "a time more than a minute before the recording",
            Fault::Description => {
                "a description that is not `#! metric unit=UNIT samples=gauge|counter|amount`"
            }
            Fault::Late => "a description that came after the metric's first value",
            Fault::ManyDescriptions => "a description after 10,000 others",
            Fault::Flood => "a value beyond 10,000 a second",
        }
    }
}

#[cfg(test)]
mod tests;
