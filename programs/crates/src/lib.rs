//! What the programs share: documents to work on, and the procedure that is left out.

use std::sync::LazyLock;

static LEFT_OUT: LazyLock<String> = LazyLock::new(|| std::env::var("LEAVE_OUT").unwrap_or_default());

/// Whether a procedure does nothing in this run: the environment names it in `LEAVE_OUT`, which is read once. It is asked at most
/// a few thousand times a run, so the unchanged program does next to nothing for it.
pub fn is_left_out(procedure: &str) -> bool {
    *LEFT_OUT == procedure
}

/// A JSON document of about this many bytes; the same for the same number.
pub fn document(number: u64, bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "lock", "path", "thread", "barrier", "queue", "slack", "metric", "zero", "column", "table", "stage", "idle", "busy",
        "wait", "signal", "phase",
    ];
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes + 100);
    text.push_str("[\"begin\"");
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (word, value) = (WORDS[(state >> 60) as usize], (state >> 33) % 100_000);
        text.push_str(&format!(",{{\"{word}\":{value}}}"));
    }
    text.push(']');
    text
}
