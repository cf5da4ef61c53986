//! The importer on damaged `perf.data` files: an error or a summary, never a panic.

use std::io::Cursor;
use std::time::Duration;

use longpole_record::import::parse;
use longpole_record::perf::format::TracepointFormat;
use longpole_testkit::Mutations;

const FILES: [&[u8]; 4] = [
    include_bytes!("fixtures/plain.data"),
    include_bytes!("fixtures/machine.data"),
    include_bytes!("fixtures/dwarf.data"),
    include_bytes!("fixtures/without-waking.data"),
];

#[test]
fn damaged_files_are_refused_or_read_in_time_order() {
    let files = FILES.iter().map(|file| file.to_vec()).collect();
    let runs = Mutations::new(files, 21).run_for(Duration::from_secs(5), |bytes| {
        let mut last = None;
        let result = parse(Cursor::new(bytes), &mut |event| {
            assert!(last <= Some(event.time), "{} after {last:?}", event.time);
            last = Some(event.time);
            Ok(())
        });
        assert!(last.is_none() || result.is_ok(), "events were handed over, then {result:?}");
    });
    assert!(runs > 50, "{runs} inputs");
}

#[test]
fn damaged_formats_are_refused_or_read() {
    let text = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n\
        print fmt: \"%s\", __print_flags(REC->prev_state, \"|\", { 0x00000001, \"S\" }, { 2, \"D\" })\n";
    Mutations::new(vec![text.into()], 22).run_for(Duration::from_secs(1), |bytes| {
        let Some(format) = TracepointFormat::parse(&String::from_utf8_lossy(bytes)) else { return };
        for field in ["prev_state", "prev_comm"].iter().filter_map(|name| format.field(name)) {
            let _ = (field.value(bytes), field.text(bytes));
        }
    });
}
