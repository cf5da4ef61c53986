/* Two threads on one processor that hand a turn to each other through a futex: nothing but context switches.
 *
 *   ping   pass_turn, wait | ...                 N round trips, 2 N switches
 *   pong   wait, pass_turn | ...
 *
 * Argument: N (default 100000). Prints `switches COUNT` as the kernel counts them and `nanoseconds_per_switch T`.
 * The benchmarks measure with it what recording one switch costs.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "work.h"

static atomic_int turn;
static long round_trips = 100000;

NOINLINE void wait_for_turn(int mine)
{
    while (atomic_load(&turn) != mine)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
}

NOINLINE void pass_turn(int other)
{
    atomic_store(&turn, other);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

NOINLINE void play(int mine)
{
    for (long i = 0; i < round_trips; i++) {
        wait_for_turn(mine);
        pass_turn(!mine);
    }
}

static void *pong(void *unused)
{
    pthread_setname_np(pthread_self(), "pong");
    play(1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    cpu_set_t one;
    struct rusage usage;
    struct timespec begin, end;
    if (argc > 1)
        round_trips = atol(argv[1]);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    CHECK(pthread_create(&thread, NULL, pong, NULL) == 0);
    play(0);
    CHECK(pthread_join(thread, NULL) == 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_SELF, &usage);
    double nanoseconds = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
    long switches = usage.ru_nvcsw + usage.ru_nivcsw;
    printf("switches %ld\nnanoseconds_per_switch %.1f\n", switches, nanoseconds / switches);
    return 0;
}
