/* A lock that guards next to nothing: four threads count what each step did in numbers that they share, as allocators do.
 *
 *   counter  N × | step: a little work | 4 × lock, count, unlock |
 *
 * With -DWITHOUT_LOCK each thread counts for itself, and nothing else changes: what the lock costs is the difference of the
 * two programs' CPU time. The last line says the process's CPU time and the elapsed time, seconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include "work.h"

enum { THREADS = 4, STEPS = 4000000, WORK = 2, COUNTS = 4 };

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long counts[COUNTS];

/* A few dozen dependent multiplications whose result is kept. */
NOINLINE void step(volatile unsigned long *cell)
{
    unsigned long value = *cell;
    for (int round = 0; round < WORK; round++)
        value = value * 6364136223846793005UL + 1442695040888963407UL;
    *cell = value;
}

NOINLINE void add_one(unsigned long *own, int which)
{
#ifdef WITHOUT_LOCK
    ((volatile unsigned long *)own)[which] += 1;
#else
    (void)own;
    pthread_mutex_lock(&count_lock);
    counts[which] += 1;
    pthread_mutex_unlock(&count_lock);
#endif
}

static void *counter(void *unused)
{
    unsigned long cells[16] = {1}, own[16] = {0};
    for (int turn = 0; turn < STEPS; turn++) {
        step(cells);
        for (int which = 0; which < COUNTS; which++)
            add_one(own, which);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, counter, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage used;
    CHECK(getrusage(RUSAGE_SELF, &used) == 0);
    double seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec +
                     1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    double elapsed = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.6f %.6f\n", seconds, elapsed);
    return 0;
}
