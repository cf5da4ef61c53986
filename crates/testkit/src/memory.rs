//! Timelines held in memory: what drawings and the generator make.

use std::convert::Infallible;

use longpole_event::{MachineId, ProcessId, ThreadId};
use longpole_trace::{
    CodePlace, ExclusionTimes, Item, Machine, Object, ObjectId, ObjectKind, Objects, PathId, Paths,
    Procedure, ProcedureId, Process, Program, Timelines,
};

/// A program with its items, all in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryTimelines {
    /// The program's tree.
    pub program: Program,
    /// Call paths.
    pub paths: Paths,
    /// Objects.
    pub objects: Objects,
    /// Items in time order.
    pub items: Vec<Item>,
}

impl MemoryTimelines {
    /// The thread of this name.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn thread(&self, name: &str) -> ThreadId {
        let index = self.program.threads.iter().position(|thread| thread.name == name);
        ThreadId::from_index(index.unwrap_or_else(|| panic!("no thread is named {name}")))
    }

    /// The procedure of this name.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn procedure(&self, name: &str) -> ProcedureId {
        let index = self.paths.procedures().iter().position(|procedure| procedure.name == name);
        ProcedureId(index.unwrap_or_else(|| panic!("no procedure is named {name}")) as u32)
    }

    /// The object of this name.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn object(&self, name: &str) -> ObjectId {
        let index = self.objects.all().iter().position(|object| object.name == name);
        ObjectId(index.unwrap_or_else(|| panic!("no object is named {name}")) as u32)
    }

    /// Finds out for what part of the run each object excluded threads, once all items are there.
    pub(crate) fn settle_exclusions(&mut self) {
        let mut times = ExclusionTimes::default();
        self.items.iter().for_each(|item| times.take(item));
        let elapsed = self.program.elapsed_nanoseconds.max(1);
        for (index, kind) in
            self.objects.all().iter().map(|object| object.kind).enumerate().collect::<Vec<_>>()
        {
            let id = ObjectId(index as u32);
            self.objects.add_exclusion(id, times.share(id, kind, elapsed));
        }
    }

    /// Adds a machine with one processor per thread that it will get.
    pub(crate) fn machine(&mut self, name: &str, cpus: u32) -> MachineId {
        self.program.machines.push(Machine { name: name.to_owned(), cpus, ..Machine::default() });
        MachineId::from_index(self.program.machines.len() - 1)
    }

    /// Adds a process; pids are 100, 200, 300, …
    pub(crate) fn process(&mut self, machine: MachineId, name: &str) -> ProcessId {
        let id = ProcessId::from_index(self.program.processes.len());
        let pid = (id.0 + 1) * 100;
        self.program.processes.push(Process {
            machine,
            pid,
            name: name.to_owned(),
            title: String::new(),
            parent: None,
            rank: None,
        });
        id
    }

    /// The object of this kind and name, added if it is new.
    pub(crate) fn known_object(&mut self, kind: ObjectKind, name: &str) -> ObjectId {
        let object = Object { kind, name: name.to_owned() };
        match self.objects.all().iter().position(|known| *known == object) {
            Some(index) => ObjectId(index as u32),
            None => self.objects.add(object),
        }
    }

    /// The path that goes on from `caller` into the procedure of this name.
    pub(crate) fn call(&mut self, caller: PathId, procedure: &str, line: u32) -> PathId {
        let procedure = match region(procedure) {
            Some(name) => {
                Procedure { name: name.to_owned(), module: Procedure::REGION.to_owned(), file: String::new() }
            }
            None => Procedure {
                name: procedure.to_owned(),
                module: "drawn".to_owned(),
                file: "drawn.c".to_owned(),
            },
        };
        let procedure = self.paths.procedure(procedure);
        let place = self.paths.place(CodePlace { procedure, line });
        self.paths.path(caller, place)
    }
}

/// The region that a place of a drawn path stands for, if it is one.
pub(crate) fn region(place: &str) -> Option<&str> {
    place.strip_prefix('{')?.strip_suffix('}')
}

impl Timelines for MemoryTimelines {
    type Error = Infallible;

    fn program(&self) -> &Program {
        &self.program
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn objects(&self) -> &Objects {
        &self.objects
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Infallible> {
        self.items.iter().for_each(visit);
        Ok(())
    }
}
