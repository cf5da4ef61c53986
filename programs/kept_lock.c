/* Three workers take items from a list under a lock, and keep the lock while they work.
 *
 *   worker  lock | take | convert 7 | unlock | lock | ...     60 items
 *
 * Who gives the lock back has it again before the others are awake, so that mostly one of them works: 420 ms. Converted without the
 * lock, the items take 210 ms on two processors.
 */
#include <pthread.h>
#include "work.h"

enum { ITEMS = 60, WORKERS = 3 };

static pthread_mutex_t items_lock = PTHREAD_MUTEX_INITIALIZER;
static int items = ITEMS;

NOINLINE void convert(void) { BURN(7); }

static void *worker(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&items_lock);
        int item = items > 0 ? items-- : 0;
        if (item > 0)
            convert();
        pthread_mutex_unlock(&items_lock);
        if (item == 0)
            return unused;
    }
}

int main(void)
{
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
