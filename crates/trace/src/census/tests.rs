use super::*;
use crate::object_names::{ObjectVariable, WordNames};
use crate::paths::{CodePlace, Procedure};
use crate::primitives::LogPrimitives;
use crate::program::{Process, Program};

#[derive(Default)]
struct Setting {
    paths: Paths,
    program: Program,
    words: WordNames,
    files: FxHashMap<u64, String>,
    primitives: LogPrimitives,
    census: Census,
}

impl Setting {
    fn path(&mut self, procedure: &str, module: &str, line: u32) -> PathId {
        let file = if line > 0 { "/home/a/table.rs" } else { "" };
        let procedure = Procedure { name: procedure.into(), module: module.into(), file: file.into() };
        let procedure = self.paths.procedure(procedure);
        let place = self.paths.place(CodePlace { procedure, line });
        self.paths.path(Paths::ROOT, place)
    }

    fn call(&mut self, caller: PathId, procedure: &str) -> PathId {
        let procedure = Procedure { name: procedure.into(), module: "a.out".into(), file: String::new() };
        let procedure = self.paths.procedure(procedure);
        let place = self.paths.place(CodePlace { procedure, line: 0 });
        self.paths.path(caller, place)
    }

    fn wait(&mut self, kind: ObjectKind, identity: Option<Identity>, path: PathId) -> ObjectId {
        let wait = BegunWait { process: ProcessId(0), kind, identity, writes: false, is_told: false };
        self.census.come_across(wait, Some(path), &self.paths)
    }

    fn words(&mut self, kind: ObjectKind, addresses: &[u64]) {
        let path = self.path("get", "a.out", 3);
        addresses.iter().for_each(|&address| {
            self.wait(kind, Some(Identity::Word(ProcessId(0), address)), path);
        });
    }

    fn process(&mut self, name: &str) -> ProcessId {
        let machine = longpole_event::MachineId(0);
        self.program.processes.push(Process {
            machine,
            pid: 1,
            name: name.into(),
            title: String::new(),
            parent: None,
            rank: None,
        });
        ProcessId::from_index(self.program.processes.len() - 1)
    }

    fn names(self) -> Vec<(ObjectKind, String)> {
        let mut objects = Objects::default();
        let Setting { paths, program, words, files, primitives, census } = self;
        let pids = program.processes.iter().map(|process| process.pid).collect();
        let names = NameSources {
            paths: &paths,
            program: &program,
            words: &words,
            files: &files,
            pids: &pids,
            primitives: &primitives,
            communicators: &FxHashMap::default(),
        };
        census.settle(&names, |_, _| 0.0, &mut objects);
        objects.all().iter().map(|object| (object.kind, object.name.clone())).collect()
    }
}

#[test]
fn the_most_frequent_place_names_a_lock_on_the_heap() {
    let mut setting = Setting::default();
    let (get, put) = (setting.path("Cache::get", "a.out", 88), setting.path("Cache::put", "a.out", 99));
    let word = Some(Identity::Word(ProcessId(0), 0x1000));
    [put, get, get].iter().for_each(|&path| {
        setting.wait(ObjectKind::Mutex, word, path);
    });
    assert_eq!(setting.names(), [(ObjectKind::Mutex, "mutex in Cache::get (table.rs:88)".into())]);
}

/// Its waits are in a bucket of one table for all mutexes, another one in the next run.
#[test]
fn a_mutex_of_go_is_named_by_who_locks_it() {
    let mut setting = Setting::default();
    let mut path = setting.path("main.(*Store).update", "a.out", 7);
    for procedure in ["sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow", "runtime.semacquire1", "runtime.lock2"]
    {
        path = setting.call(path, procedure);
    }
    setting
        .words
        .variables
        .insert((ProcessId(0), 0x1000), ObjectVariable { name: "runtime.semtable".into(), offset: 0x3680 });
    setting.wait(ObjectKind::Lock, Some(Identity::Word(ProcessId(0), 0x1000)), path);
    let named = "lock in main.(*Store).update (table.rs:7)";
    assert_eq!(setting.names(), [(ObjectKind::Lock, named.into())]);
}

