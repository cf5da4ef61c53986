//! The text exposition format of Prometheus (0.0.4), and what of OpenMetrics differs from it.
//!
//! In: a page's bytes. Out: values at the machine and faults ([`ParsedItem`]); labels become the label of the series, as the
//! page writes them (`mode="idle",cpu="0"`). Counters, and the parts of histograms and summaries that only grow, are
//! counters; everything else is a gauge. Units come from the names (`_seconds`, `_bytes`) or `# UNIT`.

mod sample;
mod units;

use longpole_event::{SeriesKind, SeriesNode, Time};
use rustc_hash::FxHashMap;

use crate::examples::Examples;
use crate::lines::{ParsedItem, ReadTime};
use crate::sink::SeriesKey;
use crate::splitter::{SplitLine, Splitter};
use sample::{ExpositionSample, short_label};

/// Bytes of a line.
const MOST_LINE_BYTES: usize = 65_536;
/// Values of one page.
const MOST_VALUES: usize = 20_000;
/// Faults of one page, and families that it can describe.
const MOST_FAULTS: usize = 1000;
const MOST_FAMILIES: usize = 20_000;
/// How far a time may lie before now, and after.
const BEFORE: f64 = 3600.0;
const AFTER: f64 = 1.0;

/// Reads one page.
#[derive(Debug)]
pub struct Exposition<'a> {
    examples: &'a mut Faults,
    /// Times are seconds, not milliseconds.
    is_openmetrics: bool,
    splitter: Splitter,
    families: FxHashMap<String, MetricFamily>,
    values: usize,
    faults: usize,
    has_ended: bool,
}

/// What was wrong with the pages of one target so far.
#[derive(Debug, Default)]
pub struct Faults(Examples);

/// What a page says of a family of samples.
#[derive(Clone, Debug, Default)]
struct MetricFamily {
    /// The word of `# TYPE`, and its unit.
    kind: FamilyKind,
    unit: Option<String>,
}

/// How the samples of a family are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FamilyKind {
    /// A gauge, or nothing that was told.
    #[default]
    Gauge,
    Counter,
    /// A histogram or summary: its sums and counts grow, its quantiles do not.
    Distribution,
}

impl<'a> Exposition<'a> {
    /// A reader of one page; `is_openmetrics` as its content type says.
    #[must_use]
    pub fn new(is_openmetrics: bool, faults: &'a mut Faults) -> Exposition<'a> {
        Exposition {
            examples: faults,
            is_openmetrics,
            splitter: Splitter::new(MOST_LINE_BYTES),
            families: FxHashMap::default(),
            values: 0,
            faults: 0,
            has_ended: false,
        }
    }

    /// Takes the bytes that came; false when the rest of the page is not worth reading.
    #[must_use]
    pub fn take(&mut self, bytes: &[u8], moment: ReadTime, found: &mut dyn FnMut(ParsedItem<'_>)) -> bool {
        self.cut(moment, found, |splitter, each| splitter.take(bytes, each));
        !self.has_ended
    }

    /// The page has ended.
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
        cut(&mut splitter, &mut |cut| {
            if self.has_ended {
                return;
            }
            let (line, result) = match cut {
                SplitLine::Line(line) => (line, self.line(line, moment, found)),
                SplitLine::TooLong(line) => (line, Err("a line of more than 64 KiB")),
            };
            if let Err(fault) = result {
                self.fault(fault, line, found);
            }
        });
        self.splitter = splitter;
    }

    fn fault(&mut self, kind: &'static str, line: &[u8], found: &mut dyn FnMut(ParsedItem<'_>)) {
        found(ParsedItem::Trouble(self.examples.0.say(kind, line)));
        self.faults += 1;
        if self.faults == MOST_FAULTS {
            found(ParsedItem::Trouble(
                "a page with 1,000 lines that could not be read: the rest was left out",
            ));
            self.has_ended = true;
        }
    }

    fn line(
        &mut self,
        line: &[u8],
        moment: ReadTime,
        found: &mut dyn FnMut(ParsedItem<'_>),
    ) -> Result<(), &'static str> {
        let text = std::str::from_utf8(line).map_err(|_| "a line that is no text")?.trim();
        if let Some(comment) = text.strip_prefix('#') {
            self.comment(comment);
            return Ok(());
        }
        if text.is_empty() {
            return Ok(());
        }
        let sample = ExpositionSample::parse(text)?;
        if !sample.value.is_finite() {
            return Err("a value that is no finite number (NaN, Inf)");
        }
        let time = sample.time.map_or(Ok(moment.now), |time| self.time(time, moment))?;
        if self.values == MOST_VALUES {
            found(ParsedItem::Trouble("a page of more than 20,000 values: the rest was left out"));
            self.has_ended = true;
            return Ok(());
        }
        self.values += 1;
        let (samples, unit) = self.meaning(sample.name);
        let label = short_label(&sample.label);
        let key = SeriesKey { metric: sample.name, unit, samples, node: SeriesNode::Machine, label: &label };
        found(ParsedItem::Value { key, time, value: sample.value });
        Ok(())
    }

    fn time(&self, written: f64, moment: ReadTime) -> Result<Time, &'static str> {
        let seconds = if self.is_openmetrics { written } else { written / 1e3 };
        let time = moment.time(seconds.max(0.0)).ok_or("a time that is none")?;
        let since = (time.nanoseconds() as f64 - moment.now.nanoseconds() as f64) / 1e9;
        match since {
            _ if since > AFTER => Err("a time that is still to come"),
            _ if since < -BEFORE => Err("a time more than an hour ago"),
            _ => Ok(time),
        }
    }

    /// `TYPE name kind`, `UNIT name unit`, `EOF`; anything else is for people.
    fn comment(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace();
        let (what, name, word) = (words.next(), words.next(), words.next());
        if self.is_openmetrics && what == Some("EOF") {
            self.has_ended = true;
        }
        let (Some(what @ ("TYPE" | "UNIT")), Some(name), Some(word)) = (what, name, word) else { return };
        if self.families.len() >= MOST_FAMILIES && !self.families.contains_key(name) {
            return;
        }
        let family = self.families.entry(name.to_owned()).or_default();
        if what == "UNIT" {
            family.unit = Some(units::short(word).unwrap_or(word).to_owned());
        } else {
            family.kind = match word {
                "counter" => FamilyKind::Counter,
                "histogram" | "summary" => FamilyKind::Distribution,
                _ => FamilyKind::Gauge,
            };
        }
    }

    /// How the samples of this name are read, and their unit.
    fn meaning<'b>(&'b self, name: &'b str) -> (SeriesKind, &'b str) {
        let parts = ["_total", "_sum", "_count", "_bucket"];
        let (base, part) =
            parts.iter().find_map(|part| Some((name.strip_suffix(part)?, *part))).unwrap_or((name, ""));
        let family = self.families.get(name).or_else(|| self.families.get(base));
        let kind = family.map_or(FamilyKind::Gauge, |family| family.kind);
        // A count of a histogram counts what was observed, in no unit; `_count` of a gauge is only a name.
        let counts = kind == FamilyKind::Distribution && matches!(part, "_count" | "_bucket");
        let told = family.and_then(|family| family.unit.as_deref());
        let unit = if counts { "" } else { told.or_else(|| units::of_name(base)).unwrap_or("") };
        let grows = kind == FamilyKind::Counter && !name.ends_with("_created")
            || kind == FamilyKind::Distribution && matches!(part, "_sum" | "_count" | "_bucket");
        (if grows { SeriesKind::Counter } else { SeriesKind::Gauge }, unit)
    }
}

#[cfg(test)]
mod tests;
