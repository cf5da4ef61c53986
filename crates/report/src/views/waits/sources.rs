//! Sources of waiting: the classes of waits of one place and object, put together.

use std::collections::{BTreeMap, BTreeSet};

use longpole_metrics::{
    By, Node, Split, StepAction, StepId, StepShare, Unwanted, WaitClass, WaitClassKind, Waits,
};
use longpole_trace::{Object, ObjectId, ObjectKind, PlaceId, ProcedureId};

use super::super::identity;
use crate::input::ReportTables;
use crate::report::Row;

/// Amounts on the positive and the negative side by step, nanoseconds, and the waits in which the step occurs.
pub(super) type Shares = BTreeMap<StepId, (f64, f64, u64)>;

/// A source of waiting.
#[derive(Debug)]
pub(super) struct WaitSource<'a> {
    key: WaitSourceKey,
    /// The line of the place at which most was waited.
    line: u32,
    pub unwanted: Option<Unwanted>,
    pub kind: WaitClassKind,
    pub count: u64,
    pub time: u64,
    pub split: Split,
    pub direct: Shares,
    pub roots: Shares,
    /// Waits of which the comparison of paths was given up, and their time.
    pub given_up: (u64, u64),
    /// The difference of the paths of these.
    pub difference: Shares,
    /// Its classes, the one with most time first.
    pub classes: Vec<&'a WaitClass>,
}

/// What tells sources apart; what does not apply is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WaitSourceKey {
    node: Option<Node>,
    procedure: Option<ProcedureId>,
    line: Option<u32>,
    object: Option<ObjectId>,
    /// The object is one of many units of the same data, which are one source.
    is_data: bool,
    /// Number of the kind; 0 where kinds are not told apart.
    kind: usize,
}

/// Units of the same data that are told apart at one place.
const MOST_UNITS: usize = 4;

/// The data of a unit: that of `page 3 of grid` is `grid`. `None` for what is no unit of data.
fn data_of(object: &Object) -> Option<(&'static str, &str)> {
    let noun = match object.kind {
        ObjectKind::Page => "pages",
        ObjectKind::CacheLine => "lines",
        _ => return None,
    };
    object.name.split_once(" of ").map(|(_, data)| (noun, data))
}

/// The first unit of data of which more units are requested at one place than are told apart.
struct RequestedData<'a> {
    input: &'a ReportTables<'a>,
    units: BTreeMap<(WaitSourceKey, &'a str), BTreeSet<ObjectId>>,
}

impl<'a> RequestedData<'a> {
    fn of(input: &'a ReportTables<'a>, waits: &Waits, by: By) -> RequestedData<'a> {
        let mut requested = RequestedData { input, units: BTreeMap::new() };
        if matches!(by, By::Procedure | By::Line | By::ProcessProcedure) {
            for class in &waits.classes {
                let key = key(input, class, by);
                let Some(object) = key.object else { continue };
                let Some((_, data)) = data_of(input.objects.get(object)) else { continue };
                let place = WaitSourceKey { object: None, ..key };
                requested.units.entry((place, data)).or_default().insert(object);
            }
        }
        requested
    }

    /// The key of the source: that of the data, where there are many units of it.
    fn merged(&self, key: WaitSourceKey) -> WaitSourceKey {
        let data = key.object.and_then(|object| data_of(self.input.objects.get(object)));
        let place = WaitSourceKey { object: None, ..key };
        match data.and_then(|(_, data)| self.units.get(&(place, data))) {
            Some(units) if units.len() > MOST_UNITS => {
                WaitSourceKey { object: units.first().copied(), is_data: true, ..key }
            }
            _ => key,
        }
    }
}

fn kind_number(kind: WaitClassKind) -> usize {
    match kind {
        WaitClassKind::Blocked(cause) => cause.index() + 1,
        WaitClassKind::Spinning => usize::MAX,
        WaitClassKind::EndedEarly => usize::MAX - 1,
    }
}

