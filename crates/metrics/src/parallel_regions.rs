//! What parallel regions of OpenMP take, and what their work would take on one thread (metrics.md §6).
//!
//! ```text
//!   master   main = | GOMP_parallel  body ==  .......... | main =      elapsed   the time between the two bars
//!   worker   .............. woken -- body ===  .........                work      == and ===: what one thread would do
//! ```
//! A region pays if its work, done by the thread that calls it alone, would take longer than it does. One that is
//! entered for microseconds does not: waking the team and waiting for it take longer than the work.
//!
//! * *Elapsed* is the time of the thread that calls, in any state, in the call and in what is called there. A wait at the place
//!   of the call is the wait for the region's end, as waits are charged without their waiting frames.
//! * *Work* is the useful CPU time of all threads in the body, without calls of the runtime in it; and their waits there that
//!   no other thread of the program ends: for devices, pages, clocks.
//!
//! Regions inside of others belong to the outer ones. Time: one step per charge. Memory: per region.
//!
//! Tasks that threads do while they wait are of the region in the same procedure of the program. It cannot see how often a region was
//! entered, nor of which of several regions such a task is: that work is [`ParallelRegions::elsewhere`]. Thread pools other than
//! OpenMP's are not known.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::ThreadId;
use longpole_trace::{
    Cause, ParallelCalls, PathId, Paths, PlaceId, ProcedureId, RegionPart, enclosing_procedure,
};

use crate::analysis::{Charge, Measures};

/// What the regions that one place begins take; nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkJoinRegion {
    /// The place that begins them.
    pub site: PlaceId,
    /// The time in them of the thread that was in them longest.
    pub elapsed: u64,
    /// The time in them of other threads that called them.
    pub elapsed_of_others: u64,
    /// Work in them, of all threads.
    pub work: u64,
    /// What of it the threads of the teams did, beside those that called.
    pub shared: u64,
    /// Work in regions inside of them, done by threads of those regions' own teams.
    pub nested: u64,
    /// CPU time of the runtime in them, spinning included, of the threads that called.
    pub runtime: u64,
    /// How often the thread that was in them longest blocked there.
    pub blocks: u64,
}

/// The parallel regions of a run; nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParallelRegions {
    /// By place, the longest first.
    pub regions: Vec<ForkJoinRegion>,
    /// Work of the runtime's threads that is in no region that is known.
    pub elsewhere: u64,
    /// Time on the elapsed-weighted critical path of threads that neither call regions nor belong to a team.
    pub beside: u64,
}

/// Finds the regions of these charges, before folding.
pub(crate) fn parallel_regions(charges: &[Charge], paths: &Paths) -> ParallelRegions {
    let mut sums = RegionTimes::new(paths);
    sums.learn(charges);
    if sums.sites.is_empty() {
        return ParallelRegions::default();
    }
    charges.iter().for_each(|charge| sums.add(charge));
    sums.into_regions(charges)
}

/// Sums while charges are read.
struct RegionTimes<'a> {
    calls: ParallelCalls,
    paths: &'a Paths,
    /// Places that begin regions.
    sites: BTreeSet<PlaceId>,
    /// The place that begins the regions of a body, or of a task; the first one, where there are several.
    of_body: BTreeMap<ProcedureId, PlaceId>,
    /// Procedures that the compiler made of bodies and tasks.
    bodies: BTreeSet<ProcedureId>,
    /// Threads that the runtime created.
    team: BTreeSet<ThreadId>,
    callers: BTreeMap<(PlaceId, ThreadId), CallerTimes>,
    works: BTreeMap<PlaceId, RegionWork>,
    elsewhere: u64,
}

/// Of a thread that calls.
#[derive(Clone, Copy, Debug, Default)]
struct CallerTimes {
    elapsed: u64,
    runtime: u64,
    blocks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct RegionWork {
    work: u64,
    shared: u64,
    nested: u64,
}

impl<'a> RegionTimes<'a> {
    fn new(paths: &'a Paths) -> Self {
        RegionTimes {
            calls: ParallelCalls::new(paths),
            paths,
            sites: BTreeSet::new(),
            of_body: BTreeMap::new(),
            bodies: BTreeSet::new(),
            team: BTreeSet::new(),
            callers: BTreeMap::new(),
            works: BTreeMap::new(),
            elsewhere: 0,
        }
    }

    /// Which places begin regions, which bodies are theirs, and who is of a team.
    fn learn(&mut self, charges: &[Charge]) {
        for charge in charges {
            match self.calls.part(charge.path) {
                RegionPart::Outside | RegionPart::Call { begins: false, .. } => {}
                RegionPart::Idle => _ = self.team.insert(charge.thread),
                RegionPart::Call { site, .. } => _ = self.sites.insert(site),
                RegionPart::Body { body, site, .. } => {
                    self.bodies.insert(body);
                    if let Some(site) = site {
                        self.sites.insert(site);
                        self.of_body.entry(body).or_insert(site);
                    }
                }
            }
        }
        self.find_tasks();
    }

