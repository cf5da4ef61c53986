//! `longpole view`: the page, served until it is interrupted or no page is open any more.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use longpole_server::{Error, RedirectFile, Server, ServerOptions, SessionEnd, SourceDirectory};

use crate::answer::recording;
use crate::failure::Failure;
use crate::{metric_files, terminal};

/// Serves a page of the recording on this machine.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// The recording of the program before a change: the page compares the two, as `longpole diff` does.
    #[arg(long, value_name = "BEFORE")]
    pub against: Option<PathBuf>,
    /// The port of the page; any that is free when left out.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Only print the address, open no browser.
    #[arg(long)]
    pub no_open: bool,
    /// End when no page has been open for SECONDS. A browser lets a hidden page ask once a minute, so fewer than 120
    /// seconds can take a hidden page for a closed one.
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "120",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub idle_exit: Option<u64>,
    /// Folder with source files, or FROM=TO for one that has moved; without it only those that the recording holds are
    /// shown. Can be given several times.
    #[arg(long = "source-dir", value_name = "[FROM=]DIR")]
    pub source_dirs: Vec<String>,
    /// A file that describes metrics (docs/metrics-files.md); can be given several times.
    #[arg(long, value_name = "FILE")]
    pub metrics: Vec<PathBuf>,
}

/// Serves the page.
pub fn run(args: &ViewArgs) -> Result<()> {
    let server = Server::bind(ServerOptions {
        recording: recording(args.recording.as_ref())?,
        against: args.against.clone(),
        port: args.port,
        sources: places(&args.source_dirs)?,
        metric_files: metric_files::read(&args.metrics)?,
        idle_exit: args.idle_exit.map(Duration::from_secs),
    });
    let server = server.map_err(refused)?;
    let url = server.url();
    terminal::print_line(&url)?;
    // Kept until the page ends: a browser that starts slowly reads it late.
    let redirect = if args.no_open { None } else { opened(&url) };
    let how = if redirect.is_some() { "it opens in the browser" } else { "open it in a browser" };
    terminal::remark(&format!("the page is at this address; {how}. Ctrl-C ends it."));
    if server.run().map_err(refused)? == SessionEnd::Idle {
        terminal::remark("no page is open any more");
    }
    Ok(())
}

/// The file that a browser was started on, where one could be started.
fn opened(url: &str) -> Option<RedirectFile> {
    let mut browsers = browsers().peekable();
    browsers.peek()?;
    let redirect = RedirectFile::create(url).ok()?;
    let address = redirect.address();
    browsers.any(|browser| open(&browser, &address)).then_some(redirect)
}

/// The places that arguments name.
pub fn places(arguments: &[String]) -> Result<Vec<SourceDirectory>> {
    arguments.iter().map(|argument| SourceDirectory::parse(argument).map_err(refused)).collect()
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

/// Whether the program could be started on the address, which every user of the machine can read. What it writes belongs to nobody's output; in a group of its
/// own it outlives the interrupt that ends the page.
fn open(browser: &OsString, address: &str) -> bool {
    let mut command = Command::new(browser);
    command.arg(address).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