fn key(input: &ReportTables<'_>, class: &WaitClass, by: By) -> WaitSourceKey {
    let place = class.source.place.map(|PlaceId(id)| input.paths.all_places()[id as usize]);
    let nothing =
        WaitSourceKey { node: None, procedure: None, line: None, object: None, is_data: false, kind: 0 };
    let node = class.source.thread.map(|thread| match by {
        By::Process => Node::Process(input.program.threads[thread.index()].process),
        By::Machine => Node::Machine(input.program.machine_of(thread)),
        _ => Node::Thread(thread),
    });
    match by {
        By::Thread | By::Process | By::Machine => WaitSourceKey { node, ..nothing },
        By::Object => WaitSourceKey { object: class.source.object, kind: kind_number(class.kind), ..nothing },
        By::Procedure | By::Line | By::ProcessProcedure => WaitSourceKey {
            procedure: place.map(|place| place.procedure),
            line: place.filter(|_| by == By::Line).map(|place| place.line),
            object: class.source.object,
            kind: kind_number(class.kind),
            ..nothing
        },
    }
}

/// All sources: the wanted ones first, the one with most waiting first.
pub(super) fn sources<'a>(input: &ReportTables<'_>, waits: &'a Waits, by: By) -> Vec<WaitSource<'a>> {
    let mut sources: BTreeMap<(Option<Unwanted>, WaitSourceKey), WaitSource<'a>> = BTreeMap::new();
    let mut lines: BTreeMap<(Option<Unwanted>, WaitSourceKey), BTreeMap<u32, u64>> = BTreeMap::new();
    let requested = RequestedData::of(input, waits, by);
    for class in &waits.classes {
        let key = requested.merged(key(input, class, by));
        let source = sources.entry((class.unwanted, key)).or_insert_with(|| WaitSource {
            key,
            line: 0,
            unwanted: class.unwanted,
            kind: class.kind,
            count: 0,
            time: 0,
            split: Split::default(),
            direct: BTreeMap::new(),
            roots: BTreeMap::new(),
            given_up: (0, 0),
            difference: BTreeMap::new(),
            classes: Vec::new(),
        });
        source.add(class);
        if let Some(PlaceId(place)) = class.source.place {
            let line = input.paths.all_places()[place as usize].line;
            *lines.entry((class.unwanted, key)).or_default().entry(line).or_default() += class.time;
        }
    }
    let mut all: Vec<WaitSource<'a>> = Vec::new();
    for (id, mut source) in sources {
        let times = lines.remove(&id).unwrap_or_default();
        let most = times.into_iter().max_by_key(|&(line, time)| (time, std::cmp::Reverse(line)));
        source.line = most.map_or(0, |(line, _)| line);
        source.classes.sort_by_key(|class| std::cmp::Reverse(class.time));
        take_common(&mut source.direct, waits);
        take_common(&mut source.roots, waits);
        take_common(&mut source.difference, waits);
        all.push(source);
    }
    all.retain(|source| source.time > 0);
    all.sort_by_key(|source| (source.unwanted.is_some(), std::cmp::Reverse(source.time), source.key));
    all
}

impl<'a> WaitSource<'a> {
    fn add(&mut self, class: &'a WaitClass) {
        self.count += class.count;
        self.time += class.time;
        self.split.add(&class.split);
        add_shares(&mut self.direct, &class.direct);
        add_shares(&mut self.roots, &class.roots);
        if !class.difference.is_empty() {
            self.given_up = (self.given_up.0 + class.count, self.given_up.1 + class.time);
            add_shares(&mut self.difference, &class.difference);
        }
        self.classes.push(class);
    }

