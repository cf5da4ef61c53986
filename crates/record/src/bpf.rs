//! The bpf collector: programs in the kernel that see the recorded tasks only.

mod areas;
mod arrivals;
mod busy_waits;
mod gaps;
mod libraries;
mod mappings;
mod pythons;
mod sampled_code;
mod sampled_threads;
mod shared_lines;
mod wire;

use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aya::maps::{HashMap as BpfHashMap, Map, MapData, PerCpuArray, RingBuf};
use longpole_event::{LossKind, Time};
use longpole_privileged::{
    BpfError, KernelAccess, KernelFacts, PrivilegedError, ProgramSettings, online_cpus,
};
use longpole_recording::SharedLineSamples;
use rustc_hash::FxHashMap;

use self::areas::{ExecutableAreas, WireAreas};
use self::arrivals::{Accounts, Arrivals};
use self::busy_waits::BusyWaits;
use self::gaps::SampleGaps;
use self::libraries::Libraries;
use self::pythons::Pythons;
use self::sampled_threads::SampledThreads;
use self::wire::Wire;
use crate::collector::{Collector, KernelCost};
use crate::collector_choice::Settings;
use crate::raw::{KernelTask, RawEvent, RawKind, RawMark, RawStack, TakenStack};
use crate::remaps::Remaps;
use crate::setup::PRIVILEGED_CONTENTS;

/// Bytes of the ring that one drain takes.
const DRAIN_BYTES: usize = 1 << 20;
/// Records of different processors can stand in the ring in another order than their times by this much.
const DISORDER_NANOSECONDS: u64 = 5_000_000;
/// The kernel's counters of losses, by index in the map `counters`.
const LOSSES: [LossKind; 4] = [LossKind::Events, LossKind::Samples, LossKind::Stacks, LossKind::Threads];
/// Behind them: runs that were about recorded tasks, and nanoseconds of one in [`TIMED_RUNS`] of these.
const OWN_RUNS: u32 = 4;
const OWN_NANOSECONDS: u32 = 5;
const TIMED_RUNS: u64 = 16;

fn load_error(error: impl std::error::Error + Send + Sync + 'static) -> PrivilegedError {
    BpfError::Load(Box::new(error)).into()
}

/// The running collector.
pub(crate) struct BpfCollector {
    /// What needs capabilities.
    access: Arc<Mutex<KernelAccess>>,
    /// What the privileged process had used when the programs were loaded.
    cpu_of_loading: Duration,
    ring: RingBuf<MapData>,
    counters: PerCpuArray<MapData, u64>,
    areas: ExecutableAreas,
    executable: BpfHashMap<MapData, u32, WireAreas>,
    /// Stacks whose first event has not been read yet, by key.
    pending: FxHashMap<u64, Box<TakenStack>>,
    pythons: Pythons,
    lost: [u64; LOSSES.len()],
    undecodable: u64,
    remaps: Remaps,
    cost: Option<KernelCost>,
    facts: KernelFacts,
    arrivals: Arrivals,
    gaps: SampleGaps,
    sampled: SampledThreads,
    libraries: Libraries,
    behind: Option<Time>,
}

impl BpfCollector {
    /// Loads and attaches the programs; no task is recorded before [`Collector::track`].
    pub(crate) fn open(settings: &Settings) -> Result<BpfCollector, PrivilegedError> {
        let processors = online_cpus().map_err(BpfError::PerfEvent)?;
        let &Settings { hertz, stack_bytes, frame_pointers, .. } = settings;
        let programs = ProgramSettings { hertz, stack_bytes, frame_pointers };
        let (mut access, maps, mut facts) = KernelAccess::open(&programs, PRIVILEGED_CONTENTS)?;
        let libraries = Libraries::open(&mut access, settings);
        facts.unseen.extend(libraries.missing().map(str::to_owned));
        let cpu_of_loading = access.cpu_time();
        let access = Arc::new(Mutex::new(access));
        let counters = PerCpuArray::try_from(Map::PerCpuArray(maps.counters)).map_err(load_error)?;
        // Kernels before 5.19 let no process without capabilities use a map.
        counters.get(&OWN_RUNS, 0).map_err(load_error)?;
        Ok(BpfCollector {
            ring: RingBuf::try_from(Map::RingBuf(maps.ring)).map_err(load_error)?,
            counters,
            executable: BpfHashMap::try_from(Map::HashMap(maps.executable)).map_err(load_error)?,
            areas: ExecutableAreas::default(),
            sampled: SampledThreads::new(
                BusyWaits::new(&access, facts.watched_words, processors, settings.hertz),
                settings.hertz,
            ),
            access,
            cpu_of_loading,
            pending: FxHashMap::default(),
            pythons: Pythons::new(BpfHashMap::try_from(Map::HashMap(maps.pythons)).map_err(load_error)?),
            lost: [0; LOSSES.len()],
            undecodable: 0,
            remaps: Remaps::default(),
            cost: None,
            facts,
            arrivals: Arrivals::default(),
            gaps: SampleGaps::new(settings.hertz),
            libraries,
            behind: None,
        })
    }

