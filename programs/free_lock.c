/* Three threads on two processors with a lock that they mostly find free, as they work for longer without it.
 *
 *   A   pack ======== update [====] pack ======== update [====] ...
 *   B   pack ======== update [====] ...            one after the other
 *   C   ...
 *
 * Without `pack` the threads wait for the lock all the time: the run takes as long as all of `update`, and not half as long on two
 * processors. `update` ends with the call that lets the lock go: its frame is gone by then.
 */
#include <pthread.h>
#include "work.h"

enum { THREADS = 3, ROUNDS = 25, PACK_MS = 8, UPDATE_MS = 4 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void pack(void)
{
    BURN(PACK_MS);
}

NOINLINE void update(void)
{
    pthread_mutex_lock(&table_lock);
    BURN(UPDATE_MS);
    pthread_mutex_unlock(&table_lock);
}

static void *work(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pack();
        update();
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
