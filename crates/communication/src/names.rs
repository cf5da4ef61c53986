//! What the simulation knows by numbers, in the program's words.

use longpole_access::format::OpenMpToken;
use longpole_coherence::{DataObjectId, SiteId, SyncObject, SyncOrigin};
use longpole_recording::{AccessPlaceName, AccessProcedureName, AccessVariable};

use crate::answer::{DataObject, DataPlace};
use crate::log::LoggedProcess;
use crate::objects::{AccessObjects, ObjectOrigin};
use crate::sites::AccessSites;
use crate::steps::SharedStreams;

/// Names the places, data and synchronisation of a process.
#[derive(Clone, Copy)]
pub(crate) struct ProcessNames<'a> {
    pub(crate) process: &'a LoggedProcess,
    pub(crate) sites: &'a AccessSites,
    pub(crate) objects: &'a AccessObjects,
}

impl<'a> ProcessNames<'a> {
    pub(crate) fn new(process: &'a LoggedProcess, shared: &'a SharedStreams) -> Self {
        ProcessNames { process, sites: &shared.sites, objects: &shared.objects }
    }
}

impl ProcessNames<'_> {
    /// The innermost of the procedures that are inlined there and are the program's, not a standard library's.
    pub(crate) fn place(&self, site: SiteId) -> DataPlace {
        let code = self.sites.calls(site).next().unwrap_or(0);
        let named = self.process.places.get(&code);
        let innermost = named.and_then(|named| own_procedure(named).or_else(|| named.procedures.first()));
        data_place(code, named, innermost)
    }

    /// The call path of a place, the place first: procedures of the program, inlined ones among them. Left out are what
    /// starts threads in the C library and in longpole's, and standard libraries.
    pub(crate) fn path(self, site: SiteId) -> Vec<DataPlace> {
        let mut path = vec![self.place(site)];
        for code in self.sites.calls(site) {
            let Some(named) = self.process.places.get(&code) else { continue };
            let is_runtime =
                named.module.starts_with("liblongpole-access") || named.module.starts_with("libc.so");
            let own = named.procedures.iter().filter(|one| !is_runtime && is_own(one));
            path.extend(own.map(|one| data_place(code, Some(named), Some(one))));
        }
        // The place itself is the first of its own address's procedures, if it is the program's.
        if path.len() > 1 && path[0] == path[1] {
            path.remove(0);
        }
        path
    }

    /// The innermost procedure on the call path of an allocation that is the program's.
    fn allocation_place(&self, site: SiteId) -> DataPlace {
        let own = self.sites.calls(site).find_map(|code| {
            let named = self.process.places.get(&code)?;
            Some(data_place(code, Some(named), Some(own_procedure(named)?)))
        });
        own.unwrap_or_else(|| self.place(site))
    }

    pub(crate) fn object(&self, object: Option<DataObjectId>) -> DataObject {
        let origin = object.and_then(|id| self.objects.origins.get(id.0 as usize));
        match origin {
            Some(&ObjectOrigin::Variable(index)) => {
                let variable = &self.process.variables[index as usize];
                let &AccessVariable { ref name, address, size, element, .. } = variable;
                DataObject { name: name.clone(), kind: "variable", address, size, element }
            }
            Some(&ObjectOrigin::Heap(site)) => {
                let place = self.allocation_place(site);
                let file = file_name(&place.file);
                let name = match place.line {
                    0 => format!("allocated in {}", place.procedure),
                    line => format!("allocated in {} {file}:{line}", place.procedure),
                };
                DataObject { name, kind: "heap", ..DataObject::default() }
            }
            Some(&ObjectOrigin::Stack(thread)) => {
                let name = format!("stack of thread {thread}");
                DataObject { name, kind: "stack", ..DataObject::default() }
            }
            None => DataObject { name: "unknown data".to_owned(), kind: "unknown", ..DataObject::default() },
        }
    }

    /// The variable that holds what synchronises, or what OpenMP has it for, and where; `None` where neither is known.
    pub(crate) fn token(&self, token: u64, site: SiteId) -> Option<String> {
        if let Some(openmp) = OpenMpToken::of(token) {
            let (place, name) = (self.place(site), openmp_name(openmp));
            return Some(match place.line {
                0 => format!("{name} in {}", place.procedure),
                line => format!("{name} {}:{line}", file_name(&place.file)),
            });
        }
        let holds = |one: &&AccessVariable| (one.address..one.address + one.size).contains(&token);
        self.process.variables.iter().rfind(holds).map(|one| variable_name(&one.name))
    }

    /// The synchronisation by name; `unnamed` names what is no variable by its address.
    pub(crate) fn synchronisation(&self, origin: SyncOrigin, unnamed: impl Fn(u64) -> String) -> String {
        let named = |token: u64| self.token(token, origin.site).unwrap_or_else(|| unnamed(token));
        match origin.object {
            SyncObject::Barrier(token) if OpenMpToken::of(token.0).is_none() => {
                format!("barrier {}", named(token.0))
            }
            SyncObject::Token(token) | SyncObject::Barrier(token) => named(token.0),
            SyncObject::Fork(creator) => format!("creation by thread {}", creator.0),
            SyncObject::Join(ended) => format!("end of thread {}", ended.0),
        }
    }
}

/// Parts of the paths of standard libraries' sources: those of Rust, and of C++ (templates in headers).
const LIBRARY_SOURCES: [&str; 4] =
    ["/library/core/src/", "/library/alloc/src/", "/library/std/src/", "/include/c++/"];

/// How names of their procedures begin, which are all that is known of a program without lines.
const LIBRARY_NAMES: [&str; 5] = ["core::", "alloc::", "std::", "__rust", "operator new"];

fn own_procedure(named: &AccessPlaceName) -> Option<&AccessProcedureName> {
    named.procedures.iter().find(|one| is_own(one))
}

/// Whether it is the program's, not a standard library's.
fn is_own(procedure: &AccessProcedureName) -> bool {
    match procedure.file.as_str() {
        "" => {
            let name = procedure.name.trim_start_matches('<');
            !LIBRARY_NAMES.iter().any(|begin| name.starts_with(begin))
        }
        file => !LIBRARY_SOURCES.iter().any(|part| file.contains(part)),
    }
}

fn data_place(
    code: u64,
    named: Option<&AccessPlaceName>,
    procedure: Option<&AccessProcedureName>,
) -> DataPlace {
    DataPlace {
        procedure: procedure.map_or_else(|| format!("[{code:#x}]"), |one| one.name.clone()),
        module: named.map(|named| named.module.clone()).unwrap_or_default(),
        file: procedure.map(|one| one.file.clone()).unwrap_or_default(),
        line: procedure.map_or(0, |one| one.line),
    }
}

/// What OpenMP's specification calls it.
fn openmp_name(token: OpenMpToken) -> &'static str {
    match token {
        OpenMpToken::Begin => "begin of the parallel region",
        OpenMpToken::Barrier => "barrier",
        OpenMpToken::End => "end of the parallel region",
        OpenMpToken::Critical => "critical section",
        OpenMpToken::Update => "atomic update",
        OpenMpToken::Ordered => "ordered section",
    }
}

/// The name of a variable; compilers make those of OpenMP's critical sections.
fn variable_name(name: &str) -> String {
    match name.strip_prefix(".gomp_critical_user_") {
        Some(section) => format!("critical section {}", section.trim_end_matches(".var")),
        None => name.to_owned(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
