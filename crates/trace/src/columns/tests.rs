use std::fs;
use std::path::Path;
use std::time::Duration;

use longpole_event::ThreadId;
use longpole_testkit::Mutations;

use super::*;
use crate::error::Error;
use crate::objects::ObjectId;
use crate::paths::PathId;
use crate::state::{Cause, State};
use crate::timeline::{Acquisition, DependenceKind, ItemKind, LockHold, ObservationKind, QueueId, TokenId};

const IDS: IdCounts =
    IdCounts { machines: 1, processes: 1, threads: 300, paths: 70_000, objects: 5, procedures: 0, places: 0 };

/// Items of every kind, with small numbers and the largest.
fn items(count: u32) -> Vec<Item> {
    let kinds = |index: u32| {
        let thread = ThreadId(index % 300);
        let hold = LockHold {
            object: ObjectId(4),
            path: PathId(69_999),
            outer: (index.is_multiple_of(2)).then_some(ObjectId(0)),
            acquisitions: u64::MAX,
            contended: 0,
            nanoseconds: 1 << 40,
            longest: index.into(),
        };
        let (token, object) =
            (TokenId(u32::MAX - index), Some(ObjectId(4)).filter(|_| index.is_multiple_of(3)));
        let acquisition = Acquisition {
            token,
            kind: DependenceKind::Barrier,
            object,
            queue: (index.is_multiple_of(3)).then_some(QueueId(index)),
            last: index.is_multiple_of(2),
        };
        let source_time = Time::from_nanoseconds(index.into());
        [
            ItemKind::State(State::Absent),
            ItemKind::State(State::Blocked(Cause::Other)),
            ItemKind::Observe {
                path: PathId(index % 70_000),
                kind: ObservationKind::Sample { gap: index % 4 * 1_000_000_000 },
            },
            ItemKind::Await(ObjectId(3)),
            ItemKind::Held(hold),
            ItemKind::Depend { source: thread, source_time, kind: DependenceKind::Wake },
            ItemKind::Written { writer: thread, path: PathId(index % 70_000) },
            ItemKind::Release(token),
            ItemKind::Acquire(acquisition),
            ItemKind::State(State::Ready),
        ]
    };
    let item = |index: u32| Item {
        time: Time::from_nanoseconds(u64::from(index) * u64::from(index)),
        thread: ThreadId(index % 300),
        what: kinds(index)[(index % 10) as usize],
    };
    (0..count).map(item).collect()
}

fn written(items: &[Item], cache: Option<&ItemCache>) -> Arc<ItemColumns> {
    let mut writer = ColumnsWriter::new(IDS, cache);
    items.iter().for_each(|item| writer.item(item));
    writer.placement(Placement { time: Time::ZERO, thread: ThreadId(299), processor: u16::MAX });
    finished(writer)
}

fn finished(writer: ColumnsWriter) -> Arc<ItemColumns> {
    let columns = writer.columns();
    writer.finish(b"rest");
    columns
}

fn shown(columns: &ItemColumns) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let end = columns.for_each(&mut |item| items.push(*item))?;
    assert_eq!(end, ColumnsEnd::Whole);
    Ok(items)
}

fn cache(folder: &Path) -> ItemCache {
    ItemCache::new(folder.join("cache"), "version".to_owned())
}

fn opened(cache: &ItemCache) -> Option<ItemColumns> {
    let found = cache.open(|rest| (rest == b"rest").then_some(((), IDS)));
    found.map(|((), columns)| columns).filter(ItemColumns::are_whole)
}

#[test]
fn items_come_back_from_memory_and_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let items = items(10_000);
    assert_eq!(shown(&written(&items, None)).unwrap(), items);
    let cache = cache(folder.path());
    assert_eq!(shown(&written(&items, Some(&cache))).unwrap(), items);
    let columns = opened(&cache).unwrap();
    assert_eq!(shown(&columns).unwrap(), items);
    assert_eq!(columns.placements().unwrap().unwrap()[0].processor, u16::MAX);
    assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 1);
    cache.clear();
    assert!(opened(&cache).is_none());
}

#[test]
fn a_damaged_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    written(&items(40), Some(&cache));
    let file = folder.path().join("cache/items.columns");
    let whole = fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert!(opened(&cache).is_none(), "byte {at}");
        fs::write(&file, &whole[..at]).unwrap();
        assert!(opened(&cache).is_none(), "cut at {at}");
    }
    fs::write(&file, &whole).unwrap();
    assert!(opened(&cache).is_some());
}

#[test]
fn a_file_that_changes_while_it_is_open_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let columns = written(&items(10_000), Some(&cache));
    fs::write(folder.path().join("cache/items.columns"), "other").unwrap();
    assert!(matches!(shown(&columns), Err(Error::Columns { .. })));
}

#[test]
fn a_file_on_its_way_of_another_process_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path());
    let mut first = ColumnsWriter::new(IDS, Some(&cache));
    let items = items(100);
    items.iter().for_each(|item| first.item(item));
    assert_eq!(shown(&written(&items[..50], Some(&cache))).unwrap(), items[..50], "in memory");
    assert_eq!(shown(&finished(first)).unwrap(), items);
    assert_eq!(shown(&opened(&cache).unwrap()).unwrap(), items);
}

#[test]
fn links_and_pipes_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("cache")).unwrap();
    let cache = cache(folder.path());
    assert_eq!(shown(&written(&items(20), Some(&cache))).unwrap(), items(20));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn blocks_of_any_bytes_are_refused_or_hold_known_ids() {
    let mut builder = BlockBuilder::default();
    for item in items(200) {
        let (tag, value) = tag::encode(item.time, &item.what, &mut builder.more);
        let time = item.time.nanoseconds();
        builder.push(BlockRow { time, thread: item.thread.0.into(), tag, value });
    }
    let block = builder.take();
    let mut whole = 0;
    let runs = Mutations::new(vec![block], 3).run_for(Duration::from_secs(2), |bytes| {
        let shown = items_of_block(bytes, &IDS, &mut |item| {
            assert!(item.thread.index() < IDS.threads);
            if let ItemKind::Observe { path, .. } = item.what {
                assert!((path.0 as usize) < IDS.paths);
            }
        });
        whole += u32::from(shown.is_some());
    });
    assert!(runs > 100 && whole > 0, "{runs} inputs, {whole} of them whole");
}

#[test]
fn items_are_read_while_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let items = items(10_000);
    for cache in [None, Some(&cache(folder.path()))] {
        let mut writer = ColumnsWriter::new(IDS, cache);
        let columns = writer.columns();
        std::thread::scope(|scope| {
            let readers = [0, 1].map(|_| scope.spawn(|| shown(&columns).unwrap()));
            items.iter().for_each(|item| writer.item(item));
            writer.finish(b"rest");
            readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap(), items));
        });
    }
}

#[test]
fn a_reader_of_columns_that_are_broken_off_knows_how_many_items_it_has_seen() {
    let items = items(10_000);
    let mut writer = ColumnsWriter::new(IDS, None);
    let columns = writer.columns();
    std::thread::scope(|scope| {
        let mut seen = Vec::new();
        let reader = scope.spawn(|| {
            let end = columns.for_each(&mut |item| seen.push(*item)).unwrap();
            (end, seen)
        });
        items.iter().for_each(|item| writer.item(item));
        drop(writer);
        let (end, seen) = reader.join().unwrap();
        assert_eq!(end, ColumnsEnd::BrokenOff(seen.len() as u64));
        assert_eq!(seen, items[..seen.len()]);
    });
    assert_eq!(columns.placements().unwrap(), None);
}
