/* A thread that sleeps and looks again until another one has made the next item, about once for each.
 *
 *   worker   | produce 12 | produce 12 | ...                      nothing says when an item is there but a number in memory
 *   main     | sleep 8 | sleep 8 | consume 3 | sleep 8 | consume 3 | ...
 *
 * Without produce all items are there from the start, and main never sleeps: the run is 120 ms of about 490.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "work.h"

enum { ITEMS = 40, PRODUCE_MS = 12, CONSUME_MS = 3, SLEEP_US = 8000 };

static atomic_int made;

NOINLINE void produce(void) { BURN(PRODUCE_MS); }
NOINLINE void consume(void) { BURN(CONSUME_MS); }

static void *work(void *unused)
{
    for (int item = 0; item < ITEMS; item++) {
        produce();
        atomic_fetch_add(&made, 1);
    }
    return unused;
}

NOINLINE void await_item(int item)
{
    while (atomic_load(&made) <= item)
        usleep(SLEEP_US);
}

int main(void)
{
    pthread_t worker;
    CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
    for (int item = 0; item < ITEMS; item++) {
        await_item(item);
        consume();
    }
    CHECK(pthread_join(worker, NULL) == 0);
    return 0;
}
