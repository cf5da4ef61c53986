//! Reads what the agents have written.

use std::io;
use std::sync::Arc;

use longpole_event::{LossKind, Time};
use longpole_ring::{Area, Event, HoldRow, Kind, Mode, Owner, Status, WaitKind};
use longpole_symbols::{Mapping, Registers, maps_of};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{Call, Calls, Out};
use super::files::{File, Files};
use super::losses::Lost;
use super::memory::Memory;
use super::ticks::{self, Ticks};
use super::told::{Told, Wait};
use crate::clock::now;
use crate::raw::{RawEvent, RawKind, RawStack, TakenStack, Task};

/// Time after which the holds of a lock at one place are handed over, though they go on.
const ROW_AGE_NANOSECONDS: u64 = 20_000_000;
/// Time between two looks for threads that ended without a word.
const ROLL_CALL_NANOSECONDS: u64 = 500_000_000;
/// Time between two looks at the mappings of a process, unless it became another program.
const MAPS_NANOSECONDS: u64 = 50_000_000;

/// Reads rings and areas.
pub(super) struct Reader {
    memory: Arc<Memory>,
    ticks: Ticks,
    /// What areas lost, as far as it was told.
    lost: FxHashMap<usize, Lost>,
    processes: FxHashMap<u32, Known>,
    calls: Calls,
    /// Calls of instrumented procedures are wanted.
    wants_calls: bool,
    /// Calls that the last reading found.
    found: u64,
    last_roll_call: Time,
}

/// What is known of a process.
#[derive(Debug, Default)]
struct Known {
    texts: FxHashMap<u64, String>,
    /// Keys of stacks that were told.
    stacks: FxHashSet<u64>,
    /// Instrumented procedures that were called.
    procedures: FxHashSet<u64>,
    last_procedure: u64,
    files: Files,
    mappings: Vec<Mapping>,
    last_look: Time,
}

/// What one ring's events are read with.
struct Context<'a> {
    task: Task,
    area: usize,
    ticks: Ticks,
    /// When reading began.
    now: u64,
    known: &'a mut Known,
    calls: &'a mut Calls,
    into: &'a mut Vec<RawEvent>,
}

impl Reader {
    pub(super) fn new(mode: Mode) -> io::Result<Reader> {
        let memory = Arc::new(Memory::new(mode)?);
        let clock = ticks::choose();
        let ticks = Ticks::new(clock);
        memory.header().open(mode, clock, ticks.of_nanoseconds(ROW_AGE_NANOSECONDS));
        let last_roll_call = now();
        let (lost, processes, calls) = (FxHashMap::default(), FxHashMap::default(), Calls::new(&ticks));
        Ok(Reader {
            memory,
            ticks,
            lost,
            processes,
            calls,
            wants_calls: mode.calls,
            found: 0,
            last_roll_call,
        })
    }

    /// The memory.
    pub(super) fn memory(&self) -> &Arc<Memory> {
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

    /// What a reader has to know of calls of instrumented procedures.
    pub(super) fn findings(&self) -> Vec<String> {
        if self.wants_calls { self.calls.findings(&self.ticks) } else { Vec::new() }
    }

    /// Whether there is so much to read that the rings may be full when the next round comes.
    pub(super) fn is_pressed(&self) -> bool {
        /// A fraction of what a long ring holds.
        const MANY: u64 = 16 * 1024;
        self.found >= MANY
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
        let told_before = self.calls.told();
        let time = now();
        let calls_roll = is_last || time.since(self.last_roll_call) >= ROLL_CALL_NANOSECONDS;
        if calls_roll {
            self.last_roll_call = time;
        }
        for (index, area) in self.memory.areas() {
            let (owner, has_ended) = match area.status() {
                Status::Free => continue,
                Status::Live(owner) => (owner, calls_roll && is_gone(owner)),
                Status::Ended(owner) => (owner, true),
            };
            let task = Task { pid: owner.pid, tid: owner.tid };
            let was_silent = has_ended && matches!(area.status(), Status::Live(_));
            let known = self.processes.entry(task.pid).or_default();
            let (ticks, now, calls) = (self.ticks, self.ticks.now(), &mut self.calls);
            let mut context = Context { task, area: index, ticks, now, known, calls, into };
            context.read(area);
            let before = self.lost.get(&index).copied().unwrap_or_default();
            let lost = before.now(area);
            self.lost.insert(index, lost);
            context.lost(LossKind::Calls, lost.calls - before.calls, time);
            context.lost(LossKind::Events, lost.others - before.others, time);
            if was_silent {
                for row in area.holds.rows() {
                    context.held(row, time);
                }
                context.tell(time, Told::Ended);
            }
            if has_ended {
                self.lost.remove(&index);
                self.calls.end(index);
                area.reset();
                self.memory.header().pool.give_back(index);
            }
        }
        self.found = self.calls.told() - told_before;
    }
}

/// Whether a thread is no longer there, or only as an entry that nobody has waited for.
fn is_gone(owner: Owner) -> bool {
    let status = std::fs::read(format!("/proc/{}/task/{}/stat", owner.pid, owner.tid)).unwrap_or_default();
    // PID (NAME) STATE …, where the name may hold anything.
    let state = status.iter().rposition(|&byte| byte == b')').and_then(|end| status.get(end + 2));
    matches!(state, None | Some(b'Z' | b'X'))
}

impl Context<'_> {
    fn read(&mut self, area: &Area) {
        let is_intact = area.drain(&mut |words| {
            if let Some(event) = words.event() {
                self.take(&event);
            }
        });
        let has_gap = area.has_gap();
        self.mark(|calls, area, _, out| if has_gap { calls.cut(area, out) } else { calls.settle(area, out) });
        if !is_intact {
            self.push(now(), RawKind::Lost { kind: LossKind::Events, count: 1 });
        }
    }

