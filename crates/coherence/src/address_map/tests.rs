use super::*;

const OBJECT: DataObjectId = DataObjectId(3);
const FIRST: ProcessorId = ProcessorId(0);

fn map(changes: LayoutChanges) -> AddressMap {
    let layout = DataLayout { changes: vec![changes], objects: BTreeMap::from([(OBJECT, 0)]) };
    AddressMap::new(layout, 64)
}

fn pieces(map: &mut AddressMap, processor: u16, address: u64, size: u32) -> Vec<MappedPiece> {
    let mut found = Vec::new();
    map.pieces(ProcessorId(processor), (address, size), &mut found);
    found
}

#[test]
fn what_does_not_change_keeps_its_address_and_an_access_is_cut_at_the_ends_of_what_does() {
    let mut map = map(LayoutChanges { element: Some(8), padding: Some(64), ..LayoutChanges::default() });
    map.place(None, 0x1000, 32, OBJECT);
    assert_eq!(pieces(&mut map, 0, 0xff8, 8), [(0xff8, 8)]);
    let found = pieces(&mut map, 0, 0xffc, 44);
    let base = found[1].0;
    assert!(base >= MAPPED && base.is_multiple_of(4096), "{base:#x}");
    let expected = [(0xffc, 4), (base, 8), (base + 64, 8), (base + 128, 8), (base + 192, 8), (0x1020, 8)];
    assert_eq!(found, expected);
    assert_eq!(pieces(&mut map, 1, 0x100c, 8), [(base + 68, 4), (base + 128, 4)]);
}

#[test]
fn blocks_keep_their_place_in_a_page_unless_they_are_aligned() {
    let start = |alignment: Option<u64>| {
        let mut map = map(LayoutChanges { alignment, ..LayoutChanges::default() });
        map.place(Some(FIRST), 0x1234_5010, 40, OBJECT);
        map.place(Some(FIRST), 0x1234_5040, 40, OBJECT);
        [0x1234_5010, 0x1234_5040].map(|address| pieces(&mut map, 0, address, 8)[0].0 & 0xff_ffff)
    };
    // As an allocator has them, one behind the other.
    assert_eq!(start(None), [0x10, 0x40]);
    assert_eq!(start(Some(64)), [0x40, 0x80]);
    assert_eq!(start(Some(32)), [0x20, 0x60]);
}

#[test]
fn memory_that_is_placed_again_is_the_same_and_that_of_others_is_not() {
    let mut map = map(LayoutChanges { alignment: Some(64), ..LayoutChanges::default() });
    map.place(Some(FIRST), 0x1000, 40, OBJECT);
    let first = pieces(&mut map, 0, 0x1008, 8);
    map.place(Some(FIRST), 0x1000, 48, DataObjectId(9));
    assert_eq!(pieces(&mut map, 0, 0x1008, 8), [(0x1008, 8)], "another object's");
    map.place(Some(FIRST), 0x1000, 24, OBJECT);
    assert_ne!(pieces(&mut map, 0, 0x1008, 8), first, "another size");
    map.place(Some(FIRST), 0x1000, 40, OBJECT);
    assert_eq!(pieces(&mut map, 0, 0x1008, 8), first);
    // The end of a block that something else was placed on the begin of.
    map.place(None, 0x1000, 16, DataObjectId(9));
    assert_eq!(pieces(&mut map, 0, 0x1008, 16), [(0x1008, 8), (first[0].0 + 8, 8)]);
}

#[test]
fn each_processor_has_a_copy_of_a_private_object() {
    let mut map = map(LayoutChanges { is_private: true, ..LayoutChanges::default() });
    map.place(None, 0x1000, 8, OBJECT);
    let copies: Vec<u64> = (0..3).map(|one| pieces(&mut map, one, 0x1000, 8)[0].0).collect();
    assert!(copies.iter().all(|&copy| copy % 4096 == 0));
    assert!(copies[0] / 64 != copies[1] / 64 && copies[1] / 64 != copies[2] / 64);
    assert_eq!(pieces(&mut map, 1, 0x1000, 8)[0].0, copies[1]);
    assert_eq!(map.take_objects().count(), 3);
    pieces(&mut map, 0, 0x1000, 8);
    assert_eq!(map.take_objects().count(), 0, "it has its memory");
}

#[test]
fn grouped_objects_follow_each_other() {
    let changes = LayoutChanges { is_grouped: true, ..LayoutChanges::default() };
    let objects = BTreeMap::from([(OBJECT, 0), (DataObjectId(4), 0)]);
    let mut map = AddressMap::new(DataLayout { changes: vec![changes], objects }, 64);
    map.place(None, 0x1000, 4, OBJECT);
    map.place(None, 0x2040, 16, DataObjectId(4));
    let first = pieces(&mut map, 0, 0x1000, 4)[0].0;
    assert_eq!(pieces(&mut map, 0, 0x2040, 8), [(first + 16, 8)]);
}

#[test]
fn blocks_that_are_larger_than_a_region_have_one_of_their_own() {
    let mut map = map(LayoutChanges { alignment: Some(64), ..LayoutChanges::default() });
    map.place(Some(FIRST), 0x10_0000_0000, 3 * REGION_BYTES, OBJECT);
    map.place(Some(FIRST), 0x20_0000_0000, 64, OBJECT);
    let large = pieces(&mut map, 0, 0x10_0000_0000, 8)[0].0;
    let small = pieces(&mut map, 0, 0x20_0000_0000, 8)[0].0;
    assert!(small >= large + 3 * REGION_BYTES, "{large:#x} {small:#x}");
}

#[test]
fn what_has_no_room_keeps_its_addresses_and_is_counted() {
    let mut map = map(LayoutChanges { element: Some(1), padding: Some(1 << 30), ..LayoutChanges::default() });
    map.place(None, 0x1000, 1 << 40, OBJECT);
    assert_eq!(pieces(&mut map, 0, 0x1008, 8), [(0x1008, 8)]);
    assert_eq!((map.unplaced(), map.take_objects().count()), (1, 0));
    // A damaged recording may have any size.
    map.place(None, 0x2000, u64::MAX, OBJECT);
    assert_eq!((pieces(&mut map, 0, 0x2008, 8), map.unplaced()), (vec![(0x2008, 8)], 2));
}

#[test]
fn memory_ends_and_no_address_overflows() {
    let mut map = map(LayoutChanges {
        splits: [8].into(),
        alignment: Some(1 << 30),
        origin: 24,
        ..LayoutChanges::default()
    });
    for number in 0..40 {
        map.place(Some(FIRST), number << 50, LARGEST_BLOCK - (1 << 32), OBJECT);
        map.place(None, (number << 50) + (1 << 49), LARGEST_BLOCK - (1 << 32), OBJECT);
    }
    assert!(map.unplaced() > 0);
    pieces(&mut map, 0, u64::MAX - 4, 99);
}
