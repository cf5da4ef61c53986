//! Prints the causality graphs of a trace in text, as C figure 2a has them.
//!
//! `cargo run -p longpole-coherence --example causality -- lines:64|lrc:8192|sc:8192 TRACE`. A trace has one event a line, `#`
//! begins a comment. Places, tokens and objects are any words:
//!
//! ```text
//! object multi 0x10000 8192
//! 0 write 0x10000 8 bb88          processor, read|write|update, address, bytes, place
//! 0 release lock unlock_at        processor, acquire|release|store|relaxed, token, place
//! 0 barrier b 2 bb89              processor, token, processors, place
//! 0 fork 1 main                   processor, fork|join, child, place
//! ```

#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use longpole_coherence::{
    AccessKind, AccessPattern, CausalityGraph, CauseMatrix, CoherenceProtocol, CoherenceSettings,
    CoherenceSimulation, CommunicationResult, DataAccess, DataObjectId, ProcessorId, SiteId, SyncKind,
    SyncObject, SyncOperation, SyncOrigin, SyncToken,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Words by number, in the order in which they came.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn number(&mut self, word: &str) -> u32 {
        let known = self.0.iter().position(|known| known == word);
        known.unwrap_or_else(|| {
            self.0.push(word.to_string());
            self.0.len() - 1
        }) as u32
    }
}

struct Reader {
    simulation: CoherenceSimulation,
    words: Words,
    objects: Vec<(String, DataObjectId)>,
    time: u64,
}

fn number(text: &str) -> Outcome<u64> {
    Ok(match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16)?,
        None => text.parse()?,
    })
}

impl Reader {
    fn line(&mut self, line: &str) -> Outcome<()> {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        self.time += 1;
        match words[..] {
            [] => {}
            ["object", name, start, size] => {
                let id = DataObjectId(self.objects.len() as u32);
                self.objects.push((name.to_string(), id));
                self.simulation.place_object(number(start)?, number(size)?, id);
            }
            [processor, kind @ ("read" | "write" | "update"), address, size, site] => {
                let kind = match kind {
                    "read" => AccessKind::Read,
                    "write" => AccessKind::Write,
                    _ => AccessKind::Update,
                };
                let (processor, site) = (ProcessorId(processor.parse()?), SiteId(self.words.number(site)));
                let (address, size, time) = (number(address)?, size.parse()?, self.time);
                self.simulation.access(&DataAccess { processor, address, size, kind, site, time });
            }
            [processor, kind, object, site] => self.synchronise(processor, kind, object, site)?,
            [processor, "barrier", token, expected, site] => {
                let kind = SyncKind::Barrier { expected: expected.parse()? };
                self.operation(processor, kind, token, site)?;
            }
            _ => return Err(format!("cannot be read: {line}").into()),
        }
        Ok(())
    }

    fn synchronise(&mut self, processor: &str, kind: &str, object: &str, site: &str) -> Outcome<()> {
        let child = || object.parse().map(ProcessorId);
        let kind = match kind {
            "acquire" => SyncKind::Acquire,
            "release" => SyncKind::Release,
            "store" => SyncKind::ReleaseStore,
            "relaxed" => SyncKind::RelaxedStore,
            "fork" => SyncKind::Fork { child: child()? },
            "join" => SyncKind::Join { child: child()? },
            _ => return Err(format!("unknown kind of event: {kind}").into()),
        };
        self.operation(processor, kind, object, site)
    }

    fn operation(&mut self, processor: &str, kind: SyncKind, token: &str, site: &str) -> Outcome<()> {
        let token = SyncToken(self.words.number(token).into());
        let (processor, site) = (ProcessorId(processor.parse()?), SiteId(self.words.number(site)));
        self.simulation.synchronise(&SyncOperation { processor, token, kind, site, time: self.time });
        Ok(())
    }
}

