/* Two threads that look things up in a table under its lock, and one that reloads the table every 16 ms until it is told to end.
 *
 *   readers   | lock, serve 6 | serve 4 | lock, serve 6 | serve 4 | ... 40 times |
 *   reloader  | sleep 16 | lock, reload 0.3 | sleep 16 | lock, reload 0.3 | ...   | stop! joined
 *
 * The readers have the lock for 480 ms in all, so they take turns: some 500 ms. Without serve the run is one sleep, and with half of it half
 * as long: there are as many reloads as the readers take time for. That a reader waited for the twentieth is no order of the program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "work.h"

enum { READERS = 2, TURNS = 40 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stops;

NOINLINE void reload(void) { BURN(0.3); }

/* A turn of a reader: 6 ms with the lock and 4 without it. */
NOINLINE void serve(void)
{
    pthread_mutex_lock(&table_lock);
    BURN(6);
    pthread_mutex_unlock(&table_lock);
    BURN(4);
}

static void *read_table(void *unused)
{
    for (int turn = 0; turn < TURNS; turn++)
        serve();
    return unused;
}

static void *reload_table(void *unused)
{
    while (!stops) {
        usleep(16000);
        pthread_mutex_lock(&table_lock);
        reload();
        pthread_mutex_unlock(&table_lock);
    }
    return unused;
}

int main(void)
{
    pthread_t reloader, readers[READERS];
    CHECK(pthread_create(&reloader, NULL, reload_table, NULL) == 0);
    for (int reader = 0; reader < READERS; reader++)
        CHECK(pthread_create(&readers[reader], NULL, read_table, NULL) == 0);
    for (int reader = 0; reader < READERS; reader++)
        CHECK(pthread_join(readers[reader], NULL) == 0);
    stops = 1;
    CHECK(pthread_join(reloader, NULL) == 0);
    return 0;
}
