//! Reads what the agents have written.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use longpole_event::{LossKind, Time};
use longpole_ring::{
    Area, AreaStatus, HoldRow, Mode, RingEvent, RingEventKind, WaitKind, split_call_and_bytes,
    split_rank_and_tag,
};
use longpole_symbols::{Mapping, Registers, maps_of};
use rustc_hash::{FxHashMap, FxHashSet};

use super::agent_event::{AgentEvent, AgentWait, MpiRequest, ToldCommunicator, neighbours};
use super::bounds::RoundBounds;
use super::calls::{CallEvent, Calls, MarkOutput};
use super::files::ProcessDescriptors;
use super::losses::LostEvents;
use super::memory::AgentMemory;
use super::roll_call::{RollCall, is_gone};
use super::ticks::{self, Ticks};
use crate::clock::now;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, TakenStack};

/// Time after which the holds of a lock at one place are handed over, though they go on.
const ROW_AGE_NANOSECONDS: u64 = 20_000_000;
/// Time between two looks at the mappings of a process, unless it became another program.
const MAPS_NANOSECONDS: u64 = 50_000_000;

/// Reads rings and areas.
pub(super) struct AgentReader {
    memory: Arc<AgentMemory>,
    ticks: Ticks,
    /// What areas lost, as far as it was told.
    lost: FxHashMap<usize, LostEvents>,
    processes: FxHashMap<u32, KnownProcess>,
    calls: Calls,
    /// Calls of instrumented procedures are wanted.
    wants_calls: bool,
    /// Some ring was filling up at the last reading.
    is_pressed: bool,
    /// How long the last reading took.
    took: Duration,
    roll_call: RollCall,
    last_reading: Time,
    /// Nanoseconds for which threads waited for room.
    delayed: u64,
}

/// What is known of a process.
#[derive(Debug, Default)]
struct KnownProcess {
    texts: FxHashMap<u64, String>,
    /// Keys of stacks that were told.
    stacks: FxHashSet<u64>,
    /// Instrumented procedures that were called.
    procedures: FxHashSet<u64>,
    last_procedure: u64,
    files: ProcessDescriptors,
    mappings: Vec<Mapping>,
    last_look: Time,
}

/// What one ring's events are read with.
struct RingReadContext<'a> {
    task: KernelTask,
    area: usize,
    ticks: Ticks,
    /// When reading began.
    now: u64,
    /// What a thread can tell.
    bounds: RoundBounds,
    known: &'a mut KnownProcess,
    calls: &'a mut Calls,
    /// Nanoseconds for which threads waited for room.
    delayed: &'a mut u64,
    into: &'a mut Vec<RawEvent>,
}

impl AgentReader {
    pub(super) fn new(mode: Mode) -> io::Result<AgentReader> {
        let memory = Arc::new(AgentMemory::new(mode)?);
        let clock = ticks::choose();
        let ticks = Ticks::new(clock);
        memory.header().open(mode, clock, ticks.of_nanoseconds(ROW_AGE_NANOSECONDS));
        let last_reading = now();
        let (lost, processes, calls) = (FxHashMap::default(), FxHashMap::default(), Calls::new(&ticks));
        Ok(AgentReader {
            memory,
            ticks,
            lost,
            processes,
            calls,
            wants_calls: mode.calls,
            is_pressed: false,
            took: Duration::ZERO,
            roll_call: RollCall::new(last_reading),
            last_reading,
            delayed: 0,
        })
    }

    /// The memory.
    pub(super) fn memory(&self) -> &Arc<AgentMemory> {
        &self.memory
    }

    /// Where agents find the memory.
    pub(super) fn path(&self) -> String {
        self.memory.path()
    }

    /// Processes that agents were in, and threads that went unrecorded.
    pub(super) fn census(&self) -> (u32, u32) {
        let header = self.memory.header();
        (header.processes(), header.threads_without_area())
    }

