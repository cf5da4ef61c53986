/* Four threads that pin themselves to one CPU, of those that they could use.
 *
 *   thread 1, on the last CPU  | crunch ----- crunch ----- ...
 *   thread 2, on the last CPU  | ----- crunch ----- crunch ...      and no thread on the others
 *
 * Each crunches for 75 ms of CPU time: 300 ms on one CPU, 150 ms on two. With an argument they are not pinned.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "work.h"

enum { THREADS = 4, ROUNDS = 15, WORK_MS = 5 };

NOINLINE void crunch(void) { BURN(WORK_MS); }

/* Leaves the calling thread the last of the CPUs that it may use. */
static void pin(void)
{
    cpu_set_t may, one;
    CHECK(sched_getaffinity(0, sizeof may, &may) == 0);
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &may))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
}

static void *work(void *is_pinned)
{
    if (is_pinned)
        pin();
    for (int round = 0; round < ROUNDS; round++)
        crunch();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, argc > 1 ? NULL : argv) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