#[test]
fn a_lock_in_a_closure_that_was_inlined_is_named_by_its_line() {
    let mut setting = Setting::default();
    let lambda = setting.path("operator()", "a.out", 12);
    setting.wait(ObjectKind::Semaphore, Some(Identity::Word(ProcessId(0), 0x1000)), lambda);
    assert_eq!(setting.names(), [(ObjectKind::Semaphore, "semaphore at table.rs:12".into())]);
}

#[test]
fn a_place_in_a_library_gives_its_name_only_where_there_is_no_other() {
    let mut setting = Setting::default();
    let (team, main) =
        (setting.path("gomp_team_barrier_wait", "libgomp.so.1", 0), setting.path("main", "a", 5));
    let word = |address| Some(Identity::Word(ProcessId(0), address));
    for (address, path) in [(0x1000, team), (0x1000, team), (0x1000, main), (0x2000, team)] {
        setting.wait(ObjectKind::Barrier, word(address), path);
    }
    let names: Vec<_> = setting.names().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["barrier in main (table.rs:5)", "barrier of libgomp.so.1"]);
}

#[test]
fn a_wrapper_of_the_standard_library_gives_no_name() {
    let mut setting = Setting::default();
    let outer = setting.path("t::fill", "a", 7);
    let file = "/rustc/1/library/std/src/thread/local.rs".into();
    let wrapper =
        Procedure { name: "std::thread::local::LocalKey<T>::with".into(), module: "a".into(), file };
    let procedure = setting.paths.procedure(wrapper);
    let place = setting.paths.place(CodePlace { procedure, line: 5 });
    let path = setting.paths.path(outer, place);
    setting.wait(ObjectKind::Condition, None, path);
    assert_eq!(setting.names(), [(ObjectKind::Condition, "condition in t::fill (table.rs:7)".into())]);
}

#[test]
fn a_closure_is_named_by_the_procedure_around_it() {
    for closure in ["t::fill::{{closure}}", "t::fill::{closure#1}::{closure#0}"] {
        let mut setting = Setting::default();
        let path = setting.path(closure, "a", 0);
        setting.wait(ObjectKind::Parker, None, path);
        assert_eq!(setting.names(), [(ObjectKind::Parker, "parker in t::fill".into())]);
    }
}

#[test]
fn the_variable_that_holds_a_lock_names_it() {
    let mut setting = Setting::default();
    let variable = |offset| ObjectVariable { name: "pool".into(), offset };
    let of = |address| (ProcessId(0), address);
    setting.words.variables.extend([(of(0x1000), variable(0)), (of(0x1028), variable(0x28))]);
    setting.words.variables.insert(of(0x2028), ObjectVariable { name: "filled".into(), offset: 40 });
    setting.words(ObjectKind::Mutex, &[0x1000, 0x1028]);
    setting.words(ObjectKind::Condition, &[0x2028]);
    let names: Vec<_> = setting.names().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["pool", "pool+0x28", "filled"]);
}

#[test]
fn waits_whose_kind_was_not_told_are_for_the_known_object_at_the_word() {
    let mut setting = Setting::default();
    setting.words(ObjectKind::Futex, &[0x1000, 0x3000]);
    setting.words(ObjectKind::Mutex, &[0x1000]);
    setting.words(ObjectKind::Lock, &[0x1000]);
    let kinds: Vec<_> = setting.names().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [ObjectKind::Futex, ObjectKind::Mutex]);
}

#[test]
fn the_two_words_of_a_lock_are_one_object_and_neighbours_in_an_array_are_not() {
    let count = |kind, addresses: &[u64]| {
        let mut setting = Setting::default();
        setting.words(kind, addresses);
        setting.names().len()
    };
    assert_eq!(count(ObjectKind::RwLock, &[0x1008, 0x1004]), 1);
    assert_eq!(count(ObjectKind::RwLock, &[0x1000, 0x1004, 0x100c, 0x1010]), 2);
    assert_eq!(count(ObjectKind::Barrier, &[0x1004, 0x1010, 0x1024, 0x1030]), 2);
    assert_eq!(count(ObjectKind::Mutex, &[0x1000, 0x1004]), 2);
}

