// Work of a known amount for the Rust programs, by `include!`: `burn!(ms)` uses that many milliseconds of
// the calling thread's processor time. A macro, so that the time is charged to the procedure it stands in.
//
// It burns too much by what it does between two looks at the clock: about 0.1 ms on a quick machine, so that sixteen
// pieces of work are 1 ms too long together. The look itself, a system call, stays far below 1 % of the time.

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

#[inline(always)]
fn cpu_nanoseconds() -> i64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `now` is a valid timespec of this platform's layout.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.seconds * 1_000_000_000 + now.nanoseconds
}

// Without optimisation, as in the examples of `runtime/rust`, a step takes ten times as long.
const STEPS: usize = if cfg!(debug_assertions) { 20_000 } else { 200_000 };

macro_rules! burn {
    ($milliseconds:expr) => {{
        let end = cpu_nanoseconds() + $milliseconds * 1_000_000;
        let mut value = 1_u64;
        let mut cells = [0_u64; 16];
        loop {
            let mut step = 0;
            while step < STEPS {
                value = (value ^ (value << 13)).rotate_left(7);
                cells[step & 15] = value;
                std::hint::black_box(&mut cells);
                step += 1;
            }
            if cpu_nanoseconds() >= end {
                break;
            }
        }
    }};
}
