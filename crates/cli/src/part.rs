//! `longpole record --part`: where the recording of a part of a run goes.
//!
//! ```text
//!   RUN/rank-3.longpole      the recorder was started as rank 3 by a launcher
//!   RUN/node2.longpole       it was not: it records the launcher's processes on the machine `node2`
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longpole_recording::Destination;

/// How launchers tell a process its rank, the more particular ones first.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The place of a part.
#[derive(Debug)]
pub struct RunPartPlace {
    folder: PathBuf,
    rank: Option<u32>,
    /// What all parts of the run have in common.
    pub job: OsString,
}

impl RunPartPlace {
    /// Below the folder of the run, which is made where there is none.
    pub fn below(run: &Path) -> Result<RunPartPlace> {
        let failed = || format!("failed to create {}", run.display());
        fs::create_dir_all(run).with_context(failed)?;
        let folder = run.canonicalize().with_context(failed)?;
        let rank = RANKS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
        let job = folder.clone().into_os_string();
        Ok(RunPartPlace { folder, rank, job })
    }

    /// Where this part goes. A rank has one part.
    pub fn destination(&self, force: bool) -> Destination {
        let Some(rank) = self.rank else {
            let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            return Destination::FirstFree(self.folder.join(format!("{}.longpole", host.trim())));
        };
        let path = self.folder.join(format!("rank-{rank}.longpole"));
        if force { Destination::Replace(path) } else { Destination::New(path) }
    }
}