fn settings(text: &str) -> Outcome<CoherenceSettings> {
    let (protocol, unit) = text.split_once(':').ok_or("settings are a protocol and a unit: lrc:8192")?;
    let unit = unit.parse()?;
    Ok(match protocol {
        "lines" => CoherenceSettings { unit, ..CoherenceSettings::lines() },
        "lrc" => CoherenceSettings::pages(unit),
        "sc" => CoherenceSettings::pages(unit).with_protocol(CoherenceProtocol::Sequential),
        _ => return Err(format!("unknown protocol: {protocol}").into()),
    })
}

/// The graphs of a trace as text, object by object.
fn causality(trace: &str, settings: CoherenceSettings) -> Outcome<String> {
    let simulation = CoherenceSimulation::new(settings)?;
    let mut reader = Reader { simulation, words: Words::default(), objects: Vec::new(), time: 0 };
    for (index, line) in trace.lines().enumerate() {
        reader.line(line).map_err(|error| format!("line {}: {error}", index + 1))?;
    }
    let Reader { simulation, words, objects, .. } = reader;
    let result = simulation.finish();
    let mut text = String::new();
    for (name, object) in objects {
        for graph in CausalityGraph::merge_alike(CausalityGraph::by_unit(&result.flows, Some(object))) {
            text += &format!("{name}: {}\n", about(&result, &graph));
            text += &CauseMatrix::of(&result, &graph.units, Some(object)).text(
                |site| words.0[site.0 as usize].clone(),
                |SyncOrigin { object, site }| match object {
                    SyncObject::Fork(_) | SyncObject::Join(_) => words.0[site.0 as usize].clone(),
                    SyncObject::Token(token) | SyncObject::Barrier(token) => {
                        format!("{} {}", words.0[token.0 as usize], words.0[site.0 as usize])
                    }
                },
            );
        }
    }
    Ok(text)
}

/// Units, requests, pattern shares and range of a graph.
fn about(result: &CommunicationResult, graph: &CausalityGraph) -> String {
    let units: Vec<_> = result.units.iter().filter(|unit| graph.units.contains(&unit.address)).collect();
    let count = |pattern| units.iter().map(|unit| unit.patterns.of(pattern).requests).sum::<u64>();
    let patterns: Vec<String> = AccessPattern::ALL
        .into_iter()
        .filter(|&pattern| count(pattern) > 0)
        .map(|pattern| format!("{} {}", count(pattern), pattern.name()))
        .collect();
    let sum = |value: fn(&longpole_coherence::UnitSummary) -> u64| {
        units.iter().map(|unit| value(unit)).sum::<u64>()
    };
    let (least, most) = (sum(|unit| unit.range.necessary), sum(|unit| unit.range.possible));
    let used = sum(|unit| unit.words_used) as f64 * 100.0 / sum(|unit| unit.words_fetched) as f64;
    let patterns = patterns.join(", ");
    format!(
        "{} units; requests: {patterns}; necessary {least}, possible {most}; used {used:.1} %",
        units.len()
    )
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, path] = &arguments[..] else {
        return Err("arguments: lines:64|lrc:8192|sc:8192 TRACE".into());
    };
    print!("{}", causality(&std::fs::read_to_string(path)?, settings(protocol)?)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_loops_of_a_relaxation_make_each_other_fetch() {
        let text = causality(include_str!("relaxation.trace"), settings("lrc:8192").unwrap()).unwrap();
        // 6 sweeps, each after a barrier that made both copies of both pages invalid: 24 requests, 4 of them the first.
        let expected = "\
multi: 2 units; requests: 4 cold, 20 false sharing; necessary 8, possible 92; used 0.4 %
        0       1       2
cost    50 %    33 %    17 %
R       bb90    bb88    bb88
I       b bb89  b bb91  cold
W       bb88    bb90    -
from 0  -       40 %    -
from 1  40 %    -       -
from 2  20 %    -       -
";
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let error =
            causality("0 read 0 8 here\n0 reads 0 8 here", settings("lines:64").unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("line 2: "), "{error}");
    }
}
