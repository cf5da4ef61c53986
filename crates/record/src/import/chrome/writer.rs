//! Slices of a trace as events of a recording.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use longpole_chrome::{ChromeLane, ChromeSlice, ChromeTrace};
use longpole_event::{Blocking, CollectiveMeeting, CollectiveOrder};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::error::ImportResult;
use super::super::named::{NamedLog, NamedProcedure, NamedTask, NamedWaker};
use super::ImportChoice;
use super::lane_waits::{LaneWait, lane_waits};

/// The module of slices.
const SLICES: &str = "slices";
/// What a process group is called that has no name.
const WHOLE_JOB: &str = "all ranks";

/// What a lane does next. Of what is at one time the wake comes first, so that it is from within what then ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LaneStep {
    Wake,
    End,
    Begin,
}

/// How far a lane has been written.
#[derive(Clone, Debug, Default)]
struct LaneProgress {
    /// The next slice, and the next wait.
    slice: usize,
    wait: usize,
    /// The slices that it is in: when they end, and whether they are collective operations.
    around: Vec<(u64, bool)>,
    is_waiting: bool,
}

/// Writes a recording.
pub(super) struct ChromeWriter<'a> {
    trace: &'a ChromeTrace,
    pub(super) log: NamedLog,
    waits: Vec<Vec<LaneWait>>,
    lanes: Vec<LaneProgress>,
    only: Option<&'a str>,
    rank: Option<(u32, u32)>,
    /// Operations so far of each communicator.
    rounds: FxHashMap<u64, u64>,
    has_rank: FxHashSet<u32>,
    /// Lanes of processes that were not asked for.
    pub(super) other_lanes: u64,
    /// Collective operations of which the order of the ranks, or the ranks, are not known.
    pub(super) unknown_collectives: u64,
    pub(super) collectives: u64,
}

