/* Three threads for every processor, which look things up in a table behind a lock and work on what they found.
 *
 *   worker 1 .. 3 P   30 x (prepare 2 | lock look_up 1 unlock | digest 3)
 *
 * CPU time: 3 P x 30 x 6 ms. Elapsed: 3 x 30 x 6 = 540 ms on P free processors, all in turns, while the lock lets one thread
 * at a time look things up: 3 P x 30 x 1 = 90 P ms of holds. With P of 6 or more these are the limit.
 *
 * Without digest: 3 x 30 x 3 = 270 ms, or 90 P ms of holds where that is more. Without look_up: 450. Without the lock (-DNO_LOCK): 540,
 * as the processors have other work while threads wait for it. work.h says how procedures are left out.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "work.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void prepare(void) { BURN(2); }
NOINLINE void look_up(void) { BURN(1); }
NOINLINE void digest(void) { BURN(3); }

static void *worker(void *unused)
{
    for (int item = 0; item < 30; item++) {
        prepare();
#ifndef NO_LOCK
        CHECK(pthread_mutex_lock(&table_lock) == 0);
#endif
        look_up();
#ifndef NO_LOCK
        CHECK(pthread_mutex_unlock(&table_lock) == 0);
#endif
        digest();
    }
    return unused;
}

int main(void)
{
    int count = 3 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t *threads = calloc(count, sizeof *threads);
    CHECK(threads != NULL);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
