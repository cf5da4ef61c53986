/* Threads that do the same on a part each, without any synchronisation until they end: one program on much data.
 *
 *   worker 1 .. THREADS   40 / THREADS x (read_trace 2 | next_reference 7 | match_line 4 | update_stack 2.5 | fetch_line 1.5 |
 *                                         move_to_top 1)
 *
 * THREADS is 2 unless -DTHREADS. On two processors: 20 x 18 = 360 ms, and each procedure is worth its share of the CPU time:
 * next_reference 38.9 %, match_line 22.2 %, update_stack 13.9 %, read_trace 11.1 %, fetch_line 8.3 %, move_to_top 5.6 %.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "work.h"

#ifndef THREADS
#define THREADS 2
#endif
enum { ROUNDS = 40 };

NOINLINE void read_trace(void) { BURN(2); }
NOINLINE void next_reference(void) { BURN(7); }
NOINLINE void match_line(void) { BURN(4); }
NOINLINE void update_stack(void) { BURN(2.5); }
NOINLINE void fetch_line(void) { BURN(1.5); }
NOINLINE void move_to_top(void) { BURN(1); }

static void *worker(void *index)
{
    for (int round = (int)(long)index; round < ROUNDS; round += THREADS) {
        read_trace();
        next_reference();
        match_line();
        update_stack();
        fetch_line();
        move_to_top();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
