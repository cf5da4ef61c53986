//! Documents in `docs/` that tests keep current.

use std::path::Path;

/// Asserts that the document is what the code makes now; with `UPDATE=1` in the environment, writes it.
pub(crate) fn assert_is_current(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "docs/{name} is not current; UPDATE=1 cargo test -p longpole-report writes it"
    );
}
