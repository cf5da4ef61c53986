//! Work on many threads of the recording, shared between the processors of this machine.

use std::num::NonZero;

/// Gives each worker every so manieth part of `all`, with a state of its own to work on; the workers' states, in an
/// order that depends on their number alone.
pub(crate) fn share<T: Sync, S: Send>(
    all: &[T],
    new: impl Fn() -> S + Sync,
    work: impl Fn(usize, &T, &mut S) + Sync,
) -> Vec<S> {
    // One thread's curve is computed by the thousand, and to ask for the processors reads files.
    let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = if all.len() > 1 { processors().min(all.len()) } else { 1 };
    let part = |worker: usize| {
        let mut state = new();
        let own = all.iter().enumerate().skip(worker).step_by(workers);
        own.for_each(|(place, one)| work(place, one, &mut state));
        state
    };
    std::thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..workers).map(|worker| scope.spawn(move || part(worker))).collect();
        let mut states = vec![part(0)];
        let join = |other: std::thread::ScopedJoinHandle<'_, S>| {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        states.extend(others.into_iter().map(join));
        states
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_worked_on_once() {
        let all: Vec<u32> = (0..100).collect();
        let states = share(&all, Vec::new, |place, &one, seen| seen.push((place, one)));
        let mut seen: Vec<_> = states.into_iter().flatten().collect();
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(at, &one)| one == (at, at as u32)) && seen.len() == 100);
        assert_eq!(share(&[] as &[u32], || 7, |_, _, _| {}), [7]);
    }
}
