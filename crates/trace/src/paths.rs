//! Logical call paths: one tree for the whole recording (metrics.md §1).

use rustc_hash::{FxHashMap, FxHashSet};

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
}

impl Procedure {
    /// What the module of the program's own marks is called.
    pub const REGION: &'static str = "[region]";

    /// Whether this is a region or a task that the program marked, rather than a procedure of its code.
    #[must_use]
    pub fn is_region(&self) -> bool {
        self.module == Self::REGION
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
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let nodes = Vec::<(PathId, PlaceId)>::restore(bytes)?;
        let places = Vec::<CodePlace>::restore(bytes)?;
        let procedures = Vec::<Procedure>::restore(bytes)?;
        let begins = Vec::<PathId>::restore(bytes)?;
        let inlined_into = Vec::<(ProcedureId, Option<ProcedureId>)>::restore(bytes)?;
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
                .all(|&(inner, outer)| has_procedure(inner) && outer.is_none_or(has_procedure));
        is_sound.then(|| Paths {
            node_ids: (0..).zip(&nodes).skip(1).map(|(id, &node)| (node, PathId(id))).collect(),
            place_ids: (0..).zip(&places).map(|(id, &place)| (place, PlaceId(id))).collect(),
            procedure_ids: (0..)
                .zip(procedures.iter().cloned())
                .map(|(id, of)| (of, ProcedureId(id)))
                .collect(),
            begins: begins.into_iter().collect(),
            inlined_into: inlined_into.into_iter().collect(),
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
        let procedures = &mut self.procedures;
        *self.procedure_ids.entry(procedure).or_insert_with_key(|procedure| {
            procedures.push(procedure.clone());
            next
        })
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
