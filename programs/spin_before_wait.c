/* A thread that spins for a while before it blocks, as mutexes and barriers do, in turns much shorter than the time between
 * two samples.
 *
 *   main     | sleep 100 us, answer whoever is blocked |                again and again
 *   worker   | work WORK_US | spins SPIN_US in vain, then blocks |      again and again, 1.5 s of processor time
 *
 * The only line says how much processor time the worker spun, in seconds.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"

#ifndef SPIN_US
#define SPIN_US 100
#endif
#ifndef WORK_US
#define WORK_US 400
#endif
enum { SLEEP_US = 100, TOTAL_MS = 1500 };

/* 0: the worker works or spins, 1: it is blocked, or about to, 2: answered. */
static _Atomic int word;
static _Atomic int ended;

/* So many looks at the word. */
NOINLINE void look_for_answer(long looks)
{
    for (long look = 0; look < looks && atomic_load_explicit(&word, memory_order_acquire) != 2; look++)
        __builtin_ia32_pause();
}

/* Work of some microseconds: so many rounds of it. */
NOINLINE unsigned long compute(long rounds, volatile unsigned long *cells)
{
    unsigned long value = 1;
    for (long round = 0; round < rounds; round++) {
        value = value * 6364136223846793005UL + 1442695040888963407UL;
        cells[round & 15] = value;
    }
    return value;
}

static void block(void)
{
    atomic_store(&word, 1);
    while (atomic_load(&word) == 1)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    atomic_store(&word, 0);
}

static void *worker(void *spun)
{
    enum { TRIAL = 500000 };
    volatile unsigned long cells[16];
    long begin = CPU_NANOSECONDS();
    compute(TRIAL, cells);
    long between = CPU_NANOSECONDS();
    look_for_answer(TRIAL);
    long sum = CPU_NANOSECONDS() - between;
    long rounds = TRIAL * (WORK_US * 1000.0) / (between - begin), looks = TRIAL * (SPIN_US * 1000.0) / sum;
    for (long turn = 0; turn < TOTAL_MS * 1000L / (SPIN_US + WORK_US); turn++) {
        compute(rounds, cells);
        long before = CPU_NANOSECONDS();
        look_for_answer(looks);
        sum += CPU_NANOSECONDS() - before;
        block();
    }
    ended = 1;
    *(long *)spun = sum;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    long spun = 0;
    CHECK(pthread_create(&thread, NULL, worker, &spun) == 0);
    while (!ended) {
        usleep(SLEEP_US);
        int blocked = 1;
        if (atomic_compare_exchange_strong(&word, &blocked, 2))
            syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    printf("%.6f\n", spun / 1e9);
    return 0;
}
