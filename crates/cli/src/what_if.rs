//! `longpole what-if`: the recorded run with some work made shorter or longer.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use longpole_answer::Supposition;

use crate::answer::{Output, open, recording, refused};
use crate::report::{Format, write};

/// What would become of the run if some work took less time, or more.
#[derive(Args, Clone, Debug)]
pub struct WhatIfArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// A change, as KIND:NAME=FACTOR; can be given several times.
    ///
    /// KIND is procedure, inclusive (a procedure and all on its behalf), line, object, thread or process; it can be left
    /// out where the name is clear. FACTOR is what the time is multiplied by: 0 leaves it out, 0.5 or 50% halves it,
    /// 2 doubles it; for an object, the time that threads wait for it.
    #[arg(long = "set", value_name = "CHANGE", required = true)]
    pub changes: Vec<String>,
    /// The part of the run to look at: seconds or percent, as `1.5s..3s`, `20%..60%`; or a procedure.
    #[arg(long, value_name = "A..B")]
    pub phase: Option<String>,
    /// Procedures of the new path to show in text; rows in JSON and CSV are all.
    #[arg(long, value_name = "ROWS")]
    pub top: Option<usize>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// Writes what becomes of the run.
pub fn run(args: &WhatIfArgs) -> Result<()> {
    let folder = recording(args.recording.as_ref())?;
    let supposition = Supposition { changes: args.changes.clone(), phase: args.phase.clone(), top: args.top };
    let report = open(&folder)?.what_if(&supposition).map_err(refused)?;
    write(&Output::new(args.format, args.width).text(&[report]))
}
