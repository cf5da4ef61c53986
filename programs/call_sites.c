/* Calls after which nothing comes: the address behind them belongs to another line, to another inlined procedure, or to
 * the next function.
 *
 *   main      | lock, hold 20 ms, unlock, ten times: the lock is taken in the inlined `acquire`, on LINE_OF_LOCK |
 *   stays     | `stays`: calls `rest_for_ever`, which does not return: its last instruction is the call; that of
 *             |  `rest_for_ever` is the system call |
 *
 * `after_stays` and `after_rest` stand behind them in the file, and never run.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"

enum { TURNS = 10, HOLD_MS = 20 };

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline, noreturn)) void rest_for_ever(void)
{
    __asm__ volatile("syscall" : : "a"(SYS_pause) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

NOINLINE void after_rest(void)
{
    BURN(1);
}

__attribute__((noinline)) void *stays(void *unused)
{
    (void)unused;
    rest_for_ever();
}

NOINLINE void after_stays(void)
{
    BURN(1);
}

static inline __attribute__((always_inline)) void acquire(void)
{
    pthread_mutex_lock(&journal); /* LINE_OF_LOCK */
}

NOINLINE void write_journal(void)
{
    acquire();
    BURN(HOLD_MS);
    pthread_mutex_unlock(&journal);
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stays, NULL) == 0);
    for (int turn = 0; turn < TURNS; turn++)
        write_journal();
    if (getpid() == 0) {
        after_rest();
        after_stays();
    }
    return 0;
}
