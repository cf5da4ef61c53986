//! Logical call paths: one tree for the whole recording (metrics.md §1).

use std::hash::BuildHasher;
use std::sync::OnceLock;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::stored;
use crate::stored::{Stored, StoredBytes};

/// A logical call path: a node of [`Paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// A procedure of [`Paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcedureId(pub u32);

/// A place (procedure and line) of [`Paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub u32);

/// A procedure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Procedure {
    /// Demangled name; `module+0x…` where the module has no symbols, `[unknown]` where not even a module
    /// is known.
    pub name: String,
    /// File name of its module, without folders; [`REGION`](Self::REGION) for what the program itself marked.
    pub module: String,
    /// Source file; empty without line information.
    pub file: String,
}

/// A line of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodePlace {
    /// The procedure.
    pub procedure: ProcedureId,
    /// Line in the procedure's file; 0 where it is not known.
    pub line: u32,
}

/// The tree of all logical call paths, with its places and procedures.
#[derive(Clone, Debug)]
pub struct Paths {
    nodes: Vec<(PathId, PlaceId)>,
    places: Vec<CodePlace>,
    procedures: Vec<Procedure>,
    node_ids: FxHashMap<(PathId, PlaceId), PathId>,
    place_ids: FxHashMap<CodePlace, PlaceId>,
    procedure_ids: FxHashMap<Procedure, ProcedureId>,
    /// Paths at which a thread's own stack begins, below the path at which it was created.
    begins: FxHashSet<PathId>,
    /// For each procedure that was inlined: into which one; `None` for several.
    inlined_into: FxHashMap<ProcedureId, Option<ProcedureId>>,
    /// The function of the message library that is called at a place; `None` for several.
    message_calls: FxHashMap<PlaceId, Option<ProcedureId>>,
    /// Procedures by the hash of what their names begin with, found when it is first asked for.
    by_beginning: OnceLock<FxHashMap<u64, Vec<ProcedureId>>>,
}

impl Procedure {
    /// What the module of the program's own marks is called.
    pub const REGION: &'static str = "[region]";

    /// What the module of functions of Python is called, of which the interpreter was asked what it executes.
    pub const PYTHON: &'static str = "[python]";

    /// The name, and the module, of what stands for the recorder's probes in a program.
    pub const PROBES: &'static str = longpole_symbols::PROBES;

    /// Whether this is a region or a task that the program marked, rather than a procedure of its code.
    #[must_use]
    pub fn is_region(&self) -> bool {
        self.module == Self::REGION
    }

    /// Whether nothing but an address in its module is known of it.
    #[must_use]
    pub fn is_address(&self) -> bool {
        self.name.strip_prefix(self.module.as_str()).is_some_and(|rest| rest.starts_with("+0x"))
    }
}

impl Default for Paths {
    fn default() -> Self {
        Paths {
            // The root's own place is never read.
            nodes: vec![(PathId(0), PlaceId(0))],
            places: Vec::new(),
            procedures: Vec::new(),
            node_ids: FxHashMap::default(),
            place_ids: FxHashMap::default(),
            procedure_ids: FxHashMap::default(),
            begins: FxHashSet::default(),
            inlined_into: FxHashMap::default(),
            message_calls: FxHashMap::default(),
            by_beginning: OnceLock::new(),
        }
    }
}

stored! {
    Procedure { name, module, file }
    CodePlace { procedure, line }
}

