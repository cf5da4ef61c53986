//! Places with their call paths, as dense numbers.

use longpole_coherence::SiteId;
use rustc_hash::FxHashMap;

/// A call path: the return address of its last call, and the path before that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PathStep {
    before: u32,
    code: u64,
}

/// Every call path and place of the streams. Path 0 is that of a thread's beginning.
#[derive(Debug, Default)]
pub(crate) struct AccessSites {
    paths: FxHashMap<PathStep, u32>,
    sites: FxHashMap<PathStep, u32>,
    /// The last step of each path but the first.
    steps: Vec<PathStep>,
    /// Return address of each site, and its path.
    pub(crate) codes: Vec<(u64, u32)>,
}

impl AccessSites {
    /// The path after a call.
    pub(crate) fn enter(&mut self, before: u32, code: u64) -> u32 {
        let next = self.steps.len() as u32 + 1;
        let step = PathStep { before, code };
        let path = *self.paths.entry(step).or_insert(next);
        if path == next {
            self.steps.push(step);
        }
        path
    }

    /// The return address of a site, and those of the calls that led there, the last one first.
    pub(crate) fn calls(&self, site: SiteId) -> impl Iterator<Item = u64> {
        let (code, mut path) = self.codes.get(site.0 as usize).copied().unwrap_or_default();
        let before = std::iter::from_fn(move || {
            let step = self.steps.get(path.checked_sub(1)? as usize)?;
            path = step.before;
            Some(step.code)
        });
        std::iter::once(code).chain(before)
    }

    /// The place of this return address at the end of a path.
    pub(crate) fn site(&mut self, before: u32, code: u64) -> SiteId {
        let next = self.codes.len() as u32;
        let site = *self.sites.entry(PathStep { before, code }).or_insert(next);
        if site == next {
            self.codes.push((code, before));
        }
        SiteId(site)
    }
}