    /// What a reader has to know of calls of instrumented procedures, and of waits for this reader.
    pub(super) fn findings(&self) -> Vec<String> {
        let calls = if self.wants_calls { self.calls.findings(&self.ticks) } else { Vec::new() };
        let delayed = (self.delayed > 0).then(|| {
            format!(
                "calls of MPI came faster than they could be recorded: threads waited {:.1} ms in all for the recorder, before such \
                 calls",
                self.delayed as f64 / 1e6
            )
        });
        calls.into_iter().chain(delayed).collect()
    }

    /// Whether there is so much to read that the rings may be full when the next round comes.
    pub(super) fn is_pressed(&self) -> bool {
        self.is_pressed
    }

    /// How long the last reading took: with very many threads that is long, though they tell little.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// Agents fall silent.
    pub(super) fn close(&self) {
        self.memory.header().close();
    }

    /// Reads everything that was written before this call. `is_last`: threads that are gone, or whose process
    /// is, are taken to have ended.
    pub(super) fn drain(&mut self, is_last: bool, into: &mut Vec<RawEvent>) {
        self.ticks.calibrate();
        self.memory.header().set_coarse_time(self.ticks.last());
        let time = now();
        let bounds = RoundBounds::new(&self.ticks, time.since(self.last_reading));
        let before_this = std::mem::replace(&mut self.last_reading, time);
        self.roll_call.begin(time);
        self.is_pressed = false;
        let memory = Arc::clone(&self.memory);
        for (index, area) in memory.areas() {
            let (owner, has_ended) = match area.status() {
                AreaStatus::Free => continue,
                AreaStatus::Live(owner) => {
                    (owner, (is_last || self.roll_call.calls(index)) && is_gone(owner))
                }
                AreaStatus::Ended(owner) => (owner, true),
            };
            let task = KernelTask { pid: owner.pid, tid: owner.tid };
            let was_silent = has_ended && matches!(area.status(), AreaStatus::Live(_));
            let known = self.processes.entry(task.pid).or_default();
            let (ticks, now, calls) = (self.ticks, self.ticks.now(), &mut self.calls);
            let delayed = &mut self.delayed;
            let mut context =
                RingReadContext { task, area: index, ticks, now, bounds, known, calls, delayed, into };
            self.is_pressed |= memory.is_filling(area);
            let first = context.into.len();
            context.read(&memory, area);
            if has_ended {
                context.held_at_last(area, before_this, first);
            }
            let before = self.lost.get(&index).copied().unwrap_or_default();
            let lost = before.now(area);
            self.lost.insert(index, lost);
            context.lost(LossKind::Calls, bounds.losses(lost.calls - before.calls), time);
            context.lost(LossKind::Events, bounds.losses(lost.others - before.others), time);
            let communications = lost.communications - before.communications;
            context.lost(LossKind::Communications, bounds.losses(communications), time);
            if was_silent {
                context.tell(time, AgentEvent::Ended);
            }
            if has_ended {
                self.lost.remove(&index);
                self.calls.end(index);
                memory.take_back(index, area);
            }
        }
        self.roll_call.end(memory.header().pool.used());
        self.took = Duration::from_nanos(now().since(time));
    }
}

