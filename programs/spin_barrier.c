/* Eight threads on two processors work in rounds; at the end of each they spin before they block.
 *
 *   worker 1..8   compute 2 | wait_for_round | compute 2 | wait_for_round | ...      40 rounds
 *
 * The lock of the barrier is tried up to SPINS times before the thread blocks for it, and its round is looked at up to SPINS
 * times before the thread blocks for that. Who spins has a processor that another worker needs to arrive.
 *
 * Useful CPU time: 8 × 40 × 2 = 640 ms, all of it compute. A barrier that blocks at once (-DSPINS=0) takes
 * 640 / 2 = 320 ms; this one a multiple of that, and what it takes longer it spins.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "work.h"

#ifndef SPINS
#define SPINS 20000000
#endif
#define WORKERS 8
#define ROUNDS 40

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int arrived;
static atomic_int rounds_done;

NOINLINE void compute(void) { BURN(2); }

NOINLINE void lock_barrier(void)
{
    int tries = 0;
    while (pthread_mutex_trylock(&mutex) != 0)
        if (++tries > SPINS) {
            pthread_mutex_lock(&mutex);
            return;
        }
}

NOINLINE void wait_for_round(int round)
{
    lock_barrier();
    if (++arrived == WORKERS) {
        arrived = 0;
        atomic_store(&rounds_done, round);
        pthread_cond_broadcast(&all_here);
        pthread_mutex_unlock(&mutex);
        return;
    }
    pthread_mutex_unlock(&mutex);
    for (int tries = 0; tries < SPINS; tries++)
        if (atomic_load(&rounds_done) >= round)
            return;
    pthread_mutex_lock(&mutex);
    while (atomic_load(&rounds_done) < round)
        pthread_cond_wait(&all_here, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void *worker(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    for (int round = 1; round <= ROUNDS; round++) {
        compute();
        wait_for_round(round);
    }
    return unused;
}

int main(void)
{
    cpu_set_t two;
    CPU_ZERO(&two);
    CPU_SET(0, &two);
    CPU_SET(1, &two);
    CHECK(sched_setaffinity(0, sizeof two, &two) == 0);
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
