//! `longpole what-if`: the recorded run with some work made shorter or longer.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use longpole_answer::{
    Choice, CommunicationOptions, LayoutQuestion, Recording, ReplayQuestion, SimulatedCosts, UnitProtocol,
    WhatIfQuestion,
};
use longpole_metrics::Order;
use longpole_recording::PredictedChange;
use longpole_report::{Fold, Report};

use crate::answer::{Output, open, recording, refused};
use crate::arguments::choice;
use crate::report::{OutputFormat, unit_bytes};
use crate::simulate::costs;

/// The layouts that are suggested.
const AUTO: &str = "auto";

/// What would become of the run if some work took less time, or more.
#[derive(Args, Clone, Debug)]
pub struct WhatIfArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// A change, as KIND:NAME=FACTOR; can be given several times.
    ///
    /// KIND is procedure (with all that it calls and starts), self (a procedure's own time alone), line, object, hold, thread or
    /// process; it can be left out where the name is clear. FACTOR is what the time is multiplied by: 0 leaves it out, 0.5 or 50% halves it,
    /// 2 doubles it; for an object, the time that threads wait for it; for hold, what is done while the lock of that name is held,
    /// which takes a recording with --locks and a replay.
    #[arg(long = "set", value_name = "CHANGE", required_unless_present_any = ["cpus", "free_io", "remap"])]
    pub changes: Vec<String>,
    /// Another layout of data, of a recording with accesses: pad:OBJECT=BYTES, align:OBJECT=BYTES, split:OBJECT=FIELD,
    /// order:OBJECT=FIELD,…, privatise:OBJECT, group:OBJECT,OBJECT, or auto; can be given several times.
    ///
    /// The recorded accesses are simulated as the program would make them then: who fetches what, and how long it takes in virtual
    /// time. OBJECT/BYTES says how large the elements of an object are, where it is not known. `auto` tries layouts that may remove
    /// false sharing.
    #[arg(long, value_name = "LAYOUT",
          conflicts_with_all = ["changes", "replay", "cpus", "free_io", "phase", "order", "fold", "top"])]
    pub remap: Vec<String>,
    /// With --remap: bytes of a unit of transfer, a power of two [default: 64 of lines, 4096 of pages].
    #[arg(long, value_name = "BYTES", value_parser = unit_bytes, requires = "remap")]
    pub unit: Option<u64>,
    /// With --remap: how copies of units are kept coherent.
    #[arg(long, value_parser = choice::<UnitProtocol>(), requires = "remap")]
    pub protocol: Option<UnitProtocol>,
    /// With --remap: what operations cost, as of `longpole simulate`.
    #[arg(long, value_name = "COSTS", value_parser = costs, requires = "remap")]
    pub cost: Option<SimulatedCosts>,
    /// Execute the run again, with locks that go to whoever comes first in the new timing.
    ///
    /// An object can then only be removed, with the factor 0. Refused where the unchanged run does not come out as recorded,
    /// within 2 %. Locks are known in full from recordings with --locks.
    #[arg(long, conflicts_with_all = ["phase", "order", "top"])]
    pub replay: bool,
    /// Replay the run on so many CPUs, with all changes.
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "replay",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,
    /// Replay the run with devices that take no time.
    #[arg(long, requires = "replay")]
    pub free_io: bool,
    /// The part of the run to look at: seconds or percent, as `1.5s..3s`, `20%..60%`; or a procedure.
    #[arg(long, value_name = "A..B")]
    pub phase: Option<String>,
    /// Which procedures are folded into the procedure that called them, in `self:` and in the new path.
    #[arg(long, value_parser = choice::<Fold>(), default_value = Fold::default().word())]
    pub fold: Fold,
    /// Which hand-offs of locks hold in the changed run.
    #[arg(long, value_parser = choice::<Order>(), default_value = Order::default().word())]
    pub order: Order,
    /// Procedures of the new path to show in text; rows in JSON and CSV are all.
    #[arg(long, value_name = "ROWS")]
    pub top: Option<usize>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// Writes what becomes of the run.
pub fn run(args: &WhatIfArgs) -> Result<()> {
    let folder = recording(args.recording.as_ref())?;
    let output = Output::new(args.format, args.width);
    if !args.remap.is_empty() {
        let report = open(&folder)?.layouts(&layouts(args)?).map_err(refused)?;
        return output.print(&folder, &output.text(&[report]));
    }
    // clap requires nothing of an option that conflicts with another one.
    if args.unit.is_some() || args.protocol.is_some() || args.cost.is_some() {
        bail!("failed to simulate accesses: --unit, --protocol and --cost go with --remap");
    }
    if args.replay {
        let question = ReplayQuestion {
            changes: args.changes.clone(),
            fold: args.fold,
            io_is_free: args.free_io,
            processors: args.cpus.clone(),
        };
        let opened = open(&folder)?;
        let report = opened.replay(&question).map_err(refused)?;
        if !args.free_io && args.cpus.is_empty() {
            keep(&opened, &args.changes, &report);
        }
        return output.print(&folder, &output.text(&[report]));
    }
    let supposition = WhatIfQuestion {
        changes: args.changes.clone(),
        phase: args.phase.clone(),
        fold: args.fold,
        order: args.order,
        top: args.top,
    };
    let opened = open(&folder)?;
    let report = opened.what_if(&supposition).map_err(refused)?;
    if args.phase.is_none() {
        keep(&opened, &args.changes, &report);
    }
    output.print(&folder, &output.text(&[report]))
}

/// Keeps what was predicted in the recording, for `longpole diff`; where it cannot be written, nothing is lost but that.
fn keep(recording: &Recording, changes: &[String], report: &Report) {
    let section = if changes.len() > 1 { "together" } else { "change" };
    let Some(row) = report.rows.iter().find(|row| row.words("section") == section) else { return };
    let Some(gain_percent) = row.value("elapsed_gain_percent") else { return };
    let range = row.value("gain_low_percent").zip(row.value("gain_high_percent"));
    let Some(range_percent) = range else { return };
    let change = changes.join(" ");
    let _ = recording.folder().keep_predicted(PredictedChange { change, gain_percent, range_percent });
}

/// The question of other layouts.
fn layouts(args: &WhatIfArgs) -> Result<LayoutQuestion> {
    let is_auto = args.remap.iter().any(|text| text == AUTO);
    if is_auto && args.remap.len() > 1 {
        bail!("failed to try layouts: `--remap {AUTO}` goes with no other one");
    }
    Ok(LayoutQuestion {
        changes: if is_auto { Vec::new() } else { args.remap.clone() },
        communication: CommunicationOptions {
            protocol: args.protocol,
            unit: args.unit,
            costs: args.cost.unwrap_or_default(),
        },
    })
}