impl<'a> ChromeWriter<'a> {
    pub(super) fn new(trace: &'a ChromeTrace, log: NamedLog, choice: ImportChoice<'a>) -> ChromeWriter<'a> {
        ChromeWriter {
            trace,
            log,
            waits: lane_waits(trace),
            lanes: vec![LaneProgress::default(); trace.lanes().len()],
            only: choice.process,
            rank: choice.rank.or(trace.contents().rank),
            rounds: FxHashMap::default(),
            has_rank: FxHashSet::default(),
            other_lanes: 0,
            unknown_collectives: 0,
            collectives: 0,
        }
    }

    /// Which process of a job this is.
    pub(super) fn rank(&self) -> Option<(u32, u32)> {
        self.rank
    }

    /// Writes all slices.
    pub(super) fn write(&mut self) -> ImportResult<()> {
        let mut steps = BinaryHeap::new();
        for (number, lane) in self.trace.lanes().iter().enumerate() {
            if self.only.is_some_and(|only| !is_named(self.trace, lane, only)) {
                self.other_lanes += 1;
                continue;
            }
            steps.extend(self.next_step(number).map(|(time, step)| Reverse((time, step, number))));
        }
        while let Some(Reverse((time, step, lane))) = steps.pop() {
            match step {
                LaneStep::Begin => self.begin(lane, time)?,
                LaneStep::End => self.end(lane, time)?,
                LaneStep::Wake => self.wake(lane, time)?,
            }
            steps.extend(self.next_step(lane).map(|(time, step)| Reverse((time, step, lane))));
        }
        Ok(())
    }

    fn next_step(&self, lane: usize) -> Option<(u64, LaneStep)> {
        let (found, progress) = (&self.trace.lanes()[lane], &self.lanes[lane]);
        let begin = found.slices.get(progress.slice).map(|slice| (slice.begin, LaneStep::Begin));
        let end = progress.around.last().map(|&(end, _)| (end, LaneStep::End));
        let woken = self.waits[lane].get(progress.wait).map(|wait| (wait.end, LaneStep::Wake));
        [begin, end, woken].into_iter().flatten().min()
    }

    fn begin(&mut self, lane: usize, time: u64) -> ImportResult<()> {
        let (trace, key) = (self.trace, lane as u64);
        let slice = trace.lanes()[lane].slices[self.lanes[lane].slice];
        self.lanes[lane].slice += 1;
        if !self.log.knows(key) {
            let task = self.task(lane);
            self.log.begin(key, time, &task, None)?;
        }
        if !self.log.is_running(key) && !self.lanes[lane].is_waiting {
            self.log.switch_in(key, time, lane as u16)?;
        }
        let name = trace.name(&slice).to_owned();
        let procedure = NamedProcedure { name, module: SLICES.to_owned(), ..NamedProcedure::default() };
        self.log.begin_slice(key, time, &procedure)?;
        let meets = trace
            .collective(&slice)
            .is_some_and(|_| !self.lanes[lane].around.iter().any(|&(_, meets)| meets));
        let meets = meets && self.meet(key, &slice)?;
        self.lanes[lane].around.push((slice.end, meets));
        let wait = self.waits[lane].get(self.lanes[lane].wait);
        if !trace.lanes()[lane].is_device && wait.is_some_and(|wait| wait.begin == time) {
            self.log.switch_out(key, time, Blocking::Interruptible)?;
            self.lanes[lane].is_waiting = true;
        }
        Ok(())
    }

    fn end(&mut self, lane: usize, time: u64) -> ImportResult<()> {
        let key = lane as u64;
        if let Some((_, true)) = self.lanes[lane].around.pop() {
            self.log.end_meeting(key, time)?;
        }
        self.log.end_slice(key, time)?;
        if self.lanes[lane].around.is_empty() && self.log.is_running(key) {
            self.log.switch_out(key, time, Blocking::Interruptible)?;
        }
        Ok(())
    }

    fn wake(&mut self, lane: usize, time: u64) -> ImportResult<()> {
        let (key, progress) = (lane as u64, &mut self.lanes[lane]);
        let Some(&wait) = self.waits[lane].get(progress.wait) else { return Ok(()) };
        progress.wait += 1;
        if !self.log.knows(key) {
            // The first launch is what a stream begins with.
            let task = self.task(lane);
            self.log.observe(wait.by as u64, time)?;
            return self.log.begin(key, time, &task, Some(wait.by as u64));
        }
        if self.log.is_running(key) {
            return Ok(());
        }
        progress.is_waiting = false;
        self.log.observe(wait.by as u64, time)?;
        self.log.wake(key, time, NamedWaker::Thread(wait.by as u64))?;
        // A thread goes on in its call; a stream with what was launched, when it gets to it.
        if self.lanes[lane].around.is_empty() { Ok(()) } else { self.log.switch_in(key, time, lane as u16) }
    }

    /// The thread comes to a collective operation, if it is known who the others are.
    fn meet(&mut self, key: u64, slice: &ChromeSlice) -> ImportResult<bool> {
        let (Some(collective), Some((rank, size))) = (self.trace.collective(slice), self.rank) else {
            return Ok(false);
        };
        let members = &collective.ranks;
        let place = if members.is_empty() {
            Some(rank as usize)
        } else {
            members.iter().position(|&one| one == rank)
        };
        let size = if members.is_empty() { size } else { members.len() as u32 };
        let (Some(place), true, true) = (place, is_all_to_all(&collective.operation), size > 1) else {
            self.unknown_collectives += u64::from(size > 1);
            return Ok(false);
        };
        let group = if collective.group.is_empty() { WHOLE_JOB } else { &collective.group };
        let communicator = communicator(group, members);
        let next = self.rounds.entry(communicator).or_default();
        let round = std::mem::replace(next, *next + 1);
        self.collectives += 1;
        let order = CollectiveOrder::AllToAll;
        let meeting = CollectiveMeeting {
            communicator,
            round,
            rank: place as u32,
            size,
            order,
            root: 0,
            is_begun: false,
        };
        self.log.begin_meeting(key, slice.begin, (meeting, group))?;
        Ok(true)
    }

    /// The thread that a lane is. Streams of a GPU are of the process that uses it, which is the one with most slices.
    fn task(&mut self, lane: usize) -> NamedTask {
        let lanes = self.trace.lanes();
        let found = &lanes[lane];
        let host = lanes.iter().filter(|lane| !lane.is_device).max_by_key(|lane| lane.slices.len());
        let process = host.filter(|_| found.is_device).map_or(found.process, |host| host.process);
        let (pid, program) = self.trace.process(process);
        let name = if found.is_device && found.name.is_empty() {
            format!("stream {} of GPU {}", found.tid, self.trace.process(found.process).0)
        } else {
            found.name.clone()
        };
        let main = host.is_some_and(|host| host.process == process);
        let rank = self.rank.map(|(rank, _)| rank).filter(|_| main && self.has_rank.insert(process));
        let program = if program.is_empty() { format!("process {pid}") } else { program.to_owned() };
        NamedTask { pid, tid: found.tid, name, program, rank, is_root: found.is_device }
    }
}

/// Whether there is such a process.
pub(super) fn has_process(trace: &ChromeTrace, name: &str) -> bool {
    trace.lanes().iter().any(|lane| is_named(trace, lane, name))
}

fn is_named(trace: &ChromeTrace, lane: &ChromeLane, name: &str) -> bool {
    let (pid, program) = trace.process(lane.process);
    name == program || name.parse() == Ok(pid)
}

/// Whether each rank waits for all others in an operation, as libraries for distributed learning name it.
fn is_all_to_all(operation: &str) -> bool {
    let letters: String = operation.chars().filter(char::is_ascii_alphabetic).collect();
    let letters = letters.to_ascii_lowercase();
    ["allreduce", "allgather", "reducescatter", "alltoall", "barrier"]
        .iter()
        .any(|name| letters.contains(name))
}

/// Identifies a process group in all traces of a job.
fn communicator(group: &str, members: &[u32]) -> u64 {
    let bytes = group.bytes().chain(members.iter().flat_map(|member| member.to_le_bytes()));
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    hash.max(1)
}

/// The operations of a trace that are of no rank.
pub(super) fn operations(trace: &ChromeTrace) -> u64 {
    let slices = trace.lanes().iter().flat_map(|lane| &lane.slices);
    slices.filter(|slice| trace.collective(slice).is_some()).count() as u64
}
