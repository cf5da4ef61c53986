/* Two threads compute and update a table under a lock, which is held for 29 % of the run, and always wanted while it is held.
 *
 *   worker  barrier | compute 50 | lock | update 10 | unlock     5 rounds
 *
 * Elapsed: 5 x (50 + 10 + 10) = 350 ms; without update 250, without compute 100.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

enum { ROUNDS = 5, WORKERS = 2 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start_of_round;

NOINLINE void compute(void) { BURN(50); }
NOINLINE void update(void) { BURN(10); }

static void *worker(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&start_of_round);
        compute();
        pthread_mutex_lock(&table_lock);
        update();
        pthread_mutex_unlock(&table_lock);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS];
    CHECK(pthread_barrier_init(&start_of_round, NULL, WORKERS) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