    /// Appends the mappings that processes have made.
    fn drain_mappings(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        let mut access = lock(&self.access);
        if access.round(&mut |mapping| into.extend(mappings::event(&mapping)))? {
            self.remaps.lose();
            for pid in self.areas.pids() {
                // One that has ended has nothing to tell.
                let _ = access.follow(pid);
            }
        }
        Ok(())
    }

    /// Appends what is in the ring, up to a bound, and what is missing in it. A stack is put into the first event that
    /// names it.
    fn drain_ring(&mut self, into: &mut Vec<RawEvent>) {
        let (mut bytes, mut last) = (0, Time::ZERO);
        self.behind = None;
        while let Some(item) = self.ring.next() {
            bytes += item.len();
            match wire::decode(&item) {
                Some(Wire::Python(read)) => self.pythons.keep(&read),
                Some(Wire::Function(sent)) => self.pythons.define(&sent),
                Some(Wire::Stack { key, mut stack }) => {
                    stack.python = self.pythons.of_stack(key);
                    self.pending.insert(key, stack);
                }
                Some(Wire::Fork { event, handle }) => {
                    let mut event = event;
                    attach_stack(&mut self.pending, &mut event.kind);
                    let begun = handle_of(&event, handle);
                    self.arrivals.take(event, Accounts::default(), into);
                    into.extend(begun);
                }
                Some(Wire::Event(mut event, accounts)) => {
                    self.pythons.see_execution(&event);
                    attach_stack(&mut self.pending, &mut event.kind);
                    self.pythons.attach_to_sample(&mut event);
                    last = event.time;
                    self.sampled.see(&event, into);
                    self.arrivals.take(event, accounts, into);
                    self.gaps.take_last(into);
                }
                Some(Wire::Look(look)) => self.gaps.look(look, into),
                Some(Wire::Registers(registers)) => self.sampled.keep(registers),
                Some(Wire::Store(store)) => self.sampled.store(store, into),
                None => self.undecodable += 1,
            }
            if bytes >= DRAIN_BYTES {
                self.behind = Some(last - DISORDER_NANOSECONDS);
                break;
            }
        }
    }

    /// Learns from events what processes there are, and what they have mapped.
    fn learn(&mut self, events: &[RawEvent]) {
        for event in events {
            self.areas.learn(event);
            self.remaps.learn(event);
            self.pythons.learn(event);
        }
    }

    fn drain_losses(&mut self, into: &mut Vec<RawEvent>, now: Time) {
        let missing = self.arrivals.take_missing();
        self.undecodable += missing;
        for (index, kind) in LOSSES.into_iter().enumerate() {
            let index32 = u32::try_from(index).expect("there are few counters");
            let Ok(values) = self.counters.get(&index32, 0) else { continue };
            let mut total: u64 = values.iter().sum();
            if kind == LossKind::Events {
                total += self.undecodable;
            }
            let count = total - self.lost[index];
            if count > 0 {
                self.lost[index] = total;
                if kind == LossKind::Events && count > missing {
                    self.arrivals.lose();
                }
                into.push(RawEvent { time: now, cpu: 0, kind: RawKind::Lost { kind, count } });
            }
        }
    }
}

/// Held for one request each; no two threads ask at a time.
fn lock(access: &Mutex<KernelAccess>) -> MutexGuard<'_, KernelAccess> {
    access.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the runs came to that were about recorded tasks, of which each processor timed some.
fn own_cost<'a>(processors: impl Iterator<Item = (&'a u64, &'a u64)>) -> KernelCost {
    let cost = processors.map(|(&runs, &nanoseconds)| {
        let timed = runs.div_ceil(TIMED_RUNS).max(1);
        let nanoseconds = u128::from(nanoseconds) * u128::from(runs) / u128::from(timed);
        KernelCost { nanoseconds: u64::try_from(nanoseconds).unwrap_or(u64::MAX), runs }
    });
    cost.fold(KernelCost::default(), |sum, cost| KernelCost {
        nanoseconds: sum.nanoseconds.saturating_add(cost.nanoseconds),
        runs: sum.runs + cost.runs,
    })
}