impl Stored for Paths {
    fn store(&self, bytes: &mut Vec<u8>) {
        let mut begins: Vec<PathId> = self.begins.iter().copied().collect();
        begins.sort_unstable();
        let mut inlined: Vec<_> = self.inlined_into.iter().map(|(&inner, &outer)| (inner, outer)).collect();
        inlined.sort_unstable();
        self.nodes.store(bytes);
        self.places.store(bytes);
        self.procedures.store(bytes);
        begins.store(bytes);
        inlined.store(bytes);
        self.message_calls.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let nodes = Vec::<(PathId, PlaceId)>::restore(bytes)?;
        let places = Vec::<CodePlace>::restore(bytes)?;
        let procedures = Vec::<Procedure>::restore(bytes)?;
        let begins = Vec::<PathId>::restore(bytes)?;
        let inlined_into = Vec::<(ProcedureId, Option<ProcedureId>)>::restore(bytes)?;
        let message_calls = Vec::<(PlaceId, Option<ProcedureId>)>::restore(bytes)?;
        let has_procedure = |id: ProcedureId| (id.0 as usize) < procedures.len();
        // Callers come before those that they call, so that there is no circle.
        let mut called = nodes.iter().enumerate().skip(1);
        let is_tree = called.all(|(index, &(PathId(caller), PlaceId(place)))| {
            (caller as usize) < index && (place as usize) < places.len()
        });
        let is_sound = !nodes.is_empty()
            && is_tree
            && places.iter().all(|place| has_procedure(place.procedure))
            && begins.iter().all(|path| (path.0 as usize) < nodes.len())
            && inlined_into
                .iter()
                .all(|&(inner, outer)| has_procedure(inner) && outer.is_none_or(has_procedure))
            && message_calls.iter().all(|&(place, function)| {
                (place.0 as usize) < places.len() && function.is_none_or(has_procedure)
            });
        is_sound.then(|| Paths {
            node_ids: (0..).zip(&nodes).skip(1).map(|(id, &node)| (node, PathId(id))).collect(),
            place_ids: (0..).zip(&places).map(|(id, &place)| (place, PlaceId(id))).collect(),
            procedure_ids: (0..)
                .zip(procedures.iter().cloned())
                .map(|(id, of)| (of, ProcedureId(id)))
                .collect(),
            begins: begins.into_iter().collect(),
            inlined_into: inlined_into.into_iter().collect(),
            message_calls: message_calls.into_iter().collect(),
            by_beginning: OnceLock::new(),
            nodes,
            places,
            procedures,
        })
    }
}

impl Paths {
    /// The empty path.
    pub const ROOT: PathId = PathId(0);

    /// The procedure's id.
    pub fn procedure(&mut self, procedure: Procedure) -> ProcedureId {
        let next = ProcedureId(self.procedures.len() as u32);
        let (procedures, by_beginning) = (&mut self.procedures, &mut self.by_beginning);
        *self.procedure_ids.entry(procedure).or_insert_with_key(|procedure| {
            procedures.push(procedure.clone());
            by_beginning.take();
            next
        })
    }

    /// Procedures of one module whose names, up to the first list of arguments, may be the same as this one's: all that are, and few others.
    pub fn of_same_beginning(&self, id: ProcedureId) -> impl Iterator<Item = &Procedure> {
        let hash = |procedure: &Procedure| {
            let name = procedure.name.as_str();
            // What stands in angle brackets at the begin is a part of the name.
            let end = name.char_indices().skip(1).find(|(_, sign)| matches!(sign, '<' | '('));
            FxBuildHasher.hash_one((&procedure.module, &name[..end.map_or(name.len(), |(at, _)| at)]))
        };
        let by_beginning = self.by_beginning.get_or_init(|| {
            let mut by_beginning: FxHashMap<u64, Vec<ProcedureId>> = FxHashMap::default();
            for (id, procedure) in (0..).zip(&self.procedures) {
                by_beginning.entry(hash(procedure)).or_default().push(ProcedureId(id));
            }
            by_beginning
        });
        let found = by_beginning.get(&hash(self.procedure_named_by(id)));
        found.into_iter().flatten().map(|&id| self.procedure_named_by(id))
    }

    /// The place's id.
    pub fn place(&mut self, place: CodePlace) -> PlaceId {
        let next = PlaceId(self.places.len() as u32);
        let places = &mut self.places;
        *self.place_ids.entry(place).or_insert_with(|| {
            places.push(place);
            next
        })
    }

    /// The path that goes on from `caller` into `place`.
    pub fn path(&mut self, caller: PathId, place: PlaceId) -> PathId {
        let next = PathId(self.nodes.len() as u32);
        let nodes = &mut self.nodes;
        *self.node_ids.entry((caller, place)).or_insert_with(|| {
            nodes.push((caller, place));
            next
        })
    }

    /// The path that goes on from `caller` into `place`, if there is one.
    pub(crate) fn find(&self, caller: PathId, place: PlaceId) -> Option<PathId> {
        self.node_ids.get(&(caller, place)).copied()
    }

    /// A thread's own stack begins with this path.
    pub fn begin_thread(&mut self, path: PathId) {
        self.begins.insert(path);
    }

    /// Whether a thread's own stack begins with this path. The path before it is its creator's.
    #[must_use]
    pub fn begins_thread(&self, path: PathId) -> bool {
        self.begins.contains(&path)
    }

    /// A compiler inlined `inner` into `outer`.
    pub fn inlined(&mut self, inner: ProcedureId, outer: ProcedureId) {
        let into = self.inlined_into.entry(inner).or_insert(Some(outer));
        if *into != Some(outer) {
            *into = None;
        }
    }