impl RingReadContext<'_> {
    fn read(&mut self, memory: &AgentMemory, area: &Area) {
        let is_intact = memory.drain(area, &mut |words| {
            if let Some(event) = words.event() {
                self.take(&event);
            }
        });
        let has_gap = area.losses.has_gap();
        self.mark(|calls, area, _, out| if has_gap { calls.cut(area, out) } else { calls.settle(area, out) });
        if !is_intact {
            self.push(now(), RawKind::Lost { kind: LossKind::Events, count: 1 });
        }
    }

    /// When a thread told this, as far as that can be.
    fn moment(&mut self, ticks: u64) -> u64 {
        if self.bounds.is_beyond(ticks) {
            self.bounds.go_on(self.ticks.now(), &self.ticks);
        }
        self.bounds.moment(ticks)
    }

    fn take(&mut self, event: &RingEvent<'_>) {
        if let RingEventKind::Calls | RingEventKind::Returns = event.kind {
            return self.call(event);
        }
        let ticks = self.moment(event.time);
        let time = self.ticks.time(ticks);
        let told = match event.kind {
            RingEventKind::Began => {
                *self.known = KnownProcess::default();
                let program = std::fs::read_link(format!("/proc/{}/exe", self.task.pid));
                let program = program.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
                self.tell(time, AgentEvent::Began { program });
                let name =
                    std::fs::read_to_string(format!("/proc/{}/comm", self.task.pid)).unwrap_or_default();
                self.name(time, name.trim_end().to_owned());
                self.look_at_mappings(time);
                return;
            }
            RingEventKind::Creates => {
                AgentEvent::Creates { key: event.subject, stack: self.stack(event.word(0)) }
            }
            RingEventKind::Created => AgentEvent::Created { key: event.subject, handle: event.word(0) },
            RingEventKind::Forks => {
                AgentEvent::Forks { key: event.subject, stack: self.stack(event.word(0)) }
            }
            RingEventKind::Forked => AgentEvent::Forked { key: event.subject },
            RingEventKind::Ends => AgentEvent::Ended,
            RingEventKind::Exits => AgentEvent::Exits,
            RingEventKind::Stack => return self.take_stack(event, time),
            RingEventKind::Waits => {
                let Some(mut wait) = AgentWait::of(event) else { return };
                if wait.is_on_descriptor() {
                    wait.file = self.known.files.behind(self.task.pid, wait.detail, time);
                }
                AgentEvent::Waits { wait, stack: self.stack(event.word(1)) }
            }
            RingEventKind::Done => AgentEvent::Done { granted: event.word(0) != 0 },
            RingEventKind::Releases => {
                let Some(wait) = AgentWait::of(event) else { return };
                AgentEvent::Releases { wait, stack: self.stack(event.word(1)) }
            }
            RingEventKind::Held => {
                let words: [u64; 7] = std::array::from_fn(|index| event.word(index));
                let [place, kind, acquisitions, contended, ticks, longest, outer] = words;
                let (subject, last) = (event.subject, event.time);
                let row =
                    HoldRow { subject, place, kind, outer, acquisitions, contended, ticks, longest, last };
                return self.held(row, time);
            }
            RingEventKind::Posts => AgentEvent::Posts { subject: event.subject, count: event.word(0) },
            RingEventKind::Takes => AgentEvent::Takes { subject: event.subject },
            RingEventKind::Initialises => {
                AgentEvent::Initialises { subject: event.subject, count: event.word(0) }
            }
            RingEventKind::Locks => AgentEvent::Locks { subject: event.subject, place: event.word(0) },
            RingEventKind::Unlocks => AgentEvent::Unlocks { subject: event.subject },
            RingEventKind::Waited => {
                let (mutex, granted) = (event.word(0), event.word(1) != 0);
                AgentEvent::Waited { subject: event.subject, mutex, granted }
            }
            RingEventKind::Signals => {
                AgentEvent::Signals { subject: event.subject, broadcast: event.word(0) != 0 }
            }
            RingEventKind::Communicates => {
                let Some((call, bytes)) = split_call_and_bytes(event.word(0)) else { return };
                let (peer, tag) = split_rank_and_tag(event.word(1));
                let (communicator, stack) = (event.subject, self.stack(event.word(2)));
                AgentEvent::Communicates { call, communicator, peer, tag, bytes, stack }
            }
            RingEventKind::Communicated => AgentEvent::Communicated(MpiRequest::of(event)),
            RingEventKind::Completes => AgentEvent::Completes(MpiRequest::of(event)),
            RingEventKind::Probed => AgentEvent::Probed {
                communicator: event.subject,
                message: MpiRequest { request: event.word(0), ..MpiRequest::of(event) },
            },
            RingEventKind::Starts => AgentEvent::Starts { request: event.subject },
            RingEventKind::Window => {
                AgentEvent::Window { window: event.subject, communicator: event.word(0) }
            }
            RingEventKind::Addresses => {
                AgentEvent::Addresses { window: event.subject, rank: (event.word(0) as u32).cast_signed() }
            }
            RingEventKind::NamesCall => AgentEvent::NamesCall { name: text(event, 0) },
            RingEventKind::Neighbours => {
                let (from, to) = neighbours(event);
                AgentEvent::Neighbours { communicator: event.subject, from, to }
            }
            RingEventKind::Communicator => AgentEvent::Communicator(ToldCommunicator::of(event)),
            RingEventKind::Enters => {
                self.mark(|calls, area, _, out| calls.enters_region(area, out));
                AgentEvent::Enters { name: self.text(event.subject), stack: self.stack(event.word(0)) }
            }
            RingEventKind::Leaves => {
                return self.mark(|calls, area, _, out| calls.leaves_region(area, ticks, out));
            }
            RingEventKind::Spawns => {
                AgentEvent::Spawns { task: event.subject, stack: self.stack(event.word(0)) }
            }
            RingEventKind::Runs => {
                self.mark(|calls, area, _, out| calls.enters_region(area, out));
                let (name, stack) = (self.text(event.word(0)), self.stack(event.word(1)));
                AgentEvent::Runs { task: event.subject, name, stack }
            }
            RingEventKind::Text => {
                self.known.texts.insert(event.subject, text(event, 0));
                return;
            }
            RingEventKind::NamesObject => {
                AgentEvent::NamesObject { subject: event.subject, bytes: event.word(0), name: text(event, 1) }
            }
            RingEventKind::Named => {
                return self.name(time, text(event, 0));
            }
            // How many events were lost is read from the area.
            RingEventKind::Lost => {
                let (now, has_communications) = event.call(self.now);
                let now = self.moment(now);
                self.tell(self.ticks.time(now), AgentEvent::Gap);
                if has_communications != 0 {
                    self.tell(self.ticks.time(now), AgentEvent::CommunicationsLost);
                }
                return self.mark(|calls, area, _, out| calls.lost(area, event.subject, now, out));
            }
            RingEventKind::Delayed => {
                let [waited, processor] =
                    [0, 1].map(|word| self.bounds.nanoseconds(event.word(word), &self.ticks));
                *self.delayed = self.delayed.saturating_add(waited);
                AgentEvent::Delayed { nanoseconds: processor }
            }
            RingEventKind::Trial => {
                let (count, ticks) = self.bounds.trial(event.word(0), event.subject);
                return self.calls.tried(self.area, count, ticks);
            }
            RingEventKind::Calls | RingEventKind::Returns => return,
        };
        self.tell(time, told);
    }

    fn call(&mut self, event: &RingEvent<'_>) {
        let (ticks, depth) = event.call(self.now);
        let ticks = self.moment(ticks);
        let procedure = event.subject;
        if procedure != self.known.last_procedure {
            self.known.last_procedure = procedure;
            self.meet(procedure, ticks);
        }
        let call = CallEvent { procedure, ticks, depth };
        let is_call = event.kind == RingEventKind::Calls;
        self.mark(|calls, area, ticks, out| match is_call {
            true => calls.call(area, call, ticks, out),
            false => calls.returns(area, call, ticks, out),
        });
    }

    /// A procedure was called, maybe for the first time, and maybe from a library that was just loaded.
    fn meet(&mut self, procedure: u64, ticks: u64) {
        if self.known.procedures.insert(procedure) && !self.knows(procedure) {
            let time = self.ticks.time(ticks);
            if time.since(self.known.last_look) > MAPS_NANOSECONDS {
                self.look_at_mappings(time);
            }
        }
    }

    /// Has the thread's calls followed, and takes the marks that come of it.
    fn mark(&mut self, follow: impl FnOnce(&mut Calls, usize, &Ticks, MarkOutput<'_>)) {
        let RingReadContext { task, area, ticks, calls, into, .. } = self;
        let (task, ticks) = (*task, &*ticks);
        follow(calls, *area, ticks, &mut |now, mark| {
            let kind = RawKind::Inside { task, mark };
            into.push(RawEvent { time: ticks.time(now), cpu: 0, kind });
        });
    }

    /// Tells what the holds of a thread that has ended came to: after its beginning and before its end, both of which can be among
    /// what it told since the last reading, from `first` on.
    fn held_at_last(&mut self, area: &Area, last_reading: Time, first: usize) {
        let birth = |event: &RawEvent| {
            let RawKind::Told { told, .. } = &event.kind else { return false };
            matches!(
                **told,
                AgentEvent::Created { .. } | AgentEvent::Forked { .. } | AgentEvent::Began { .. }
            )
        };
        let begun = self.into[first..].iter().position(birth).map_or(first, |position| first + position + 1);
        let time = self.into[first..begun].last().map_or(last_reading, |event| event.time.max(last_reading));
        let told = self.into.len();
        area.holds.rows().for_each(|row| self.held(row, time));
        let rows = self.into.len() - told;
        self.into[begun..].rotate_right(rows);
    }

    fn held(&mut self, row: HoldRow, time: Time) {
        let Some(kind) = WaitKind::of(row.kind as u8) else { return };
        let row = self.bounds.row(row);
        let told = AgentEvent::Held {
            kind,
            subject: row.subject,
            place: row.place,
            outer: row.outer().and_then(|(subject, kind)| Some((subject, WaitKind::of(kind)?))),
            acquisitions: row.acquisitions,
            contended: row.contended,
            nanoseconds: self.ticks.duration(row.ticks),
            longest: self.ticks.duration(row.longest),
        };
        self.tell(time, told);
    }

    fn take_stack(&mut self, event: &RingEvent<'_>, time: Time) {
        let [key, ip, sp, bp, chained] = std::array::from_fn(|index| event.word(index));
        let rest = event.rest.get(5..).unwrap_or_default();
        let (chain, memory) = rest.split_at((chained as usize).min(rest.len()));
        let has_memory = !memory.is_empty();
        // The chain begins at the hook itself, as every stack does.
        let chain: Vec<u64> = std::iter::once(ip).chain(chain.iter().copied()).collect();
        if chain.iter().any(|&address| !self.knows(address))
            && time.since(self.known.last_look) > MAPS_NANOSECONDS
        {
            self.look_at_mappings(time);
        }
        let taken = TakenStack {
            python: None,
            key: Some(self.salted(key)),
            kernel: Vec::new(),
            registers: has_memory.then_some(Registers { ip, sp, bp }),
            memory: memory.iter().flat_map(|word| word.to_le_bytes()).collect(),
            chain,
            procedures: Vec::new(),
            at_call: None,
        };
        self.known.stacks.insert(key);
        self.push(time, RawKind::Stack { pid: self.task.pid, taken: Box::new(taken) });
    }

    fn stack(&mut self, key: u64) -> RawStack {
        if key == 0 {
            return RawStack::None;
        }
        if self.known.stacks.contains(&key) { RawStack::Known(self.salted(key)) } else { RawStack::None }
    }

    /// Two processes may tell stacks of one key.
    fn salted(&self, key: u64) -> u64 {
        key ^ u64::from(self.task.pid).rotate_right(20)
    }

    fn knows(&self, address: u64) -> bool {
        self.known.mappings.iter().any(|mapping| (mapping.start..mapping.end).contains(&address))
    }

    /// Tells of mappings that are new.
    fn look_at_mappings(&mut self, time: Time) {
        self.known.last_look = time;
        let Ok(mappings) = maps_of(self.task.pid) else { return };
        for mapping in &mappings {
            if !self.known.mappings.contains(mapping) {
                self.push(time, RawKind::Map { pid: self.task.pid, mapping: mapping.clone() });
            }
        }
        self.known.mappings = mappings;
    }

    fn text(&self, address: u64) -> String {
        self.known.texts.get(&address).cloned().unwrap_or_else(|| format!("region {address:#x}"))
    }

    fn name(&mut self, time: Time, name: String) {
        if !name.is_empty() {
            self.push(time, RawKind::Name { task: self.task, name });
        }
    }

    fn lost(&mut self, kind: LossKind, count: u64, time: Time) {
        if count > 0 {
            self.push(time, RawKind::Lost { kind, count });
        }
    }

    fn tell(&mut self, time: Time, told: AgentEvent) {
        self.push(time, RawKind::Told { task: self.task, told: Box::new(told) });
    }

    fn push(&mut self, time: Time, kind: RawKind) {
        self.into.push(RawEvent { time, cpu: 0, kind });
    }
}