    fn take(&mut self, event: &Event<'_>) {
        if let Kind::Calls | Kind::Returns = event.kind {
            return self.call(event);
        }
        let time = self.ticks.time(event.time);
        let told = match event.kind {
            Kind::Began => {
                *self.known = Known::default();
                let program = std::fs::read_link(format!("/proc/{}/exe", self.task.pid));
                let program = program.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
                self.tell(time, Told::Began { program });
                let name =
                    std::fs::read_to_string(format!("/proc/{}/comm", self.task.pid)).unwrap_or_default();
                self.name(time, name.trim_end().to_owned());
                self.look_at_mappings(time);
                return;
            }
            Kind::Creates => Told::Creates { key: event.subject, stack: self.stack(event.word(0)) },
            Kind::Created => Told::Created { key: event.subject, handle: event.word(0) },
            Kind::Forks => Told::Forks { key: event.subject, stack: self.stack(event.word(0)) },
            Kind::Forked => Told::Forked { key: event.subject },
            Kind::Ends => Told::Ended,
            Kind::Exits => Told::Exits,
            Kind::Stack => return self.take_stack(event, time),
            Kind::Waits => {
                let Some(mut wait) = wait(event) else { return };
                if wait.is_on_descriptor() {
                    wait.file = self.known.files.behind(self.task.pid, wait.detail, time);
                }
                Told::Waits { wait, stack: self.stack(event.word(1)) }
            }
            Kind::Done => Told::Done { granted: event.word(0) != 0 },
            Kind::Releases => {
                let Some(wait) = wait(event) else { return };
                Told::Releases { wait, stack: self.stack(event.word(1)) }
            }
            Kind::Held => {
                let words: [u64; 7] = std::array::from_fn(|index| event.word(index));
                let [place, kind, acquisitions, contended, ticks, longest, outer] = words;
                let (subject, last) = (event.subject, event.time);
                let row =
                    HoldRow { subject, place, kind, outer, acquisitions, contended, ticks, longest, last };
                return self.held(row, time);
            }
            Kind::Enters => {
                self.mark(|calls, area, _, out| calls.enters_region(area, out));
                Told::Enters { name: self.text(event.subject), stack: self.stack(event.word(0)) }
            }
            Kind::Leaves => {
                return self.mark(|calls, area, _, out| calls.leaves_region(area, event.time, out));
            }
            Kind::Spawns => Told::Spawns { task: event.subject, stack: self.stack(event.word(0)) },
            Kind::Runs => {
                self.mark(|calls, area, _, out| calls.enters_region(area, out));
                let (name, stack) = (self.text(event.word(0)), self.stack(event.word(1)));
                Told::Runs { task: event.subject, name, stack }
            }
            Kind::Text => {
                self.known.texts.insert(event.subject, text(event, 0));
                return;
            }
            Kind::NamesObject => {
                Told::NamesObject { subject: event.subject, bytes: event.word(0), name: text(event, 1) }
            }
            Kind::Named => {
                return self.name(time, text(event, 0));
            }
            // How many events were lost is read from the area.
            Kind::Lost => {
                let (now, _) = event.call(self.now);
                self.tell(self.ticks.time(now), Told::Gap);
                return self.mark(|calls, area, _, out| calls.lost(area, event.subject, now, out));
            }
            Kind::Trial => return self.calls.tried(self.area, event.word(0), event.subject),
            Kind::Calls | Kind::Returns => return,
        };
        self.tell(time, told);
    }

    fn call(&mut self, event: &Event<'_>) {
        let (ticks, depth) = event.call(self.now);
        let procedure = event.subject;
        if procedure != self.known.last_procedure {
            self.known.last_procedure = procedure;
            self.meet(procedure, ticks);
        }
        let call = Call { procedure, ticks, depth };
        let is_call = event.kind == Kind::Calls;
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
    fn mark(&mut self, follow: impl FnOnce(&mut Calls, usize, &Ticks, Out<'_>)) {
        let Context { task, area, ticks, calls, into, .. } = self;
        let (task, ticks) = (*task, &*ticks);
        follow(calls, *area, ticks, &mut |now, mark| {
            let kind = RawKind::Inside { task, mark };
            into.push(RawEvent { time: ticks.time(now), cpu: 0, kind });
        });
    }

    fn held(&mut self, row: HoldRow, time: Time) {
        let Some(kind) = WaitKind::of(row.kind as u8) else { return };
        let told = Told::Held {
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

    fn take_stack(&mut self, event: &Event<'_>, time: Time) {
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
            key: Some(self.salted(key)),
            kernel: Vec::new(),
            registers: has_memory.then_some(Registers { ip, sp, bp }),
            memory: memory.iter().flat_map(|word| word.to_le_bytes()).collect(),
            chain,
            procedures: Vec::new(),
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

    fn tell(&mut self, time: Time, told: Told) {
        self.push(time, RawKind::Told { task: self.task, told: Box::new(told) });
    }

    fn push(&mut self, time: Time, kind: RawKind) {
        self.into.push(RawEvent { time, cpu: 0, kind });
    }
}

fn wait(event: &Event<'_>) -> Option<Wait> {
    let word = event.word(0);
    let file = File::default();
    Some(Wait { kind: WaitKind::of(word as u8)?, subject: event.subject, detail: word >> 8, file })
}

fn text(event: &Event<'_>, from: usize) -> String {
    String::from_utf8_lossy(&event.bytes(from).collect::<Vec<_>>()).into_owned()
}
