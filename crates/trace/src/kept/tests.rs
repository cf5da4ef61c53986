use std::fs;
use std::path::Path;
use std::time::Duration;

use longpole_testkit::{Drawing, Mutations};
use proptest::prelude::*;

use super::*;
use crate::timeline::{Item, Placement, Timelines};

/// A drawing of a run that has dependences, objects and ends.
fn drawing(rows: &[String]) -> Option<Drawing> {
    let mut text = String::from("1 = mutex m\n2 = barrier b\nunit 100\n");
    for (index, row) in rows.iter().enumerate() {
        text += &format!("T{index} {row}\n");
    }
    text += "T0@2 -> T1 signal\n";
    Drawing::parse(&text).ok()
}

fn cache(folder: &Path) -> ItemCache {
    ItemCache::new(folder.join("cache"), "1".to_owned()).from_events(0)
}

/// What the logs say, decoded anew.
fn decoded(trace: &Trace) -> (Vec<Item>, Vec<Placement>) {
    let (mut items, mut placements) = (Vec::new(), Vec::new());
    let decoded = trace.decode(&mut |found| match found {
        LogItem::Item(item) => items.push(*item),
        LogItem::Placed(placement) => placements.push(placement),
    });
    decoded.unwrap();
    (items, placements)
}

fn shown(trace: &Trace) -> (Vec<Item>, Vec<Placement>) {
    let mut items = Vec::new();
    trace.items(&mut |item| items.push(*item)).unwrap();
    (items, trace.placements().unwrap())
}

/// Everything that a trace tells besides its items.
fn told(trace: &Trace) -> String {
    let Trace { program, objects, evidence, end, .. } = trace;
    let paths = (0..trace.paths.len() as u32).map(crate::paths::PathId);
    let paths: Vec<_> = paths.map(|path| trace.paths.places_of(path).collect::<Vec<_>>()).collect();
    format!("{program:?} {objects:?} {evidence:?} {end:?} {paths:?} {:?}", trace.paths.procedures())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn items_from_columns_are_those_of_the_log(rows in prop::collection::vec("[AB.¹²~-]{2,40}", 2..5)) {
        let drawing = drawing(&rows).expect("rows of a drawing");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.longpole");
        prop_assume!(drawing.write(&path).is_ok());
        let trace = Trace::open_with(&path, Some(cache(&path))).unwrap();
        let from_log = decoded(&trace);
        prop_assert_eq!(&from_log, &shown(&trace));
        prop_assert!(path.join("cache/items.columns").is_file());
        // Without its log the recording answers from what is kept.
        fs::remove_file(path.join("machine-0/events.log")).unwrap();
        let again = Trace::open_with(&path, Some(cache(&path))).unwrap();
        prop_assert_eq!(&from_log, &shown(&again));
        let mut again = again;
        again.evidence.recording_bytes = trace.evidence.recording_bytes;
        prop_assert_eq!(told(&trace), told(&again));
    }
}

#[test]
fn damaged_columns_are_made_again_from_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.longpole");
    Drawing::example().write(&path).unwrap();
    let items = shown(&Trace::open_with(&path, Some(cache(&path))).unwrap());
    let kept = path.join("cache/items.columns");
    let whole = fs::read(&kept).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&kept, damaged).unwrap();
        let again = Trace::open_with(&path, Some(cache(&path))).unwrap();
        assert_eq!(shown(&again), items, "byte {at}");
        assert_eq!(fs::read(&kept).unwrap(), whole, "byte {at}");
    }
}

#[test]
fn where_nothing_can_be_written_items_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.longpole");
    Drawing::example().write(&path).unwrap();
    fs::write(path.join("cache"), "no folder").unwrap();
    let trace = Trace::open_with(&path, Some(cache(&path))).unwrap();
    assert_eq!(decoded(&trace), shown(&trace));
    assert_eq!(fs::read(path.join("cache")).unwrap(), b"no folder");
}

#[test]
fn what_is_kept_of_another_version_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.longpole");
    Drawing::example().write(&path).unwrap();
    let trace = Trace::open_with(&path, Some(cache(&path))).unwrap();
    let items = shown(&trace);
    let kept = path.join("cache/items.columns");
    let whole = fs::read(&kept).unwrap();
    let other = ItemCache::new(path.join("cache"), "2".to_owned()).from_events(0);
    let again = Trace::open_with(&path, Some(other)).unwrap();
    assert!(!kept.exists(), "it is of no use any more");
    assert_eq!(shown(&again), items);
    assert_ne!(fs::read(&kept).unwrap(), whole);
}

#[test]
fn kept_traces_of_any_bytes_are_refused_or_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.longpole");
    Drawing::example().write(&path).unwrap();
    let rest = Trace::open(&path).unwrap().kept_bytes();
    assert!(KeptTrace::of(&rest).is_some());
    let mut sound = 0;
    let runs = Mutations::new(vec![rest], 7).run_for(Duration::from_secs(2), |bytes| {
        let Some((kept, ids)) = KeptTrace::of(bytes) else { return };
        sound += 1;
        for path in (0..ids.paths as u32).map(crate::paths::PathId) {
            kept.paths.places_of(path).for_each(|place| _ = kept.paths.procedure_named_by(place.procedure));
        }
        for thread in &kept.program.threads {
            _ = &kept.program.processes[thread.process.index()];
        }
    });
    assert!(runs > 100 && sound > 0, "{runs} inputs, {sound} of them sound");
}