fn text(event: &RingEvent<'_>, from: usize) -> String {
    String::from_utf8_lossy(&event.bytes(from).collect::<Vec<_>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use longpole_ring::{HEADER_BYTES, stride};

    use super::super::interpreter::{AgentScope, Interpreter};
    use super::*;

    /// A number from the one before (xorshift).
    fn draw(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    fn value(state: &mut u64, now: u64) -> u64 {
        let kind = draw(state) % 24;
        match draw(state) % 9 {
            0 => 0,
            1 => u64::MAX,
            2 => draw(state) % 4096,
            3 => u64::from(std::process::id()) << 32 | u64::from(std::process::id()),
            4 => 1 << (draw(state) % 64),
            5 => kind | (2 + draw(state) % 8) << 6 | (draw(state) % 64) << 16,
            6 => kind | (draw(state) % 1024) << 6 | draw(state) << 16,
            7 => now.wrapping_sub(draw(state) % 1_000_000),
            _ => draw(state),
        }
    }

    /// Rounds of writes all over the memory, each read and interpreted: nothing overflows, nothing is read past its end,
    /// and no more comes out than the rings hold.
    fn scribble(mode: Mode, part: AgentScope, seed: u64) {
        const ROUNDS: u64 = 20;
        const WRITES: u64 = 4_000;
        const AREAS: u64 = 3;
        let mut reader = AgentReader::new(mode).unwrap();
        let mut interpreter = Interpreter::new(part);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (header, stride) = (HEADER_BYTES as u64 / 8, stride(mode) as u64 / 8);
        let mut out = 0;
        for round in 0..ROUNDS {
            let memory = Arc::clone(reader.memory());
            let words = memory.words();
            let now = reader.ticks.now();
            for _ in 0..WRITES {
                let area = draw(&mut state) % (AREAS + 1);
                // One in four the last area: what lies behind it is nobody's.
                let begin = if area == AREAS { words.len() as u64 - stride } else { header + area * stride };
                let within = if draw(&mut state).is_multiple_of(2) { 64 } else { stride };
                let at = match draw(&mut state) % 16 {
                    0 => draw(&mut state) % header,
                    _ => begin + draw(&mut state) % within,
                };
                words[at as usize].store(value(&mut state, now), Ordering::Relaxed);
            }
            // All of them in the end, the last one too.
            let pool = &memory.header().pool;
            let claims = if round + 1 == ROUNDS { longpole_ring::AREAS as u64 } else { AREAS };
            (0..claims).for_each(|_| _ = pool.claim());
            let mut events = Vec::new();
            reader.drain(round + 1 == ROUNDS, &mut events);
            events.sort_by_key(|event| event.time);
            for event in events {
                interpreter.take(event, &mut |_| out += 1);
            }
        }
        interpreter.finish(now(), &mut |_| out += 1);
        reader.findings();
        assert!(out > 0, "what was written was never read");
    }

    #[test]
    fn nothing_that_a_program_writes_into_the_memory_hurts_its_reader() {
        let mode =
            |waits, calls| Mode { waits, calls, messages: !calls, frame_pointers: true, stack_bytes: 1024 };
        for seed in 1..=4 {
            scribble(mode(true, false), AgentScope::All, seed);
            scribble(mode(true, true), AgentScope::All, seed);
            scribble(mode(true, false), AgentScope::Causes, seed);
            scribble(mode(false, false), AgentScope::Locks, seed);
        }
    }
}
