//! What a name can mean: everything of a recording that has one.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{ObjectId, ProcedureId};

use super::{FoundNodes, NameKind, RecordingNames};
use crate::name;

/// Something that has a name.
pub(super) struct NameCandidate<Found = FoundNodes> {
    /// Its name.
    pub name: String,
    /// Other names, which count only as they stand.
    pub others: Vec<String>,
    /// The name by which an error offers it, and by which it is found.
    pub label: String,
    /// Not found by a part of its name: something more general is.
    pub is_special: bool,
    /// A procedure of the program's own module.
    pub is_own: bool,
    /// What it is.
    pub found: Found,
}

/// Everything of these kinds, kind after kind.
pub(super) fn candidates(names: &RecordingNames<'_>, kinds: &[NameKind]) -> Vec<NameCandidate> {
    let of = |kind: &NameKind| match kind {
        NameKind::Procedure => procedures(names),
        NameKind::Region => regions(names),
        NameKind::Line => lines(names),
        NameKind::File => files(names),
        NameKind::Object => objects(names),
        NameKind::Thread => threads(names),
        NameKind::Process => processes(names),
    };
    kinds.iter().flat_map(of).collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn procedures(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let main_module = name::program_file(names.program);
    let all = names.paths.procedures();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut in_modules: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for procedure in all.iter().filter(|procedure| !procedure.is_region()) {
        *counts.entry(&procedure.name).or_default() += 1;
        *in_modules.entry((&procedure.name, &procedure.module)).or_default() += 1;
    }
    let candidate = |(index, procedure): (usize, &longpole_trace::Procedure)| {
        let (name, module) = (&procedure.name, &procedure.module);
        let by_file = format!("{name} ({})", file_name(&procedure.file));
        let by_module = format!("{name} ({module})");
        let is_same_module = in_modules[&(name.as_str(), module.as_str())] > 1;
        let label = match counts[name.as_str()] {
            1 => name.clone(),
            _ if is_same_module && procedure.file.is_empty() => format!("{name} ()"),
            _ if is_same_module => by_file.clone(),
            _ => by_module.clone(),
        };
        let mut others = vec![name::with_module(name, module, ""), by_module, by_file, label.clone()];
        others.push(format!("{name} ({})", procedure.file));
        let id = ProcedureId(u32::try_from(index).expect("fewer than 2^32 procedures"));
        others.push(name::procedure(names.paths, names.program, id));
        NameCandidate {
            name: name.clone(),
            others,
            label: format!("{}:{label}", NameKind::Procedure),
            is_special: false,
            is_own: !main_module.is_empty() && module == main_module,
            found: FoundNodes::Procedure(id),
        }
    };
    all.iter().enumerate().filter(|(_, procedure)| !procedure.is_region()).map(candidate).collect()
}

fn regions(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let all = names.paths.procedures().iter().enumerate().filter(|(_, procedure)| procedure.is_region());
    all.map(|(index, region)| {
        let id = ProcedureId(u32::try_from(index).expect("fewer than 2^32 procedures"));
        group(NameKind::Region, &region.name, FoundNodes::Procedure(id))
    })
    .collect()
}

fn lines(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let mut lines: BTreeMap<(&str, u32), Vec<(ProcedureId, u32)>> = BTreeMap::new();
    for place in names.paths.all_places() {
        let file = names.paths.procedure_named_by(place.procedure).file.as_str();
        if place.line > 0 && !file.is_empty() {
            lines.entry((file, place.line)).or_default().push((place.procedure, place.line));
        }
    }
    let files: BTreeSet<&str> = lines.keys().map(|&(file, _)| file).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    files.iter().for_each(|file| *counts.entry(file_name(file)).or_default() += 1);
    let candidate = |((file, line), found): ((&str, u32), Vec<(ProcedureId, u32)>)| {
        let short = file_name(file);
        let told = if counts[short] > 1 { file } else { short };
        let others = ends(file).map(|end| format!("{end}:{line}")).collect();
        NameCandidate {
            name: format!("{file}:{line}"),
            others,
            label: format!("{}:{told}:{line}", NameKind::Line),
            is_special: true,
            is_own: false,
            found: FoundNodes::Lines(found),
        }
    };
    lines.into_iter().map(candidate).collect()
}

/// The ends of a path that begin with the name of a folder or file, without the whole of it.
fn ends(file: &str) -> impl Iterator<Item = &str> {
    file.match_indices('/').map(|(at, _)| &file[at + 1..]).filter(|end| !end.is_empty())
}

fn files(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let all = names.paths.procedures().iter().map(|procedure| procedure.file.as_str());
    let files: BTreeSet<&str> = all.filter(|file| !file.is_empty()).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    files.iter().for_each(|file| *counts.entry(file_name(file)).or_default() += 1);
    let candidate = |file: &str| {
        let told = if counts[file_name(file)] > 1 { file } else { file_name(file) };
        NameCandidate {
            name: file.to_owned(),
            others: ends(file).map(str::to_owned).collect(),
            label: format!("{}:{told}", NameKind::File),
            is_special: true,
            is_own: false,
            found: FoundNodes::File(file.to_owned()),
        }
    };
    files.iter().copied().map(candidate).collect()
}

fn objects(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let mut named: BTreeMap<&str, Vec<ObjectId>> = BTreeMap::new();
    for (index, object) in names.objects.all().iter().enumerate() {
        let id = ObjectId(u32::try_from(index).expect("fewer than 2^32 objects"));
        named.entry(&object.name).or_default().push(id);
    }
    let candidate = |(name, ids)| group(NameKind::Object, name, FoundNodes::Objects(ids));
    named.into_iter().map(candidate).collect()
}

fn threads(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let mut named: BTreeMap<&str, Vec<ThreadId>> = BTreeMap::new();
    let mut single = Vec::new();
    for (index, thread) in names.program.threads.iter().enumerate() {
        let id = ThreadId::from_index(index);
        named.entry(&thread.name).or_default().push(id);
        let others = vec![format!("#{}", thread.tid), name::thread(names.program, id)];
        single.push(member(
            NameKind::Thread,
            &thread.name,
            thread.tid,
            others,
            FoundNodes::Threads(vec![id]),
        ));
    }
    let groups = named.into_iter().map(|(name, ids)| group(NameKind::Thread, name, FoundNodes::Threads(ids)));
    groups.chain(single).collect()
}

fn processes(names: &RecordingNames<'_>) -> Vec<NameCandidate> {
    let mut named: BTreeMap<&str, Vec<ProcessId>> = BTreeMap::new();
    let mut single = Vec::new();
    for (index, process) in names.program.processes.iter().enumerate() {
        let id = ProcessId::from_index(index);
        named.entry(&process.name).or_default().push(id);
        let others =
            vec![format!("#{}", process.pid), name::process(names.program, id), process.title.clone()];
        single.push(member(
            NameKind::Process,
            &process.name,
            process.pid,
            others,
            FoundNodes::Processes(vec![id]),
        ));
    }
    let groups =
        named.into_iter().map(|(name, ids)| group(NameKind::Process, name, FoundNodes::Processes(ids)));
    groups.chain(single).collect()
}

/// All things of one name.
fn group(kind: NameKind, name: &str, found: FoundNodes) -> NameCandidate {
    NameCandidate {
        name: name.to_owned(),
        others: Vec::new(),
        label: format!("{kind}:{name}"),
        is_special: false,
        is_own: false,
        found,
    }
}

/// One of the things of a name, by its number.
fn member(
    kind: NameKind,
    name: &str,
    number: u32,
    mut others: Vec<String>,
    found: FoundNodes,
) -> NameCandidate {
    others.push(number.to_string());
    NameCandidate {
        name: format!("{name} #{number}"),
        others,
        label: format!("{kind}:{name} #{number}"),
        is_special: true,
        is_own: false,
        found,
    }
}
