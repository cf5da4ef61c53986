/* A serial start, a parallel middle, a serial end.
 *
 *   main      read_input 600 | join ........... | write_output 200
 *   2 threads                | transform 400    |
 *
 * Critical path (CPU): 600 + 400 + 200 = 1200 ms: read_input 50 %, transform 33.3 %, write_output 16.7 %.
 * CPU time: 600 + 2 x 400 + 200 = 1600 ms: read_input 37.5 %, transform 50 %, write_output 12.5 %.
 * NPT with two free processors: 600, 2 x 400 / 2, 200 of 1200: the same shares as the critical path.
 * main waits 400 ms for `join`; a transform thread ends the wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

/* A comparison of two runs builds it with another amount. */
#ifndef TRANSFORM
#define TRANSFORM 400
#endif

NOINLINE void read_input(void) { BURN(600); }
NOINLINE void transform(void) { BURN(TRANSFORM); }
NOINLINE void write_output(void) { BURN(200); }

static void *transformer(void *unused)
{
    transform();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    read_input();
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, transformer, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    write_output();
    return 0;
}
