/* Four threads for every processor, none of which ever waits.
 *
 *   thread 1 .. 4 P   grind 200
 *
 * CPU time: 4 P x 200 ms, all in grind. Elapsed: 4 x 200 = 800 ms on P free processors: U = P all the time.
 * Critical path (CPU): one thread's 200 ms, all in grind; it is a quarter of the elapsed time, because the
 * run is limited by processors: each thread is ready, without a processor, for 3/4 of its life.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "work.h"

NOINLINE void grind(void) { BURN(200); }

static void *grinder(void *unused)
{
    grind();
    return unused;
}

int main(void)
{
    int count = 4 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t *threads = calloc(count, sizeof *threads);
    CHECK(threads != NULL);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, grinder, NULL) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
