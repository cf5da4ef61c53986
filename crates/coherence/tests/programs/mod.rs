//! Programs as event lists: builders for the known ones, and random ones from a seed.

#![allow(dead_code, reason = "each test file uses its part")]

use longpole_coherence::{
    AccessKind, CoherenceSettings, CoherenceSimulation, CommunicationResult, DataAccess, ProcessorId, SiteId,
    SyncKind, SyncOperation, SyncToken,
};

/// What a program does next.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Access(DataAccess),
    Sync(SyncOperation),
}

/// An event list that is being written.
#[derive(Default, Debug)]
pub struct Program(pub Vec<Event>);

impl Program {
    fn now(&self) -> u64 {
        self.0.len() as u64 * 10
    }

    pub fn access(&mut self, processor: u16, kind: AccessKind, address: u64, size: u32, site: u32) {
        let (processor, site, time) = (ProcessorId(processor), SiteId(site), self.now());
        self.0.push(Event::Access(DataAccess { processor, address, size, kind, site, time }));
    }

    pub fn read(&mut self, processor: u16, address: u64, size: u32, site: u32) {
        self.access(processor, AccessKind::Read, address, size, site);
    }

    pub fn write(&mut self, processor: u16, address: u64, size: u32, site: u32) {
        self.access(processor, AccessKind::Write, address, size, site);
    }

    pub fn sync(&mut self, processor: u16, kind: SyncKind, token: u64, site: u32) {
        let (processor, token, site, time) =
            (ProcessorId(processor), SyncToken(token), SiteId(site), self.now());
        self.0.push(Event::Sync(SyncOperation { processor, token, kind, site, time }));
    }

    pub fn acquire(&mut self, processor: u16, token: u64, site: u32) {
        self.sync(processor, SyncKind::Acquire, token, site);
    }

    pub fn release(&mut self, processor: u16, token: u64, site: u32) {
        self.sync(processor, SyncKind::Release, token, site);
    }

    pub fn barrier(&mut self, processors: u16, token: u64, site: u32) {
        for processor in 0..processors {
            self.sync(processor, SyncKind::Barrier { expected: u32::from(processors) }, token, site);
        }
    }

    pub fn run(&self, settings: CoherenceSettings) -> CommunicationResult {
        let mut simulation = CoherenceSimulation::new(settings).unwrap();
        for event in &self.0 {
            match event {
                Event::Access(access) => {
                    simulation.access(access);
                }
                Event::Sync(operation) => simulation.synchronise(operation),
            }
        }
        simulation.finish()
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Processors of a random program: who can go on, who waits at the barrier.
struct Cast {
    live: Vec<u16>,
    waiting: Vec<u16>,
    /// Processors of the episode that is going on.
    expected: u32,
    created: u16,
}

const KINDS: [AccessKind; 5] =
    [AccessKind::Read, AccessKind::Read, AccessKind::Write, AccessKind::Write, AccessKind::Update];
const SITES: u64 = 5;
const TOKENS: u64 = 3;

/// A random program of about `length` events on `bytes` bytes of memory.
pub fn random(seed: u64, length: usize, bytes: u64) -> Program {
    let mut random = Random(seed);
    let mut program = Program::default();
    let threads = 1 + random.below(5) as u16;
    let mut cast = Cast { live: (0..threads).collect(), waiting: Vec::new(), expected: 0, created: threads };
    // Programs with few, many and no synchronisations.
    let sync_percent = random.pick(&[0, 10, 30, 50, 70]);
    let aligned = random.below(2) == 0;
    // Of accesses that are not synchronisation: those under a lock of their own.
    let locked_percent = random.pick(&[0, 0, 50, 90]);
    while program.0.len() < length {
        let free: Vec<u16> =
            cast.live.iter().copied().filter(|processor| !cast.waiting.contains(processor)).collect();
        let processor = random.pick(&free);
        if random.below(100) < sync_percent {
            synchronise(&mut program, &mut random, &mut cast, processor);
        } else if random.below(100) < locked_percent {
            let lock = 20 + random.below(2);
            program.acquire(processor, lock, 120);
            access(&mut program, &mut random, processor, bytes, aligned);
            program.release(processor, lock, 121);
        } else {
            access(&mut program, &mut random, processor, bytes, aligned);
        }
    }
    program
}

/// A random program of at most 8 accesses to one line, most of them under one lock.
pub fn small(seed: u64) -> Program {
    let mut random = Random(seed);
    let mut program = Program::default();
    let processors = 2 + random.below(2);
    let locked_percent = random.pick(&[60, 80, 100]);
    for _ in 0..3 + random.below(6) {
        let processor = random.below(processors) as u16;
        let is_locked = random.below(100) < locked_percent;
        if is_locked {
            program.acquire(processor, 7, 100);
        }
        access(&mut program, &mut random, processor, 32, true);
        if is_locked {
            program.release(processor, 7, 101);
        }
    }
    program
}

fn access(program: &mut Program, random: &mut Random, processor: u16, bytes: u64, aligned: bool) {
    let (address, size) = if aligned {
        (random.below(bytes / 8) * 8, 8)
    } else {
        let size = random.pick(&[1, 2, 3, 4, 8, 8, 16, 40, 150]);
        (random.below(bytes), size)
    };
    let kind = random.pick(&KINDS);
    program.access(processor, kind, 0x1000 + address, size, random.below(SITES) as u32);
}

fn synchronise(program: &mut Program, random: &mut Random, cast: &mut Cast, processor: u16) {
    let (token, site) = (random.below(TOKENS), 100 + random.below(3) as u32);
    match random.below(20) {
        0..2 => program.release(processor, token, site),
        2..4 => program.acquire(processor, token, site),
        4..10 => {
            program.release(processor, token, site);
            let free = |other: &&u16| !cast.waiting.contains(other);
            let free: Vec<u16> = cast.live.iter().filter(free).copied().collect();
            program.acquire(random.pick(&free), token, site);
        }
        10 => program.sync(processor, SyncKind::ReleaseStore, token, site),
        11 => program.sync(processor, SyncKind::RelaxedStore, token, site),
        12..15 => critical_section(program, random, processor, token),
        15..18 => arrive(program, cast, processor, site),
        18 if cast.waiting.is_empty() && cast.created < 7 => {
            let child = ProcessorId(cast.created);
            program.sync(processor, SyncKind::Fork { child }, 0, site);
            cast.live.push(cast.created);
            cast.created += 1;
        }
        _ if cast.waiting.is_empty() => {
            let child = random.pick(&cast.live);
            if child != processor {
                program.sync(processor, SyncKind::Join { child: ProcessorId(child) }, 0, site);
                cast.live.retain(|&other| other != child);
            }
        }
        _ => {}
    }
}

fn critical_section(program: &mut Program, random: &mut Random, processor: u16, token: u64) {
    program.acquire(processor, 10 + token, 110);
    let address = 0x1000 + token * 16;
    program.read(processor, address, 8, 1);
    program.write(processor, address, 8, random.below(SITES) as u32);
    program.release(processor, 10 + token, 111);
}

fn arrive(program: &mut Program, cast: &mut Cast, processor: u16, site: u32) {
    if cast.waiting.is_empty() {
        cast.expected = cast.live.len() as u32;
    }
    program.sync(processor, SyncKind::Barrier { expected: cast.expected }, 900, site);
    cast.waiting.push(processor);
    if cast.waiting.len() == cast.expected as usize {
        cast.waiting.clear();
    }
}
