//! The `longpole` binary.
fn main() {}
