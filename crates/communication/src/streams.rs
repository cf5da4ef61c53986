//! The recorded streams of a process, for one run in virtual time.

use std::cell::RefCell;
use std::rc::Rc;

use longpole_access::unit_sample::UnitSample;
use longpole_coherence::{CoherenceSettings, DataObjectId, StepCosts, VirtualRunSetup};
use longpole_recording::LogReader;

use crate::log::LoggedProcess;
use crate::memory::MemoryOwners;
use crate::objects::AccessObjects;
use crate::sites::AccessSites;
use crate::steps::{SharedStreams, ThreadSteps};

/// Threads that are simulated: each needs a mark for memory that others had before, and one is left for other layouts.
const MOST_THREADS: u32 = u16::MAX as u32 - 1;

/// The streams of all threads, and what they have in common.
pub(crate) struct ProcessStreams {
    pub(crate) shared: Rc<RefCell<SharedStreams>>,
    /// Accesses of each thread, once they have been read.
    pub(crate) accesses: Rc<RefCell<Vec<u64>>>,
    /// Variables, which are there from the beginning.
    placed: Vec<(u64, u64, DataObjectId)>,
}

impl ProcessStreams {
    /// The streams of a process, none of which has been read.
    pub(crate) fn of(reader: LogReader, process: &LoggedProcess) -> ProcessStreams {
        ProcessStreams::with_names(reader, process, (AccessSites::default(), AccessObjects::default()))
    }

    /// The same where places and objects have the numbers that they had before.
    pub(crate) fn with_names(
        reader: LogReader,
        process: &LoggedProcess,
        (sites, mut objects): (AccessSites, AccessObjects),
    ) -> ProcessStreams {
        let threads =
            process.threads.keys().max().map_or(0, |&last| last.saturating_add(1)).min(MOST_THREADS);
        let placed = objects.place_variables(&process.variables);
        // More threads than a simulated machine has processors.
        let beyond = process.threads.range(threads..).map(|(_, thread)| thread.blocks.len() as u64);
        let lost_blocks = beyond.sum();
        let memory = MemoryOwners::default();
        let shared = SharedStreams {
            reader,
            sites,
            objects,
            memory,
            sample: None,
            followed: 0,
            threads,
            lost_blocks,
            ignored: 0,
        };
        ProcessStreams {
            shared: Rc::new(RefCell::new(shared)),
            accesses: Rc::new(RefCell::new(vec![0; threads as usize])),
            placed,
        }
    }

    /// The same where only some units are simulated.
    pub(crate) fn with_sample(self, sample: Option<UnitSample>) -> ProcessStreams {
        self.shared.borrow_mut().sample = sample;
        self
    }

    /// Threads.
    pub(crate) fn threads(&self) -> usize {
        self.shared.borrow().threads as usize
    }

    /// The steps of each thread.
    pub(crate) fn steps(&self, process: &LoggedProcess) -> Vec<ThreadSteps> {
        let blocks = |thread: u32| process.threads.get(&thread).map_or(Vec::new(), |one| one.blocks.clone());
        let threads = self.shared.borrow().threads;
        let of = |thread| {
            ThreadSteps::new(Rc::clone(&self.shared), thread, blocks(thread), Rc::clone(&self.accesses))
        };
        (0..threads).map(of).collect()
    }

    /// What a run of them begins with.
    pub(crate) fn setup(&self, settings: CoherenceSettings, costs: StepCosts) -> VirtualRunSetup {
        VirtualRunSetup {
            settings,
            costs,
            objects: self.placed.clone(),
            nodes: Vec::new(),
            words_of: Vec::new(),
            records_of: Vec::new(),
            keeps_waits: false,
            layout: None,
        }
    }
}
