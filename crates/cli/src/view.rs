//! `longpole view`: the page, served until it is interrupted.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;
use clap::Args;
use longpole_server::{Error, Options, Place, Server};

use crate::answer::recording;
use crate::failure::{Failure, print};
use crate::metric_files;

/// Serves a page of the recording on this machine.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// The port of the page; any that is free when left out.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Only print the address, open no browser.
    #[arg(long)]
    pub no_open: bool,
    /// Where source files are now: FROM=TO for a folder that has moved, or a folder to look below; can be given several
    /// times.
    #[arg(long = "source-dir", value_name = "[FROM=]DIR")]
    pub source_dirs: Vec<String>,
    /// A file that describes metrics (docs/metrics-files.md); can be given several times.
    #[arg(long, value_name = "FILE")]
    pub metrics: Vec<PathBuf>,
}

/// Serves the page.
pub fn run(args: &ViewArgs) -> Result<()> {
    let server = Server::bind(Options {
        recording: recording(args.recording.as_ref())?,
        port: args.port,
        sources: places(&args.source_dirs)?,
        metric_files: metric_files::read(&args.metrics)?,
    });
    let server = server.map_err(refused)?;
    let url = server.url();
    print(&format!("{url}\n"))?;
    let is_opened = !args.no_open && browsers().any(|browser| open(&browser, &url));
    let how = if is_opened { "it opens in the browser" } else { "open it in a browser" };
    eprintln(&format!("longpole: the page is at this address; {how}. Ctrl-C ends it."));
    server.run().map_err(refused)
}

/// The places that arguments name.
pub fn places(arguments: &[String]) -> Result<Vec<Place>> {
    arguments.iter().map(|argument| Place::parse(argument).map_err(refused)).collect()
}

/// What failed, with what to do about it.
pub fn refused(error: Error) -> anyhow::Error {
    let hints = error.hints();
    Failure { status: 1, hints, error: error.into() }.into()
}

/// Programs that could open the page: those that `$BROWSER` lists, and the desktop's own where there is one.
fn browsers() -> impl Iterator<Item = OsString> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| set(name).is_some());
    let named = set("BROWSER").unwrap_or_default().into_string().unwrap_or_default();
    let named: Vec<OsString> = named.split(':').filter(|name| !name.is_empty()).map(OsString::from).collect();
    named.into_iter().chain(has_display.then(|| "xdg-open".into()))
}

/// Whether the program could be started on the address. What it writes belongs to nobody's output; in a group of its
/// own it outlives the interrupt that ends the page.
fn open(browser: &OsString, url: &str) -> bool {
    let mut command = Command::new(browser);
    command.arg(url).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

/// A line on standard error, which may be closed.
fn eprintln(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
}