    /// Bodies that the thread that begins the region was not seen to enter, and tasks, are of the region in the same procedure of the
    /// program, where that has one region.
    fn find_tasks(&mut self) {
        let paths = self.paths;
        let name = |id: ProcedureId| enclosing_procedure(&paths.procedure_named_by(id).name);
        let mut regions: BTreeMap<&str, Option<PlaceId>> = BTreeMap::new();
        for &site in &self.sites {
            let only =
                regions.entry(name(paths.all_places()[site.0 as usize].procedure)).or_insert(Some(site));
            *only = only.filter(|&other| other == site);
        }
        let tasks = self.bodies.iter().filter(|body| !self.of_body.contains_key(body));
        let found = tasks.filter_map(|&task| Some((task, (*regions.get(name(task))?)?)));
        let found: Vec<(ProcedureId, PlaceId)> = found.collect();
        self.of_body.extend(found);
    }

    fn add(&mut self, Charge { thread, path, measures }: &Charge) {
        match self.calls.part(*path) {
            RegionPart::Idle => {}
            RegionPart::Outside => self.add_wait(*thread, *path, measures),
            RegionPart::Call { site, .. } if !self.sites.contains(&site) => {}
            RegionPart::Call { site, .. } => {
                let caller = self.callers.entry((site, *thread)).or_default();
                caller.elapsed += present(measures);
                caller.runtime += measures.running + measures.spinning;
                caller.blocks += measures.blocks;
            }
            RegionPart::Body { body, site, in_runtime } => {
                let site = self.of_body.get(&body).copied().or(site);
                self.add_body(*thread, site, measures, in_runtime);
                self.add_nested(*thread, body, measures, in_runtime);
            }
        }
    }

    /// A wait at the place of the call, which is charged without its waiting frames.
    fn add_wait(&mut self, thread: ThreadId, path: PathId, measures: &Measures) {
        let site = self.paths.innermost_id(path).filter(|site| self.sites.contains(site));
        let waited = measures.blocked.get(Cause::Barrier.index()).copied().unwrap_or(0);
        if let (Some(site), true) = (site, waited > 0) {
            let caller = self.callers.entry((site, thread)).or_default();
            caller.elapsed += waited + measures.ready + measures.spinning;
            caller.blocks += measures.blocks;
        }
    }

    fn add_body(&mut self, thread: ThreadId, site: Option<PlaceId>, measures: &Measures, in_runtime: bool) {
        let is_of_team = self.team.contains(&thread);
        let work = if in_runtime { 0 } else { work(measures) };
        let Some(site) = site else {
            self.elsewhere += work;
            return;
        };
        let sum = self.works.entry(site).or_default();
        sum.work += work;
        if is_of_team {
            sum.shared += work;
            return;
        }
        let caller = self.callers.entry((site, thread)).or_default();
        caller.elapsed += present(measures);
        caller.blocks += measures.blocks;
        if in_runtime {
            caller.runtime += measures.running + measures.spinning;
        }
    }

    /// Work of the team of an inner region is work of the outer one, too.
    fn add_nested(&mut self, thread: ThreadId, inner: ProcedureId, measures: &Measures, in_runtime: bool) {
        if in_runtime || !self.team.contains(&thread) {
            return;
        }
        let outer: Vec<ProcedureId> =
            self.calls.nested().filter(|&(_, body)| body == inner).map(|(outer, _)| outer).collect();
        for site in outer.iter().filter_map(|body| self.of_body.get(body).copied()) {
            self.works.entry(site).or_default().nested += work(measures);
        }
    }

