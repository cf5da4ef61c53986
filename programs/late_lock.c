/* A lock is taken long after its holder released it: nobody waits, and the order of the two is no order of the program.
 *
 *   holder  lock | A 100 | unlock |
 *   main    sleep 500 | lock | D 90 | unlock | join
 *
 * Critical path (CPU): the worker's A 100. Exclusion is not order: main could have been first. But the lock was held for
 * 190 ms in all, and no run is shorter than that: D at 0 gains no more than 90 ms of it, and a run without A takes 90.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void A(void) { BURN(100); }
NOINLINE void D(void) { BURN(90); }

static void *holder(void *unused)
{
    CHECK(pthread_mutex_lock(&lock) == 0);
    A();
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, holder, NULL) == 0);
    usleep(500000);
    CHECK(pthread_mutex_lock(&lock) == 0);
    D();
    CHECK(pthread_mutex_unlock(&lock) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
