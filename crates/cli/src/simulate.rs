//! `longpole simulate`: the recorded accesses of a program, run on a simulated machine, as a recording.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longpole_answer::{
    Choice, CommunicationOptions, Error, SimulatedCosts, SimulationOptions, UnitProtocol,
    write_simulated_recording,
};
use longpole_recording::RecordingFolder;

use crate::answer::{recording, refused};
use crate::arguments::choice;
use crate::destination::destination;
use crate::record;
use crate::report::unit_bytes;

/// Options of `simulate`.
#[derive(Clone, Debug, Args)]
pub struct Simulate {
    /// A recording with accesses (`longpole record --access`); the newest one below the current folder when left out
    pub recording: Option<PathBuf>,
    /// Folder of the simulated recording [default: REC.PROTOCOL.longpole, or with a number: the first that is free]
    #[arg(short, long, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// Replace the recording that is in the folder; other files there stay
    #[arg(long)]
    pub force: bool,
    /// Nodes, each with the copies of its own; neighbouring threads share one [default: a node for each thread]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub nodes: Option<u16>,
    /// Bytes of a unit of transfer, a power of two [default: 64 of lines, 4096 of pages]
    #[arg(long, value_name = "BYTES", value_parser = unit_bytes)]
    pub unit: Option<u64>,
    /// How copies of units are kept coherent
    #[arg(long, value_parser = choice::<UnitProtocol>(), default_value = UnitProtocol::default().word())]
    pub protocol: UnitProtocol,
    /// What operations cost, as `request=2ms,lock=1ms`: access, request, byte (each that a request fetches), upgrade (a
    /// write that takes other copies), lock, barrier; those that are not named cost what docs/communication.md says
    #[arg(long, value_name = "COSTS", value_parser = costs)]
    pub cost: Option<SimulatedCosts>,
}

/// Runs the command.
pub fn run(options: &Simulate) -> Result<ExitCode> {
    let path = recording(options.recording.as_ref())?;
    let output = destination(options.output.clone(), options.force, || {
        path.with_extension("").with_extension(format!("{}.longpole", options.protocol.name()))
    });
    let (folder, manifest) = RecordingFolder::open(&path)?;
    let simulated = SimulationOptions {
        communication: CommunicationOptions {
            protocol: Some(options.protocol),
            unit: options.unit,
            costs: options.cost.unwrap_or_default(),
        },
        nodes: options.nodes,
    };
    let written = write_simulated_recording((&folder, &manifest), simulated, &output)
        .map_err(|error| refused(Error::from(error)))?;
    record::short_answer(&written.path)?;
    record::say_where(&written.path);
    Ok(ExitCode::SUCCESS)
}

/// Costs by name, each with a unit of time.
pub fn costs(text: &str) -> Result<SimulatedCosts, String> {
    let mut costs = SimulatedCosts::default();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=TIME"))?;
        let picoseconds = picoseconds(value)?;
        let nanoseconds = picoseconds / 1000;
        let is_whole = name == "byte" || picoseconds % 1000 == 0;
        let cost = match name {
            "access" => &mut costs.access,
            "request" => &mut costs.request,
            "byte" => &mut costs.byte_picoseconds,
            "upgrade" => &mut costs.upgrade,
            "lock" => &mut costs.lock,
            "barrier" => &mut costs.barrier,
            _ => return Err(format!("`{name}` is none of access, request, byte, upgrade, lock, barrier")),
        };
        if !is_whole {
            return Err(format!("`{value}` is no whole number of nanoseconds"));
        }
        if cost.replace(if name == "byte" { picoseconds } else { nanoseconds }).is_some() {
            return Err(format!("`{name}` has two costs"));
        }
    }
    Ok(costs)
}

/// The longest cost: a time that adds up to no more than a recording can hold.
const LONGEST: f64 = 3.6e15;

fn picoseconds(text: &str) -> Result<u64, String> {
    let units = [("ns", 1e3), ("us", 1e6), ("µs", 1e6), ("ms", 1e9), ("s", 1e12)];
    let found = units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.or_else(|| (text == "0").then_some((text, 1.0))).unwrap_or(("", 1.0));
    let value = number.parse::<f64>().ok().map(|number| number * factor);
    let value = value.filter(|value| (0.0..=LONGEST).contains(value));
    value
        .map(|value| value.round() as u64)
        .ok_or_else(|| format!("`{text}` is no time up to 1 hour with a unit, such as 100ns, 2.5us, 2ms, 1s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_names_and_units() {
        let read = costs("request=2ms,byte=0.8ns,access=0,barrier=1.5us").unwrap();
        let expected = SimulatedCosts {
            access: Some(0),
            request: Some(2_000_000),
            byte_picoseconds: Some(800),
            barrier: Some(1_500),
            ..SimulatedCosts::default()
        };
        assert_eq!(read, expected);
        for bad in
            ["request", "request=2", "fetch=2ms", "request=-1ms", "request=2ms,request=1ms", "lock=0.5ns", ""]
        {
            assert!(costs(bad).is_err(), "{bad}");
        }
    }
}
