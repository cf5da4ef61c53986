/* As many threads as processors, all of which do the same.
 *
 *   thread 1 .. P   transform 100 | encode 300
 *
 * CPU time: P x 400 ms, encode 75 % of it. Elapsed: 400 ms on P free processors, which are all in use. An engineer's
 * answer: it is CPU-bound, only less work helps, in encode first.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "work.h"

NOINLINE void transform(void) { BURN(100); }
NOINLINE void encode(void) { BURN(300); }

static void *worker(void *unused)
{
    transform();
    encode();
    return unused;
}

int main(void)
{
    int count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t *threads = calloc(count, sizeof *threads);
    CHECK(threads != NULL);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    free(threads);
    return 0;
}