/// The handle of a thread that has just been created, by which joins name it.
fn handle_of(event: &RawEvent, handle: u64) -> Option<RawEvent> {
    let RawKind::Fork { child, .. } = event.kind else { return None };
    let kind = RawKind::Inside { task: child, mark: RawMark::Handle(handle) };
    (handle != 0).then_some(RawEvent { time: event.time, cpu: event.cpu, kind })
}

/// What follows for predictions from dependences that nobody sees.
fn unseen_note(unseen: &[String]) -> Option<String> {
    let what = unseen.join(", ");
    (!unseen.is_empty()).then(|| {
        format!("the kernel does not show {what}: a gain that is predicted can be too large by them")
    })
}

/// Replaces the name of a stack that has just been sent by the stack itself.
fn attach_stack(pending: &mut FxHashMap<u64, Box<TakenStack>>, kind: &mut RawKind) {
    let (RawKind::Switch { stack, .. } | RawKind::Wake { stack, .. } | RawKind::Fork { stack, .. }) = kind
    else {
        return;
    };
    if let RawStack::Known(key) = *stack
        && let Entry::Occupied(entry) = pending.entry(key)
    {
        *stack = RawStack::Taken(entry.remove());
    }
}

impl Collector for BpfCollector {
    fn track(&mut self, task: KernelTask) -> io::Result<()> {
        let now = crate::clock::now();
        self.areas.track(task.pid, now);
        self.remaps.begin(now);
        self.pythons.look_at_process(task.pid, now);
        let access = &mut lock(&self.access);
        self.libraries.look_at_process(access, task.pid);
        access.track(task.pid, task.tid)
    }

    fn drain(&mut self, into: &mut Vec<RawEvent>) -> io::Result<()> {
        // Mappings first: one that is there when a stack is taken is then never read after the stack.
        let (first, begun) = (into.len(), crate::clock::now());
        self.drain_mappings(into)?;
        // Losses before what is there: whose record is missing in it is then known to have been lost.
        self.drain_losses(into, begun);
        self.arrivals.begin_round(begun);
        self.drain_ring(into);
        self.gaps.end_round(begun, into);
        self.sampled.end_round(begun);
        self.learn(&into[first..]);
        let looked_up = into.len();
        self.remaps.tell(self.areas.pids(), begun, into);
        self.learn(&into[looked_up..]);
        // Probes take long to attach; short programs have ended by then, and their mappings with them.
        // Python's are read first, or nothing is known of its first tenths of a second.
        into[first..].iter().for_each(|event| self.libraries.learn(event));
        self.areas.publish(&mut self.executable).map_err(io::Error::other)?;
        if self.pythons.round().is_none() {
            self.libraries.look_at_mapped(&mut lock(&self.access));
        }
        self.drain_losses(into, crate::clock::now());
        Ok(())
    }

    fn behind(&self) -> Option<Time> {
        self.behind
    }

    fn kept_back(&self) -> Option<Time> {
        let kept_back = [self.gaps.kept_back(), self.sampled.kept_back(), self.remaps.kept_back()];
        kept_back.into_iter().flatten().min()
    }

    fn round(&self) -> Option<Duration> {
        self.pythons.round()
    }

    fn stop(&mut self) {
        self.gaps.stop();
        self.sampled.stop();
        lock(&self.access).end();
        let counted = self.counters.get(&OWN_RUNS, 0).ok().zip(self.counters.get(&OWN_NANOSECONDS, 0).ok());
        self.cost = counted.map(|(runs, time)| own_cost(runs.iter().zip(time.iter())));
        self.remaps.end();
    }

    fn alarms(&self) -> Vec<RawFd> {
        vec![self.ring.as_fd().as_raw_fd()]
    }

    fn kernel_cost(&mut self) -> Option<KernelCost> {
        self.cost
    }

    fn privileged_cpu(&self) -> Duration {
        lock(&self.access).cpu_time().saturating_sub(self.cpu_of_loading)
    }

    fn notes(&self) -> Vec<String> {
        let interrupts = "the kernel does not say where its preemption count is: wakes from interrupts are told \
                          from wakes by tasks by the interrupted task's registers";
        let accounts = "the kernel keeps no account of when threads get their processors: a switch that it does not \
                        deliver is put where the thread is next seen";
        let notes = [(self.facts.knows_interrupts, interrupts), (self.facts.has_accounts, accounts)];
        let notes = notes.iter().filter(|(is_known, _)| !is_known).map(|(_, note)| (*note).to_owned());
        notes.chain(unseen_note(&self.facts.unseen)).collect()
    }

    fn shared_lines(&self) -> SharedLineSamples {
        self.sampled.shared_lines()
    }

    fn findings(&self) -> Vec<String> {
        self.arrivals.notes().into_iter().chain(self.remaps.note()).chain(self.pythons.notes()).collect()
    }
}
