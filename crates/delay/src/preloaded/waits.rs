//! Functions of threads and processes that wait for others, or wake them.

use core::ffi::{c_int, c_long, c_uint};

use super::interposed::{Opaque, interposed};

interposed! {
    pthread_mutex_lock(mutex: Opaque) -> c_int, |result| result == 0, takes mutex;
    pthread_mutex_trylock(mutex: Opaque) -> c_int, |result| false, takes mutex;
    pthread_mutex_timedlock(mutex: Opaque, until: Opaque) -> c_int, |result| result == 0, takes mutex;
    pthread_mutex_clocklock(mutex: Opaque, clock: c_int, until: Opaque) -> c_int, |result| result == 0, takes mutex;
    pthread_mutex_unlock(mutex: Opaque) -> c_int, |result| false, gives mutex;
    pthread_spin_lock(lock: Opaque) -> c_int, |result| result == 0, takes lock;
    pthread_spin_trylock(lock: Opaque) -> c_int, |result| false, takes lock;
    pthread_spin_unlock(lock: Opaque) -> c_int, |result| false, gives lock;
    pthread_rwlock_rdlock(lock: Opaque) -> c_int, |result| result == 0;
    pthread_rwlock_wrlock(lock: Opaque) -> c_int, |result| result == 0;
    pthread_rwlock_timedrdlock(lock: Opaque, until: Opaque) -> c_int, |result| result == 0;
    pthread_rwlock_timedwrlock(lock: Opaque, until: Opaque) -> c_int, |result| result == 0;
    pthread_rwlock_unlock(lock: Opaque) -> c_int, |result| false;
    pthread_cond_wait(condition: Opaque, mutex: Opaque) -> c_int, |result| result == 0;
    pthread_cond_timedwait(condition: Opaque, mutex: Opaque, until: Opaque) -> c_int, |result| result == 0;
    pthread_cond_clockwait(condition: Opaque, mutex: Opaque, clock: c_int, until: Opaque) -> c_int, |result| result == 0;
    pthread_cond_signal(condition: Opaque) -> c_int, |result| false;
    pthread_cond_broadcast(condition: Opaque) -> c_int, |result| false;
    pthread_barrier_wait(barrier: Opaque) -> c_int, |_result| true;
    sem_wait(semaphore: Opaque) -> c_int, |result| result == 0;
    sem_timedwait(semaphore: Opaque, until: Opaque) -> c_int, |result| result == 0;
    sem_clockwait(semaphore: Opaque, clock: c_int, until: Opaque) -> c_int, |result| result == 0;
    sem_post(semaphore: Opaque) -> c_int, |result| false;
    pthread_join(thread: libc::pthread_t, result: Opaque) -> c_int, |result| result == 0;
    pthread_timedjoin_np(thread: libc::pthread_t, result: Opaque, until: Opaque) -> c_int, |result| result == 0;
    pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int, |result| false;
    kill(process: libc::pid_t, signal: c_int) -> c_int, |result| false;
    wait(status: Opaque) -> libc::pid_t, |result| result > 0;
    waitpid(process: libc::pid_t, status: Opaque, options: c_int) -> libc::pid_t, |result| result > 0;
    wait3(status: Opaque, options: c_int, usage: Opaque) -> libc::pid_t, |result| result > 0;
    wait4(process: libc::pid_t, status: Opaque, options: c_int, usage: Opaque) -> libc::pid_t, |result| result > 0;
    waitid(kind: c_uint, process: c_uint, status: Opaque, options: c_int) -> c_int, |result| result == 0;
    syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long,
        |result| result == 0 && number == libc::SYS_futex && is_futex_wait(b);
}

/// Whether a futex operation waits for another thread: Rust's standard library and C++20 wait by it.
fn is_futex_wait(operation: usize) -> bool {
    matches!(
        operation as c_int & libc::FUTEX_CMD_MASK,
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI
    )
}