    /// Whether the procedure was inlined into several others.
    #[must_use]
    pub fn is_inlined_helper(&self, procedure: ProcedureId) -> bool {
        self.inlined_into.get(&procedure) == Some(&None)
    }

    /// The procedure into which alone the procedure was inlined.
    #[must_use]
    pub fn inlined_into(&self, procedure: ProcedureId) -> Option<ProcedureId> {
        self.inlined_into.get(&procedure).copied().flatten()
    }

    /// Whether the procedure is a function of the message library by its name.
    pub(crate) fn is_message_function(&self, procedure: ProcedureId) -> bool {
        name_in_c(&self.procedure_named_by(procedure).name).is_some()
    }

    /// This function of the message library is called at this place.
    pub(crate) fn calls_for_messages(&mut self, place: PlaceId, function: ProcedureId) {
        let called = self.message_calls.entry(place).or_insert(Some(function));
        if *called != Some(function) {
            *called = None;
        }
    }

    /// The function of the message library that is called at this place, by its name in C; `None` where there is none, or several.
    #[must_use]
    pub fn message_call(&self, place: PlaceId) -> Option<String> {
        let function = (*self.message_calls.get(&place)?)?;
        name_in_c(&self.procedure_named_by(function).name)
    }

    /// The path without its innermost place; `None` for the empty path.
    #[must_use]
    pub fn caller(&self, path: PathId) -> Option<PathId> {
        (path != Self::ROOT).then(|| self.nodes[path.0 as usize].0)
    }

    /// The innermost place; `None` for the empty path.
    #[must_use]
    pub fn innermost(&self, path: PathId) -> Option<CodePlace> {
        (path != Self::ROOT).then(|| self.places[self.nodes[path.0 as usize].1.0 as usize])
    }

    /// The id of the innermost place; `None` for the empty path.
    #[must_use]
    pub fn innermost_id(&self, path: PathId) -> Option<PlaceId> {
        (path != Self::ROOT).then(|| self.nodes[path.0 as usize].1)
    }

    /// The places of the path, innermost first.
    pub fn places_of(&self, path: PathId) -> impl Iterator<Item = CodePlace> + '_ {
        std::iter::successors(Some(path), |&path| self.caller(path)).filter_map(|path| self.innermost(path))
    }

    /// By path: whether it leads through such a procedure.
    #[must_use]
    pub fn leads_through(&self, is_it: impl Fn(ProcedureId) -> bool) -> Vec<bool> {
        let mut leads: Vec<bool> = Vec::with_capacity(self.len());
        // A path leads on from its caller, which has the smaller id.
        for path in (0..self.len()).map(|index| PathId(index as u32)) {
            let is_own = self.innermost(path).is_some_and(|place| is_it(place.procedure));
            leads.push(is_own || self.caller(path).is_some_and(|caller| leads[caller.0 as usize]));
        }
        leads
    }

    /// All places, by id.
    #[must_use]
    pub fn all_places(&self) -> &[CodePlace] {
        &self.places
    }

    /// All procedures, by id.
    #[must_use]
    pub fn procedures(&self) -> &[Procedure] {
        &self.procedures
    }

    /// The procedure with this id.
    #[must_use]
    pub fn procedure_named_by(&self, id: ProcedureId) -> &Procedure {
        &self.procedures[id.0 as usize]
    }

    /// Number of paths, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no path but the empty one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }
}

/// `MPI_Allreduce` for that name, and for those by which Fortran calls it: `mpi_allreduce_`, `mpi_allreduce_f08ts_`,
/// `ompi_allreduce_f`.
fn name_in_c(name: &str) -> Option<String> {
    if name.starts_with("MPI_") {
        return Some(name.to_owned());
    }
    let function = name.strip_prefix("mpi_").or_else(|| name.strip_prefix("ompi_"))?;
    let function = ["_f08ts_", "_f08_", "_f", "_"].iter().find_map(|end| function.strip_suffix(end))?;
    let first = function.chars().next()?;
    Some(format!("MPI_{}{}", first.to_ascii_uppercase(), &function[first.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_message_library_have_their_names_in_c() {
        for name in ["MPI_Allreduce", "mpi_allreduce_", "mpi_allreduce_f08ts_", "ompi_allreduce_f"] {
            assert_eq!(name_in_c(name).as_deref(), Some("MPI_Allreduce"), "{name}");
        }
        assert_eq!(name_in_c("mpi_barrier_f08_").as_deref(), Some("MPI_Barrier"));
        assert_eq!(name_in_c("pthread_join"), None);
    }
}
