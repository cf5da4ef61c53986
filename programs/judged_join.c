/* A join of two relations in phases, with a barrier after each. THREADS threads (2 unless -DTHREADS) share the work.
 *
 *   main       create_pool 90 |                                                                        | write_result 25
 *   worker 1                  | make_relation 60 | shuffle 50 | partition 70 | exchange 12 | join_tuples 80 |
 *   worker 2                  | make_relation 60 | .......... | partition 40 | exchange 12 | join_tuples 80 |
 *
 * Only the first worker shuffles. Even ones partition 70, odd ones 40. exchange is behind a lock. With two threads the amounts are
 * those above, with more each has 2/THREADS of them (the first shuffles all the same).
 * Elapsed with two threads on two processors: 90 + 60 + 50 + 70 + 24 + 80 + 25 = 399 ms. Gains: create_pool 90, make_relation 60,
 * shuffle 50, partition 70, exchange 24, join_tuples 80, write_result 25. With eight threads on two processors partition takes
 * 4 x (17.5 + 10) / 2 = 55 instead of 70.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

#ifndef THREADS
#define THREADS 2
#endif
#define SHARE(milliseconds) ((milliseconds) * 2.0 / THREADS)

static pthread_barrier_t phase_end;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void create_pool(void) { BURN(90); }
NOINLINE void make_relation(void) { BURN(SHARE(60)); }
NOINLINE void shuffle(void) { BURN(50); }
NOINLINE void partition(int index) { BURN(index % 2 ? SHARE(40) : SHARE(70)); }
NOINLINE void exchange(void) { BURN(SHARE(12)); }
NOINLINE void join_tuples(void) { BURN(SHARE(80)); }
NOINLINE void write_result(void) { BURN(25); }

static void *worker(void *index)
{
    make_relation();
    pthread_barrier_wait(&phase_end);
    if (!index)
        shuffle();
    pthread_barrier_wait(&phase_end);
    partition((int)(long)index);
    pthread_barrier_wait(&phase_end);
    CHECK(pthread_mutex_lock(&queue_lock) == 0);
    exchange();
    CHECK(pthread_mutex_unlock(&queue_lock) == 0);
    pthread_barrier_wait(&phase_end);
    join_tuples();
    return NULL;
}

int main(void)
{
    create_pool();
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&phase_end, NULL, THREADS) == 0);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    write_result();
    return 0;
}