#[test]
fn a_word_that_processes_share_is_one_object_wherever_each_has_it() {
    let mut setting = Setting::default();
    let path = setting.path("update", "a.out", 3);
    // Of one condition two futexes, each of which has a number of its own.
    let waits = [
        (0, 0x1000, ObjectKind::Mutex, Some(7)),
        (1, 0x2000, ObjectKind::Futex, Some(7)),
        (1, 0x2000, ObjectKind::Mutex, Some(7)),
        (0, 0x1040, ObjectKind::Condition, Some(8)),
        (0, 0x1040, ObjectKind::Condition, Some(9)),
        (1, 0x2040, ObjectKind::Condition, Some(9)),
        (2, 0x1000, ObjectKind::Mutex, None),
    ];
    for (process, address, kind, number) in waits {
        let process = ProcessId(process);
        if let Some(number) = number {
            setting.census.shared((process, address), number);
        }
        let identity = Some(Identity::Word(process, address));
        let wait = BegunWait { process, kind, identity, writes: false, is_told: false };
        setting.census.come_across(wait, Some(path), &setting.paths);
    }
    let kinds: Vec<_> = setting.names().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [ObjectKind::Mutex, ObjectKind::Condition, ObjectKind::Mutex]);
}

#[test]
fn a_pipe_is_named_by_who_writes_and_who_reads() {
    let mut setting = Setting::default();
    let (sort, uniq) = (setting.process("sort"), setting.process("uniq"));
    let path = setting.path("main", "uniq", 0);
    let wait = |process, writes| BegunWait {
        process,
        kind: ObjectKind::Pipe,
        identity: Some(Identity::File(7)),
        writes,
        is_told: false,
    };
    let id = setting.census.come_across(wait(uniq, false), Some(path), &setting.paths);
    setting.census.ended(id, false, sort);
    assert_eq!(setting.census.come_across(wait(sort, true), Some(path), &setting.paths), id);
    setting.census.ended(id, true, uniq);
    assert_eq!(setting.names(), [(ObjectKind::Pipe, "pipe sort → uniq".into())]);
}

#[test]
fn a_lock_for_readers_and_writers_tells_where_it_is_written() {
    let mut setting = Setting::default();
    let process = setting.process("shop");
    let (reads, writes) = (setting.path("main", "look_up", 0), setting.path("main", "update", 0));
    let wait = |writes| BegunWait {
        process,
        kind: ObjectKind::RwLock,
        identity: Some(Identity::Word(process, 0x1000)),
        writes,
        is_told: false,
    };
    setting.census.come_across(wait(false), Some(reads), &setting.paths);
    setting.census.come_across(wait(true), Some(writes), &setting.paths);
    let place = setting.paths.innermost_id(writes).unwrap();
    assert_eq!(setting.census.found[0].written, FxHashSet::from_iter([place]));
    assert_eq!(setting.census.found[0].waits(), 2);
}

#[test]
fn a_connection_to_what_is_not_recorded_has_its_address() {
    let mut setting = Setting::default();
    setting.process("shop");
    let path = setting.path("main", "fetch", 0);
    setting.files.insert(7, "192.0.2.7:5432".into());
    setting.wait(ObjectKind::Socket, Some(Identity::File(7)), path);
    let names: Vec<_> = setting.names().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["socket of shop to 192.0.2.7:5432"]);
}

#[test]
fn a_file_is_named_without_the_numbers_of_processes() {
    let mut setting = Setting::default();
    setting.process("postgres");
    setting.program.processes[0].pid = 20324;
    let path = setting.path("main", "a", 0);
    for (number, name) in [(7, "xlogtemp.20324"), (8, "journal2.log")] {
        setting.files.insert(number, name.into());
        setting.wait(ObjectKind::File, Some(Identity::File(number)), path);
    }
    setting.wait(ObjectKind::FileLock, Some(Identity::File(8)), path);
    let names: Vec<_> = setting.names().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["file xlogtemp.*", "file journal2.log", "lock of file journal2.log"]);
}

#[test]
fn waits_are_counted_by_how_they_could_be_told() {
    let mut setting = Setting::default();
    setting.words(ObjectKind::Mutex, &[0x1000, 0x1000]);
    let path = setting.path("main", "a", 0);
    setting.wait(ObjectKind::Poll, None, path);
    setting.census.untold();
    assert_eq!(setting.census.counts(), WaitIdentityCounts { told: 2, by_place: 1, untold: 1 });
}