    fn into_regions(self, charges: &[Charge]) -> ParallelRegions {
        let mut regions: BTreeMap<PlaceId, ForkJoinRegion> = BTreeMap::new();
        for (&(site, _), times) in &self.callers {
            let RegionWork { work, shared, nested } = self.works.get(&site).copied().unwrap_or_default();
            let region = regions.entry(site).or_insert(ForkJoinRegion {
                site,
                elapsed: 0,
                elapsed_of_others: 0,
                work,
                shared,
                nested,
                runtime: 0,
                blocks: 0,
            });
            let (more, less) = (region.elapsed.max(times.elapsed), region.elapsed.min(times.elapsed));
            (region.elapsed, region.elapsed_of_others) = (more, region.elapsed_of_others + less);
            region.runtime += times.runtime;
            region.blocks = region.blocks.max(times.blocks);
        }
        let callers: BTreeSet<ThreadId> = self.callers.keys().map(|&(_, thread)| thread).collect();
        let is_beside =
            |charge: &&Charge| !callers.contains(&charge.thread) && !self.team.contains(&charge.thread);
        let beside = charges.iter().filter(is_beside).map(|charge| charge.measures.critical_elapsed).sum();
        let mut regions: Vec<ForkJoinRegion> = regions.into_values().collect();
        regions.sort_by_key(|region| (std::cmp::Reverse(region.elapsed), region.site));
        ParallelRegions { regions, elsewhere: self.elsewhere, beside }
    }
}

/// The time of the thread at a path, in any state but in the collector's code.
fn present(measures: &Measures) -> u64 {
    measures.running + measures.spinning + measures.ready + measures.blocked.iter().sum::<u64>()
}

/// What one thread would have to do and to wait for at a path.
fn work(measures: &Measures) -> u64 {
    let outside = measures.blocked.iter().zip(Cause::ALL).filter(|(_, cause)| !cause.is_synchronisation());
    measures.running + outside.map(|(time, _)| time).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Drawn;

    /// The caller's line, then elapsed, of others, work, shared, runtime.
    fn regions(drawing: &str) -> (Vec<(u32, [u64; 5])>, u64, u64) {
        let drawn = Drawn::new(drawing);
        let found = parallel_regions(&drawn.analysis.charges, &drawn.timelines.paths);
        let line = |site: PlaceId| drawn.timelines.paths.all_places()[site.0 as usize].line;
        let told = |region: &ForkJoinRegion| {
            let ForkJoinRegion { elapsed, elapsed_of_others, work, shared, runtime, .. } = *region;
            (line(region.site), [elapsed, elapsed_of_others, work, shared, runtime])
        };
        (found.regions.iter().map(told).collect(), found.elsewhere, found.beside)
    }

    const PATHS: &str = "unit 1000
M = main
S = main > smooth:23
F = main > smooth:23 > GOMP_parallel
B = main > smooth:23 > GOMP_parallel > smooth._omp_fn.0
G = gomp_thread_start
W = gomp_thread_start > smooth._omp_fn.0
T = gomp_thread_start > task
O = other
";

    #[test]
    fn a_region_takes_what_its_caller_is_in_it_and_has_the_work_of_all() {
        // The caller is in it for 1 + 2 + 1 + 3 waiting; both work 2 + 3.
        let (found, elsewhere, beside) = regions(&format!(
            "{PATHS}T1 MMFBBFSbbbMM\nT2 _GbbWWWGbbbb\nT1@1 -> T2 create\nT1@4 -> T2 barrier\nT2@10 -> T1 barrier"
        ));
        let [(23, [elapsed, 0, work, shared, runtime])] = found[..] else { panic!("{found:?}") };
        assert_eq!((elsewhere, beside), (0, 0));
        assert_eq!((work, shared, runtime), (5000, 3000, 2000));
        assert_eq!(elapsed, 2000 + 2000 + 3000);
    }

    #[test]
    fn tasks_and_bodies_that_only_others_enter_are_of_the_region_in_their_procedure() {
        // The caller waits in the runtime, which executes a task of 2; the other thread has the body for 2, and a task for 3.
        let (found, elsewhere, _) = regions(&format!(
            "{PATHS}E = main > smooth:23 > gomp_team_end
K = main > smooth:23 > gomp_team_end > smooth._omp_fn.1
N = gomp_thread_start > smooth._omp_fn.1
T1 MMFEKKbbbMM\nT2 _GbWWNNN___\nT1@1 -> T2 create\nT1@3 -> T2 barrier\nT2@8 -> T1 barrier"
        ));
        let [(23, [elapsed, 0, work, shared, _])] = found[..] else { panic!("{found:?}") };
        assert_eq!((elsewhere, work, shared), (0, 7000, 5000));
        assert_eq!(elapsed, 7000);
        // Another region in the same procedure: whose task it is is not known.
        let (found, elsewhere, _) = regions(&format!(
            "{PATHS}J = main > smooth:40 > GOMP_parallel\nN = gomp_thread_start > smooth._omp_fn.1
T1 MMFFJJMM\nT2 _GGNNNNG\nT1@1 -> T2 create"
        ));
        assert_eq!((found.len(), elsewhere), (2, 4000));
    }

    #[test]
    fn work_outside_of_known_regions_and_beside_them_is_kept_apart() {
        let (found, elsewhere, beside) =
            regions(&format!("{PATHS}T1 MMFBB\nT2 _GTT\nT3 OOOOOOOOOO\nT1@1 -> T2 create"));
        assert_eq!(found.len(), 1);
        assert_eq!((elsewhere, beside), (2000, 10_000));
    }

    #[test]
    fn a_run_without_regions_has_none() {
        assert_eq!(regions("T1 AABB\nT2 AAbb"), (Vec::new(), 0, 0));
    }
}
