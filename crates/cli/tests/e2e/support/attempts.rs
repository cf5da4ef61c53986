//! What holds on a machine that others use, too.

/// The first of these attempts that holds; what each of them found, where none does. Others take processors from the program now and then:
/// neither its time nor what is said of it is what it would be then.
#[track_caller]
pub fn first_that_holds<T>(attempts: usize, mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let mut told = Vec::new();
    for _ in 0..attempts {
        match attempt() {
            Ok(found) => return found,
            Err(text) => told.push(text),
        }
    }
    panic!("{told:?}")
}
