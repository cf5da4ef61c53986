//! `longpole diff`: what changed from one recording to another, and why the elapsed time differs.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use longpole_answer::{Choice, Question};
use longpole_report::{Fold, visible};

use crate::answer::{Output, open, refused};
use crate::arguments::choice;
use crate::report::OutputFormat;
use crate::terminal;

/// What changed from one recording to another.
#[derive(Args, Clone, Debug)]
pub struct DiffArgs {
    /// The recording before the change.
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The recording after it.
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Which procedures are folded into the procedure that called them.
    #[arg(long, value_parser = choice::<Fold>(), default_value = Fold::default().word())]
    pub fold: Fold,
    /// Rows of each table of text; JSON and CSV have all.
    #[arg(long, value_name = "ROWS")]
    pub top: Option<usize>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// Writes what changed.
pub fn run(args: &DiffArgs) -> Result<()> {
    let output = Output::new(args.format, args.width);
    let question = Question { fold: Some(args.fold), top: args.top, ..Question::default() };
    let report = open(&args.before)?.diff(&open(&args.after)?, &question).map_err(refused)?;
    let heading = match args.format {
        OutputFormat::Text => {
            let [before, after] = [&args.before, &args.after].map(|path| path.to_string_lossy());
            format!("Before: {}\nAfter:  {}\n\n", visible(&before), visible(&after))
        }
        OutputFormat::Json | OutputFormat::Csv => String::new(),
    };
    terminal::print(&(heading + &output.text(&[report])))
}