    /// The cells that say what the source is.
    pub(super) fn identity(&self, input: &ReportTables<'_>) -> Row {
        if let Some(node) = self.key.node {
            return identity(input, node).0;
        }
        let row = match self.key.procedure {
            Some(procedure) => {
                let row = identity(input, Node::Procedure(procedure)).0;
                if self.line > 0 { row.count("line", u64::from(self.line)) } else { row }
            }
            None => Row::default(),
        };
        let row = row.text("kind", self.kind_name(input));
        match self.key.object {
            Some(object) => row.text("object", self.object_name(input, object)),
            None => row,
        }
    }

    /// Where it is, of a source by procedure, and what is waited for: its kind, and its name where it has one.
    pub(super) fn subject(&self, input: &ReportTables<'_>) -> (Option<ProcedureId>, &'static str, String) {
        let object = self.key.object.map_or(String::new(), |object| self.object_name(input, object));
        (self.key.procedure, self.kind_name(input), object)
    }

    /// The object's name, or that of all units of its data: `pages of grid`.
    fn object_name(&self, input: &ReportTables<'_>, object: ObjectId) -> String {
        let object = input.objects.get(object);
        match data_of(object).filter(|_| self.key.is_data) {
            Some((noun, data)) => format!("{noun} of {data}"),
            None => object.name.clone(),
        }
    }

    fn kind_name(&self, input: &ReportTables<'_>) -> &'static str {
        match (self.key.object, self.kind) {
            (Some(object), _) => input.objects.get(object).kind.name(),
            (None, WaitClassKind::Blocked(cause)) => cause.name(),
            (None, WaitClassKind::Spinning) => "spinning",
            (None, WaitClassKind::EndedEarly) => "ended early",
        }
    }

    /// What is waited for, for people.
    pub(super) fn object(&self, input: &ReportTables<'_>) -> String {
        match self.key.object {
            Some(object) => {
                let (name, kind) = (self.object_name(input, object), self.kind_name(input));
                let says_kind = kind.split(' ').all(|word| name.contains(word));
                if says_kind { name } else { format!("{kind} {name}") }
            }
            None => self.kind_name(input).to_owned(),
        }
    }

    /// Where the wait is suffered, for people.
    pub(super) fn place(&self, input: &ReportTables<'_>) -> String {
        match (self.key.node, self.key.procedure) {
            (Some(node), _) => identity(input, node).1,
            (None, Some(procedure)) => identity(input, Node::Line(procedure, self.line)).1,
            (None, None) => "[no procedure known]".to_owned(),
        }
    }

    /// What the source is, for people.
    pub(super) fn name(&self, input: &ReportTables<'_>) -> String {
        match (self.key.node, self.key.procedure) {
            (Some(_), _) => self.place(input),
            (None, None) if self.key.object.is_some() => self.object(input),
            _ => format!("{}: {}", self.place(input), self.object(input)),
        }
    }
}

/// Over many waits, what one of them has on its positive side another may have on its negative one: what both sides did
/// over all of them is taken from both.
fn take_common(shares: &mut Shares, waits: &Waits) {
    let mut sides: BTreeMap<StepAction, (f64, f64)> = BTreeMap::new();
    for (&step, &(positive, negative, _)) in shares.iter() {
        let side = sides.entry(waits.steps.step(step).deed).or_default();
        *side = (side.0 + positive, side.1 + negative);
    }
    for (&step, share) in shares.iter_mut() {
        let (positive, negative) = sides[&waits.steps.step(step).deed];
        let common = positive.min(negative);
        let part =
            |amount: f64, whole: f64| if whole > 0.0 { amount * (whole - common) / whole } else { 0.0 };
        *share = (part(share.0, positive), part(share.1, negative), share.2);
    }
    shares.retain(|_, share| share.0 + share.1 > 0.0);
}

pub(super) fn add_shares(sums: &mut Shares, shares: &[StepShare]) {
    for share in shares {
        let sum = sums.entry(share.step).or_default();
        *sum = (sum.0 + share.positive, sum.1 + share.negative, sum.2 + share.count);
    }
}
